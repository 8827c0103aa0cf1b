/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects: two patterns of the input, separated by a LF, are put side by side on what every
 * subject of a small alphabet does with them. */
#include "server/base/subject.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_TOKENS = 5, ALPHABET = 3, MAX_SUBJECT = 2 * MAX_TOKENS };

static void
require(bool cond)
{
    if (!cond) {
        abort();
    }
}

/* What a, b, c and wildcards there are in the bytes, dots between them. */
static size_t
make_pattern(const uint8_t *data, size_t size, char out[MAX_SUBJECT])
{
    static const char tokens[] = "abc*>ab*";
    size_t n = 0;
    for (size_t i = 0; i < size && i < MAX_TOKENS - 1; i++) {
        if (n > 0) {
            out[n++] = '.';
        }
        out[n++] = tokens[data[i] % (sizeof tokens - 1)];
        if (out[n - 1] == '>') {
            break;
        }
    }
    return n;
}

static bool
matches(const char *p, size_t pn, const char *s, size_t n)
{
    for (size_t i = 0;; i += 2) {
        if (i >= pn || i >= n) {
            return pn == n;
        }
        if (p[i] == '>') {
            return true;
        }
        if (p[i] != '*' && p[i] != s[i]) {
            return false;
        }
    }
}

/* All subjects of one to MAX_TOKENS tokens: the i-th of them. */
static size_t
make_subject(unsigned i, size_t tokens, char out[MAX_SUBJECT])
{
    for (size_t t = 0; t < tokens; t++) {
        out[2 * t] = (char)('a' + i % ALPHABET);
        out[2 * t + 1] = '.';
        i /= ALPHABET;
    }
    return 2 * tokens - 1;
}

static void
compare(const char *a, size_t an, const char *b, size_t bn)
{
    bool inside = true;
    bool overlaps = false;
    unsigned count = 1;
    for (size_t tokens = 1; tokens <= MAX_TOKENS; tokens++) {
        count *= ALPHABET;
        for (unsigned i = 0; i < count; i++) {
            char s[MAX_SUBJECT];
            size_t n = make_subject(i, tokens, s);
            bool in_a = matches(a, an, s, n);
            bool in_b = matches(b, bn, s, n);
            require(subject_is_inside(s, n, a, an) == in_a);
            inside = inside && (!in_a || in_b);
            overlaps = overlaps || (in_a && in_b);
        }
    }
    require(subject_is_inside(a, an, b, bn) == inside);
    require(subject_overlaps(a, an, b, bn) == overlaps &&
            subject_overlaps(b, bn, a, an) == overlaps);
}

/* Arbitrary bytes: only that the answers agree with each other. */
static void
check_raw(const char *s, size_t n)
{
    bool valid = subject_is_valid(s, n);
    bool literal = subject_is_literal(s, n);
    require(!literal || valid);
    require(!valid || literal != subject_has_wildcard(s, n));
    require(!valid || subject_is_inside(s, n, s, n));
    require(!valid || subject_is_inside(s, n, ">", 1));
    require(subject_count_tokens(s, n) >= 1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *cut = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t first = cut != NULL ? (size_t)(cut - data) : size;
    char a[MAX_SUBJECT];
    char b[MAX_SUBJECT];
    size_t an = make_pattern(data, first, a);
    size_t bn = cut != NULL ? make_pattern(cut + 1, size - first - 1, b) : 0;
    if (an > 0 && bn > 0) {
        compare(a, an, b, bn);
    }
    check_raw((const char *)data, first);
    return 0;
}
