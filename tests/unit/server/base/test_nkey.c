/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdint.h>
#include <string.h>

#include "server/base/nkey.h"

/* The 35 bytes behind 56 base32 digits. */
static void
decode(const char *text, unsigned char raw[35])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    uint32_t bits = 0;
    int n = 0;
    size_t at = 0;
    for (; *text != '\0'; text++) {
        const char *d = strchr(digits, *text);
        assert_non_null(d);
        bits = (bits << 5) | (uint32_t)(d - digits);
        n += 5;
        if (n >= 8) {
            n -= 8;
            raw[at++] = (unsigned char)(bits >> n);
        }
    }
    assert_int_equal(at, 35);
}

/* CRC-16/XMODEM of data with its own checksum behind it, high byte first, is 0. */
static uint16_t
crc_of(const unsigned char *data, size_t n)
{
    uint16_t crc = 0;
    for (size_t i = 0; i < n; i++) {
        for (int bit = 7; bit >= 0; bit--) {
            unsigned in = (unsigned)(data[i] >> bit) & 1;
            unsigned top = (unsigned)(crc >> 15) & 1;
            crc = (uint16_t)(crc << 1);
            if ((in ^ top) != 0) {
                crc ^= 0x1021;
            }
        }
    }
    return crc;
}

static void
check(enum nkey_kind kind, char first)
{
    char text[NKEY_TEXT];
    char other[NKEY_TEXT];
    unsigned char raw[35] = {0};
    nkey_new_public(kind, text);
    assert_int_equal(strlen(text), 56);
    assert_int_equal(text[0], first);
    decode(text, raw);
    assert_int_equal(raw[0], kind);
    unsigned char low = raw[33]; /* it stands there low byte first */
    raw[33] = raw[34];
    raw[34] = low;
    assert_int_equal(crc_of(raw, 35), 0);
    nkey_new_public(kind, other);
    assert_string_not_equal(text, other);
}

static void
test_nkey_of_a_server_is_well_formed_and_new_each_time(void **state)
{
    (void)state;
    check(NKEY_SERVER, 'N');
}

static void
test_nkey_of_a_curve_is_well_formed_and_new_each_time(void **state)
{
    (void)state;
    check(NKEY_CURVE, 'X');
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nkey_of_a_server_is_well_formed_and_new_each_time),
        cmocka_unit_test(test_nkey_of_a_curve_is_well_formed_and_new_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
