/* SPDX-License-Identifier: Apache-2.0 */
/* One mirror or source at work, between stream_feed.c and stream_links.c. Reference-counted: its
 * stream, its origin's list and its armed timer hold it. What it does it does on the engine's
 * thread. */
#ifndef STREAM_STREAM_FEED_H
#define STREAM_STREAM_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "server/base/list.h"
#include "stream/js_timer.h"
#include "stream/mlog.h"
#include "stream/mlog_subject.h"
#include "stream/stream_config.h"

struct stream;
struct transform;

/* node, freed: under the origin's lock. origin, ended, lag, seq, heard, place, lost: under `to`'s.
 * The rest is constant, or the engine's thread's own. */
struct feed {
    _Atomic uint32_t refs;
    struct list_node node; /* of the origin's links */
    struct js_timer timer;
    struct stream *to;     /* ref */
    struct stream *origin; /* ref, or NULL: it is not there */
    bool ended, mirror;
    bool missing;  /* its origin is to be here, and is not */
    bool lost;     /* place is to be found anew */
    char *key;     /* owned: what tells it from others, "name filter destination" */
    char *name;    /* owned: of the origin */
    bool is_here;  /* its origin is of this server and account */
    json_t *info;  /* owned: what StreamSourceInfo says of its configuration */
    char ident[9]; /* of the origin's incarnation */
    uint64_t start_seq;
    int64_t start_time;
    bool has_start_time;
    char **filters;                /* owned */
    struct transform **transforms; /* owned; NULL where a filter has none */
    size_t n_filters;
    struct mfilter *filter; /* owned, or NULL: all; of the origin's log, under its lock */
    struct mcursor *cursor; /* owned; the same */
    uint64_t place;         /* the next sequence of the origin */
    uint64_t seq, lag;
    int64_t heard; /* wall ns; 0: never */
    /* Of an origin that keeps only what is wanted: what lies before `took` is in the taker by its
     * sequence `stored`, and may go when that is committed; `freed`: what lies before it may. */
    uint64_t took, stored, freed;
};

enum status feed_new(struct feed **out, struct stream *to, const struct stream_source *src,
                     bool mirror) MUST_CHECK;
struct feed *feed_ref(struct feed *f);
void feed_unref(struct feed *f);
void feed_on_timer(struct js_timer *t); /* its timer's fn */
/* Looks for work soon, or at `in` ns from now. */
void feed_wake(struct feed *f, int64_t in);
/* Takes nothing any more. No lock held; drops the caller's reference. */
void feed_end(struct feed *f);

/* stream_links.c */
enum status stream_links_add(struct stream *origin, struct feed *f) MUST_CHECK;
void stream_links_remove(struct stream *origin, struct feed *f);

/* The key of a source; ST_NOMEM. */
char *feed_key(const struct stream_source *src);

#endif
