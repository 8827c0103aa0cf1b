/* SPDX-License-Identifier: Apache-2.0 */
#include "server/proto/login.h"

#include <stdatomic.h>
#include <string.h>

#include "server/auth/account.h"
#include "server/auth/auth.h"
#include "server/auth/hasher.h"
#include "server/auth/perms.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/net/conn.h"
#include "server/net/conn_subs.h"
#include "server/net/conn_timer.h"
#include "server/net/loop.h"
#include "server/proto/verbs.h"
#include "server/route/replies.h"
#include "server/server_loops.h"

static void
take_limits(struct conn *c)
{
    const struct config *cfg = c->loop->cfg;
    int64_t most = cfg->max_payload > 0 ? cfg->max_payload : -1;
    int64_t of_account = c->account != NULL ? atomic_load(&c->account->max_payload) : -1;
    if (of_account >= 0 && (most < 0 || of_account < most)) {
        most = of_account;
    }
    c->parser.max_payload = most;
    c->parser.max_control_line = cfg->max_control_line;
}

static void
leave_account(struct conn *c)
{
    if (c->account == NULL) {
        return;
    }
    conn_report(c);
    conn_subs_remove_all(c);
    if (c->counted) {
        atomic_fetch_sub(&c->account->conns, 1);
        c->counted = false;
    }
    c->account = NULL;
}

static bool
join_account(struct conn *c, struct account *a)
{
    int64_t most = atomic_load(&a->max_conns);
    int64_t now = atomic_fetch_add(&a->conns, 1) + 1;
    c->account = a;
    c->counted = true;
    atomic_fetch_add(&a->total_conns, 1);
    if (most >= 0 && now > most) {
        conn_log(c, LVL_ERROR, "maximum account active connections exceeded");
        conn_send_err(c, "maximum account active connections exceeded");
        conn_close(c, CLOSE_MAX_ACCOUNT_CONNS);
        return false;
    }
    return true;
}

static bool
take_permissions(struct conn *c)
{
    const struct perms *p = c->user->perms;
    replies_free(c->replies);
    c->replies = NULL;
    if (p != NULL && p->responses && replies_new(&c->replies, p) != ST_OK) {
        conn_close(c, CLOSE_NOMEM);
        return false;
    }
    return true;
}

bool
login_as(struct conn *c, const struct auth_user *user)
{
    if (c->account != user->account) {
        leave_account(c);
        if (!join_account(c, user->account)) {
            return false;
        }
    }
    c->user = user;
    take_limits(c);
    if (!take_permissions(c)) {
        return false;
    }
    c->connected = true;
    conn_timer_start(c, TIMER_PING);
    return true;
}

static bool
may_stand(const struct auth_user *user)
{
    return user != NULL && !user->no_standard;
}

/* An authentication timeout from which on it is none for the order of the checks. */
#define LONG_WAIT (3600 * CLOCK_S)

struct pending_login {
    struct hasher_job job;
    void (*done)(struct conn *c, bool ok);
    const struct auth_user *user; /* borrowed: of auth */
    struct auth *auth;            /* ref */
};

/* NB: the user may have been taken from a snapshot that a reload has replaced meanwhile. */
static void
finish_hashed(struct conn *c, struct pending_login *p)
{
    auth_unref(c->auth);
    c->auth = auth_ref(p->auth);
    bool ok = p->job.matches && login_as(c, p->user);
    if (ok && c->auth != c->loop->auth) {
        login_reload(c);
    }
    if (!c->closed) {
        p->done(c, ok);
    }
}

static void
on_hashed(struct loop *l, struct hasher_job *job)
{
    struct pending_login *p = (struct pending_login *)(void *)job;
    struct conn *c = loop_find(l, job->cid);
    if (c != NULL && job->checked) {
        finish_hashed(c, p);
        conn_resume(c, PAUSE_AUTH);
    } else if (c != NULL) {
        /* NB: not a violation: clients give up for good on that. */
        verbs_auth_timeout(c);
    }
    auth_unref(p->auth);
    hasher_job_fini(job);
    mem_free(p);
}

