/* SPDX-License-Identifier: Apache-2.0 */
#include "api/js_consumer.h"
#include "api/js_req.h"

const struct api_endpoint ep_js_consumer_create = {
    .name = "js_consumer_create",
    .subjects = {"$JS.API.CONSUMER.CREATE.*", "$JS.API.CONSUMER.CREATE.*.>"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 5,
    .type = "io.nats.jetstream.api.v1.consumer_create_response",
    .run = js_consumer_create_run,
    .doc = "Makes or updates a consumer.",
};
