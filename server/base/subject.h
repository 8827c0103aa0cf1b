/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects as byte ranges. Pure functions, any thread. Tokens are separated by '.'; '*' stands
 * for one token, '>' at the end for one or more. */
#ifndef SERVER_BASE_SUBJECT_H
#define SERVER_BASE_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A subject that can be subscribed to: no empty token, '>' only as the last one, no white space. */
bool subject_is_valid(const char *s, size_t n);

/* A subject that can be published to: valid and without wildcard tokens. */
bool subject_is_literal(const char *s, size_t n);

/* True if one of the tokens is '*' or the last one is '>'. */
bool subject_has_wildcard(const char *s, size_t n);

/* True if every subject that `sub` matches is matched by `pattern` ("a.*" is inside "a.>").
 * A literal sub asks whether it matches. */
bool subject_is_inside(const char *sub, size_t n, const char *pattern, size_t pn);

/* True if some subject is matched by both. */
bool subject_overlaps(const char *a, size_t an, const char *b, size_t bn);

size_t subject_count_tokens(const char *s, size_t n);

/* The length of the token that begins at s[at]. */
static inline size_t
subject_token_len(const char *s, size_t n, size_t at)
{
    const char *dot = memchr(s + at, '.', n - at);
    return dot != NULL ? (size_t)(dot - (s + at)) : n - at;
}

#endif
