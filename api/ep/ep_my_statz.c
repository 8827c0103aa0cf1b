/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return zreq_run_statz(a, r, out, true);
}

const struct api_endpoint ep_my_statz = {
    .name = "my_statz",
    .subjects = {"$SYS.REQ.ACCOUNT.PING.STATZ"},
    .level = APIQ_INFO,
    .flags = API_EP_USERS,
    .view = "ACCSTATZ",
    .go = "AccountStatzEventOptions",
    .run = run,
    .doc = "The traffic of the sender's account.",
};
