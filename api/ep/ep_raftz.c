/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

const struct api_endpoint ep_raftz = {
    .name = "raftz",
    .subjects = {"$SYS.REQ.SERVER.PING.RAFTZ", "$SYS.REQ.SERVER.{id}.RAFTZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "RAFTZ",
    .go = "RaftzEventOptions",
    .run = zreq_run,
    .doc = "The consensus groups.",
};
