/* SPDX-License-Identifier: Apache-2.0 */
#include "api/js_consumer.h"
#include "api/js_req.h"

const struct api_endpoint ep_js_durable_create = {
    .name = "js_durable_create",
    .subjects = {"$JS.API.CONSUMER.DURABLE.CREATE.*.*"},
    .level = APIQ_NORMAL,
    .flags = API_EP_JS | API_EP_NO_REPLY,
    .order_token = 6,
    .type = "io.nats.jetstream.api.v1.consumer_create_response",
    .run = js_consumer_create_run,
    .doc = "The same in its older form.",
};
