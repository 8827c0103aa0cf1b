/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "server/auth/account.h"
#include "server/auth/auth.h"
#include "server/auth/perms.h"
#include "server/base/log.h"
#include "server/base/subject.h"
#include "server/config.h"
#include "server/net/conn.h"
#include "server/net/conn_subs.h"
#include "server/net/loop.h"
#include "server/proto/verbs.h"
#include "server/route/sub.h"

static void
send_ok(struct conn *c)
{
    if (c->verbose) {
        conn_send(c, "+OK\r\n", 5);
    }
}

/* The server's own queue group. */
static bool
is_reserved_queue(const struct op *op)
{
    return op->reply_len == 5 && memcmp(op->reply, "_sys_", 5) == 0;
}

static bool
may_subscribe(struct conn *c, const struct op *op)
{
    char text[1024];
    if (!is_reserved_queue(op) && perms_may_subscribe(c->user->perms, op->subject, op->subject_len,
                                                      op->reply, op->reply_len)) {
        return true;
    }
    if (op->reply != NULL) {
        snprintf(text, sizeof text,
                 "Permissions Violation for Subscription to \"%.*s\" using queue \"%.*s\"",
                 (int)op->subject_len, op->subject, (int)op->reply_len, op->reply);
    } else {
        snprintf(text, sizeof text, "Permissions Violation for Subscription to \"%.*s\"",
                 (int)op->subject_len, op->subject);
    }
    conn_send_err(c, text);
    verbs_log_violation(c, "Subscription Violation - Subject \"%.*s\", %s%.*s%sSID %.*s",
                        (int)op->subject_len, op->subject, op->reply != NULL ? "Queue: \"" : "",
                        (int)op->reply_len, op->reply != NULL ? op->reply : "",
                        op->reply != NULL ? "\", " : "", (int)op->sid_len, op->sid);
    return false;
}

static bool
within_limits(struct conn *c, const struct op *op)
{
    const struct config *cfg = c->loop->cfg;
    char text[1024];
    if (cfg->max_subscription_tokens > 0 &&
        (int64_t)subject_count_tokens(op->subject, op->subject_len) >
            cfg->max_subscription_tokens) {
        snprintf(text, sizeof text,
                 "Permissions Violation for Subscription to \"%.*s\", too many tokens",
                 (int)op->subject_len, op->subject);
        conn_send_err(c, text);
        verbs_log_violation(c,
                            "Subscription Violation Too Many Tokens - Subject \"%.*s\", SID %.*s",
                            (int)op->subject_len, op->subject, (int)op->sid_len, op->sid);
        return false;
    }
    int64_t most = cfg->max_subscriptions > 0 ? cfg->max_subscriptions : -1;
    int64_t of_account = atomic_load(&c->account->max_subs);
    if (of_account >= 0 && (most < 0 || of_account < most)) {
        most = of_account;
    }
    if (most >= 0 && (int64_t)c->n_subs >= most) {
        static struct log_limit limit;
        uint64_t held;
        if (log_limit_pass(&limit, &held)) {
            conn_log(c, LVL_ERROR, "maximum subscriptions exceeded");
        }
        conn_send_err(c, "maximum subscriptions exceeded");
        return false;
    }
    return true;
}

void
verb_sub(struct conn *c, const struct op *op)
{
    c->subs_changed = true;
    if (!may_subscribe(c, op) || !within_limits(c, op)) {
        return;
    }
    if (conn_subs_find(c, op->sid, op->sid_len) != NULL) {
        send_ok(c); /* as nats-server: the first subscription of that id stays */
        return;
    }
    struct sub_spec spec = {op->subject,   op->subject_len, op->reply,
                            op->reply_len, op->sid,         op->sid_len};
    enum status st =
        subject_is_valid(op->subject, op->subject_len) ? conn_subs_add(c, &spec) : ST_INVAL;
    if (st == ST_INVAL) {
        conn_send_err(c, "Invalid Subject");
    } else if (st != ST_OK) {
        conn_log(c, LVL_ERROR, "out of memory for a subscription");
        conn_close(c, CLOSE_NOMEM);
    } else {
        send_ok(c);
    }
}

void
verb_unsub(struct conn *c, const struct op *op)
{
    struct sub *s = conn_subs_find(c, op->sid, op->sid_len);
    c->subs_changed = true;
    send_ok(c);
    if (s == NULL || c->closed) {
        return;
    }
    if (op->max > 0 && op->max > s->nmsgs) {
        s->max = op->max;
        return;
    }
    if (log_enabled(LVL_TRACE)) {
        conn_log(c, LVL_TRACE, "<-> [DELSUB %s]", sub_sid(s));
    }
    conn_subs_remove(c, s);
}
