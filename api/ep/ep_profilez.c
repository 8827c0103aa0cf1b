/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

const struct api_endpoint ep_profilez = {
    .name = "profilez",
    .subjects = {"$SYS.REQ.SERVER.PING.PROFILEZ", "$SYS.REQ.SERVER.{id}.PROFILEZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "PROFILEZ",
    .go = "ProfilezEventOptions",
    .run = zreq_run,
    .doc = "A profile of the process.",
};
