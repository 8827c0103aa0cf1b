/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/loadgen/wire.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* No line of a server is longer, except INFO with many connect_urls. */
#define LINE_MAX_LEN (64 * 1024)
#define TOKENS_MAX   5

static bool
span_number(struct span s, size_t *out)
{
    size_t v = 0;
    if (s.n == 0 || s.n > 12) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') {
            return false;
        }
        v = v * 10 + (size_t)(s.p[i] - '0');
    }
    *out = v;
    return true;
}

static size_t
split(const char *p, const char *end, struct span tok[TOKENS_MAX])
{
    size_t n = 0;
    while (p < end && n < TOKENS_MAX) {
        const char *from = p;
        while (p < end && *p != ' ') {
            p++;
        }
        tok[n].p = from;
        tok[n].n = (size_t)(p - from);
        n++;
        while (p < end && *p == ' ') {
            p++;
        }
    }
    return n;
}

/* MSG subject sid [reply] size, HMSG subject sid [reply] header-size size */
static enum status
parse_msg(const char *p, size_t n, size_t line, struct frame *f)
{
    bool with_hdr = p[0] == 'H';
    size_t sizes = with_hdr ? 2 : 1;
    size_t skip = with_hdr ? 5 : 4;
    size_t hdr_len = 0;
    size_t size;
    struct span tok[TOKENS_MAX];
    size_t ntok = split(p + skip, p + line, tok);

    if (ntok < 2 + sizes || ntok > 3 + sizes || !span_number(tok[ntok - 1], &size)) {
        return ST_SYNTAX;
    }
    if (with_hdr && (!span_number(tok[ntok - 2], &hdr_len) || hdr_len > size)) {
        return ST_SYNTAX;
    }
    f->kind = FRAME_MSG;
    f->head = line + 2;
    f->total = f->head + size + 2;
    if (n < f->total) {
        return ST_AGAIN;
    }
    f->subject = tok[0];
    f->reply = (struct span){0};
    if (ntok == 3 + sizes) {
        f->reply = tok[2];
    }
    f->hdr = (struct span){p + f->head, hdr_len};
    f->data = (struct span){p + f->head + hdr_len, size - hdr_len};
    return ST_OK;
}

enum status
wire_next(const char *p, size_t n, struct frame *f)
{
    static const struct {
        const char *word;
        enum frame_kind kind;
    } verbs[] = {
        {"PING", FRAME_PING}, {"PONG", FRAME_PONG}, {"+OK", FRAME_OK},
        {"-ERR", FRAME_ERR},  {"INFO", FRAME_INFO},
    };
    const char *nl = memchr(p, '\n', n);

    if (nl == NULL) {
        return n > LINE_MAX_LEN ? ST_SYNTAX : ST_AGAIN;
    }
    if (nl == p || nl[-1] != '\r') {
        return ST_SYNTAX;
    }
    size_t line = (size_t)(nl - p) - 1;
    if ((line > 4 && memcmp(p, "MSG ", 4) == 0) || (line > 5 && memcmp(p, "HMSG ", 5) == 0)) {
        return parse_msg(p, n, line, f);
    }
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        size_t len = strlen(verbs[i].word);
        if (line >= len && memcmp(p, verbs[i].word, len) == 0) {
            *f = (struct frame){.kind = verbs[i].kind,
                                .data = {p + len, line - len},
                                .head = line + 2,
                                .total = line + 2};
            return ST_OK;
        }
    }
    return ST_SYNTAX;
}

struct span
wire_header(struct span hdr, const char *name)
{
    size_t len = strlen(name);
    const char *p = hdr.p;
    const char *end = hdr.p + hdr.n;

    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        const char *stop = nl == NULL ? end : nl;
        if ((size_t)(stop - p) > len && p[len] == ':' && strncasecmp(p, name, len) == 0) {
            const char *v = p + len + 1;
            while (v < stop && *v == ' ') {
                v++;
            }
            while (stop > v && (stop[-1] == '\r' || stop[-1] == ' ')) {
                stop--;
            }
            return (struct span){v, (size_t)(stop - v)};
        }
        if (nl == NULL) {
            break;
        }
        p = nl + 1;
    }
    return (struct span){0};
}

int
wire_hdr_status(struct span hdr)
{
    static const char line[] = "NATS/1.0 ";
    size_t skip = sizeof(line) - 1;
    int code = 0;

    if (hdr.n < skip + 3 || memcmp(hdr.p, line, skip) != 0) {
        return 0;
    }
    for (size_t i = skip; i < skip + 3; i++) {
        if (hdr.p[i] < '0' || hdr.p[i] > '9') {
            return 0;
        }
        code = code * 10 + (hdr.p[i] - '0');
    }
    return code;
}
