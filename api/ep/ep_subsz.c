/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

const struct api_endpoint ep_subsz = {
    .name = "subsz",
    .subjects = {"$SYS.REQ.SERVER.PING.SUBSZ", "$SYS.REQ.SERVER.{id}.SUBSZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "SUBSZ",
    .go = "SubszEventOptions",
    .run = zreq_run,
    .doc = "The subscriptions and their statistics.",
};
