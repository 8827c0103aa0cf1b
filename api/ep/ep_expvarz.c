/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

const struct api_endpoint ep_expvarz = {
    .name = "expvarz",
    .subjects = {"$SYS.REQ.SERVER.PING.EXPVARZ", "$SYS.REQ.SERVER.{id}.EXPVARZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "EXPVARZ",
    .go = "ExpvarzEventOptions",
    .run = zreq_run,
    .doc = "Variables of the process.",
};
