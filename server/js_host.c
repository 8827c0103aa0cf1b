/* SPDX-License-Identifier: Apache-2.0 */
/* What the server gives the JetStream engine (stream/js_host.h). */
#include <stdatomic.h>
#include <string.h>

#include "server/auth/account.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/inspect.h"
#include "server/monitor/jput.h"
#include "server/priv.h"
#include "server/route/deliver_js.h"
#include "server/route/sub.h"
#include "server/route/sublist.h"
#include "stream/js_out.h"

static void
send_one(void *ctx, struct js_out *o)
{
    struct server *s = ctx;
    deliver_js_send(s->loops[o->loop % s->n_loops], o);
}

static void
send_list(void *ctx, struct list_node *list)
{
    struct server *s = ctx;
    deliver_js_send_list(s->loops, s->n_loops, list);
}

static bool
has_interest(void *ctx, struct account *acc, const char *subject)
{
    (void)ctx;
    return sublist_has_interest(acc->subs, subject, strlen(subject));
}

static bool
has_queue_interest(void *ctx, struct account *acc, const char *subject, const char *queue)
{
    (void)ctx;
    return sublist_has_literal(acc->subs, subject, strlen(subject), queue != NULL ? queue : "");
}

/* The handle is the subscription itself, with one reference. */
static enum status
subscribe(void *ctx, /* NOLINT(readability-function-size): as js_host.h has it */
          struct account *acc, const char *subject, js_receive_fn *fn, void (*release)(void *arg),
          void *arg, struct js_service **out)
{
    struct sub *sub;
    struct sub_spec spec = {
        .subject = subject, .subject_len = strlen(subject), .queue = "", .sid = ""};
    (void)ctx;
    enum status st = sub_new(&sub, &spec, NULL);
    if (st != ST_OK) {
        return st;
    }
    sub->service = mem_alloc(sizeof *sub->service);
    if (sub->service == NULL) {
        sub_unref(sub);
        return ST_NOMEM;
    }
    sub->service->fn = fn;
    sub->service->arg = arg;
    st = sublist_insert(acc->subs, sub);
    if (st != ST_OK) {
        sub_unref(sub); /* the argument stays the caller's */
        return st;
    }
    sub->service->release = release;
    *out = (struct js_service *)(void *)sub;
    return ST_OK;
}

static void
unsubscribe(void *ctx, struct account *acc, struct js_service *service)
{
    struct sub *sub = (struct sub *)(void *)service;
    (void)ctx;
    sublist_remove(acc->subs, sub);
    sub_unref(sub);
}

static const char *
id(void *ctx)
{
    return server_id(ctx);
}

static const char *
name(void *ctx)
{
    return server_name(ctx);
}

static struct account *
system_account(void *ctx)
{
    return server_system_account(ctx);
}

static json_t *
client_json(struct server *s, const struct conn_info *c)
{
    struct jput p = {0};
    json_t *o = jput_new(&p);
    json_t *out = NULL;
    jput_time(&p, o, "start", c->start_wall);
    jput_str_opt(&p, o, "host", c->host);
    jput_int(&p, o, "id", (int64_t)c->cid);
    jput_str_opt(&p, o, "acc", c->account);
    jput_str_opt(&p, o, "user", c->user);
    jput_str_opt(&p, o, "name", c->name);
    jput_str_opt(&p, o, "lang", c->lang);
    jput_str_opt(&p, o, "ver", c->version);
    jput_int_opt(&p, o, "rtt", c->rtt);
    jput_str(&p, o, "server", server_name(s));
    jput_str(&p, o, "kind", c->kind);
    jput_str(&p, o, "client_type", c->type);
    return jput_end(&p, o, &out) == ST_OK ? out : NULL;
}

json_t *
js_host_client_info(void *server, uint64_t cid)
{
    struct inspect_query q = {.state = CONN_STATE_OPEN, .cid = cid};
    struct conn_info *v = NULL;
    size_t n = 0;
    if (cid == 0 || inspect_conns(server, &q, &v, &n) != ST_OK) {
        return NULL;
    }
    json_t *o = n > 0 ? client_json(server, &v[0]) : NULL;
    inspect_free_conns(v, n);
    return o;
}

void
js_host_init(struct server *s)
{
    s->js_fns = (struct js_host){.ctx = s,
                                 .send = send_one,
                                 .send_list = send_list,
                                 .has_interest = has_interest,
                                 .has_queue_interest = has_queue_interest,
                                 .subscribe = subscribe,
                                 .unsubscribe = unsubscribe,
                                 .server_id = id,
                                 .server_name = name,
                                 .client_info = js_host_client_info,
                                 .system_account = system_account,
                                 .max_payload = s->config->max_payload};
}
