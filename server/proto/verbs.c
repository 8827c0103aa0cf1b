/* SPDX-License-Identifier: Apache-2.0 */
#include "server/proto/verbs.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "server/auth/auth.h"
#include "server/base/log.h"
#include "server/config.h"
#include "server/inspect.h"
#include "server/monitor/events.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/net/snapshot.h"
#include "server/proto/login.h"
#include "server/proto/trace.h"
#include "server/proto/wirejson.h"

enum { VIOLATIONS_A_SECOND = 8 };

static void
tell_auth_error(struct conn *c, enum close_reason reason)
{
    struct conn_info info;
    LOOP_COUNT(c->loop->stats.auth_errors, 1);
    if (snapshot_conn(c, false, &info) != ST_OK) {
        return;
    }
    info.reason = snapshot_text(close_reason_text(reason));
    events_auth_error(c->loop->server, &info);
    conn_info_fini(&info);
}

void
verbs_auth_violation(struct conn *c)
{
    if (c->username != NULL) {
        conn_log(c, LVL_ERROR, "authentication error - User \"%s\"", c->username);
    } else {
        conn_log(c, LVL_ERROR, "authentication error");
    }
    conn_send_err(c, "Authorization Violation");
    tell_auth_error(c, CLOSE_AUTH);
    conn_close(c, CLOSE_AUTH);
}

void
verbs_log_violation(struct conn *c, const char *fmt, ...)
{
    static struct log_limit limits[VIOLATIONS_A_SECOND];
    static _Atomic uint64_t held_back;
    uint64_t held;
    bool pass = false;
    for (int i = 0; i < VIOLATIONS_A_SECOND && !pass; i++) {
        pass = log_limit_pass(&limits[i], &held);
    }
    if (!pass) {
        atomic_fetch_add(&held_back, 1);
        return;
    }
    held = atomic_exchange(&held_back, 0);
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    conn_log(c, LVL_ERROR, "%s", text);
    if (held > 0) {
        conn_log(c, LVL_ERROR, "%llu more violations were not logged", (unsigned long long)held);
    }
}

void
verbs_auth_timeout(struct conn *c)
{
    conn_log(c, LVL_DEBUG, "Authentication Timeout");
    conn_send_err(c, "Authentication Timeout");
    tell_auth_error(c, CLOSE_AUTH_TIMEOUT);
    conn_close(c, CLOSE_AUTH_TIMEOUT);
}

bool
verbs_may_begin(struct conn *c, char first)
{
    if (first == 'C' || first == 'c') {
        return true;
    }
    const struct auth_user *user = auth_anonymous(c->auth);
    if (user == NULL || user->no_standard) {
        verbs_auth_violation(c);
        return false;
    }
    return login_as(c, user);
}

/* Only servers have use for it, but it must be well formed. */
static void
check_info(struct conn *c, const struct op *op)
{
    json_t *root = wirejson_load(op->arg, op->arg_len, NULL);
    if (root == NULL) {
        conn_close(c, CLOSE_PROTOCOL);
    }
    json_decref(root);
}

void
verbs_run(struct conn *c, const struct op *op, struct block *backing)
{
    if (log_enabled(LVL_TRACE)) {
        trace_in(c, op);
    }
    switch (op->kind) {
    case OP_PUB:
    case OP_HPUB:
        verb_pub(c, op, backing);
        break;
    case OP_SUB:
        verb_sub(c, op);
        break;
    case OP_UNSUB:
        verb_unsub(c, op);
        break;
    case OP_PING:
        verb_ping(c);
        break;
    case OP_PONG:
        verb_pong(c);
        break;
    case OP_CONNECT:
        verb_connect(c, op);
        break;
    case OP_MINUS_ERR:
        conn_log(c, LVL_ERROR, "Client Error %.*s", (int)op->arg_len, op->arg);
        conn_close(c, CLOSE_PARSE);
        break;
    case OP_INFO:
        check_info(c, op);
        break;
    case OP_PLUS_OK:
        break;
    }
}

static void
log_snippet(const struct conn *c, const char *what, const char *s, size_t len)
{
    char text[3 * 32 + 1];
    size_t n = 0;
    for (size_t i = 0; i < len && i < 32; i++) {
        unsigned char ch = (unsigned char)s[i];
        if (ch >= 0x20 && ch < 0x7f) {
            text[n++] = (char)ch;
        } else {
            n += (size_t)snprintf(text + n, 4, "\\%02x", ch);
        }
    }
    text[n] = '\0';
    conn_log(c, LVL_ERROR, "%s: \"%s\"", what, text);
}

static const char *
parse_error_text(enum op_kind kind)
{
    switch (kind) {
    case OP_PUB:
        return "processPub Parse Error";
    case OP_HPUB:
        return "processHeaderPub Parse Error";
    case OP_SUB:
        return "processSub Parse Error";
    case OP_UNSUB:
        return "processUnsub Parse Error";
    case OP_CONNECT:
    case OP_PING:
    case OP_PONG:
    case OP_INFO:
    case OP_PLUS_OK:
    case OP_MINUS_ERR:
        break;
    }
    return "Parse Error";
}

void
verbs_parse_error(struct conn *c, enum parse_result r, const struct op *op, const char *buf,
                  size_t len)
{
    switch (r) {
    case PARSE_ERR_UNKNOWN:
        log_snippet(c, "Client parser ERROR, unknown protocol operation", buf, len);
        conn_send_err(c, "Unknown Protocol Operation");
        conn_close(c, CLOSE_PROTOCOL);
        break;
    case PARSE_ERR_ARGS:
        log_snippet(c, parse_error_text(op->kind), op->arg, op->arg_len);
        conn_close(c, CLOSE_PROTOCOL);
        break;
    case PARSE_ERR_CONTROL_LINE:
        conn_log(c, LVL_ERROR, "maximum control line exceeded: max_control_line %lld",
                 (long long)c->parser.max_control_line);
        conn_send_err(c, "maximum control line exceeded");
        conn_close(c, CLOSE_MAX_LINE);
        break;
    case PARSE_ERR_PAYLOAD:
        conn_log(c, LVL_ERROR, "maximum payload exceeded: %zu vs %lld", op->size,
                 (long long)c->parser.max_payload);
        conn_send_err(c, "Maximum Payload Violation");
        conn_close(c, CLOSE_MAX_PAYLOAD);
        break;
    case PARSE_ERR_HEADERS:
        conn_log(c, LVL_ERROR, "message headers not supported");
        conn_close(c, CLOSE_PROTOCOL);
        break;
    case PARSE_OP:
    case PARSE_MORE:
    case PARSE_CUT:
        break;
    }
}
