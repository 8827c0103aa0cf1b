/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of struct js, for the files of stream/ alone. Made and unmade by js.c. */
#ifndef STREAM_JS_PRIV_H
#define STREAM_JS_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "server/base/clock.h"
#include "server/base/list.h"
#include "stream/js.h"
#include "stream/js_account.h"
#include "stream/js_caps.h"
#include "stream/js_error.h"
#include "stream/js_host.h"
#include "stream/js_timer.h"
#include "stream/store.h"

/* Constant after js_start but for: accounts (lock; only ever added to), caps (lock), the
 * atomics. */
struct js {
    const struct js_host *host; /* borrowed: outlives the engine */
    struct clock clock;
    struct js_opts opts;      /* its texts are owned */
    struct store *file;       /* owned */
    struct store *memory;     /* owned */
    struct js_timers *timers; /* owned */
    struct js_timer checkpoint;
    pthread_rwlock_t lock;
    struct list_node accounts; /* owned: js_account.node */
    _Atomic bool stopping, started;
    bool stores_run;         /* js_start and js_stop only */
    _Atomic uint32_t n_push; /* consumers with a deliver subject, of all accounts */
    _Atomic int64_t memory_used, file_used;
    struct js_caps caps;
    _Atomic int64_t max_memory, max_file;         /* of caps */
    _Atomic int64_t atomic_batches, fast_batches; /* that are open */
};

static inline struct store *
js_store(struct js *js, bool memory)
{
    return memory ? js->memory : js->file;
}

static inline int64_t
js_now(const struct js *js)
{
    return clock_now(&js->clock);
}

/* Wall time; tests that move the clock move it too. */
int64_t js_wall(const struct js *js);

/* JS_OK, or that the store takes no writes now: what would need one is refused, and nothing has
 * changed. f is not NULL. */
enum js_error js_check_writes(struct js *js, bool memory, struct js_fail *f);

/* Sends one message (takes o; NULL is allowed), from where no stream's lock is held. */
void js_send(struct js *js, struct js_out *o);

#endif
