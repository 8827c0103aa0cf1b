/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

const struct api_endpoint ep_varz = {
    .name = "varz",
    .subjects = {"$SYS.REQ.SERVER.PING.VARZ", "$SYS.REQ.SERVER.{id}.VARZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "VARZ",
    .go = "VarzEventOptions",
    .run = zreq_run,
    .doc = "General state and settings of the server.",
};
