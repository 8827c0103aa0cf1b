/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/hdr.h"

#include "tests/support/cmk.h"

#include <string.h>

#include "server/base/mem.h"

#define BLOCK "NATS/1.0\r\nA: 1\r\nNats-TTL:  5s \r\nNats-TTL-X: no\r\nEmpty:\r\n\r\n"

static void
test_hdr_find_takes_the_whole_name_in_its_case(void **state)
{
    const char *v;
    size_t n;
    (void)state;
    assert_true(hdr_find(BLOCK, strlen(BLOCK), "Nats-TTL", &v, &n));
    assert_int_equal(n, 3);
    assert_memory_equal(v, "5s ", 3);
    assert_false(hdr_find(BLOCK, strlen(BLOCK), "nats-ttl", &v, &n));
    assert_false(hdr_find(BLOCK, strlen(BLOCK), "Nats", &v, &n));
    assert_true(hdr_find(BLOCK, strlen(BLOCK), "Empty", &v, &n));
    assert_int_equal(n, 0);
    assert_false(hdr_find(NULL, 0, "A", &v, &n));
    assert_false(hdr_find("NATS/1.0", 8, "A", &v, &n));
}

static void
test_hdr_number_is_one_of_64_bits_or_none(void **state)
{
    unsigned long long v;
    (void)state;
    const char *b =
        "NATS/1.0\r\nA: 18446744073709551615\r\nB: 18446744073709551616\r\nC: -1\r\n\r\n";
    assert_int_equal(hdr_u64(b, strlen(b), "A", &v), ST_OK);
    assert_true(v == UINT64_MAX);
    assert_int_equal(hdr_u64(b, strlen(b), "B", &v), ST_INVAL);
    assert_int_equal(hdr_u64(b, strlen(b), "C", &v), ST_INVAL);
    assert_int_equal(hdr_u64(b, strlen(b), "D", &v), ST_NOTFOUND);
}

static void
test_hdr_copy_leaves_fields_out_and_nothing_where_none_is_left(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b);
    hdr_copy_without(&b, BLOCK, strlen(BLOCK), "Nats-TTL");
    assert_string_equal(b.data, "NATS/1.0\r\nA: 1\r\nNats-TTL-X: no\r\nEmpty:\r\n\r\n");
    buf_reset(&b);
    hdr_copy_without_prefix(&b, BLOCK, strlen(BLOCK), "Nats-");
    assert_string_equal(b.data, "NATS/1.0\r\nA: 1\r\nEmpty:\r\n\r\n");
    buf_reset(&b);
    const char *one = "NATS/1.0\r\nA: 1\r\n\r\n";
    hdr_copy_without(&b, one, strlen(one), "A");
    assert_int_equal(b.len, 0);
    buf_fini(&b);
}

static void
test_hdr_add_begins_a_block_and_goes_on_with_it(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b);
    hdr_add(&b, "A", "1");
    hdr_add(&b, "B", "2");
    assert_string_equal(b.data, "NATS/1.0\r\nA: 1\r\nB: 2\r\n\r\n");
    buf_fini(&b);
}

static void
test_hdr_put_writes_the_value_in_its_place_or_adds_it(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b);
    hdr_put(&b, BLOCK, strlen(BLOCK), "A", "value");
    assert_string_equal(b.data, "NATS/1.0\r\nA: value\r\nNats-TTL:  5s \r\nNats-TTL-X: no\r\nEmpty:"
                                "\r\n\r\n");
    buf_reset(&b);
    const char *one = "NATS/1.0\r\nA: 1\r\n\r\n";
    hdr_put(&b, one, strlen(one), "B", "2");
    assert_string_equal(b.data, "NATS/1.0\r\nA: 1\r\nB: 2\r\n\r\n");
    buf_reset(&b);
    hdr_put(&b, NULL, 0, "B", "2");
    assert_string_equal(b.data, "NATS/1.0\r\nB: 2\r\n\r\n");
    buf_fini(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hdr_find_takes_the_whole_name_in_its_case),
        cmocka_unit_test(test_hdr_number_is_one_of_64_bits_or_none),
        cmocka_unit_test(test_hdr_copy_leaves_fields_out_and_nothing_where_none_is_left),
        cmocka_unit_test(test_hdr_put_writes_the_value_in_its_place_or_adds_it),
        cmocka_unit_test(test_hdr_add_begins_a_block_and_goes_on_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
