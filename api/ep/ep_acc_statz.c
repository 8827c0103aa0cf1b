/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/zreq.h"

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    char name[512];
    zreq_account(r, name, sizeof(name));
    /* The wildcard takes in PING, which is an endpoint of its own. */
    if (strcmp(name, "PING") == 0) {
        out->none = true;
        return ST_OK;
    }
    return zreq_run_statz(a, r, out, true);
}

const struct api_endpoint ep_acc_statz = {
    .name = "acc_statz",
    .subjects = {"$SYS.REQ.ACCOUNT.*.STATZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "ACCSTATZ",
    .go = "AccountStatzEventOptions",
    .run = run,
    .doc = "The traffic of one account.",
};
