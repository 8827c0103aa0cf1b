/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdio.h>
#include <string.h>

#include "server/base/mem.h"
#include "server/base/subject.h"
#include "stream/ptrie.h"

static const char *const patterns[] = {"a",
                                       "a.b",
                                       "a.*",
                                       "a.>",
                                       "*",
                                       "*.b",
                                       ">",
                                       "a.b.c",
                                       "a.*.c",
                                       "*.*.*",
                                       "orders.eu.new",
                                       "orders.*.new",
                                       "orders.>",
                                       "b.c.d.e.f",
                                       "b.*.d.*.f",
                                       "b.>",
                                       "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18",
                                       "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.x",
                                       "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.>",
                                       "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16"};
enum { N = sizeof(patterns) / sizeof(patterns[0]) };

struct seen {
    unsigned times[N];
    unsigned all, most;
};

static bool
on_pattern(void *arg, const char *pattern, void *value)
{
    struct seen *s = arg;
    size_t i = (size_t)((const char *const *)value - patterns);
    assert_ptr_equal(pattern, patterns[i]);
    s->times[i]++;
    return ++s->all < s->most;
}

static void
add(struct ptrie *t, size_t i)
{
    assert_int_equal(ptrie_add(t, patterns[i], (void *)(uintptr_t)&patterns[i]), ST_OK);
}

static void
check(const struct ptrie *t, bool (*is_in)(size_t i))
{
    for (size_t f = 0; f < N; f++) {
        struct seen s = {.most = 1000};
        ptrie_overlaps(t, patterns[f], strlen(patterns[f]), on_pattern, &s);
        for (size_t i = 0; i < N; i++) {
            bool meets = subject_overlaps(patterns[i], strlen(patterns[i]), patterns[f],
                                          strlen(patterns[f]));
            assert_int_equal(s.times[i], is_in(i) && meets);
        }
    }
}

static bool
each(size_t i)
{
    (void)i;
    return true;
}

static bool
odd(size_t i)
{
    return i % 2 == 1;
}

static void
test_ptrie_finds_what_subject_overlaps_says(void **state)
{
    (void)state;
    long before = mem_live();
    struct ptrie t = {0};
    for (size_t i = 0; i < N; i++) {
        add(&t, i);
    }
    check(&t, each);
    for (size_t i = 0; i < N; i += 2) {
        ptrie_remove(&t, patterns[i], &patterns[i]);
    }
    check(&t, odd);
    for (size_t i = 1; i < N; i += 2) {
        ptrie_remove(&t, patterns[i], &patterns[i]);
    }
    assert_null(t.root);
    assert_int_equal(mem_live(), before);
}

static void
test_ptrie_walk_ends_when_told(void **state)
{
    (void)state;
    struct ptrie t = {0};
    for (size_t i = 0; i < N; i++) {
        add(&t, i);
    }
    struct seen s = {.most = 3};
    ptrie_overlaps(&t, ">", 1, on_pattern, &s);
    assert_int_equal(s.all, 3);
    ptrie_fini(&t);
}

static void
test_ptrie_takes_a_pattern_twice_and_a_very_long_one(void **state)
{
    (void)state;
    struct ptrie t = {0};
    static char deep[200001];
    for (size_t i = 0; i + 1 < sizeof(deep); i++) {
        deep[i] = i % 2 == 0 ? 't' : '.';
    }
    deep[sizeof(deep) - 2] = 't';
    add(&t, 0);
    add(&t, 0);
    assert_int_equal(ptrie_add(&t, deep, &t), ST_OK);
    struct seen s = {.most = 1000};
    ptrie_overlaps(&t, "a", 1, on_pattern, &s);
    assert_int_equal(s.times[0], 2);
    ptrie_remove(&t, patterns[0], &patterns[0]);
    ptrie_remove(&t, deep, &t);
    s = (struct seen){.most = 1000};
    ptrie_overlaps(&t, ">", 1, on_pattern, &s);
    assert_int_equal(s.all, 1);
    ptrie_fini(&t);
}

static void
test_ptrie_without_memory_keeps_what_it_has(void **state)
{
    (void)state;
    long before = mem_live();
    struct ptrie t = {0};
    for (size_t i = 0; i < N; i++) {
        enum status st = ST_NOMEM;
        for (long k = 0; st != ST_OK; k++) {
            mem_fail_at(k);
            st = ptrie_add(&t, patterns[i], (void *)(uintptr_t)&patterns[i]);
            mem_fail_at(-1);
        }
    }
    check(&t, each);
    for (size_t i = 0; i < N; i++) {
        ptrie_remove(&t, patterns[i], &patterns[i]);
    }
    assert_int_equal(mem_live(), before);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ptrie_finds_what_subject_overlaps_says),
        cmocka_unit_test(test_ptrie_walk_ends_when_told),
        cmocka_unit_test(test_ptrie_takes_a_pattern_twice_and_a_very_long_one),
        cmocka_unit_test(test_ptrie_without_memory_keeps_what_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
