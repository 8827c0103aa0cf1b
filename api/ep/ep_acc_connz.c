/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return zreq_run_account(a, r, out, "acc");
}

const struct api_endpoint ep_acc_connz = {
    .name = "acc_connz",
    .subjects = {"$SYS.REQ.ACCOUNT.*.CONNZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "CONNZ",
    .go = "ConnzEventOptions",
    .run = run,
    .doc = "The client connections of one account.",
};
