/* SPDX-License-Identifier: Apache-2.0 */
#include "server/proto/parser.h"

#include <string.h>

enum { MAX_ARGS = 5, MAX_SIZE_DIGITS = 9 };

struct verb {
    const char *name; /* upper case */
    size_t len;
    enum op_kind kind;
    bool blank; /* a blank must follow */
    bool tail;  /* what follows means nothing, however long it is */
};

static const struct verb verbs[] = {
    {"PUB", 3, OP_PUB, true, false},          {"HPUB", 4, OP_HPUB, true, false},
    {"SUB", 3, OP_SUB, true, false},          {"UNSUB", 5, OP_UNSUB, true, false},
    {"PING", 4, OP_PING, false, true},        {"PONG", 4, OP_PONG, false, true},
    {"CONNECT", 7, OP_CONNECT, false, false}, {"INFO", 4, OP_INFO, false, false},
    {"+OK", 3, OP_PLUS_OK, false, false},     {"-ERR", 4, OP_MINUS_ERR, true, false},
};

const char *
op_name(enum op_kind kind)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (verbs[i].kind == kind) {
            return verbs[i].name;
        }
    }
    return "?";
}

static char
upper(char ch)
{
    return ch >= 'a' && ch <= 'z' ? (char)(ch - 'a' + 'A') : ch;
}

static bool
is_blank(char ch)
{
    return ch == ' ' || ch == '\t';
}

static bool
matches(const struct verb *v, const char *buf, size_t len)
{
    for (size_t i = 0; i < v->len && i < len; i++) {
        if (upper(buf[i]) != v->name[i]) {
            return false;
        }
    }
    return true;
}

static const struct verb *
find_verb(const char *buf, size_t len)
{
    if (len > 4 && memcmp(buf, "PUB ", 4) == 0) {
        return &verbs[0]; /* nearly all of them */
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (matches(&verbs[i], buf, len)) {
            return &verbs[i];
        }
    }
    return NULL;
}

struct args {
    const char *s[MAX_ARGS]; /* borrowed: into the line */
    size_t n[MAX_ARGS];
    size_t count; /* may exceed MAX_ARGS, then the rest is not kept */
};

/* also: one more character that ends an argument. */
static void
split(const char *line, size_t len, char also, struct args *a)
{
    a->count = 0;
    for (size_t i = 0; i < len;) {
        if (is_blank(line[i]) || line[i] == also) {
            i++;
            continue;
        }
        size_t begin = i;
        while (i < len && !is_blank(line[i]) && line[i] != also) {
            i++;
        }
        if (a->count < MAX_ARGS) {
            a->s[a->count] = line + begin;
            a->n[a->count] = i - begin;
        }
        a->count++;
    }
}

/* -1: not a number of at most nine digits. */
static int64_t
to_size(const char *s, size_t n)
{
    if (n == 0 || n > MAX_SIZE_DIGITS) {
        return -1;
    }
    int64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9') {
            return -1;
        }
        v = v * 10 + (s[i] - '0');
    }
    return v;
}

static enum parse_result
pub_args(const struct parser *p, struct op *op)
{
    bool header = op->kind == OP_HPUB;
    size_t least = header ? 3 : 2;
    struct args a;
    if (header && !p->headers) {
        return PARSE_ERR_HEADERS;
    }
    split(op->arg, op->arg_len, ' ', &a);
    if (a.count < least || a.count > least + 1) {
        return PARSE_ERR_ARGS;
    }
    op->subject = a.s[0];
    op->subject_len = a.n[0];
    if (a.count > least) {
        op->reply = a.s[1];
        op->reply_len = a.n[1];
    }
    int64_t size = to_size(a.s[a.count - 1], a.n[a.count - 1]);
    int64_t hdr = header ? to_size(a.s[a.count - 2], a.n[a.count - 2]) : 0;
    if (size < 0 || hdr < 0 || hdr > size) {
        return PARSE_ERR_ARGS;
    }
    op->size = (size_t)size;
    op->hdr_len = (size_t)hdr;
    if (p->max_payload >= 0 && size > p->max_payload) {
        return PARSE_ERR_PAYLOAD;
    }
    return PARSE_OP;
}

