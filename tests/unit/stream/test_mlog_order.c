/* SPDX-License-Identifier: Apache-2.0 */
/* What a log finds and counts by patterns, beside a look at each of its messages. */
#include "tests/unit/stream/log_fixture.h"

#include "server/base/subject.h"

enum { MOST = 12000, SUBJECT = 32 };

/* What the log holds, by sequence; "": nothing. */
static char held[MOST + 1][SUBJECT];
static uint64_t last;

static const char *const patterns[] = {
    ">",     "a.>",   "a.*",   "a.*.c", "a.*.x",   "*.5.*",   "*.*.c",   "*",     "*.>",
    "*.*",   "b.7.>", "b.7.*", "z.>",   "a.5*.c",  "a.*.*.c", "*.*.*.>", "b.>",   "a-b.*.c",
    "a.5.c", "a.5",   "5.*",   "*.5",   "*.5.*.*", "a.5-x.*", "a.*.c-d", "a/b.>", "a.1*.>"};
enum { N_PATTERNS = sizeof patterns / sizeof patterns[0] };

static uint32_t
draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525U + 1013904223U;
    return (*seed >> 8) % below;
}

/* Tokens that sort before and after the dot, that begin alike, and whole subjects inside others. */
static void
any_subject(uint32_t *seed, char out[SUBJECT])
{
    static const char *const heads[] = {"a", "b", "a-b", "a/b", "5"};
    static const char *const tails[] = {"c", "d", "c-d", "5", "x.c", ""};
    char middle[12];
    uint32_t kind = draw(seed, 10);
    (void)snprintf(middle, sizeof middle, kind == 0 ? "%u-x" : "%u", draw(seed, 1500));
    const char *tail = tails[draw(seed, 6)];
    (void)snprintf(out, SUBJECT, "%s%s%s%s%s", heads[draw(seed, 5)], kind == 1 ? "" : ".",
                   kind == 1 ? "" : middle, kind == 1 || *tail == '\0' ? "" : ".",
                   kind == 1 ? "" : tail);
}

static void
fill(struct fixture *f, uint32_t *seed, int n)
{
    char subject[SUBJECT];
    for (int i = 0; i < n; i++) {
        any_subject(seed, subject);
        last = fixture_append(f, subject, "x");
        assert_in_range(last, 1, MOST);
        strcpy(held[last], subject);
    }
    fixture_wait(f);
}

static void
thin(struct fixture *f, uint32_t *seed, int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t seq = 1 + draw(seed, (uint32_t)last);
        if (held[seq][0] != '\0') {
            assert_int_equal(mlog_remove(f->log, seq, false), ST_OK);
            held[seq][0] = '\0';
        }
    }
    fixture_wait(f);
}

static bool
is_taken(uint64_t seq, const char *const *v, size_t n)
{
    bool taken = false;
    for (size_t i = 0; i < n && held[seq][0] != '\0'; i++) {
        taken = taken || subject_is_inside(held[seq], strlen(held[seq]), v[i], strlen(v[i]));
    }
    return taken;
}

static bool
add_msgs(void *arg, const struct mlog_subject *s)
{
    *(uint64_t *)arg += s->msgs;
    return true;
}

/* The whole, and from somewhere to somewhere. */
static void
compare(struct fixture *f, const char *const *v, size_t n, uint64_t from, uint64_t to)
{
    struct mfilter *filter;
    uint64_t all = 0, part = 0, first = 0, before = 0, told = 0;
    assert_int_equal(mfilter_new(&filter, v, n), ST_OK);
    for (uint64_t seq = 1; seq <= last; seq++) {
        bool taken = is_taken(seq, v, n);
        all += taken;
        part += taken && seq >= from && seq <= to;
        first = taken && first == 0 && seq >= from ? seq : first;
    }
    for (uint64_t seq = to; seq > 0 && before == 0; seq--) {
        before = is_taken(seq, v, n) ? seq : 0;
    }
    mlog_each_subject(f->log, filter, add_msgs, &told);
    assert_int_equal(told, all);
    assert_int_equal(mlog_count(f->log, filter, 0, 0), all);
    assert_int_equal(mlog_count(f->log, filter, from, to), part);
    assert_int_equal(mlog_next(f->log, filter, from), first);
    assert_int_equal(mlog_prev(f->log, filter, to), before);
    mfilter_free(filter);
}

static void
compare_all(struct fixture *f, uint32_t *seed)
{
    for (size_t i = 0; i < N_PATTERNS; i++) {
        uint64_t from = 1 + draw(seed, (uint32_t)last);
        uint64_t to = from + draw(seed, (uint32_t)(last - from) + 1);
        const char *const three[] = {patterns[i], patterns[draw(seed, N_PATTERNS)],
                                     patterns[draw(seed, N_PATTERNS)]};
        compare(f, three, 1, from, to);
        compare(f, three, 3, from, to);
    }
}

static void
test_mlog_patterns_find_what_a_look_at_each_message_finds(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t seed = 7;
    memset(held, 0, sizeof held);
    fixture_init(&f, true);
    fill(&f, &seed, 6000);
    compare_all(&f, &seed);
    for (int round = 0; round < 4; round++) {
        thin(&f, &seed, 3000);
        compare_all(&f, &seed);
        fill(&f, &seed, 1400);
        compare_all(&f, &seed);
    }
    uint64_t n;
    assert_int_equal(mlog_purge_to(f.log, last / 2, &n), ST_OK);
    memset(held, 0, (last / 2) * sizeof held[0]);
    compare_all(&f, &seed);
    assert_int_equal(mlog_purge_to(f.log, last + 1, &n), ST_OK);
    memset(held, 0, sizeof held);
    compare_all(&f, &seed);
    fixture_fini(&f);
}

static void
test_mlog_patterns_are_right_without_memory(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t seed = 3;
    const char *const v[] = {"a.*.c"};
    memset(held, 0, sizeof held);
    fixture_init(&f, true);
    fill(&f, &seed, 3000);
    uint64_t want = 0;
    struct mfilter *filter;
    assert_int_equal(mfilter_new(&filter, v, 1), ST_OK);
    for (uint64_t seq = 1; seq <= last; seq++) {
        want += is_taken(seq, v, 1);
    }
    for (int n = 0; n < 60; n++) {
        mem_fail_at(n);
        uint64_t got = mlog_count(f.log, filter, 0, 0);
        mem_fail_at(-1);
        assert_int_equal(got, want);
    }
    mfilter_free(filter);
    fixture_fini(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlog_patterns_find_what_a_look_at_each_message_finds),
        cmocka_unit_test(test_mlog_patterns_are_right_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
