/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

const struct api_endpoint ep_healthz = {
    .name = "healthz",
    .subjects = {"$SYS.REQ.SERVER.PING.HEALTHZ", "$SYS.REQ.SERVER.{id}.HEALTHZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "HEALTHZ",
    .go = "HealthzEventOptions",
    .run = zreq_run,
    .doc = "Whether the server is healthy.",
};
