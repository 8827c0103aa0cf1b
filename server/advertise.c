/* SPDX-License-Identifier: Apache-2.0 */
#include "server/advertise.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where host and port are in the text. */
struct split {
    const char *host; /* borrowed: of the text */
    size_t host_len;
    const char *port; /* borrowed: of the text; NULL: none is given */
};

static enum status
complain(struct advertise *out, const char *text, const char *what)
{
    snprintf(out->why, sizeof out->why, "address %.256s: %s", text, what);
    return ST_INVAL;
}

static enum status
split_bracketed(const char *text, struct split *s, struct advertise *out)
{
    const char *end = strchr(text, ']');
    if (end == NULL) {
        return complain(out, text, "missing ']' in address");
    }
    s->host = text + 1;
    s->host_len = (size_t)(end - s->host);
    if (end[1] == ':' && strchr(end + 2, ':') == NULL) {
        s->port = end + 2;
    } else if (end[1] != '\0') {
        return complain(out, text, "too many colons in address");
    }
    return ST_OK;
}

static enum status
split(const char *text, struct split *s, struct advertise *out)
{
    *s = (struct split){.host = text};
    if (text[0] == '[') {
        return split_bracketed(text, s, out);
    }
    const char *colon = strchr(text, ':');
    if (colon != NULL && strchr(colon + 1, ':') != NULL) {
        return complain(out, text, "too many colons in address");
    }
    if (strpbrk(text, "[]") != NULL) {
        return complain(out, text,
                        strchr(text, '[') != NULL ? "unexpected '[' in address"
                                                  : "unexpected ']' in address");
    }
    s->host_len = colon != NULL ? (size_t)(colon - text) : strlen(text);
    s->port = colon != NULL ? colon + 1 : NULL;
    return ST_OK;
}

static bool
is_space(char ch)
{
    return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

static void
trim(const char **s, size_t *n)
{
    while (*n > 0 && is_space(**s)) {
        (*s)++;
        (*n)--;
    }
    while (*n > 0 && is_space((*s)[*n - 1])) {
        (*n)--;
    }
}

static enum status
to_port(const char *s, size_t n, struct advertise *out)
{
    char digits[64];
    char *end = digits;
    snprintf(digits, sizeof digits, "%.*s", (int)n, s);
    errno = 0;
    long v = strtol(digits, &end, 10);
    bool whole = n > 0 && n < sizeof digits && *end == '\0' && !is_space(digits[0]);
    if (!whole || errno == ERANGE || v > INT_MAX || v < INT_MIN) {
        snprintf(out->why, sizeof out->why, "strconv.Atoi: parsing \"%.*s\": %s",
                 (int)(n < 256 ? n : 256), s, whole ? "value out of range" : "invalid syntax");
        return ST_INVAL;
    }
    out->port = (int)v;
    return ST_OK;
}

enum status
advertise_parse(const char *text, int default_port, struct advertise *out)
{
    struct split s;
    *out = (struct advertise){.port = default_port};
    enum status st = split(text, &s, out);
    if (st != ST_OK) {
        return st;
    }
    trim(&s.host, &s.host_len);
    if (s.host_len >= sizeof out->host) {
        return complain(out, text, "too long");
    }
    memcpy(out->host, s.host, s.host_len);
    if (s.port == NULL) {
        return ST_OK;
    }
    size_t n = strlen(s.port);
    trim(&s.port, &n);
    st = to_port(s.port, n, out);
    if (out->port == 0 || out->port == -1) {
        out->port = default_port;
    }
    return st;
}
