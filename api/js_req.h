/* SPDX-License-Identifier: Apache-2.0 */
/* What the $JS.API endpoints have in common: who asks, the JSON request, the typed answer or error,
 * the wait for the disk, counters and the audit event. On a worker.
 *
 *     struct js_req q;
 *     if (js_req_begin(&q, a, r, out, JS_BODY_OPTIONAL)) { … js_req_answer(&q, json); }
 *     return js_req_end(&q);
 * A failure of any step is in q.fail (and q.failed), and js_req_end answers it. */
#ifndef API_JS_REQ_H
#define API_JS_REQ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/reply.h"
#include "api/request.h"
#include "stream/jfield.h"
#include "stream/js.h"
#include "stream/js_error.h"

struct consumer;
struct stream;

enum js_body {
    JS_BODY_NONE,     /* not looked at */
    JS_BODY_EMPTY,    /* there must be none */
    JS_BODY_OPTIONAL, /* an object, or something that is not looked at */
    JS_BODY_ANY,      /* an object, or nothing, which is the same as {} */
    JS_BODY_REQUIRED, /* an object, and not an empty one */
    JS_BODY_PLAIN,    /* as JS_BODY_ANY; what it has besides is never an error */
};

/* Owned by the worker. */
struct js_req {
    struct api *a; /* borrowed, as r and out */
    struct api_request *r;
    struct reply *out;
    struct js *js;          /* borrowed: outlives the plane */
    struct js_account *acc; /* borrowed, as js */
    json_t *body;           /* owned; an object or NULL */
    const char *type;       /* of the answer */
    struct js_fail fail;
    bool failed;
    bool plain;
    bool uncounted; /* neither counted nor audited */
    enum status st;
};

/* False: it has failed; js_req_end it. */
bool js_req_begin(struct js_req *q, struct api *a, struct api_request *r, struct reply *out,
                  enum js_body body);
/* Lets go, and answers a failure; what the endpoint returns. */
enum status js_req_end(struct js_req *q);

/* The request has failed, as q->fail says (or no memory, where st says so). Returns false. */
bool js_req_fail(struct js_req *q, enum js_error e);
bool js_req_fail_text(struct js_req *q, enum js_error e, const char *text);
bool js_req_nomem(struct js_req *q);

/* Reads the body by a table; go is nats-server's name of the type. False: failed. */
bool js_req_read(struct js_req *q, const struct jfield *fields, const char *go, void *base);

/* jfield.read of the member "offset" of requests for a page: an int64_t at the begin of base. */
enum status js_req_read_offset(struct jread *in, const json_t *v, void *base) MUST_CHECK;
#define JS_REQ_OFFSET                                                                              \
    {                                                                                              \
        .key = "offset", .kind = JF_CUSTOM, .read = js_req_read_offset                             \
    }

/* The n-th token of the subject, from 1; cut at size. Returns out. */
char *js_req_token(const struct js_req *q, unsigned n, char *out, size_t size);
enum { JS_REQ_NAME = 512 };

/* With a reference; NULL: failed. The consumer's stream is named by the token before it. */
struct stream *js_req_stream(struct js_req *q, unsigned token);
struct consumer *js_req_consumer(struct js_req *q, unsigned token);

/* An object with "type" in it; NULL without memory. */
json_t *js_req_object(const struct js_req *q);
/* Takes o: the answer. NULL: failed for want of memory. */
void js_req_answer(struct js_req *q, json_t *o);
/* The same once everything since the ticket is on the disk. js_req_end returns ST_PENDING then. */
void js_req_answer_committed(struct js_req *q, uint64_t ticket, bool memory, json_t *o);
/* A change was made: "success" once everything since the ticket is on the disk. Or not: e, as
 * q->fail says. */
void js_req_changed(struct js_req *q, enum js_error e, uint64_t ticket, bool memory);

/* The run of an endpoint that only a cluster has: refused, under the type that belongs to the
 * subject. */
enum status js_req_needs_cluster(struct api *a, struct api_request *r, struct reply *out);

#endif
