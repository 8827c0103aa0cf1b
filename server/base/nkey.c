/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/nkey.h"

#include <sodium.h>
#include <stdint.h>
#include <string.h>

enum { KEY_BYTES = 32, RAW_BYTES = 1 + KEY_BYTES + 2 };

static uint16_t
crc16(const unsigned char *data, size_t n)
{
    uint16_t crc = 0;
    for (size_t i = 0; i < n; i++) {
        crc = (uint16_t)(crc ^ (data[i] << 8));
        for (int bit = 0; bit < 8; bit++) {
            crc = (uint16_t)((crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1);
        }
    }
    return crc;
}

/* 35 bytes are 280 bits: exactly 56 digits, so no padding. */
static void
base32(const unsigned char *raw, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    uint32_t bits = 0;
    int n = 0;
    for (size_t i = 0; i < RAW_BYTES; i++) {
        bits = (bits << 8) | raw[i];
        n += 8;
        while (n >= 5) {
            n -= 5;
            *out++ = digits[(bits >> n) & 31];
        }
    }
    *out = '\0';
}

void
nkey_new_public(enum nkey_kind kind, char out[NKEY_TEXT])
{
    unsigned char raw[RAW_BYTES];
    unsigned char secret[crypto_sign_SECRETKEYBYTES];
    raw[0] = (unsigned char)kind;
    if (kind == NKEY_CURVE) {
        crypto_box_keypair(raw + 1, secret);
    } else {
        crypto_sign_keypair(raw + 1, secret);
    }
    sodium_memzero(secret, sizeof secret);
    uint16_t crc = crc16(raw, 1 + KEY_BYTES);
    raw[1 + KEY_BYTES] = (unsigned char)(crc & 0xff);
    raw[2 + KEY_BYTES] = (unsigned char)(crc >> 8);
    base32(raw, out);
}
