/* SPDX-License-Identifier: Apache-2.0 */
#include "api/zreq.h"

const struct api_endpoint ep_routez = {
    .name = "routez",
    .subjects = {"$SYS.REQ.SERVER.PING.ROUTEZ", "$SYS.REQ.SERVER.{id}.ROUTEZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .view = "ROUTEZ",
    .go = "RoutezEventOptions",
    .run = zreq_run,
    .doc = "The connections to other servers of the cluster.",
};
