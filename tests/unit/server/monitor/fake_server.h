/* SPDX-License-Identifier: Apache-2.0 */
/* A server of fixed figures for the monitor's tests: defines what the monitor calls. Included once
 * by a test program, whose definitions then take the place of the real ones. */
#ifndef TESTS_UNIT_SERVER_MONITOR_FAKE_SERVER_H
#define TESTS_UNIT_SERVER_MONITOR_FAKE_SERVER_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/inspect.h"
#include "server/monitor/monitor.h"
#include "server/server.h"

enum { FAKE_CONNS = 5, FAKE_SENT = 16 };

struct fake_message {
    char subject[128];
    char data[4096];
};

struct fake_server {
    struct config config;
    struct monitor *monitor;
    int port;
    bool lame_duck;
    bool has_interest;
    enum status inspect; /* what inspect_… answers instead of its data */
    struct fake_message sent[FAKE_SENT];
    int n_sent;
    pthread_mutex_t lock; /* guards sent, n_sent */
    pthread_cond_t on_sent;
};

static struct fake_server fake = {
    .port = 4222,
    .has_interest = true,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .on_sent = PTHREAD_COND_INITIALIZER,
    .config = {.host = (char *)"0.0.0.0",
               .system_account = "SYS",
               .http_host = (char *)"127.0.0.1",
               .http_base_path = (char *)"",
               .max_connections = 65536,
               .auth_timeout = 2 * CLOCK_S,
               .refs = 1},
};

static inline struct server *
fake_handle(void)
{
    return (struct server *)(void *)&fake;
}

const char *
server_id(const struct server *s)
{
    (void)s;
    return "NFAKE";
}

const char *
server_name(const struct server *s)
{
    (void)s;
    return "fake<1>";
}

int64_t
server_start_wall(const struct server *s)
{
    (void)s;
    return 1700000000 * CLOCK_S;
}

int64_t
server_config_load_wall(const struct server *s)
{
    return server_start_wall(s);
}

const char *
server_host(const struct server *s)
{
    (void)s;
    return "0.0.0.0";
}

int
server_port(const struct server *s)
{
    (void)s;
    return fake.port;
}

struct config *
server_config(struct server *s)
{
    (void)s;
    return &fake.config;
}

void
config_unref(struct config *c)
{
    (void)c;
}

struct api *
server_api(struct server *s)
{
    return (struct api *)(void *)s;
}

struct js *
server_js(const struct server *s)
{
    (void)s;
    return NULL;
}

struct monitor *
server_monitor(struct server *s)
{
    (void)s;
    return fake.monitor;
}

struct account *
server_account(struct server *s, const char *name)
{
    bool is_known = strcmp(name, "A") == 0 || strcmp(name, "SYS") == 0;
    return is_known ? (struct account *)(void *)s : NULL;
}

struct account *
server_system_account(struct server *s)
{
    (void)s;
    return fake.config.system_account != NULL ? (struct account *)(void *)&fake : NULL;
}

bool
server_has_interest(struct server *s, struct account *acc, const char *subject)
{
    (void)s;
    (void)acc;
    (void)subject;
    return fake.has_interest;
}

void
server_publish(struct server *s, struct account *acc, const char *subject, const char *reply,
               const char *data, size_t len)
{
    (void)s;
    (void)acc;
    (void)reply;
    pthread_mutex_lock(&fake.lock);
    if (fake.n_sent < FAKE_SENT) {
        struct fake_message *m = &fake.sent[fake.n_sent++];
        snprintf(m->subject, sizeof m->subject, "%s", subject);
        snprintf(m->data, sizeof m->data, "%.*s", (int)len, data);
    }
    pthread_cond_broadcast(&fake.on_sent);
    pthread_mutex_unlock(&fake.lock);
}

bool
server_is_lame_duck(const struct server *s)
{
    (void)s;
    return fake.lame_duck;
}

void
inspect_free_subs(struct sub_info *v, size_t n)
{
    for (size_t i = 0; v != NULL && i < n; i++) {
        mem_free(v[i].account);
        mem_free(v[i].subject);
        mem_free(v[i].queue);
        mem_free(v[i].sid);
    }
    mem_free(v);
}

void
inspect_free_conns(struct conn_info *v, size_t n)
{
    for (size_t i = 0; v != NULL && i < n; i++) {
        mem_free(v[i].account);
        mem_free(v[i].user);
        mem_free(v[i].name);
        mem_free(v[i].lang);
        mem_free(v[i].version);
        mem_free(v[i].reason);
        inspect_free_subs(v[i].subs, v[i].n_subs);
    }
    mem_free(v);
}

static inline bool
fake_sub(struct sub_info *s, const char *subject, uint64_t cid)
{
    *s = (struct sub_info){.account = mem_strdup("A"),
                           .subject = mem_strdup(subject),
                           .queue = mem_strdup(""),
                           .sid = mem_strdup("1"),
                           .cid = cid,
                           .msgs = 3};
    return s->account != NULL && s->subject != NULL && s->queue != NULL && s->sid != NULL;
}

/* Connection i (0…4): cid i+1; its figures fall as i grows; 3 and 4 are closed. It subscribes to
 * "foo.<i>"; its user is "u0" for even i, else "u1"; its account is "A", but "$G" for 0. */
