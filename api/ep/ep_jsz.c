/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

const struct api_endpoint ep_jsz = {
    .name = "jsz",
    .subjects = {"$SYS.REQ.SERVER.PING.JSZ", "$SYS.REQ.SERVER.{id}.JSZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "JSZ",
    .go = "JszEventOptions",
    .run = zreq_run,
    .doc = "JetStream.",
};
