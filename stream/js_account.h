/* SPDX-License-Identifier: Apache-2.0 */
/* One account's streams, limits and usage. Never freed before the engine. Any thread. */
#ifndef STREAM_JS_ACCOUNT_H
#define STREAM_JS_ACCOUNT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/list.h"
#include "stream/js.h"
#include "stream/js_error.h"
#include "stream/ntab.h"
#include "stream/ptrie.h"

enum { JS_ACCOUNT_SERVICES = 8 };

struct stream;
struct stream_config;

/* Constant but for: streams, sorted, subjects, limits (lock), the atomics. */
struct js_account {
    struct list_node node; /* of the engine's list */
    struct js *js;         /* borrowed: outlives it */
    struct account *acc;   /* borrowed: outlives the engine */
    char *name;            /* owned */
    char hash[9];          /* of the name, for ack subjects with a domain */
    pthread_mutex_t lock;
    struct ntab streams;    /* by name; ref each */
    struct stream **sorted; /* owned: the same, in the order of their names */
    size_t sorted_cap;
    struct ptrie subjects; /* of the streams' configurations */
    uint64_t mark;         /* of the last search in subjects */
    struct js_limits limits;
    _Atomic int64_t memory, file;                      /* bytes used */
    _Atomic int64_t reserved_memory, reserved_file;    /* by max_bytes of streams */
    _Atomic int64_t n_streams, n_consumers, n_sourced; /* n_sourced: streams with sources */
    _Atomic uint64_t api_total, api_errors;
    _Atomic uint32_t n_push;                          /* consumers with a deliver subject */
    struct js_service *services[JS_ACCOUNT_SERVICES]; /* of the host */
    pthread_mutex_t deliver_lock;                     /* a leaf: guards deliver */
    struct ntab deliver;                              /* deliver subjects, the consumers' own use */
};

/* With a reference (stream_unref). NULL: none. */
struct stream *js_account_stream(struct js_account *a, const char *name, size_t len);
/* Puts it into the tables, which take a reference. Under stream_admin_lock. ST_EXISTS, ST_NOMEM. */
enum status js_account_add(struct js_account *a, struct stream *s) MUST_CHECK;
/* Takes it out and lets the reference go. */
void js_account_remove(struct js_account *a, struct stream *s);
/* A stream's subjects change: those of the new configuration come in beside the old ones, and then
 * either of the two goes. Under stream_admin_lock. ST_NOMEM. */
enum status js_account_add_subjects(struct js_account *a, struct stream *s,
                                    const struct stream_config *c) MUST_CHECK;
void js_account_remove_subjects(struct js_account *a, struct stream *s,
                                const struct stream_config *c);

/* All streams as an array with a reference each, sorted by name. js_streams_free lets go.
 * ST_NOMEM. */
enum status js_account_streams(struct js_account *a, struct stream ***out, size_t *n) MUST_CHECK;
void js_streams_free(struct stream **v, size_t n);

/* A part of them: at most `limit` from the offset-th on, of those with a subject that meets
 * `filter` (NULL: all), of which there are `total`. */
struct js_page {
    const char *filter; /* borrowed */
    size_t offset, limit;
    struct stream **v; /* filled in, as js_account_streams */
    size_t n, total;
};
enum status js_account_page(struct js_account *a, struct js_page *p) MUST_CHECK;

void js_account_limits(struct js_account *a, struct js_limits *out);

/* Usage changes by `bytes` (may be negative). */
void js_account_use(struct js_account *a, bool memory, int64_t bytes);
/* Is there room for `more` bytes? The server's limit counts as passed only once it is, the
 * account's where it would be; nor is there room in a store that takes no writes. */
enum js_error js_account_check_room(struct js_account *a, bool memory, int64_t more,
                                    struct js_fail *f);

#endif
