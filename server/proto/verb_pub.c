/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/gate.h"
#include "server/auth/account.h"
#include "server/auth/auth.h"
#include "server/auth/perms.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/subject.h"
#include "server/config.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/proto/verbs.h"
#include "server/route/deliver.h"
#include "server/route/no_responders.h"
#include "server/route/replies.h"

enum { DOMAIN_SUBJECT = 4096 };

static bool
begins_with(const char *s, size_t n, const char *prefix)
{
    size_t pn = strlen(prefix);
    return n >= pn && memcmp(s, prefix, pn) == 0;
}

static void
violation(struct conn *c, const char *form, const char *log_form, const char *s, size_t n)
{
    char text[1024];
    int most = n < 900 ? (int)n : 900;
    snprintf(text, sizeof text, "Permissions Violation for Publish %s \"%.*s\"", form, most, s);
    conn_send_err(c, text);
    verbs_log_violation(c, "Publish Violation - %s \"%.*s\"", log_form, most, s);
}

static bool
is_reserved(const struct conn *c, const char *s, size_t n)
{
    if (s[0] != '$' && s[0] != '_') {
        return false;
    }
    return begins_with(s, n, "_GR_.") || begins_with(s, n, "$GR.") ||
           (begins_with(s, n, "$NRG.") && !c->account->is_system);
}

static bool
may_publish(struct conn *c, const struct op *op)
{
    if (is_reserved(c, op->subject, op->subject_len)) {
        return false;
    }
    const struct perms *p = c->user->perms;
    if (p == NULL || perms_may_publish(p, op->subject, op->subject_len)) {
        return true;
    }
    return c->replies != NULL &&
           replies_allow(c->replies, op->subject, op->subject_len, clock_mono_ns());
}

static bool
is_allowed(struct conn *c, const struct op *op)
{
    if (!may_publish(c, op)) {
        violation(c, "to", "Subject", op->subject, op->subject_len);
        return false;
    }
    if (op->reply_len > 0 && (op->reply[0] == '$' || op->reply[0] == '_') &&
        (begins_with(op->reply, op->reply_len, "_R_.") ||
         begins_with(op->reply, op->reply_len, "$JS.ACK.") ||
         begins_with(op->reply, op->reply_len, "_GR_."))) {
        violation(c, "with Reply of", "Reply", op->reply, op->reply_len);
        return false;
    }
    return true;
}

/* With a domain, what clients send to $JS.<domain>.API.… is meant for $JS.API.…, and for the key
 * value and object subjects behind that prefix. buf: where the other subject is written. */
static void
map_domain(struct inbound *in, const char *domain, char buf[DOMAIN_SUBJECT])
{
    static const char *const api[] = {"STREAM.", "CONSUMER.", "DIRECT.",
                                      "META.",   "SERVER.",   "ACCOUNT."};
    size_t n = strlen(domain);
    size_t prefix = 4 + n + 5; /* $JS. <domain> .API. */
    if (in->subject_len <= prefix || in->subject_len >= DOMAIN_SUBJECT ||
        memcmp(in->subject, "$JS.", 4) != 0 || memcmp(in->subject + 4, domain, n) != 0 ||
        memcmp(in->subject + 4 + n, ".API.", 5) != 0) {
        return;
    }
    const char *rest = in->subject + prefix;
    size_t len = in->subject_len - prefix;
    if (begins_with(rest, len, "$KV.") || begins_with(rest, len, "$OBJ.")) {
        in->subject = rest;
        in->subject_len = len;
        return;
    }
    bool known = len == 4 && memcmp(rest, "INFO", 4) == 0;
    for (size_t i = 0; i < sizeof api / sizeof api[0] && !known; i++) {
        known = begins_with(rest, len, api[i]);
    }
    if (known) {
        memcpy(buf, "$JS.API.", 8);
        memcpy(buf + 8, rest, len);
        in->subject = buf;
        in->subject_len = 8 + len;
    }
}

void
verb_pub(struct conn *c, const struct op *op, struct block *backing)
{
    if (c->pedantic && !subject_is_literal(op->subject, op->subject_len)) {
        conn_send_err(c, "Invalid Publish Subject");
    }
    c->in_msgs++;
    c->in_bytes += (int64_t)op->size;
    if (!is_allowed(c, op)) {
        return;
    }
    if (c->verbose) {
        conn_send(c, "+OK\r\n", 5);
    }
    struct inbound in = {.loop = c->loop,
                         .account = c->account,
                         .from = c,
                         .from_cid = c->cid,
                         .subject = op->subject,
                         .subject_len = op->subject_len,
                         .reply = op->reply,
                         .reply_len = op->reply_len,
                         .data = op->data,
                         .size = op->size,
                         .hdr_len = op->hdr_len,
                         .backing = backing,
                         .may_gate = true};
    const char *domain = c->loop->cfg->js.domain;
    char buf[DOMAIN_SUBJECT];
    if (domain != NULL && c->loop->cfg->js.enabled) {
        map_domain(&in, domain, buf);
    }
    if (deliver(&in) == 0 && op->reply_len > 0) {
        no_responders(c, &in);
    }
    struct gate_watch *w = atomic_load_explicit(&in.account->gates, memory_order_acquire);
    if (w != NULL && gate_watch_maybe(w, op->subject, op->subject_len)) {
        gate_replied(w, op->subject, op->subject_len);
    }
}
