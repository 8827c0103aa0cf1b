/* SPDX-License-Identifier: Apache-2.0 */
#include "api/match.h"

#include <string.h>

bool
match_glob(const char *pattern, const char *text)
{
    const char *star = NULL;
    const char *from = NULL; /* of the text, where the last star's run ends for now */
    while (*text != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

static bool
is_token(const char *s, size_t n, char c)
{
    return n == 1 && *s == c;
}

bool
match_subject(const char *pattern, const char *subject)
{
    for (;;) {
        size_t p = strcspn(pattern, ".");
        size_t s = strcspn(subject, ".");
        if (is_token(pattern, p, '>') && pattern[p] == '\0') {
            return s > 0;
        }
        if (!is_token(pattern, p, '*') && (p != s || memcmp(pattern, subject, p) != 0)) {
            return false;
        }
        if (pattern[p] == '\0' || subject[s] == '\0') {
            return pattern[p] == subject[s];
        }
        pattern += p + 1;
        subject += s + 1;
    }
}

bool
match_is_subject(const char *pattern)
{
    if (strpbrk(pattern, " \t\r\n\f") != NULL) {
        return false;
    }
    for (;;) {
        size_t n = strcspn(pattern, ".");
        if (n == 0 || (is_token(pattern, n, '>') && pattern[n] != '\0')) {
            return false;
        }
        if (pattern[n] == '\0') {
            return true;
        }
        pattern += n + 1;
    }
}
