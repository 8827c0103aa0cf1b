/* SPDX-License-Identifier: Apache-2.0 */
#include "api/js_req.h"

const struct api_endpoint ep_js_clustered_consumer = {
    .name = "js_clustered_consumer",
    .subjects = {"$JS.API.CONSUMER.LEADER.STEPDOWN.*.*", "$JS.API.CONSUMER.PEER.*.*.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS,
    .type = "io.nats.jetstream.api.v1.system_response",
    .run = js_req_needs_cluster,
    .doc = "The same for consumers.",
};