static inline bool
fake_conn(struct conn_info *c, size_t i, bool with_subs)
{
    int64_t k = (int64_t)(10 - i);
    char text[32];
    snprintf(text, sizeof text, "u%zu", i % 2);
    *c = (struct conn_info){
        .cid = i + 1,
        .kind = "Client",
        .type = "nats",
        .host = "127.0.0.1",
        .port = (uint16_t)(1000 + i),
        .start_wall = server_start_wall(NULL) + (int64_t)i * CLOCK_S,
        .last_activity_wall = server_start_wall(NULL) + k * CLOCK_S,
        .stop_wall = i >= 3 ? server_start_wall(NULL) + 100 * CLOCK_S : 0,
        .rtt = k * 123456,
        .in_msgs = k,
        .out_msgs = k,
        .in_bytes = k,
        .out_bytes = k,
        .pending_bytes = k,
        .num_subs = (uint32_t)k,
        .account = mem_strdup(i == 0 ? "$G" : "A"),
        .user = mem_strdup(text),
        .name = mem_strdup(i == 1 ? "b\xff" : ""),
        .lang = mem_strdup("c"),
        .version = mem_strdup("1"),
        .reason = mem_strdup(i == 3   ? "Stale Connection"
                             : i == 4 ? "Client Closed"
                                      : ""),
    };
    if (with_subs) {
        c->subs = mem_alloc_array(1, sizeof *c->subs);
        c->n_subs = c->subs != NULL ? 1 : 0;
        snprintf(text, sizeof text, "foo.%zu", i);
        if (c->subs == NULL || !fake_sub(c->subs, text, c->cid)) {
            return false;
        }
    }
    return c->account != NULL && c->user != NULL && c->name != NULL && c->lang != NULL &&
           c->version != NULL && c->reason != NULL;
}

enum status
inspect_conns(struct server *s, const struct inspect_query *q, struct conn_info **out, size_t *n)
{
    (void)s;
    if (fake.inspect != ST_OK) {
        return fake.inspect;
    }
    struct conn_info *v = mem_alloc_array(FAKE_CONNS, sizeof *v);
    if (v == NULL) {
        return ST_NOMEM;
    }
    size_t k = 0;
    for (size_t i = 0; i < FAKE_CONNS; i++) {
        bool fits = q->state == CONN_STATE_ALL || (i >= 3) == (q->state == CONN_STATE_CLOSED);
        fits = fits && (q->account == NULL || strcmp(q->account, i == 0 ? "$G" : "A") == 0);
        if (fits && !fake_conn(&v[k++], i, q->subs)) {
            inspect_free_conns(v, k);
            return ST_NOMEM;
        }
    }
    *out = v;
    *n = k;
    return ST_OK;
}

enum status
inspect_subs(struct server *s, const char *account, struct sub_info **out, size_t *n)
{
    (void)s;
    (void)account;
    static const char *const subjects[] = {"foo", "foo.*", "foo.>", "bar"};
    struct sub_info *v = mem_alloc_array(4, sizeof *v);
    if (v == NULL) {
        return ST_NOMEM;
    }
    for (size_t i = 0; i < 4; i++) {
        if (!fake_sub(&v[i], subjects[i], i + 1)) {
            inspect_free_subs(v, i + 1);
            return ST_NOMEM;
        }
    }
    *out = v;
    *n = 4;
    return ST_OK;
}

enum status
inspect_sublist(struct server *s, const char *account, struct sublist_stats *out)
{
    if (account != NULL && server_account(s, account) == NULL) {
        return ST_NOTFOUND;
    }
    *out = (struct sublist_stats){.num_subs = 4,
                                  .num_matches = 8,
                                  .cache_hits = 2,
                                  .fanout_sum = 6,
                                  .fanout_count = 4,
                                  .max_fanout = 3};
    return ST_OK;
}

void
inspect_free_accounts(struct account_info *v, size_t n)
{
    for (size_t i = 0; v != NULL && i < n; i++) {
        mem_free(v[i].name);
    }
    mem_free(v);
}

enum status
inspect_accounts(struct server *s, struct account_info **out, size_t *n)
{
    (void)s;
    if (fake.inspect != ST_OK) {
        return fake.inspect;
    }
    struct account_info *v = mem_alloc_array(3, sizeof *v);
    if (v == NULL) {
        return ST_NOMEM;
    }
    v[0] = (struct account_info){.name = mem_strdup("SYS"), .is_system = true};
    v[1] = (struct account_info){.name = mem_strdup("A"), .conns = 2, .in_msgs = 7};
    v[2] = (struct account_info){.name = mem_strdup("$G"), .conns = 1};
    if (v[0].name == NULL || v[1].name == NULL || v[2].name == NULL) {
        inspect_free_accounts(v, 3);
        return ST_NOMEM;
    }
    *out = v;
    *n = 3;
    return ST_OK;
}

void
inspect_totals(struct server *s, struct server_totals *out)
{
    (void)s;
    *out = (struct server_totals){.connections = 3, .total_connections = 5, .in_msgs = 40};
}

json_t *
api_apiz(struct api *a)
{
    (void)a;
    return json_pack("{s:i}", "depth", 0);
}

json_t *
api_wlmz(struct api *a)
{
    (void)a;
    return json_pack("{s:[]}", "groups");
}

char *
api_metrics(struct api *a)
{
    (void)a;
    return mem_strdup("sluice_api_depth 0\n");
}

json_t *
api_ipqueues(struct api *a)
{
    (void)a;
    return json_pack("{s:{s:i},s:{s:i,s:i}}", "idle", "pending", 0, "API info", "pending", 0,
                     "in_progress", 2);
}

#endif
