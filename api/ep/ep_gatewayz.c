/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

const struct api_endpoint ep_gatewayz = {
    .name = "gatewayz",
    .subjects = {"$SYS.REQ.SERVER.PING.GATEWAYZ", "$SYS.REQ.SERVER.{id}.GATEWAYZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "GATEWAYZ",
    .go = "GatewayzEventOptions",
    .run = zreq_run,
    .doc = "The connections to other clusters.",
};
