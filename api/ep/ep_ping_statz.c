/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return zreq_run_statz(a, r, out, false);
}

const struct api_endpoint ep_ping_statz = {
    .name = "ping_statz",
    .subjects = {"$SYS.REQ.ACCOUNT.PING.STATZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "ACCSTATZ",
    .go = "AccountStatzEventOptions",
    .run = run,
    .doc = "The traffic of all accounts with connections, or of those named.",
};
