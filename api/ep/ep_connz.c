/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

const struct api_endpoint ep_connz = {
    .name = "connz",
    .subjects = {"$SYS.REQ.SERVER.PING.CONNZ", "$SYS.REQ.SERVER.{id}.CONNZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "CONNZ",
    .go = "ConnzEventOptions",
    .run = zreq_run,
    .doc = "The client connections.",
};
