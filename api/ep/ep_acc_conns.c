/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/plane.h"
#include "api/typed.h"
#include "api/zreq.h"
#include "server/base/mem.h"

/* Whether the payload, if any, agrees with the account of the subject. */
static bool
is_meant(const struct api_request *r, const char *name)
{
    if (r->data_len == 0) {
        return true;
    }
    json_t *o = json_loadb(r->data, r->data_len, 0, NULL);
    const json_t *acc = json_object_get(o, "acc");
    bool ok = o != NULL && json_is_object(o) &&
              (acc == NULL || (json_is_string(acc) && strcmp(json_string_value(acc), name) == 0));
    json_decref(o);
    return ok;
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    char name[512];
    zreq_account(r, name, sizeof(name));
    /* NB: nats-server says nothing where it has nothing to say, errors included. */
    out->none = true;
    if (!is_meant(r, name)) {
        return ST_OK;
    }
    json_t *stat = NULL;
    char *err = NULL;
    json_t *options = json_pack("{s:s}", "acc", name);
    enum status st =
        options == NULL ? ST_NOMEM : a->host->monitor(a->host->ctx, "CONNS", options, &stat, &err);
    json_decref(options);
    mem_free(err);
    if (st != ST_OK || json_integer_value(json_object_get(stat, "conns")) == 0) {
        json_decref(stat);
        return st == ST_NOTFOUND ? ST_OK : st;
    }
    json_t *event = typed_event("io.nats.server.advisory.v1.account_connections");
    if (json_object_set_new(event, "server", a->host->server_info(a->host->ctx)) != 0 ||
        json_object_update(event, stat) != 0) {
        json_decref(event);
        event = NULL;
    }
    json_decref(stat);
    out->none = false;
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
