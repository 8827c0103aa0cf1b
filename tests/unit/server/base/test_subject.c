/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdio.h>
#include <string.h>

#include "server/base/subject.h"

static void
test_subject_valid_has_no_empty_token_and_no_space(void **state)
{
    (void)state;
    const char *const good[] = {"a",      "a.b", "*",   ">",        "a.*.c", "a.>",
                                "a*b.>c", "ä.ö", "a.*", "$SYS.REQ", "a>.b"};
    const char *const bad[] = {"",    ".",   ".a",    "a.",  "a..b", "a.>.b",
                               ">.a", "a b", "a.\tb", "a\r", "\n"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(subject_is_valid(good[i], strlen(good[i])));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(subject_is_valid(bad[i], strlen(bad[i])));
    }
}

static void
test_subject_literal_has_no_wildcard_token(void **state)
{
    (void)state;
    const struct {
        const char *s;
        bool literal, wildcard;
    } cases[] = {
        {"a.b", true, false},   {"a*", true, false}, {"a.b>", true, false}, {"a.*", false, true},
        {"*", false, true},     {">", false, true},  {"a.>", false, true},  {"*.b", false, true},
        {"a..b", false, false}, {"", false, false},  {"a.**", true, false}, {"a.>>", true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(subject_is_literal(cases[i].s, strlen(cases[i].s)), cases[i].literal);
        assert_int_equal(subject_has_wildcard(cases[i].s, strlen(cases[i].s)), cases[i].wildcard);
    }
}

static bool
is_inside(const char *sub, const char *pattern)
{
    return subject_is_inside(sub, strlen(sub), pattern, strlen(pattern));
}

static bool
overlaps(const char *a, const char *b)
{
    bool one = subject_overlaps(a, strlen(a), b, strlen(b));
    assert_int_equal(subject_overlaps(b, strlen(b), a, strlen(a)), one);
    return one;
}

static void
test_subject_inside_asks_for_every_match(void **state)
{
    (void)state;
    assert_true(is_inside("a.b", "a.b"));
    assert_true(is_inside("a.b", "a.*"));
    assert_true(is_inside("a.b", "*.*"));
    assert_true(is_inside("a.b.c", "a.>"));
    assert_true(is_inside("a.*", "a.>"));
    assert_true(is_inside("a.>", "a.>"));
    assert_true(is_inside("a.>", ">"));
    assert_true(is_inside("a.*.c", "a.*.*"));
    assert_false(is_inside("a", "a.>"));
    assert_false(is_inside("a.b.c", "a.*"));
    assert_false(is_inside("a.*", "a.b"));
    assert_false(is_inside("a.>", "a.*"));
    assert_false(is_inside("a.b", "a.bc"));
    assert_false(is_inside("a.bc", "a.b"));
}

static void
test_subject_overlap_asks_for_one_match(void **state)
{
    (void)state;
    assert_true(overlaps("a.*", "*.b"));
    assert_true(overlaps("a.>", "*.b.c"));
    assert_true(overlaps(">", "x"));
    assert_true(overlaps("a.b", "a.b"));
    assert_false(overlaps("a.*", "b.*"));
    assert_false(overlaps("a", "a.>"));
    assert_false(overlaps("a.*", "a.*.c"));
    assert_false(overlaps("a.b", "a.c"));
}

/* Every subject of up to three of the tokens a, b, c. */
static size_t
make_literals(char out[][8])
{
    size_t n = 0;
    for (int i = 0; i < 3; i++) {
        snprintf(out[n++], 8, "%c", 'a' + i);
        for (int j = 0; j < 3; j++) {
            snprintf(out[n++], 8, "%c.%c", 'a' + i, 'a' + j);
            for (int k = 0; k < 3; k++) {
                snprintf(out[n++], 8, "%c.%c.%c", 'a' + i, 'a' + j, 'a' + k);
            }
        }
    }
    return n;
}

static void
test_subject_relations_agree_with_the_sets_of_literals(void **state)
{
    (void)state;
    const char *const patterns[] = {"a", "a.b", "*",   "*.b",   "a.*", "*.*",   "a.b.c", "a.*.c",
                                    ">", "a.>", "*.>", "a.b.>", "b.>", "*.b.*", "*.*.*", "*.*.>"};
    char literals[64][8];
    size_t n = make_literals(literals);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
            bool both = false;
            bool all = true;
            for (size_t m = 0; m < n; m++) {
                bool in_i = is_inside(literals[m], patterns[i]);
                bool in_k = is_inside(literals[m], patterns[k]);
                both |= in_i && in_k;
                all &= !in_i || in_k;
            }
            assert_int_equal(overlaps(patterns[i], patterns[k]), both);
            /* "*.*.>" reaches beyond three tokens: what is inside for few tokens need not be for
             * all. */
            assert_true(!is_inside(patterns[i], patterns[k]) || all);
        }
    }
}

static void
test_subject_tokens_are_counted_and_measured(void **state)
{
    (void)state;
    assert_int_equal(subject_count_tokens("a", 1), 1);
    assert_int_equal(subject_count_tokens("a.bc.d", 6), 3);
    assert_int_equal(subject_token_len("a.bc.d", 6, 0), 1);
    assert_int_equal(subject_token_len("a.bc.d", 6, 2), 2);
    assert_int_equal(subject_token_len("a.bc.d", 6, 5), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_subject_valid_has_no_empty_token_and_no_space),
        cmocka_unit_test(test_subject_literal_has_no_wildcard_token),
        cmocka_unit_test(test_subject_inside_asks_for_every_match),
        cmocka_unit_test(test_subject_overlap_asks_for_one_match),
        cmocka_unit_test(test_subject_relations_agree_with_the_sets_of_literals),
        cmocka_unit_test(test_subject_tokens_are_counted_and_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
