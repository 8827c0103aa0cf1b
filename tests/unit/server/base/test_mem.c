/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdint.h>
#include <string.h>

#include "server/base/mem.h"

static void
test_mem_alloc_is_zeroed_also_where_memory_is_used_again(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        unsigned char *p = mem_alloc(4096);
        assert_non_null(p);
        for (int i = 0; i < 4096; i++) {
            assert_int_equal(p[i], 0);
        }
        memset(p, 0xff, 4096);
        mem_free(p);
    }
}

static void
test_mem_an_array_too_large_to_be_is_refused(void **state)
{
    (void)state;
    long live = mem_live();
    volatile size_t many = SIZE_MAX / 2; /* hidden from the compiler, which would warn */
    assert_null(mem_alloc_array(many, 4));
    assert_int_equal(mem_live(), live);
}

static void
test_mem_size_zero_gives_a_block(void **state)
{
    (void)state;
    void *p = mem_alloc(0);
    void *q = mem_alloc_array(0, 8);
    void *r = mem_alloc_raw(0);
    assert_non_null(p);
    assert_non_null(q);
    assert_non_null(r);
    mem_free(p);
    mem_free(q);
    mem_free(r);
    mem_free(NULL);
}

static void
test_mem_realloc_keeps_content_and_the_old_block_on_failure(void **state)
{
    (void)state;
    char *p = mem_realloc(NULL, 4);
    assert_non_null(p);
    memcpy(p, "abc", 4);
    mem_fail_at(0);
    assert_null(mem_realloc(p, 1 << 20));
    assert_true(mem_fail_fired());
    mem_fail_at(-1);
    assert_string_equal(p, "abc");
    p = mem_realloc(p, 1 << 20);
    assert_non_null(p);
    assert_string_equal(p, "abc");
    mem_free(p);
}

static void
test_mem_strndup_ends_what_it_copies(void **state)
{
    (void)state;
    char *p = mem_strndup("subject rest", 7);
    assert_string_equal(p, "subject");
    char *q = mem_strdup(p);
    assert_string_equal(q, "subject");
    mem_free(p);
    mem_free(q);
}

static void
test_mem_fails_once_at_the_call_that_was_named(void **state)
{
    (void)state;
    long live = mem_live();
    void *got[4];
    mem_fail_at(2);
    for (int i = 0; i < 4; i++) {
        got[i] = mem_alloc(8);
        assert_int_equal(mem_fail_fired(), i >= 2);
    }
    assert_non_null(got[0]);
    assert_non_null(got[1]);
    assert_null(got[2]);
    assert_non_null(got[3]);
    assert_int_equal(mem_live(), live + 3);
    for (int i = 0; i < 4; i++) {
        mem_free(got[i]);
    }
    assert_int_equal(mem_live(), live);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mem_alloc_is_zeroed_also_where_memory_is_used_again),
        cmocka_unit_test(test_mem_an_array_too_large_to_be_is_refused),
        cmocka_unit_test(test_mem_size_zero_gives_a_block),
        cmocka_unit_test(test_mem_realloc_keeps_content_and_the_old_block_on_failure),
        cmocka_unit_test(test_mem_strndup_ends_what_it_copies),
        cmocka_unit_test(test_mem_fails_once_at_the_call_that_was_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
