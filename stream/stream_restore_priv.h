/* SPDX-License-Identifier: Apache-2.0 */
/* Between stream_restore.c and stream_restore_entries.c. */
#ifndef STREAM_STREAM_RESTORE_PRIV_H
#define STREAM_STREAM_RESTORE_PRIV_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/list.h"
#include "stream/js_account.h"
#include "stream/js_timer.h"
#include "stream/snapshot_format.h"
#include "stream/stream_config.h"

struct rput;
struct stream;

/* A consumer waits for the end. */
struct kept {
    struct list_node node;
    size_t name_len, len;
    char bytes[]; /* name, NUL, record */
};

/* lock guards all but refs, a, timer. It is taken before a stream's. References: the service, the
 * armed timer. */
struct restore {
    _Atomic uint32_t refs;
    struct js_timer timer;
    struct js_account *a; /* borrowed: outlives it */
    pthread_mutex_t lock;
    struct stream_config *cfg; /* owned, until the stream is made */
    struct stream *s;          /* ref, or NULL */
    struct js_service *service;
    struct snapshot_in in; /* what came, and is not dealt with yet */
    struct list_node kept; /* owned */
    struct rput *held;     /* owned, within restore_digest: a message not given to the store yet */
    json_t *client;        /* owned, or NULL: who asked, for advisories */
    uint64_t last_seq, bytes;
    int64_t heard; /* monotonic */
    int64_t wall;  /* of the beginning */
    bool whole, over;
    char why[128]; /* what went wrong; "": nothing */
};

struct restore *restore_ref(struct restore *v);
void restore_unref(struct restore *v);
/* The first reason stays. v->lock is held. */
void restore_fail(struct restore *v, const char *why);
/* No lock of a stream is held. */
void restore_answer(struct js_account *a, const char *reply, const char *text, size_t len);
void restore_answer_error(struct js_account *a, const char *reply, const char *why);
/* Deals with the entries that are whole. True: `reply` is answered when the last message among them
 * is committed. v->lock is held. */
bool restore_digest(struct restore *v, const void *data, size_t len, const char *reply);

#endif
