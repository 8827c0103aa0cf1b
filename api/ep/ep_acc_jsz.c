/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return zreq_run_account(a, r, out, "account");
}

const struct api_endpoint ep_acc_jsz = {
    .name = "acc_jsz",
    .subjects = {"$SYS.REQ.ACCOUNT.*.JSZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "ACCJSZ",
    .go = "JszEventOptions",
    .run = run,
    .doc = "JetStream of one account.",
};
