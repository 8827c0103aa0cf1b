/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/slab.h"

#include <stdint.h>
#include <string.h>

#include "server/base/mem.h"
#include "tests/support/cmk.h"

enum { THINGS = 2000 };

struct thing {
    char *at;
    size_t n;
    struct slab *of;
};

static void
take_all(struct slab **open, struct thing *v)
{
    for (size_t i = 0; i < THINGS; i++) {
        v[i].n = 1 + i * 7 % 300;
        v[i].at = slab_take(open, v[i].n, &v[i].of);
        assert_non_null(v[i].at);
        assert_int_equal((uintptr_t)v[i].at % 16, 0);
        memset(v[i].at, (int)(i & 0xff), v[i].n);
    }
}

static void
test_slab_things_do_not_overlap(void **state)
{
    (void)state;
    static struct thing v[THINGS];
    struct slab *open = NULL;
    long before = mem_live();
    take_all(&open, v);
    assert_true(mem_live() - before < THINGS / 10);
    for (size_t i = 0; i < THINGS; i++) {
        for (size_t k = 0; k < v[i].n; k++) {
            assert_int_equal((unsigned char)v[i].at[k], i & 0xff);
        }
        slab_drop(v[i].of, v[i].at);
    }
    slab_close(&open);
    assert_null(open);
    assert_int_equal(mem_live(), before);
}

static void
test_slab_lives_until_the_last_thing_is_gone(void **state)
{
    (void)state;
    static struct thing v[THINGS];
    struct slab *open = NULL;
    long before = mem_live();
    take_all(&open, v);
    slab_close(&open);
    for (size_t i = THINGS; i-- > 1;) {
        slab_drop(v[i].of, v[i].at);
    }
    assert_int_equal(mem_live(), before + 1);
    assert_int_equal(*v[0].at, 0);
    slab_drop(v[0].of, v[0].at);
    assert_int_equal(mem_live(), before);
    slab_close(&open); /* there is none */
}

static void
test_slab_gives_a_large_thing_its_own_memory(void **state)
{
    (void)state;
    struct slab *open = NULL;
    struct slab *small, *large, *other;
    long before = mem_live();
    char *first = slab_take(&open, 10, &small);
    assert_non_null(first);
    char *at = slab_take(&open, 100000, &large);
    assert_non_null(at);
    memset(at, 'x', 100000);
    char *second = slab_take(&open, 10, &other);
    assert_non_null(second);
    assert_ptr_equal(small, other);
    assert_int_equal(mem_live(), before + 2);
    slab_drop(large, at);
    assert_int_equal(mem_live(), before + 1);
    slab_drop(small, first);
    slab_drop(other, second);
    slab_close(&open);
    assert_int_equal(mem_live(), before);
}

static void
test_slab_none_is_an_allocation_of_its_own(void **state)
{
    (void)state;
    struct slab *of;
    long before = mem_live();
    char *at = slab_take(NULL, 10, &of);
    assert_non_null(at);
    assert_null(of);
    memset(at, 'x', 10);
    assert_int_equal(mem_live(), before + 1);
    slab_drop(of, at);
    assert_int_equal(mem_live(), before);
    mem_fail_at(0);
    assert_null(slab_take(NULL, 10, &of));
    mem_fail_at(-1);
}

static void
test_slab_without_memory_keeps_what_it_has(void **state)
{
    (void)state;
    struct slab *open = NULL;
    struct slab *of[3];
    long before = mem_live();
    mem_fail_at(0);
    assert_null(slab_take(&open, 2000, &of[0]));
    assert_null(open);
    mem_fail_at(-1);
    char *first = slab_take(&open, 2000, &of[0]);
    char *second = slab_take(&open, 2000, &of[1]);
    assert_non_null(first);
    assert_non_null(second);
    struct slab *full = open;
    mem_fail_at(0);
    assert_null(slab_take(&open, 2000, &of[2]));
    assert_ptr_equal(open, full);
    mem_fail_at(0);
    assert_null(slab_take(&open, 5000, &of[2]));
    mem_fail_at(-1);
    slab_drop(of[0], first);
    slab_drop(of[1], second);
    slab_close(&open);
    assert_int_equal(mem_live(), before);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slab_things_do_not_overlap),
        cmocka_unit_test(test_slab_lives_until_the_last_thing_is_gone),
        cmocka_unit_test(test_slab_gives_a_large_thing_its_own_memory),
        cmocka_unit_test(test_slab_none_is_an_allocation_of_its_own),
        cmocka_unit_test(test_slab_without_memory_keeps_what_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
