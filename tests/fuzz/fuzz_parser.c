/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol parser over arbitrary bytes: ranges lie inside what it was given, it makes progress,
 * an operation does not depend on what follows it, and bytes that come in pieces give what they
 * give whole. The first byte sets the limits. */
#include "server/proto/parser.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool cond)
{
    if (!cond) {
        abort();
    }
}

static void
require_inside(const char *part, size_t len, const char *buf, size_t size)
{
    require(part == NULL || (part >= buf && len <= size && part <= buf + (size - len)));
}

static void
check_op(const struct parser *p, const struct op *op, const char *buf, size_t used)
{
    require(op_name(op->kind)[0] != '?');
    require_inside(op->arg, op->arg_len, buf, used);
    if (op->kind == OP_PUB || op->kind == OP_HPUB) {
        require_inside(op->subject, op->subject_len, buf, used);
        require_inside(op->reply, op->reply_len, buf, used);
        require_inside(op->data, op->size, buf, used);
        require(op->hdr_len <= op->size);
        require(p->max_payload < 0 || op->size <= (size_t)p->max_payload);
    } else if (op->kind == OP_SUB) {
        require_inside(op->subject, op->subject_len, buf, used);
        require_inside(op->reply, op->reply_len, buf, used);
        require_inside(op->sid, op->sid_len, buf, used);
    } else if (op->kind == OP_UNSUB) {
        require_inside(op->sid, op->sid_len, buf, used);
    }
}

/* The same bytes in a buffer that ends with them give the same. */
static void
check_alone(const struct parser *p, const char *buf, size_t len)
{
    char *copy = malloc(len);
    require(copy != NULL);
    memcpy(copy, buf, len);
    struct op op = {0};
    size_t used = 0;
    require(parser_next(p, copy, len, &used, &op) == PARSE_OP && used == len);
    check_op(p, &op, copy, len);
    free(copy);
}

/* Any beginning of the bytes asks for more, with the length right where it is told, or already
 * gives the error that all of them give. */
static void
check_pieces(const struct parser *p, const char *buf, size_t len, enum parse_result whole)
{
    /* Every place to cut in what people write, some in what is long. */
    size_t step = len < 256 ? 1 : len / 128;
    for (size_t cut = 0; cut < len; cut += cut + 8 < step || cut + 8 + step > len ? 1 : step) {
        char *copy = malloc(cut + 1);
        require(copy != NULL);
        memcpy(copy, buf, cut);
        struct op op = {0};
        size_t used = 0;
        enum parse_result part = parser_next(p, copy, cut, &used, &op);
        free(copy);
        if (part == PARSE_MORE) {
            require(used == 0 || used > cut);
            require(used == 0 || whole != PARSE_OP || used == len);
        } else if (part == PARSE_CUT) {
            require(used > 0 && used < cut && (whole == PARSE_OP || whole == PARSE_CUT));
        } else {
            require(part == whole && part != PARSE_OP);
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct parser p = {
        .max_control_line = (data[0] & 1) != 0 ? 64 : 4096,
        .max_payload = (data[0] & 2) != 0 ? 128 : 1048576,
        .headers = (data[0] & 4) == 0,
    };
    const char *buf = (const char *)data + 1;
    size_t left = size - 1;
    while (left > 0) {
        struct op op = {0};
        size_t used = 0;
        enum parse_result whole = parser_next(&p, buf, left, &used, &op);
        if (whole != PARSE_OP) {
            check_pieces(&p, buf, left, whole);
            break;
        }
        require(used > 0 && used <= left);
        check_pieces(&p, buf, used, whole);
        check_op(&p, &op, buf, used);
        check_alone(&p, buf, used);
        buf += used;
        left -= used;
    }
    return 0;
}
