/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/js_req.h"

/* The types of the answers, by what the subject begins with. */
static const struct {
    const char *begin, *type;
} types[] = {
    {"$JS.API.STREAM.LEADER.", "io.nats.jetstream.api.v1.stream_leader_stepdown_response"},
    {"$JS.API.STREAM.PEER.REMOVE.", "io.nats.jetstream.api.v1.stream_remove_peer_response"},
    {"$JS.API.STREAM.PEER.EVACUATE.", "io.nats.jetstream.api.v1.stream_evacuate_peer_response"},
    {"$JS.API.STREAM.CANCEL_MOVE.", "io.nats.jetstream.api.v1.stream_cancel_move_response"},
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

const struct api_endpoint ep_js_clustered = {
    .name = "js_clustered",
    .subjects = {"$JS.API.STREAM.LEADER.STEPDOWN.*", "$JS.API.STREAM.PEER.*.*",
                 "$JS.API.STREAM.CANCEL_MOVE.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS,
    .type = "io.nats.jetstream.api.v1.system_response",
    .run = run,
    .doc = "Of a cluster: refused.",
};
