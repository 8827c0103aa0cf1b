/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

const struct api_endpoint ep_accountz = {
    .name = "accountz",
    .subjects = {"$SYS.REQ.SERVER.PING.ACCOUNTZ", "$SYS.REQ.SERVER.{id}.ACCOUNTZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "ACCOUNTZ",
    .go = "AccountzEventOptions",
    .run = zreq_run,
    .doc = "The accounts.",
};
