/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <string.h>

#include "server/base/buf.h"
#include "server/base/mem.h"

static void
test_buf_appends_of_every_kind_join(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    buf_puts(&b, "PUB ");
    buf_append(&b, "a\0b", 3);
    buf_putc(&b, ' ');
    buf_printf(&b, "%d%s", 17, "!");
    assert_int_equal(buf_status(&b), ST_OK);
    assert_int_equal(b.len, 11);
    assert_memory_equal(b.data, "PUB a\0b 17!", 12);
    buf_fini(&b);
}

static void
test_buf_grows_far_beyond_its_first_size(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    for (int i = 0; i < 10000; i++) {
        buf_printf(&b, "%04d", i);
    }
    assert_int_equal(b.len, 40000);
    assert_memory_equal(b.data + 4 * 9999, "9999", 5);
    buf_fini(&b);
}

static void
test_buf_reset_forgets_content_and_failure(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    buf_puts(&b, "old");
    mem_fail_at(0);
    assert_int_equal(buf_reserve(&b, 1000), ST_NOMEM);
    mem_fail_at(-1);
    assert_int_equal(buf_status(&b), ST_NOMEM);
    buf_reset(&b);
    buf_puts(&b, "new");
    assert_int_equal(buf_status(&b), ST_OK);
    assert_string_equal(b.data, "new");
    buf_fini(&b);
}

static void
test_buf_a_failed_append_keeps_what_was_there(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    buf_puts(&b, "kept");
    char big[500];
    memset(big, 'x', sizeof big);
    mem_fail_at(0);
    buf_append(&b, big, sizeof big);
    mem_fail_at(-1);
    buf_puts(&b, "not after a failure");
    assert_int_equal(buf_status(&b), ST_NOMEM);
    assert_string_equal(b.data, "kept");
    assert_null(buf_detach(&b, NULL));
    assert_null(b.data);
}

static void
test_buf_refuses_a_size_that_cannot_be(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    buf_puts(&b, "x");
    assert_int_equal(buf_reserve(&b, SIZE_MAX), ST_NOMEM);
    assert_int_equal(buf_reserve(&b, SIZE_MAX / 2 + 2), ST_NOMEM);
    buf_fini(&b);
}

static void
test_buf_detach_gives_the_bytes_away(void **state)
{
    (void)state;
    long live = mem_live();
    struct buf b;
    buf_init(&b);
    buf_puts(&b, "mine");
    size_t len = 0;
    char *mine = buf_detach(&b, &len);
    assert_string_equal(mine, "mine");
    assert_int_equal(len, 4);
    assert_null(b.data);
    mem_free(mine);
    char *empty = buf_detach(&b, &len);
    assert_string_equal(empty, "");
    assert_int_equal(len, 0);
    mem_free(empty);
    assert_int_equal(mem_live(), live);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buf_appends_of_every_kind_join),
        cmocka_unit_test(test_buf_grows_far_beyond_its_first_size),
        cmocka_unit_test(test_buf_reset_forgets_content_and_failure),
        cmocka_unit_test(test_buf_a_failed_append_keeps_what_was_there),
        cmocka_unit_test(test_buf_refuses_a_size_that_cannot_be),
        cmocka_unit_test(test_buf_detach_gives_the_bytes_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
