/* SPDX-License-Identifier: Apache-2.0 */
#include "api/plane.h"
#include "api/zreq.h"

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    json_t *data = NULL;
    json_t *server = a->host->server_info(a->host->ctx);
    enum status st = server == NULL ? ST_NOMEM : ST_OK;
    if (st == ST_OK) {
        st = a->host->user_info(a->host->ctx, &r->origin, &data);
    }
    if (st == ST_NOTFOUND) {
        /* The connection closed meanwhile: nobody hears it. */
        json_decref(server);
        out->none = true;
        return ST_OK;
    }
    if (st != ST_OK) {
        json_decref(server);
        return st;
    }
    return reply_json(out, json_pack("{s:o, s:o}", "server", server, "data", data));
}

const struct api_endpoint ep_user_info = {
    .name = "user_info",
    .subjects = {"$SYS.REQ.USER.INFO"},
    .level = APIQ_INFO,
    .flags = API_EP_LIFT,
    .run = run,
    .doc = "Who the sender is to the server: user, account, permissions.",
};
