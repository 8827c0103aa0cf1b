/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/text.h"

#include <string.h>

char *
text_put(char *at, const char *text, size_t most)
{
    size_t n = strnlen(text, most);
    memcpy(at, text, n);
    return at + n;
}

char *
text_put_u64(char *at, uint64_t v)
{
    char digits[TEXT_U64];
    char *from = digits + sizeof digits;
    do {
        *--from = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    size_t n = (size_t)(digits + sizeof digits - from);
    memcpy(at, from, n);
    return at + n;
}
