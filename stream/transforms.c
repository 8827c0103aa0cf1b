/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/transforms.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/mem.h"
#include "server/base/subject.h"

enum part_kind {
    PART_TEXT,
    PART_PARTITION,
    PART_WILDCARD,
    PART_SPLIT_LEFT,
    PART_SPLIT_RIGHT,
    PART_SLICE_LEFT,
    PART_SLICE_RIGHT,
    PART_SPLIT,
    PART_LEFT,
    PART_RIGHT,
    PART_RANDOM
};

enum { MAX_ARGS = 16 };

/* One token of the destination. */
struct part {
    enum part_kind kind;
    char *text; /* owned: the token, or the delimiter of a split */
    unsigned at[MAX_ARGS];
    unsigned n_at; /* source tokens, from 0 */
    int num;
};

struct transform {
    char *src, *dest; /* owned */
    struct part *parts;
    size_t n_parts;
    size_t src_tokens;
    bool identity;
};

#define BAD "invalid mapping destination"

static enum status
fail(char *err, const char *text, const char *token, size_t n)
{
    if (n > 0) {
        snprintf(err, TRANSFORM_ERR_LEN, "%s in %.*s", text, (int)n, token);
    } else {
        snprintf(err, TRANSFORM_ERR_LEN, "%s", text);
    }
    return ST_SYNTAX;
}

#define BAD_UNKNOWN BAD ": unknown function"
#define BAD_RANGE   BAD ": wildcard index out of range"
#define BAD_FEW     BAD ": not enough arguments passed to the function"
#define BAD_ARG     BAD ": function argument is invalid or in the wrong format"
#define BAD_MANY    BAD ": too many arguments passed to the function"
#define BAD_SHAPE   BAD ": invalid transform"
#define BAD_SUBJECT "invalid subject"

/* ---- parsing one token ---- */

struct call {
    enum part_kind kind;
    const char *arg[MAX_ARGS + 2]; /* borrowed from the token */
    size_t len[MAX_ARGS + 2];
    size_t n;
};

static const struct {
    const char *name; /* in small letters; the first of each word may be large */
    enum part_kind kind;
} functions[] = {{"partition", PART_PARTITION},
                 {"wildcard", PART_WILDCARD},
                 {"splitfromleft", PART_SPLIT_LEFT},
                 {"splitfromright", PART_SPLIT_RIGHT},
                 {"slicefromleft", PART_SLICE_LEFT},
                 {"slicefromright", PART_SLICE_RIGHT},
                 {"split", PART_SPLIT},
                 {"left", PART_LEFT},
                 {"right", PART_RIGHT},
                 {"random", PART_RANDOM}};

static bool
is_function(const char *t, size_t n)
{
    return n > 4 && memcmp(t, "{{", 2) == 0 && memcmp(t + n - 2, "}}", 2) == 0;
}

/* "{{ name ( a, b ) }}" */
static bool
parse_call(const char *t, size_t n, struct call *c)
{
    const char *p = t + 2, *end = t + n - 2;
    while (p < end && *p == ' ') {
        p++;
    }
    const char *name = p;
    while (p < end && isalpha((unsigned char)*p)) {
        p++;
    }
    size_t nlen = (size_t)(p - name);
    while (p < end && *p == ' ') {
        p++;
    }
    while (end > p && end[-1] == ' ') {
        end--;
    }
    if (p >= end || *p != '(' || end[-1] != ')') {
        return false;
    }
    bool known = false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && !known; i++) {
        known =
            strlen(functions[i].name) == nlen && strncasecmp(functions[i].name, name, nlen) == 0;
        c->kind = functions[i].kind;
    }
    c->n = 0;
    p++;
    end--;
    while (known && c->n < MAX_ARGS + 2) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *stop = comma != NULL ? comma : end;
        c->arg[c->n] = p;
        c->len[c->n++] = (size_t)(stop - p);
        if (comma == NULL) {
            break;
        }
        p = comma + 1;
        while (p < end && *p == ' ') {
            p++;
        }
    }
    return known;
}

