/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return zreq_run_account(a, r, out, "acc");
}

const struct api_endpoint ep_my_connz = {
    .name = "my_connz",
    .subjects = {"$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.SERVER.PING.CONNZ"},
    .level = APIQ_INFO,
    .flags = API_EP_USERS,
    .view = "CONNZ",
    .go = "ConnzEventOptions",
    .run = run,
    .doc = "The client connections of the sender's account.",
};
