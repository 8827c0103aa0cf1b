/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of the wished state and account are copied out, narrowed by cid, user and
 * interest, sorted, and the page is printed. "total" counts them before the narrowing, as
 * nats-server does. */
#include "server/monitor/connz.h"

#include <string.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/base/subject.h"
#include "server/inspect.h"
#include "server/monitor/connsort.h"
#include "server/monitor/jput.h"
#include "server/monitor/subdetail.h"
#include "server/monitor/text.h"
#include "server/monitor/vopts.h"
#include "server/server.h"

enum { DEFAULT_LIMIT = 1024 };

struct wish {
    const char *sort;
    bool auth, subs, detail;
    int64_t offset, limit;
    uint64_t cid;
    const char *mqtt_client;
    int64_t state;
    const char *user, *account, *filter;
};

static enum status
read_wish(struct vopts *o, struct wish *w)
{
    w->sort = vopts_str(o, "sort", "server.SortOpt");
    w->auth = vopts_bool(o, "auth");
    w->subs = vopts_bool(o, "subscriptions");
    w->detail = vopts_bool(o, "subscriptions_detail");
    w->offset = vopts_int(o, "offset", "int");
    w->limit = vopts_int(o, "limit", "int");
    w->cid = vopts_uint(o, "cid");
    w->mqtt_client = vopts_str(o, "mqtt_client", "string");
    w->state = vopts_int(o, "state", "server.ConnState");
    w->user = vopts_str(o, "user", "string");
    w->account = vopts_str(o, "acc", "string");
    w->filter = vopts_str(o, "filter_subject", "string");
    w->offset = w->offset < 0 ? 0 : w->offset;
    w->limit = w->limit <= 0 ? DEFAULT_LIMIT : w->limit;
    if (o->st != ST_OK) {
        return o->st;
    }
    if (!connsort_is_known(w->sort)) {
        return vopts_fail(o, ST_INVAL, "invalid sorting option: %s", w->sort);
    }
    bool needs_closed = strcmp(w->sort, "stop") == 0 || strcmp(w->sort, "reason") == 0;
    if (needs_closed && w->state != CONN_STATE_CLOSED) {
        return vopts_fail(o, ST_INVAL, "sort by %s only valid on closed connections", w->sort);
    }
    if (w->cid > 0) {
        w->limit = 1;
    }
    if (strcmp(w->filter, ">") == 0) {
        w->filter = "";
    }
    if (w->filter[0] != '\0' && w->account[0] == '\0') {
        return vopts_fail(o, ST_INVAL, "filter by subject only valid with account filtering");
    }
    return ST_OK;
}

static bool
has_interest(const struct conn_info *c, const char *filter)
{
    for (size_t i = 0; i < c->n_subs; i++) {
        const char *subject = c->subs[i].subject;
        if (subject_overlaps(filter, strlen(filter), subject, strlen(subject))) {
            return true;
        }
    }
    return false;
}

static bool
is_wished(const struct conn_info *c, const struct wish *w)
{
    if (w->cid != 0 && c->cid != w->cid) {
        return false;
    }
    if ((w->user[0] != '\0' && strcmp(c->user, w->user) != 0) || w->mqtt_client[0] != '\0') {
        return false;
    }
    return w->filter[0] == '\0' || c->stop_wall != 0 || has_interest(c, w->filter);
}

static void
put_subs(struct jput *p, json_t *o, const struct conn_info *c, const struct wish *w)
{
    if (c->n_subs == 0 || (!w->detail && !w->subs)) {
        return;
    }
    json_t *arr = jput_arr(p, o, w->detail ? "subscriptions_list_detail" : "subscriptions_list");
    for (size_t i = 0; i < c->n_subs; i++) {
        if (w->detail) {
            subdetail_add(p, arr, &c->subs[i], c->stop_wall != 0);
        } else {
            jput_add_str(p, arr, c->subs[i].subject);
        }
    }
}

/* Below a millisecond whole microseconds are shown, as by nats-server. */
static int64_t
shown_rtt(int64_t rtt)
{
    return rtt > CLOCK_US && rtt < CLOCK_MS ? rtt - rtt % CLOCK_US : rtt;
}

