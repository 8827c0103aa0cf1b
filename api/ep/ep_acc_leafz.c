/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return zreq_run_account(a, r, out, "account");
}

const struct api_endpoint ep_acc_leafz = {
    .name = "acc_leafz",
    .subjects = {"$SYS.REQ.ACCOUNT.*.LEAFZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "LEAFZ",
    .go = "LeafzEventOptions",
    .run = run,
    .doc = "The leaf node connections of one account.",
};
