/* SPDX-License-Identifier: Apache-2.0 */
#include "api/plane.h"
#include "api/zreq.h"

/* NB: nats-server answers this one whatever the filters say. */
static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    (void)r;
    json_t *server = a->host->server_info(a->host->ctx);
    json_t *host = server == NULL ? NULL : json_object_get(server, "host");
    json_t *id = json_pack("{s:s, s:s, s:s}", "name", a->host->server_name(a->host->ctx), "host",
                           json_is_string(host) ? json_string_value(host) : "", "id",
                           a->host->server_id(a->host->ctx));
    json_decref(server);
    return reply_json(out, id);
}

const struct api_endpoint ep_idz = {
    .name = "idz",
    .subjects = {"$SYS.REQ.SERVER.PING.IDZ", "$SYS.REQ.SERVER.{id}.IDZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .run = run,
    .doc = "Name, address and id of the server.",
};
