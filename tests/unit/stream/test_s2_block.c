/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/s2_block.h"

#include "tests/support/cmk.h"

#include <string.h>

#define READ(out, bytes) s2_block_read((out), (bytes), sizeof(bytes) - 1)

static void
check(const void *block, size_t len, const char *content)
{
    struct buf out;
    buf_init(&out);
    buf_puts(&out, "before");
    assert_int_equal(s2_block_read(&out, block, len), ST_OK);
    assert_int_equal(out.len, strlen("before") + strlen(content));
    assert_memory_equal(out.data + strlen("before"), content, strlen(content));
    buf_fini(&out);
}

#define CHECK(bytes, content) check((bytes), sizeof(bytes) - 1, (content))

static void
test_s2_block_knows_every_element(void **state)
{
    (void)state;
    CHECK("\x00", "");
    CHECK("\x03\x08"
          "abc",
          "abc");
    CHECK("\x03\xf0\x02"
          "abc",
          "abc");
    CHECK("\x03\xf4\x02\x00"
          "abc",
          "abc");
    CHECK("\x03\xf8\x02\x00\x00"
          "abc",
          "abc");
    CHECK("\x03\xfc\x02\x00\x00\x00"
          "abc",
          "abc");
    CHECK("\x09\x08"
          "abc\x09\x03",
          "abcabcabc"); /* 6 from 3 back */
    CHECK("\x06\x08"
          "abc\x0a\x03\x00",
          "abcabc"); /* the same, offset of 2 bytes */
    CHECK("\x06\x08"
          "abc\x0b\x03\x00\x00\x00",
          "abcabc"); /* of 4 bytes */
}

/* "x", a copy of it, and a repetition that ends in `tail`: all is x. */
static void
check_repeat(const char *tail, size_t tail_len, size_t repeated)
{
    char block[32];
    struct buf out;
    size_t size = 5 + repeated, n = 0;
    buf_init(&out);
    for (size_t v = size; v > 0; v >>= 7) {
        block[n++] = (char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
    }
    memcpy(block + n, "\x00x\x01\x01", 4);
    memcpy(block + n + 4, tail, tail_len);
    assert_int_equal(s2_block_read(&out, block, n + 4 + tail_len), ST_OK);
    assert_int_equal(out.len, size);
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(out.data[i], 'x');
    }
    buf_fini(&out);
}

static void
test_s2_block_repeats_the_last_offset(void **state)
{
    (void)state;
    CHECK("\x0a\x08"
          "abc\x0a\x03\x00\x01\x00",
          "abcabcabca");
    check_repeat("\x11\x00", 2, 8);
    check_repeat("\x15\x00\x02", 3, 10);
    check_repeat("\x19\x00\x03\x01", 4, 4 + 256 + 259);
    check_repeat("\x1d\x00\x01\x00\x01", 5, 4 + 65536 + 65537);
}

static void
test_s2_block_damage_is_seen(void **state)
{
    struct buf out;
    (void)state;
    buf_init(&out);
    assert_int_equal(READ(&out, ""), ST_SYNTAX);
    assert_int_equal(READ(&out, "\x80"), ST_SYNTAX);
    assert_int_equal(READ(&out, "\xff\xff\xff\xff\x7f"), ST_SYNTAX);
    assert_int_equal(READ(&out, "\x00\x00"), ST_SYNTAX);
    assert_int_equal(READ(&out, "\x03\x08"
                                "ab"),
                     ST_SYNTAX);
    assert_int_equal(READ(&out, "\x02\x08"
                                "abc"),
                     ST_SYNTAX);
    assert_int_equal(READ(&out, "\x04\x08"
                                "abc"),
                     ST_SYNTAX);
    assert_int_equal(READ(&out, "\x03\xfc\xff\xff\xff\xff"
                                "abc"),
                     ST_SYNTAX);
    assert_int_equal(READ(&out, "\x03\xf4\x02"), ST_SYNTAX);
    assert_int_equal(READ(&out, "\x09\x08"
                                "abc\x09\x04"),
                     ST_SYNTAX); /* before the beginning */
    assert_int_equal(READ(&out, "\x08\x08"
                                "abc\x09\x03"),
                     ST_SYNTAX); /* too long */
    assert_int_equal(READ(&out, "\x09\x08"
                                "abc\x09"),
                     ST_SYNTAX);
    assert_int_equal(READ(&out, "\x09\x08"
                                "abc\x01\x00"),
                     ST_SYNTAX); /* nothing to repeat */
    assert_int_equal(READ(&out, "\x09\x08"
                                "abc\x0a\x00\x00"),
                     ST_SYNTAX);
    assert_int_equal(READ(&out, "\x03\x08"
                                "abc\x09"),
                     ST_SYNTAX);
    assert_int_equal(out.len, 0);
    buf_fini(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_s2_block_knows_every_element),
        cmocka_unit_test(test_s2_block_repeats_the_last_offset),
        cmocka_unit_test(test_s2_block_damage_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
