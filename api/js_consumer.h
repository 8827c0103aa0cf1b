/* SPDX-License-Identifier: Apache-2.0 */
/* What the endpoints for consumers have in common. On a worker. */
#ifndef API_JS_CONSUMER_H
#define API_JS_CONSUMER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"
#include "stream/jfield.h"

struct api;
struct api_request;
struct consumer;
struct js_req;
struct reply;

/* {"type", and ConsumerInfo}. NULL without memory. */
json_t *js_consumer_answer(struct js_req *q, struct consumer *c);

/* api_endpoint.run of all that create: the form of the subject says which. */
enum status js_consumer_create_run(struct api *a, struct api_request *r,
                                   struct reply *out) MUST_CHECK;

/* A page of the consumers of the stream in the subject: answers it. */
struct js_consumer_page {
    int64_t offset;
    size_t limit;
    bool detail; /* ConsumerInfo instead of names */
};
extern const struct jfield js_consumer_page_fields[];
void js_consumer_page_answer(struct js_req *q, const struct js_consumer_page *p);

#endif
