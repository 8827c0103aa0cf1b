/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/plane.h"
#include "api/typed.h"
#include "api/zreq.h"
#include "server/base/mem.h"

/* ST_SYNTAX: the payload, if any, does not agree with the account of the subject. */
static enum status
check(const struct api_request *r, const char *name)
{
    json_t *o;
    if (r->data_len == 0) {
        return ST_OK;
    }
    enum status st = zreq_object(r, &o);
    const json_t *acc = json_object_get(o, "acc");
    if (st == ST_OK && acc != NULL &&
        (!json_is_string(acc) || strcmp(json_string_value(acc), name) != 0)) {
        st = ST_SYNTAX;
    }
    json_decref(o);
    return st;
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    char name[512];
    zreq_account(r, name, sizeof(name));
    enum status st = check(r, name);
    if (st != ST_OK) {
        /* NB: nats-server says nothing where it has nothing to say, errors included. */
        out->none = st == ST_SYNTAX;
        return zreq_skipped(st);
    }
    json_t *stat = NULL;
    char *err = NULL;
    json_t *options = json_pack("{s:s}", "acc", name);
    st = options == NULL ? ST_NOMEM : a->host->monitor(a->host->ctx, "CONNS", options, &stat, &err);
    json_decref(options);
    mem_free(err);
    if (st != ST_OK || json_integer_value(json_object_get(stat, "conns")) == 0) {
        json_decref(stat);
        out->none = st != ST_NOMEM;
        return st == ST_NOMEM ? st : ST_OK;
    }
    json_t *event = typed_event("io.nats.server.advisory.v1.account_connections");
    if (json_object_set_new(event, "server", a->host->server_info(a->host->ctx)) != 0 ||
        json_object_update(event, stat) != 0) {
        json_decref(event);
        event = NULL;
    }
    json_decref(stat);
    return reply_json(out, event);
}

const struct api_endpoint ep_acc_conns = {
    .name = "acc_conns",
    .subjects = {"$SYS.REQ.ACCOUNT.*.CONNS"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .run = run,
    .doc = "The connections of one account, counted, as the event of that kind.",
};
