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

/* True at the end of a token. */
static bool
is_end(char c)
{
    return c == '.' || c == '\0';
}

bool
match_subject(const char *pattern, const char *subject)
{
    for (;;) {
        if (pattern[0] == '>' && pattern[1] == '\0') {
            return *subject != '\0';
        }
        if (pattern[0] == '*' && is_end(pattern[1])) {
            pattern++;
            subject += strcspn(subject, ".");
        } else {
            while (*pattern == *subject && !is_end(*pattern)) {
                pattern++;
                subject++;
            }
            if (!is_end(*pattern) || !is_end(*subject)) {
                return false;
            }
        }
        if (*pattern == '\0' || *subject == '\0') {
            return *pattern == *subject;
        }
        pattern++;
        subject++;
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