static void
put_conn(struct jput *p, json_t *arr, const struct conn_info *c, const struct wish *w, int64_t now)
{
    json_t *o = jput_add_obj(p, arr);
    int64_t end = c->stop_wall != 0 ? c->stop_wall : now;
    char text[TEXT_LEN];
    jput_int(p, o, "cid", (int64_t)c->cid);
    jput_str_opt(p, o, "kind", c->kind);
    jput_str_opt(p, o, "type", c->type);
    jput_str(p, o, "ip", c->host);
    jput_int(p, o, "port", c->port);
    jput_time(p, o, "start", c->start_wall);
    jput_time(p, o, "last_activity", c->last_activity_wall);
    if (c->stop_wall != 0) {
        jput_time(p, o, "stop", c->stop_wall);
        jput_str_opt(p, o, "reason", c->reason);
    }
    jput_str(p, o, "rtt", text_duration(shown_rtt(c->rtt), text));
    jput_str(p, o, "uptime", text_uptime(end - c->start_wall, text));
    jput_str(p, o, "idle", text_uptime(end - c->last_activity_wall, text));
    jput_int(p, o, "pending_bytes", c->pending_bytes);
    jput_int(p, o, "in_msgs", c->in_msgs);
    jput_int(p, o, "out_msgs", c->out_msgs);
    jput_int(p, o, "in_bytes", c->in_bytes);
    jput_int(p, o, "out_bytes", c->out_bytes);
    jput_int_opt(p, o, "stalls", c->stalls);
    jput_int(p, o, "subscriptions", c->num_subs);
    jput_str_opt(p, o, "name", c->name);
    jput_str_opt(p, o, "lang", c->lang);
    jput_str_opt(p, o, "version", c->version);
    if (w->auth) {
        jput_str_opt(p, o, "authorized_user", c->user);
        if (strcmp(c->account, "$G") != 0) {
            jput_str_opt(p, o, "account", c->account);
        }
    }
    put_subs(p, o, c, w);
    if (w->auth) {
        jput_str_opt(p, o, "name_tag", c->account);
    }
}

static enum status
print(struct server *s, const struct wish *w, struct conn_info *v, size_t n, json_t **out)
{
    struct conn_info **sel = mem_alloc_array(n, sizeof *sel);
    if (sel == NULL) {
        return ST_NOMEM;
    }
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_wished(&v[i], w)) {
            sel[count++] = &v[i];
        }
    }
    int64_t now = clock_wall_ns();
    connsort(sel, count, w->sort, now);
    size_t from = (uint64_t)w->offset < count ? (size_t)w->offset : count;
    size_t page = (uint64_t)w->limit < count - from ? (size_t)w->limit : count - from;
    struct jput p = {0};
    json_t *root = jput_new(&p);
    jput_str(&p, root, "server_id", server_id(s));
    jput_time(&p, root, "now", now);
    jput_int(&p, root, "num_connections", (int64_t)page);
    jput_int(&p, root, "total", (int64_t)n);
    jput_int(&p, root, "offset", w->offset);
    jput_int(&p, root, "limit", w->limit);
    json_t *arr = jput_arr(&p, root, "connections");
    for (size_t i = from; i < from + page; i++) {
        put_conn(&p, arr, sel[i], w, now);
    }
    mem_free(sel);
    return jput_end(&p, root, out);
}

/* What nats-server answers for an account that it does not know. */
static enum status
print_unknown_account(const struct wish *w, json_t **out)
{
    struct jput p = {0};
    json_t *root = jput_new(&p);
    jput_str(&p, root, "server_id", "");
    jput_time(&p, root, "now", clock_wall_ns());
    jput_int(&p, root, "num_connections", 0);
    jput_int(&p, root, "total", 0);
    jput_int(&p, root, "offset", w->offset);
    jput_int(&p, root, "limit", w->limit);
    jput_val(&p, root, "connections", json_null());
    return jput_end(&p, root, out);
}

enum status
connz_build(struct server *s, struct vopts *o, json_t **out)
{
    struct wish w;
    enum status st = read_wish(o, &w);
    if (st != ST_OK) {
        return st;
    }
    if (w.account[0] != '\0' && server_account(s, w.account) == NULL) {
        return print_unknown_account(&w, out);
    }
    if (w.state < CONN_STATE_OPEN || w.state > CONN_STATE_ALL) {
        return print(s, &w, NULL, 0, out);
    }
    struct inspect_query q = {
        .state = (enum conn_state)w.state,
        .account = w.account[0] != '\0' ? w.account : NULL,
        .subs = w.subs || w.detail || w.filter[0] != '\0',
    };
    struct conn_info *v;
    size_t n;
    st = inspect_conns(s, &q, &v, &n);
    if (st != ST_OK) {
        return st;
    }
    st = print(s, &w, v, n, out);
    inspect_free_conns(v, n);
    return st;
}
