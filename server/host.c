/* SPDX-License-Identifier: Apache-2.0 */
/* What the server gives the API plane (api/host.h). */
#include <stdatomic.h>
#include <string.h>

#include "api/gate.h"
#include "server/auth/account.h"
#include "server/auth/auth.h"
#include "server/auth/perms.h"
#include "server/base/mem.h"
#include "server/gather.h"
#include "server/monitor/monitor.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/priv.h"
#include "server/proto/user_info.h"
#include "server/route/deliver.h"
#include "server/route/gated.h"
#include "server/route/sublist.h"

static void
publish(void *ctx, struct account *acc, uint32_t loop, const char *subject, const char *reply,
        const struct api_bytes *body)
{
    struct server *s = ctx;
    struct deliver_post p = {.account = acc,
                             .subject = subject,
                             .reply = reply,
                             .hdr = body->hdr,
                             .hdr_len = body->hdr_len,
                             .data = body->data,
                             .data_len = body->data_len};
    deliver_post(s->loops[loop % s->n_loops], &p);
}

static bool
has_interest(void *ctx, struct account *acc, const char *subject)
{
    (void)ctx;
    return sublist_has_interest(acc->subs, subject, strlen(subject));
}

static struct account *
system_account(void *ctx)
{
    return server_system_account(ctx);
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

static json_t *
info(void *ctx)
{
    return monitor_server_info(ctx);
}

static enum status
view(void *ctx, const char *what, const json_t *options, json_t **out, char **err)
{
    return monitor_view(ctx, what, options, out, err);
}

static enum status
user_info(void *ctx, const struct api_origin *origin, json_t **out)
{
    return user_info_of(ctx, origin->cid, out);
}

static enum status
reload(void *ctx, char **err)
{
    return server_reload(ctx, err);
}

static enum status
kick(void *ctx, uint64_t cid)
{
    return server_kick(ctx, cid);
}

static enum status
lame_duck(void *ctx, uint64_t cid)
{
    return server_lame_duck_conn(ctx, cid);
}

static struct account *
account(void *ctx, const char *name, uint64_t *key)
{
    struct account *a = server_account(ctx, name);
    if (a == NULL || !atomic_load(&a->in_use)) {
        return NULL;
    }
    *key = a->key;
    return a;
}

static enum status
gate_open(void *ctx, struct gate_watch *w, struct gate *g, const char *subject, void **handle)
{
    struct sub *s;
    (void)ctx;
    enum status st = gated_open(w, g, subject, &s);
    if (st == ST_OK) {
        *handle = s;
    }
    return st;
}

static void
gate_close(void *ctx, struct gate_watch *w, void *handle)
{
    (void)ctx;
    gated_close(w, handle);
}

static void
gate_deliver(void *ctx, struct gate_request *r)
{
    gated_deliver(ctx, r);
}

static struct js *
jetstream(void *ctx)
{
    return server_js(ctx);
}

static json_t *
client_info(void *ctx, const struct api_origin *origin)
{
    return js_host_client_info(ctx, origin->cid);
}

void
host_init(struct server *s)
{
    s->host_fns = (struct api_host){.ctx = s,
                                    .publish = publish,
                                    .has_interest = has_interest,
                                    .system_account = system_account,
                                    .server_id = id,
                                    .server_name = name,
                                    .server_info = info,
                                    .monitor = view,
                                    .user_info = user_info,
                                    .reload = reload,
                                    .kick = kick,
                                    .lame_duck = lame_duck,
                                    .account = account,
                                    .gate_open = gate_open,
                                    .gate_close = gate_close,
                                    .gate_deliver = gate_deliver,
                                    .jetstream = jetstream,
                                    .client_info = client_info};
}
