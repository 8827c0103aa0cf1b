/* SPDX-License-Identifier: Apache-2.0 */
#include "api/plane.h"
#include "api/zreq.h"

static const char *
words(enum status st)
{
    return st == ST_NOTFOUND ? "no such client or leafnode id" : status_text(st);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return zreq_act(a, r, out, a->host->kick, words);
}

const struct api_endpoint ep_kick = {
    .name = "kick",
    .subjects = {"$SYS.REQ.SERVER.{id}.KICK"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .run = run,
    .doc = "Closes a client connection.",
};
