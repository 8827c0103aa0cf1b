/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/decimal.h"

#include <string.h>

struct number {
    const char *digits; /* borrowed; no leading zeros */
    size_t n;
    bool negative;
};

static bool
read_number(const char *s, size_t n, struct number *out)
{
    size_t at = n > 0 && (*s == '-' || *s == '+') ? 1 : 0;
    out->negative = n > 0 && *s == '-';
    if (at == n) {
        return false;
    }
    for (size_t i = at; i < n; i++) {
        if (s[i] < '0' || s[i] > '9') {
            return false;
        }
    }
    while (at < n && s[at] == '0') {
        at++;
    }
    out->digits = s + at;
    out->n = n - at;
    return true;
}

bool
decimal_is_valid(const char *s, size_t n)
{
    struct number x;
    return read_number(s, n, &x);
}

static int
compare(const struct number *a, const struct number *b)
{
    if (a->n != b->n) {
        return a->n < b->n ? -1 : 1;
    }
    return memcmp(a->digits, b->digits, a->n);
}

/* The k-th digit from the right. */
static int
digit(const struct number *x, size_t k)
{
    return k < x->n ? x->digits[x->n - 1 - k] - '0' : 0;
}

/* |a| + sign * |b|, where with sign -1 |a| >= |b|; digits from the right, then turned round. */
static void
combine(struct buf *out, const struct number *a, const struct number *b, int sign)
{
    size_t n = (a->n > b->n ? a->n : b->n) + 1;
    int carry = 0;
    for (size_t k = 0; k < n; k++) {
        int d = digit(a, k) + sign * digit(b, k) + carry;
        carry = d < 0 ? -1 : d / 10;
        buf_putc(out, (char)('0' + (d + 10) % 10));
    }
    while (out->len > 0 && out->data[out->len - 1] == '0') {
        out->len--;
    }
}

void
decimal_add(struct buf *out, const char *a, const char *b, bool negate)
{
    struct number x, y;
    buf_reset(out);
    if (!read_number(a, strlen(a), &x) || !read_number(b, strlen(b), &y)) {
        return;
    }
    y.negative ^= negate;
    bool negative = x.negative;
    if (x.negative == y.negative) {
        combine(out, &x, &y, 1);
    } else if (compare(&x, &y) >= 0) {
        combine(out, &x, &y, -1);
    } else {
        negative = y.negative;
        combine(out, &y, &x, -1);
    }
    if (out->len == 0) {
        negative = false;
        buf_putc(out, '0');
    }
    if (negative) {
        buf_putc(out, '-');
    }
    for (size_t i = 0; !out->failed && i < out->len / 2; i++) {
        char c = out->data[i];
        out->data[i] = out->data[out->len - 1 - i];
        out->data[out->len - 1 - i] = c;
    }
    buf_putc(out, '\0');
    out->len -= out->len > 0 ? 1 : 0;
}
