/* SPDX-License-Identifier: Apache-2.0 */
#include "server/proto/trace.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/buf.h"
#include "server/base/log.h"
#include "server/config.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/proto/wirejson.h"

/* A log line has 4 KiB; more of a payload would be cut there anyway. */
enum { TRACE_MAX = 2048 };

static void
quote(struct buf *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char ch = (unsigned char)s[i];
        if (ch == '"' || ch == '\\') {
            buf_printf(out, "\\%c", ch);
        } else if (ch == '\r' || ch == '\n' || ch == '\t') {
            buf_printf(out, "\\%c", ch == '\r' ? 'r' : ch == '\n' ? 'n' : 't');
        } else if (ch < 0x20 || ch == 0x7f) {
            buf_printf(out, "\\x%02x", ch);
        } else {
            buf_putc(out, (char)ch);
        }
    }
}

/* With trace_headers only the header block, without the empty line that ends it. */
static size_t
traced_size(const struct config *cfg, const struct message_view *v)
{
    if (!cfg->trace_headers) {
        return v->size;
    }
    return v->hdr_len > 4 ? v->hdr_len - 4 : 0;
}

static void
trace_payload(const struct conn *c, const char *arrow, const struct message_view *v)
{
    const struct config *cfg = c->loop->cfg;
    size_t size = traced_size(cfg, v);
    if (size == 0) {
        return;
    }
    size_t most = TRACE_MAX;
    if (cfg->max_traced_msg_len > 0 && (size_t)cfg->max_traced_msg_len < most) {
        most = (size_t)cfg->max_traced_msg_len;
    }
    struct buf text;
    buf_init(&text);
    quote(&text, v->data, size < most ? size : most);
    if (text.data != NULL) {
        conn_log(c, LVL_TRACE, "%s MSG_PAYLOAD: [\"%s%s\"]", arrow, text.data,
                 size > most ? "..." : "");
    }
    buf_fini(&text);
}

static void
trace_connect(const struct conn *c, const struct op *op)
{
    static const char *const secrets[] = {"pass", "auth_token", "jwt", "sig", NULL};
    json_t *root = wirejson_load(op->arg, op->arg_len, NULL);
    for (size_t i = 0; secrets[i] != NULL; i++) {
        if (json_object_get(root, secrets[i]) != NULL) {
            json_object_set_new(root, secrets[i], json_string("[REDACTED]"));
        }
    }
    char *text = root != NULL ? json_dumps(root, JSON_COMPACT) : NULL;
    conn_log(c, LVL_TRACE, "<<- [CONNECT %s]", text != NULL ? text : "?");
    free(text);
    json_decref(root);
}

void
trace_in(const struct conn *c, const struct op *op)
{
    if (op->kind == OP_CONNECT) {
        trace_connect(c, op);
        return;
    }
    conn_log(c, LVL_TRACE, "<<- [%s%s%.*s]", op_name(op->kind), op->arg_len > 0 ? " " : "",
             (int)op->arg_len, op->arg);
    struct message_view v = {op->data, op->size, op->hdr_len};
    trace_payload(c, "<<-", &v);
}

void
trace_out(const struct conn *c, const char *line, size_t n, const struct message_view *v)
{
    conn_log(c, LVL_TRACE, "->> [%.*s]", (int)n, line);
    trace_payload(c, "->>", v);
}
