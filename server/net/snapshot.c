/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/snapshot.h"

#include <stdio.h>
#include <string.h>

#include "server/auth/account.h"
#include "server/auth/auth.h"
#include "server/base/mem.h"
#include "server/net/conn.h"
#include "server/net/conn_subs.h"
#include "server/net/loop.h"

char *
snapshot_text(const char *s)
{
    return mem_strdup(s != NULL ? s : "");
}

static enum status
copy_texts(const struct conn *c, struct conn_info *out)
{
    out->account = snapshot_text(c->account != NULL ? c->account->name : "");
    out->user = snapshot_text(c->username != NULL ? c->username
                              : c->user != NULL   ? c->user->name
                                                  : "");
    out->name = snapshot_text(c->name);
    out->lang = snapshot_text(c->lang);
    out->version = snapshot_text(c->version);
    bool ok = out->account != NULL && out->user != NULL && out->name != NULL && out->lang != NULL &&
              out->version != NULL;
    return ok ? ST_OK : ST_NOMEM;
}

static enum status
copy_sub(const struct conn *c, const struct sub *s, struct sub_info *out)
{
    out->account = snapshot_text(c->account->name);
    out->subject = snapshot_text(sub_subject(s));
    out->queue = snapshot_text(sub_queue(s));
    out->sid = snapshot_text(sub_sid(s));
    out->cid = c->cid;
    out->msgs = s->nmsgs;
    out->max = s->max;
    bool ok =
        out->account != NULL && out->subject != NULL && out->queue != NULL && out->sid != NULL;
    return ok ? ST_OK : ST_NOMEM;
}

static enum status
copy_subs(const struct conn *c, struct conn_info *out)
{
    if (c->n_subs == 0) {
        return ST_OK;
    }
    out->subs = mem_alloc_array(c->n_subs, sizeof *out->subs);
    if (out->subs == NULL) {
        return ST_NOMEM;
    }
    for (struct sub *s = conn_subs_first(c); s != NULL; s = conn_subs_next(c, s)) {
        if (copy_sub(c, s, &out->subs[out->n_subs++]) != ST_OK) {
            return ST_NOMEM;
        }
    }
    return ST_OK;
}

enum status
snapshot_conn(const struct conn *c, bool subs, struct conn_info *out)
{
    *out = (struct conn_info){.cid = c->cid,
                              .kind = "Client",
                              .type = "nats",
                              .port = c->port,
                              .start_wall = c->start_wall,
                              .last_activity_wall = c->last_wall,
                              .rtt = c->rtt,
                              .in_msgs = c->in_msgs,
                              .out_msgs = c->out_msgs,
                              .in_bytes = c->in_bytes,
                              .out_bytes = c->out_bytes,
                              .stalls = c->stalls,
                              .pending_bytes = c->out.pending,
                              .num_subs = c->n_subs};
    snprintf(out->host, sizeof out->host, "%s", c->host);
    if (copy_texts(c, out) != ST_OK || (subs && copy_subs(c, out) != ST_OK)) {
        conn_info_fini(out);
        *out = (struct conn_info){0};
        return ST_NOMEM;
    }
    return ST_OK;
}
