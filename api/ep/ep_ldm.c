/* SPDX-License-Identifier: Apache-2.0 */
#include "api/plane.h"
#include "api/zreq.h"

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    uint64_t cid;
    enum status st = zreq_cid(r, &cid);
    if (st != ST_OK) {
        /* NB: nats-server says nothing to a request that it cannot read. */
        out->none = st == ST_SYNTAX;
        return zreq_skipped(st);
    }
    struct zreq z;
    st = zreq_begin(&z, a, r, out);
    if (st != ST_OK) {
        return zreq_skipped(st);
    }
    const char *text = NULL;
    st = a->host->lame_duck(a->host->ctx, cid);
    if (st != ST_OK) {
        text = st == ST_NOTFOUND ? "no such client id"
                                 : "client does not support Lame Duck Mode or is not ready to "
                                   "receive the notification";
    }
    st = zreq_answer(&z, out, "data", NULL, text);
    zreq_fini(&z);
    return st;
}

const struct api_endpoint ep_ldm = {
    .name = "ldm",
    .subjects = {"$SYS.REQ.SERVER.{id}.LDM"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .run = run,
    .doc = "Tells one client that the server is in lame duck mode.",
};
