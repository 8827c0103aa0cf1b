/* SPDX-License-Identifier: Apache-2.0 */
/* A gate stands in front of a user's service: its requests wait in a queue of its own and run in
 * `limit` slots. A slot is taken at the pull; the request is then delivered as it would have been
 * without a gate, by the host, and the slot is free again at the first of: a publish to its reply
 * subject, all connections that got it closed, nobody got it, reply_timeout. Replies themselves
 * never pass through here. Registry, settings, counters: api/gates.h.
 *
 * Any thread may call anything; the lock is inside, and no function of the host is called under
 * it. */
#ifndef API_GATE_H
#define API_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/hash.h"

struct account;
struct api_message;
struct gate;
struct gate_request;
struct gates;

struct gate *gate_ref(struct gate *g);
/* NULL is allowed. */
void gate_unref(struct gate *g);

/* A message with a reply subject for the gate's subject, on the I/O thread that read it: copied,
 * and answered if it is refused; the header block, if any, lies right before the payload. False:
 * the gate is gone, the message is to be delivered as without one. */
bool gate_receive(struct gate *g, const struct api_message *m);

#define GATE_WATCH_SLOTS 4096u

/* Which replies an account is waited for: counts by hash, so that a publish that is no such reply
 * costs one look without a lock. One for each account with gates; lives as long as the plane. */
struct gate_watch {
    struct gates *home;      /* borrowed: frees it */
    struct account *account; /* borrowed: accounts live until the server ends */
    uint64_t account_key;
    struct gate_watch *next; /* owned: the list of home */
    _Atomic uint32_t running;
    _Atomic uint32_t count[GATE_WATCH_SLOTS];
};

static inline bool
gate_watch_maybe(const struct gate_watch *w, const char *subject, size_t n)
{
    return atomic_load_explicit(&w->running, memory_order_relaxed) > 0 &&
           atomic_load_explicit(&w->count[hash_bytes(subject, n) % GATE_WATCH_SLOTS],
                                memory_order_relaxed) > 0;
}

/* Something was published to that subject: frees the slot of the oldest request that waits for a
 * reply there, if there is one. */
void gate_replied(struct gate_watch *w, const char *subject, size_t n);

/* ---- the host's part, between host->gate_deliver and gate_sent ---- */

/* What is to be delivered. Borrowed: good until gate_sent. */
struct gate_delivery {
    struct account *account;
    uint64_t cid; /* the requester; 0: none */
    const char *subject, *reply;
    size_t subject_len, reply_len;
    const char *data; /* header block and payload in one */
    size_t size, hdr_len;
};

/* Room in each request for the host's message that carries it to a loop. */
#define GATE_MAIL_SIZE 64u
void *gate_mail(struct gate_request *r);
struct gate_request *gate_of_mail(void *mail);
uint32_t gate_loop(const struct gate_request *r); /* which loop delivers it: that of its origin */
uint64_t gate_cid(const struct gate_request *r);

/* On that loop. is_there: the requester's connection is open. False: it was cancelled, and r is
 * gone. */
bool gate_begin(struct gate_request *r, bool is_there, struct gate_delivery *out);
/* A connection is about to be given it; or was not, after all. */
void gate_took(struct gate_request *r, uint64_t cid);
void gate_untook(struct gate_request *r, uint64_t cid);
/* A copy of it is on its way to another loop; has arrived or was dropped. */
void gate_hold(struct gate_request *r);
void gate_let_go(struct gate_request *r);
/* Delivered to so many (on their way counts). Once; r may be gone. */
void gate_sent(struct gate_request *r, size_t receivers);

#endif