static bool
parse_int(const char *s, size_t n, int *out)
{
    char buf[16], *end;
    while (n > 0 && *s == ' ') {
        s++;
        n--;
    }
    while (n > 0 && s[n - 1] == ' ') {
        n--;
    }
    if (n == 0 || n >= sizeof buf) {
        return false;
    }
    memcpy(buf, s, n);
    buf[n] = '\0';
    long v = strtol(buf, &end, 10);
    if (*end != '\0' || isspace((unsigned char)buf[0]) || v > INT32_MAX || v < INT32_MIN) {
        return false;
    }
    *out = (int)v;
    return true;
}

/* Wildcard numbers become places in the source later: at[] counts from 1 here. */
static enum status
read_call(const char *t, size_t n, const struct call *c, struct part *p, char *err)
{
    int v;
    bool first_is_number = c->kind == PART_PARTITION || c->kind == PART_RANDOM;
    size_t want = c->kind == PART_WILDCARD || c->kind == PART_RANDOM ? 1 : 2;
    if (c->kind != PART_PARTITION) {
        if (c->n < want || (c->n == 1 && c->len[0] == 0)) {
            return fail(err, BAD_FEW, t, n);
        }
        if (c->n > want) {
            return fail(err, c->kind == PART_RANDOM ? BAD_FEW : BAD_MANY, t, n);
        }
    }
    if (!parse_int(c->arg[0], c->len[0], &v) || c->n > MAX_ARGS) {
        return fail(err, BAD_ARG, t, n);
    }
    p->kind = c->kind;
    if (first_is_number) {
        p->num = v;
    } else {
        p->at[p->n_at++] = (unsigned)v;
    }
    if (c->kind == PART_SPLIT) {
        if (memchr(c->arg[1], ' ', c->len[1]) != NULL) {
            return fail(err, BAD_ARG, t, n);
        }
        p->text = mem_strndup(c->arg[1], c->len[1]);
        return p->text != NULL ? ST_OK : ST_NOMEM;
    }
    for (size_t i = 1; i < c->n; i++) {
        if (!parse_int(c->arg[i], c->len[i], &v)) {
            return fail(err, BAD_ARG, t, n);
        }
        if (c->kind == PART_PARTITION) {
            p->at[p->n_at++] = (unsigned)v;
        } else {
            p->num = v;
        }
    }
    return ST_OK;
}

static enum status
read_token(const char *t, size_t n, struct part *p, char *err)
{
    int v;
    struct call c;
    if (n > 1 && t[0] == '$' && parse_int(t + 1, n - 1, &v)) {
        p->kind = PART_WILDCARD;
        p->at[p->n_at++] = (unsigned)v;
        return ST_OK;
    }
    if (is_function(t, n)) {
        return parse_call(t, n, &c) ? read_call(t, n, &c, p, err) : fail(err, BAD_UNKNOWN, t, n);
    }
    p->text = mem_strndup(t, n);
    return p->text != NULL ? ST_OK : ST_NOMEM;
}

/* ---- making one ---- */

struct shape {
    bool valid, rest;
    size_t tokens, stars;
};

/* Tokens are only split here: a destination has blanks within its functions. */
static struct shape
shape_of(const char *s)
{
    struct shape sh = {.valid = *s != '\0'};
    size_t n = strlen(s);
    for (size_t at = 0; at <= n && sh.valid;) {
        size_t len = subject_token_len(s, n, at);
        if (len == 0 || sh.rest) {
            sh.valid = false;
        } else if (len == 1 && s[at] == '>') {
            sh.rest = true;
        } else if (len == 1 && s[at] == '*') {
            sh.stars++;
        }
        sh.tokens++;
        at += len + 1;
    }
    return sh;
}

/* The place of the k-th (from 1) star of the source. */
static bool
star_at(const char *src, unsigned k, unsigned *out)
{
    size_t n = strlen(src);
    unsigned token = 0, seen = 0;
    for (size_t at = 0; at <= n; token++) {
        size_t len = subject_token_len(src, n, at);
        if (len == 1 && src[at] == '*' && ++seen == k) {
            *out = token;
            return true;
        }
        at += len + 1;
    }
    return false;
}

