/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

const struct api_endpoint ep_ipqueuesz = {
    .name = "ipqueuesz",
    .subjects = {"$SYS.REQ.SERVER.PING.IPQUEUESZ", "$SYS.REQ.SERVER.{id}.IPQUEUESZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "IPQUEUESZ",
    .go = "IpqueueszEventOptions",
    .run = zreq_run,
    .doc = "The internal queues.",
};
