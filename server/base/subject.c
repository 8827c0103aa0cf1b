/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/subject.h"

enum token_kind { TOKEN_LITERAL, TOKEN_ONE, TOKEN_REST };

struct cursor {
    const char *s; /* borrowed for the call */
    size_t n;
    size_t at; /* n + 1: behind the last token */
};

struct token {
    const char *s; /* borrowed for the call */
    size_t n;
    enum token_kind kind;
};

static enum token_kind
kind_of(const char *s, size_t n)
{
    if (n == 1 && s[0] == '*') {
        return TOKEN_ONE;
    }
    return n == 1 && s[0] == '>' ? TOKEN_REST : TOKEN_LITERAL;
}

static bool
next_token(struct cursor *c, struct token *t)
{
    if (c->at > c->n) {
        return false;
    }
    t->s = c->s + c->at;
    t->n = subject_token_len(c->s, c->n, c->at);
    t->kind = kind_of(t->s, t->n);
    c->at += t->n + 1;
    return true;
}

static bool
is_space(char ch)
{
    return ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r' || ch == '\f';
}

static bool
is_valid(const char *s, size_t n, bool wildcards)
{
    struct cursor c = {s, n, 0};
    struct token t;
    bool rest = false;
    if (n == 0) {
        return false;
    }
    while (next_token(&c, &t)) {
        if (t.n == 0 || rest || (t.kind != TOKEN_LITERAL && !wildcards)) {
            return false;
        }
        rest = t.kind == TOKEN_REST;
        for (size_t i = 0; i < t.n; i++) {
            if (is_space(t.s[i])) {
                return false;
            }
        }
    }
    return true;
}

bool
subject_is_valid(const char *s, size_t n)
{
    return is_valid(s, n, true);
}

bool
subject_is_literal(const char *s, size_t n)
{
    return is_valid(s, n, false);
}

bool
subject_has_wildcard(const char *s, size_t n)
{
    if (memchr(s, '*', n) == NULL && (n == 0 || s[n - 1] != '>')) {
        return false;
    }
    struct cursor c = {s, n, 0};
    struct token t;
    while (next_token(&c, &t)) {
        if (t.kind == TOKEN_ONE || (t.kind == TOKEN_REST && c.at > c.n)) {
            return true;
        }
    }
    return false;
}

static bool
same(const struct token *a, const struct token *b)
{
    return a->n == b->n && memcmp(a->s, b->s, a->n) == 0;
}

bool
subject_is_inside(const char *sub, size_t n, const char *pattern, size_t pn)
{
    struct cursor cs = {sub, n, 0};
    struct cursor cp = {pattern, pn, 0};
    struct token ts;
    struct token tp;
    while (next_token(&cp, &tp)) {
        if (!next_token(&cs, &ts)) {
            return false;
        }
        if (tp.kind == TOKEN_REST) {
            return true;
        }
        if (ts.kind == TOKEN_REST || (tp.kind == TOKEN_LITERAL && !same(&ts, &tp))) {
            return false;
        }
    }
    return !next_token(&cs, &ts);
}

bool
subject_overlaps(const char *a, size_t an, const char *b, size_t bn)
{
    struct cursor ca = {a, an, 0};
    struct cursor cb = {b, bn, 0};
    struct token ta;
    struct token tb;
    for (;;) {
        bool more_a = next_token(&ca, &ta);
        bool more_b = next_token(&cb, &tb);
        if (!more_a || !more_b) {
            return more_a == more_b;
        }
        if (ta.kind == TOKEN_REST || tb.kind == TOKEN_REST) {
            return true;
        }
        if (ta.kind == TOKEN_LITERAL && tb.kind == TOKEN_LITERAL && !same(&ta, &tb)) {
            return false;
        }
    }
}

size_t
subject_count_tokens(const char *s, size_t n)
{
    size_t count = 1;
    for (size_t i = 0; i < n; i++) {
        count += s[i] == '.';
    }
    return count;
}