static enum status
hash_later(struct conn *c, const struct auth_user *user, const char *stored, const char *given,
           void (*done)(struct conn *c, bool ok))
{
    struct pending_login *p = mem_alloc(sizeof *p);
    if (p == NULL) {
        return ST_NOMEM;
    }
    enum status st = hasher_job_init(&p->job, c->loop, c->cid, stored, given);
    if (st != ST_OK) {
        mem_free(p);
        return st;
    }
    p->job.done = on_hashed;
    int64_t patience = c->loop->cfg->auth_timeout;
    p->job.item.deadline_ns = patience > 0 && patience < LONG_WAIT ? patience : -1;
    p->done = done;
    p->user = user;
    p->auth = auth_ref(c->auth);
    st = hasher_submit(server_hasher(c->loop->server), &p->job);
    if (st != ST_OK) {
        auth_unref(p->auth);
        hasher_job_fini(&p->job);
        mem_free(p);
        return st;
    }
    conn_pause(c, PAUSE_AUTH);
    return ST_OK;
}

void
login_check(struct conn *c, const struct auth_creds *creds, void (*done)(struct conn *c, bool ok))
{
    const struct auth_user *user = NULL;
    const char *stored = NULL;
    const char *given = NULL;
    if (c->auth != c->loop->auth) { /* reloaded since it came */
        auth_unref(c->auth);
        c->auth = auth_ref(c->loop->auth);
    }
    bool found = auth_find(c->auth, creds, &user, &stored, &given) && may_stand(user);
    if (found && stored != NULL && auth_is_bcrypt(stored)) {
        if (hash_later(c, user, stored, given, done) != ST_OK) {
            conn_log(c, LVL_WARN, "cannot check the password now");
            verbs_auth_timeout(c);
        }
        return;
    }
    bool ok = found && (stored == NULL || auth_secret_matches(stored, given)) && login_as(c, user);
    if (!c->closed) {
        done(c, ok);
    }
}

static const struct auth_user *
find_again(const struct conn *c, struct auth *now)
{
    const struct auth_user *user = NULL;
    const char *stored = NULL;
    const char *given = NULL;
    struct auth_creds creds = {.user = c->user->name[0] != '\0' ? c->user->name : NULL};
    bool found = auth_find(now, &creds, &user, &stored, &given);
    if (c->user->name[0] == '\0' && auth_token(c->auth) != NULL) {
        /* It came by token: good while the token is the same. */
        const char *token = auth_token(now);
        return token != NULL && strcmp(token, auth_token(c->auth)) == 0 ? user : NULL;
    }
    const char *had = c->user->password != NULL ? c->user->password : "";
    if (!found || !may_stand(user) || (stored != NULL && strcmp(stored, had) != 0)) {
        return NULL;
    }
    return user;
}

static void
tell_forbidden(struct conn *c, const struct sub *s)
{
    const char *queue = s->queue_len > 0 ? sub_queue(s) : NULL;
    conn_sendf(c,
               "-ERR 'Permissions Violation for Subscription to \"%.300s\"%s%.200s%s "
               "(sid \"%.100s\")'\r\n",
               sub_subject(s), queue != NULL ? " using queue \"" : "", queue != NULL ? queue : "",
               queue != NULL ? "\"" : "", sub_sid(s));
    log_info("Removed sub \"%s\" (sid \"%s\") for User \"%s\" - not authorized", sub_subject(s),
             sub_sid(s), c->user->name);
}

static void
drop_forbidden(struct conn *c)
{
    struct sub *s = conn_subs_first(c);
    while (s != NULL && !c->closed) {
        struct sub *next = conn_subs_next(c, s);
        const char *queue = s->queue_len > 0 ? sub_queue(s) : NULL;
        if (!perms_may_subscribe(c->user->perms, sub_subject(s), s->subject_len, queue,
                                 s->queue_len)) {
            tell_forbidden(c, s);
            if (!c->closed) {
                conn_subs_remove(c, s);
            }
        }
        s = next;
    }
}

void
login_reload(struct conn *c)
{
    struct auth *now = c->loop->auth;
    take_limits(c);
    if (!c->connected) {
        auth_unref(c->auth);
        c->auth = auth_ref(now);
        return;
    }
    const struct auth_user *user = find_again(c, now);
    if (user == NULL) {
        verbs_auth_violation(c);
        return;
    }
    if (user->account != c->account) {
        conn_close(c, CLOSE_CLIENT);
        return;
    }
    auth_unref(c->auth);
    c->auth = auth_ref(now);
    c->user = user;
    take_limits(c);
    if (take_permissions(c)) {
        drop_forbidden(c);
    }
}
