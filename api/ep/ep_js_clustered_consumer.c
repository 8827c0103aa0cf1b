/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/js_req.h"

static const struct {
    const char *begin, *type;
} types[] = {
    {"$JS.API.CONSUMER.LEADER.", "io.nats.jetstream.api.v1.consumer_leader_stepdown_response"},
    {"$JS.API.CONSUMER.PEER.REMOVE.", "io.nats.jetstream.api.v1.consumer_remove_peer_response"},
    {"$JS.API.CONSUMER.PEER.EVACUATE.", "io.nats.jetstream.api.v1.consumer_evacuate_peer_response"},
};

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct js_req q;
    if (js_req_begin(&q, a, r, out, JS_BODY_NONE)) {
        js_req_fail(&q, JS_ERR_CLUSTER_REQUIRED);
    }
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strncmp(r->subject, types[i].begin, strlen(types[i].begin)) == 0) {
            q.type = types[i].type;
        }
    }
    return js_req_end(&q);
}

const struct api_endpoint ep_js_clustered_consumer = {
    .name = "js_clustered_consumer",
    .subjects = {"$JS.API.CONSUMER.LEADER.STEPDOWN.*.*", "$JS.API.CONSUMER.PEER.*.*.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS,
    .type = "io.nats.jetstream.api.v1.system_response",
    .run = run,
    .doc = "The same for consumers.",
};