static enum status
resolve(struct transform *t, struct part *p, const struct shape *src, const char *tok, size_t n,
        char *err)
{
    if (src->stars == 0 && !src->rest) {
        if (p->kind == PART_TEXT || p->kind == PART_RANDOM || p->kind == PART_PARTITION) {
            p->n_at = 0;
            return ST_OK;
        }
        return fail(err, BAD_RANGE, tok, n);
    }
    for (unsigned i = 0; i < p->n_at; i++) {
        unsigned k = p->at[i];
        if (k > src->stars || k > INT32_MAX) {
            char what[160];
            snprintf(what, sizeof what, "%.*s: [%d]", (int)(n < 100 ? n : 100), tok, (int)k);
            return fail(err, BAD_RANGE, what, strlen(what));
        }
        if (!star_at(t->src, k, &p->at[i])) {
            p->at[i] = 0;
        }
    }
    return ST_OK;
}

enum status
transform_new(struct transform **out, const char *src, const char *dest,
              char err[TRANSFORM_ERR_LEN])
{
    *out = NULL;
    if (dest == NULL || *dest == '\0') {
        return ST_OK;
    }
    if (src == NULL || *src == '\0') {
        src = ">";
    }
    struct shape s = shape_of(src), d = shape_of(dest);
    if (!s.valid || !d.valid || d.stars > 0 || s.rest != d.rest) {
        return fail(err, BAD_SUBJECT, "", 0);
    }
    struct transform *t = mem_alloc(sizeof *t);
    if (t == NULL) {
        return ST_NOMEM;
    }
    enum status st = ST_NOMEM;
    t->src = mem_strdup(src);
    t->dest = mem_strdup(dest);
    t->parts = mem_alloc_array(d.tokens, sizeof *t->parts);
    t->src_tokens = s.tokens;
    t->identity = strcmp(src, ">") == 0 && strcmp(dest, ">") == 0;
    size_t n = strlen(dest);
    bool ok = t->src != NULL && t->dest != NULL && t->parts != NULL;
    for (size_t at = 0; ok && at <= n;) {
        size_t len = subject_token_len(dest, n, at);
        struct part *p = &t->parts[t->n_parts++];
        st = read_token(dest + at, len, p, err);
        if (st == ST_OK) {
            st = resolve(t, p, &s, dest + at, len, err);
        }
        ok = st == ST_OK;
        at += len + 1;
    }
    if (!ok) {
        transform_free(t);
        return st;
    }
    *out = t;
    return ST_OK;
}

void
transform_free(struct transform *t)
{
    if (t == NULL) {
        return;
    }
    for (size_t i = 0; t->parts != NULL && i < t->n_parts; i++) {
        mem_free(t->parts[i].text);
    }
    mem_free(t->parts);
    mem_free(t->src);
    mem_free(t->dest);
    mem_free(t);
}

enum status
transform_check(const char *src, const char *dest, char err[TRANSFORM_ERR_LEN])
{
    if (dest == NULL || *dest == '\0') {
        return ST_OK;
    }
    size_t n = strlen(dest);
    bool rest = false;
    for (size_t at = 0; at <= n;) {
        size_t len = subject_token_len(dest, n, at);
        const char *t = dest + at;
        struct call c;
        at += len + 1;
        if (len == 0 || rest) {
            return fail(err, BAD_SHAPE, t, len);
        }
        if (is_function(t, len)) {
            if (!parse_call(t, len, &c)) {
                return fail(err, BAD_UNKNOWN, t, len);
            }
            continue;
        }
        rest = len == 1 && *t == '>';
        for (size_t i = 0; i < len; i++) {
            if (strchr("\t\n\f\r ", t[i]) != NULL) {
                return fail(err, BAD_SHAPE, "", 0);
            }
        }
    }
    struct transform *made;
    enum status st = transform_new(&made, src, dest, err);
    if (st == ST_OK) {
        transform_free(made);
    }
    return st;
}

/* ---- use ---- */

bool
transform_matches(const struct transform *t, const char *subject, size_t len)
{
    return t->identity || (subject_is_literal(subject, len) &&
                           subject_is_inside(subject, len, t->src, strlen(t->src)));
}

