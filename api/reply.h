/* SPDX-License-Identifier: Apache-2.0 */
/* What goes back to the one who asked: an answer that an endpoint fills, or a refusal. A refusal
 * allocates nothing, so that it can be given when there is no memory. */
#ifndef API_REPLY_H
#define API_REPLY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/ledger.h"
#include "server/base/buf.h"
#include "server/base/status.h"

/* err_code of errors, as nats-server numbers them. */
enum {
    ERR_BAD_REQUEST = 10003,
    ERR_UNAVAILABLE = 10008, /* every refusal: older clients give up for good on any other */
    ERR_RESOURCES = 10023,
    ERR_INTERNAL = 10051,
};

/* Owned by the thread that fills it. */
struct reply {
    struct buf body;
    const char *hdr; /* borrowed: a static header block, or NULL */
    bool none;       /* nothing is to be said */
};
void reply_init(struct reply *out);
void reply_fini(struct reply *out);

/* Takes json. The body is its text; without memory (also json NULL) ST_NOMEM, and no body. */
enum status reply_json(struct reply *out, json_t *json) MUST_CHECK;

/* {"type":…, "error":{"code","err_code","description"}}; type NULL: without. ST_NOMEM. */
enum status reply_error(struct reply *out, const char *type, int code, int err_code,
                        const char *fmt, ...) MUST_CHECK __attribute__((format(printf, 5, 6)));

/* Bounds of Nats-Retry-After, before the jitter of a quarter up or down. */
#define REPLY_RETRY_MIN     INT64_C(100000000)   /* 0.1 s */
#define REPLY_RETRY_MAX     INT64_C(30000000000) /* 30 s */
#define REPLY_RETRY_UNKNOWN INT64_C(1000000000)  /* where nothing was measured */

/* The hint for a backlog that takes drain ns to be served (0: not known): bounded, and spread at
 * random so that those refused together do not come back together. */
int64_t reply_retry_ns(int64_t drain);

/* A refusal as text. Values. */
struct refusal {
    char hdr[96]; /* the header block, or "" */
    char body[640];
};

/* Whether that end is told to the one who asked at all. */
bool reply_is_told(enum ledger_end e);

/* server: {"name","id"} of this server as JSON, put before the error as "server"; or NULL. type: as
 * reply_error. retry_ns 0: no hint. */
void reply_refusal(struct refusal *out, enum ledger_end e, const char *server, const char *type,
                   int64_t retry_ns);

#endif
