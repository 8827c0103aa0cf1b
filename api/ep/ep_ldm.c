/* SPDX-License-Identifier: Apache-2.0 */
#include "api/plane.h"
#include "api/zreq.h"

static const char *
words(enum status st)
{
    return st == ST_NOTFOUND ? "no such client id"
                             : "client does not support Lame Duck Mode or is not ready to receive "
                               "the notification";
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return zreq_act(a, r, out, a->host->lame_duck, words);
}

const struct api_endpoint ep_ldm = {
    .name = "ldm",
    .subjects = {"$SYS.REQ.SERVER.{id}.LDM"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .run = run,
    .doc = "Tells one client that the server is in lame duck mode.",
};
