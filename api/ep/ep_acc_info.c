/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return zreq_run_account(a, r, out, "account");
}

const struct api_endpoint ep_acc_info = {
    .name = "acc_info",
    .subjects = {"$SYS.REQ.ACCOUNT.*.INFO"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "ACCINFO",
    .go = "AccInfoEventOptions",
    .run = run,
    .doc = "What one account is made of.",
};