static enum parse_result
sub_args(struct op *op)
{
    struct args a;
    split(op->arg, op->arg_len, '\r', &a);
    if (a.count < 2 || a.count > 3) {
        return PARSE_ERR_ARGS;
    }
    op->subject = a.s[0];
    op->subject_len = a.n[0];
    if (a.count == 3) {
        op->reply = a.s[1];
        op->reply_len = a.n[1];
    }
    op->sid = a.s[a.count - 1];
    op->sid_len = a.n[a.count - 1];
    return PARSE_OP;
}

static enum parse_result
unsub_args(struct op *op)
{
    struct args a;
    split(op->arg, op->arg_len, '\r', &a);
    if (a.count < 1 || a.count > 2) {
        return PARSE_ERR_ARGS;
    }
    op->sid = a.s[0];
    op->sid_len = a.n[0];
    op->max = a.count == 2 ? to_size(a.s[1], a.n[1]) : -1;
    return PARSE_OP;
}

static enum parse_result
take_payload(const char *buf, size_t len, size_t line, size_t *used, struct op *op)
{
    size_t end = line + op->size;
    if ((len > end && buf[end] != '\r') || (len > end + 1 && buf[end + 1] != '\n')) {
        return PARSE_ERR_UNKNOWN;
    }
    *used = end + 2;
    if (len < end + 2) {
        return PARSE_MORE;
    }
    op->data = buf + line;
    return PARSE_OP;
}

static enum parse_result
parse_line(const struct parser *p, const char *buf, size_t len, size_t *used, struct op *op)
{
    enum parse_result r = PARSE_OP;
    size_t line = *used;
    if (op->kind == OP_PUB || op->kind == OP_HPUB) {
        r = pub_args(p, op);
        return r == PARSE_OP ? take_payload(buf, len, line, used, op) : r;
    }
    if (op->kind == OP_SUB) {
        r = sub_args(op);
    } else if (op->kind == OP_UNSUB) {
        r = unsub_args(op);
    }
    return r;
}

enum parse_result
parser_next(const struct parser *p, const char *buf, size_t len, size_t *used, struct op *op)
{
    *used = 0;
    memset(op, 0, sizeof *op);
    if (len == 0) {
        return PARSE_MORE;
    }
    const struct verb *v = find_verb(buf, len);
    if (v == NULL) {
        return PARSE_ERR_UNKNOWN;
    }
    if (len <= v->len) {
        return PARSE_MORE;
    }
    if (v->blank && !is_blank(buf[v->len])) {
        return PARSE_ERR_UNKNOWN;
    }
    op->kind = v->kind;
    size_t begin = v->len;
    while (begin < len && is_blank(buf[begin])) {
        begin++;
    }
    const char *nl = memchr(buf + begin, '\n', len - begin);
    size_t end = nl != NULL ? (size_t)(nl - buf) : len;
    /* Where the line has not ended, this CR may be the begin of its end. */
    if (end > begin && buf[end - 1] == '\r') {
        end--;
    }
    op->arg = buf + begin;
    op->arg_len = end - begin;
    /* A CR at the end of an unfinished line may belong to the line end. */
    int64_t slack = nl == NULL ? 1 : 0;
    bool too_long =
        (int64_t)op->arg_len > p->max_control_line + slack || (int64_t)begin > p->max_control_line;
    if (too_long && !v->tail) {
        return PARSE_ERR_CONTROL_LINE;
    }
    if (too_long && nl == NULL) {
        *used = v->len;
        return PARSE_CUT;
    }
    if (nl == NULL) {
        return PARSE_MORE;
    }
    *used = (size_t)(nl - buf) + 1;
    return parse_line(p, buf, len, used, op);
}
