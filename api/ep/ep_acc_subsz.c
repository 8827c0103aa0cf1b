/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct zreq z;
    enum status st = zreq_begin(&z, a, r, out);
    if (st != ST_OK) {
        return zreq_skipped(st);
    }
    char name[512];
    zreq_account(r, name, sizeof(name));
    st = zreq_set(&z, "account", json_string(name));
    if (st == ST_OK) {
        st = zreq_set(&z, "subscriptions", json_true());
    }
    if (st == ST_OK) {
        st = zreq_view(&z, a, out, r->ep->view);
    }
    zreq_fini(&z);
    return st;
}

const struct api_endpoint ep_acc_subsz = {
    .name = "acc_subsz",
    .subjects = {"$SYS.REQ.ACCOUNT.*.SUBSZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "SUBSZ",
    .go = "SubszEventOptions",
    .run = run,
    .doc = "The subscriptions of one account.",
};
