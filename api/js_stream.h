/* SPDX-License-Identifier: Apache-2.0 */
/* What the endpoints for streams have in common. On a worker. */
#ifndef API_JS_STREAM_H
#define API_JS_STREAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "stream/jfield.h"

struct js_req;
struct stream;
struct stream_config;

/* The configuration that the body is, its member "pedantic" taken out. False: failed. */
bool js_stream_config(struct js_req *q, struct stream_config **out, bool *pedantic);
/* The same of another object (NULL: {}). */
bool js_stream_config_of(struct js_req *q, json_t *o, struct stream_config **out);
/* A configuration may leave its name to the subject, but not contradict it. False: failed. */
bool js_stream_name_config(struct js_req *q, struct stream_config *cfg, const char *name);

/* Takes both; o with the members of info behind its own. NULL where one is. */
json_t *js_stream_merge(json_t *o, json_t *info);
/* An info of a stream or consumer as lists have it: without what tells of this server. */
json_t *js_stream_plain(json_t *info);
/* {"type", and StreamInfo}. NULL without memory. */
json_t *js_stream_answer(struct js_req *q, struct stream *s);

/* A page of the streams of the account. */
struct js_stream_page {
    int64_t offset;
    char *subject; /* owned by the endpoint */
    size_t limit;
    bool detail; /* StreamInfo instead of names */
};
extern const struct jfield js_stream_page_fields[];
json_t *js_stream_page_answer(struct js_req *q, const struct js_stream_page *p);

#endif
