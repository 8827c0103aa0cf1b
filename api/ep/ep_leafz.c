/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

const struct api_endpoint ep_leafz = {
    .name = "leafz",
    .subjects = {"$SYS.REQ.SERVER.PING.LEAFZ", "$SYS.REQ.SERVER.{id}.LEAFZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "LEAFZ",
    .go = "LeafzEventOptions",
    .run = zreq_run,
    .doc = "The leaf node connections.",
};