static const char *
token(const char *s, size_t n, unsigned k, size_t *len)
{
    size_t at = 0;
    for (unsigned i = 0; i < k; i++) {
        at += subject_token_len(s, n, at) + 1;
        if (at > n) {
            *len = 0;
            return "";
        }
    }
    *len = subject_token_len(s, n, at);
    return s + at;
}

static uint32_t
fnv1a(uint32_t h, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        h = (h ^ (unsigned char)s[i]) * 16777619U;
    }
    return h;
}

static void
put_partition(const struct part *p, const char *s, size_t n, struct buf *out)
{
    uint32_t h = 2166136261U;
    for (unsigned i = 0; i < p->n_at; i++) {
        size_t len;
        const char *t = token(s, n, p->at[i], &len);
        h = fnv1a(h, t, len);
    }
    if (p->n_at == 0) {
        h = fnv1a(h, s, n);
    }
    buf_printf(out, "%u", p->num == 0 ? 0 : h % (uint32_t)p->num);
}

static void
put_cut(const char *t, size_t len, size_t at, struct buf *out)
{
    buf_append(out, t, at);
    buf_putc(out, '.');
    buf_append(out, t + at, len - at);
}

static void
put_slices(const char *t, size_t len, size_t first, size_t size, struct buf *out)
{
    for (size_t at = 0; at < len;) {
        size_t take = at == 0 && first > 0 ? first : size;
        take = take < len - at ? take : len - at;
        if (at > 0) {
            buf_putc(out, '.');
        }
        buf_append(out, t + at, take);
        at += take;
    }
}

static void
put_split(const struct part *p, const char *t, size_t len, struct buf *out)
{
    size_t dlen = strlen(p->text);
    bool any = false;
    size_t from = 0;
    while (from <= len && dlen > 0) {
        const char *hit = memmem(t + from, len - from, p->text, dlen);
        size_t end = hit != NULL ? (size_t)(hit - t) : len;
        if (end > from) {
            if (any) {
                buf_putc(out, '.');
            }
            buf_append(out, t + from, end - from);
            any = true;
        }
        if (hit == NULL) {
            break;
        }
        from = end + dlen;
    }
}

static void
put_part(const struct part *p, const char *s, size_t n, struct buf *out)
{
    size_t len;
    const char *t = token(s, n, p->n_at > 0 ? p->at[0] : 0, &len);
    size_t num = p->num > 0 ? (size_t)p->num : 0;
    bool fits = num > 0 && num < len;
    switch (p->kind) {
    case PART_TEXT:
        buf_puts(out, p->text);
        break;
    case PART_PARTITION:
        put_partition(p, s, n, out);
        break;
    case PART_RANDOM:
        buf_printf(out, "%ld", p->num > 0 ? (long)arc4random_uniform((uint32_t)p->num) : 0);
        break;
    case PART_SPLIT:
        put_split(p, t, len, out);
        break;
    case PART_SPLIT_LEFT:
    case PART_SPLIT_RIGHT:
        if (fits) {
            put_cut(t, len, p->kind == PART_SPLIT_LEFT ? num : len - num, out);
        } else {
            buf_append(out, t, len);
        }
        break;
    case PART_SLICE_LEFT:
    case PART_SLICE_RIGHT:
        put_slices(t, len, p->kind == PART_SLICE_RIGHT && fits ? len % num : 0, fits ? num : len,
                   out);
        break;
    case PART_LEFT:
        buf_append(out, t, fits ? num : len);
        break;
    case PART_RIGHT:
        buf_append(out, fits ? t + len - num : t, fits ? num : len);
        break;
    case PART_WILDCARD:
    default:
        buf_append(out, t, len);
        break;
    }
}

void
transform_apply(const struct transform *t, const char *subject, size_t len, struct buf *out)
{
    if (t->identity) {
        buf_append(out, subject, len);
        return;
    }
    for (size_t i = 0; i < t->n_parts; i++) {
        const struct part *p = &t->parts[i];
        if (i > 0) {
            buf_putc(out, '.');
        }
        if (p->kind == PART_TEXT && strcmp(p->text, ">") == 0) {
            size_t rest;
            const char *from = token(subject, len, (unsigned)t->src_tokens - 1, &rest);
            buf_append(out, from, len - (size_t)(from - subject));
        } else {
            put_part(p, subject, len, out);
        }
    }
}
