/* SPDX-License-Identifier: Apache-2.0 */
#include "api/js_req.h"

const struct api_endpoint ep_js_clustered = {
    .name = "js_clustered",
    .subjects = {"$JS.API.STREAM.LEADER.STEPDOWN.*", "$JS.API.STREAM.PEER.*.*",
                 "$JS.API.STREAM.CANCEL_MOVE.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS,
    .type = "io.nats.jetstream.api.v1.system_response",
    .run = js_req_needs_cluster,
    .doc = "Of a cluster: refused.",
};
