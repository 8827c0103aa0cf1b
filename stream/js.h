/* SPDX-License-Identifier: Apache-2.0 */
/* The JetStream engine as the server and the API see it.
 *
 * Threads: I/O threads ingest, ack, ask for messages and get directly (by the services that the
 * engine subscribes, js_host.h); API workers create, update, delete, ask; the store's thread tells
 * of commits; the engine's thread runs timers. Locks: one mutex per stream, which guards it and its
 * consumers; one per account table. Leaves, which may be taken under a stream's lock: the store's
 * queue and readers, the timers. No lock is held over a call of the host. */
#ifndef STREAM_JS_H
#define STREAM_JS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/clock.h"
#include "server/base/status.h"
#include "stream/js_caps.h"
#include "stream/js_host.h"

struct js;
struct js_account;
struct stream;

/* -1: no limit, where nothing else is said. Times in ns. */
struct js_opts {
    const char *store_dir; /* the folder "jetstream" is made inside it */
    bool sync_always;
    int64_t sync_interval;
    const char *domain;                           /* NULL: none */
    bool strict;                                  /* unknown fields of requests are errors */
    int64_t max_buffered_msgs, max_buffered_size; /* of ingest, per stream */
    struct js_caps caps;                          /* at the start */
    const char *vfs;                              /* tests: the store's VFS */
    bool no_threads; /* tests: the caller runs js_timers_run and waits for the store itself */
};

/* Limits of one account. */
struct js_limits {
    int64_t max_memory, max_file;                            /* bytes; -1: none */
    int64_t max_streams, max_consumers;                      /* -1: none */
    int64_t max_ack_pending;                                 /* -1: none */
    int64_t memory_max_stream_bytes, store_max_stream_bytes; /* <= 0: none */
    bool max_bytes_required;
};

/* Opens the store. On failure *err (mem_free) is the line for the log. */
enum status js_new(struct js **out, const struct js_host *host, const struct js_opts *opts,
                   const struct clock *clock, char **err) MUST_CHECK;
/* Starts the threads, reads what the store has, begins to serve. After the accounts are enabled. */
enum status js_start(struct js *js, char **err) MUST_CHECK;
/* Takes nothing more, writes what is to be written, joins the threads. Loops still run. */
void js_stop(struct js *js);
/* After the loops have gone: their services have been released. */
void js_free(struct js *js);
bool js_is_stopping(const struct js *js);

/* JetStream for an account, or new limits for one that has it. Main thread. */
enum status js_account_enable(struct js *js, struct account *acc, const char *name,
                              const struct js_limits *limits) MUST_CHECK;
/* NULL: the account has no JetStream. Any thread. */
struct js_account *js_account_of(struct js *js, const struct account *acc);

/* At the end of a turn of an I/O thread in which something came in with in_turn set: writes what it
 * stored, here where that is quick, and then sends the acknowledgements. not may_write: only sees
 * to it that it will be written. */
void js_turn_end(struct js *js, bool may_write);

/* A client subscribed or unsubscribed there (queue: "" or the group): deliver subjects gain or lose
 * interest. Cheap where no push consumer is. I/O threads. */
void js_interest_changed(struct js *js, struct account *acc, const char *subject, size_t len);

/* Calls fn(arg, st) when all that this thread pushed since `ticket` was taken is committed, at once
 * for memory. On the store's thread or on the caller's. Endpoints: take the ticket, change, then
 * wait (ST_PENDING). */
uint64_t js_ticket(struct js *js);
enum status js_when_committed(struct js *js, uint64_t ticket, bool memory,
                              void (*fn)(void *arg, enum status st), void *arg) MUST_CHECK;

/* NULL, or why the store's last write failed (static). Any thread. */
const char *js_trouble(struct js *js);

const struct js_opts *js_opts(const struct js *js);

/* All accounts that have it. Until NULL: prev NULL begins. Accounts never go. */
struct js_account *js_account_next(struct js *js, const struct js_account *prev);

/* Counters of the API: the endpoints add to them. */
void js_count_api(struct js_account *a, bool is_error);

struct js_usage {
    uint64_t memory, file, reserved_memory, reserved_file;
    uint64_t streams, consumers, messages, api_total, api_errors;
};
void js_account_usage(struct js_account *a, struct js_usage *out);
void js_usage(struct js *js, struct js_usage *out); /* of all */

#endif
