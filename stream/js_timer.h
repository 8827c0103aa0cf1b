/* SPDX-License-Identifier: Apache-2.0 */
/* Timers and deferred work of the engine, all run by its one thread ("js"), in tests by
 * js_timers_run. Callbacks hold no lock. Any thread may set and cancel, also under a stream's lock
 * (the lock inside is a leaf).
 *
 * Life: whoever embeds a timer counts the armed timer as a reference to itself. Take a reference
 * before a set, and drop it where set says false: it was armed already. cancel: true = it was armed
 * and will not fire: drop it. When it fires, fn owns that reference and drops it at its end (also
 * where it set the timer anew, which takes one more). */
#ifndef STREAM_JS_TIMER_H
#define STREAM_JS_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/clock.h"
#include "server/base/status.h"

struct js_timers;

/* Embedded. Zeroed but for fn it is ready. Guarded by the lock inside struct js_timers. */
struct js_timer {
    void (*fn)(struct js_timer *t);
    int64_t at;     /* monotonic ns */
    uint32_t index; /* in the heap, from 1; 0: not armed */
};

enum status js_timers_new(struct js_timers **out, const struct clock *clock) MUST_CHECK;
/* Starts the thread. */
enum status js_timers_start(struct js_timers *w) MUST_CHECK;
/* Joins the thread. What is still armed then fires, whatever its time, so that references drop:
 * callbacks look at js_is_stopping. */
void js_timers_stop(struct js_timers *w);
void js_timers_free(struct js_timers *w);

/* Arms or moves it. at <= now: as soon as possible (deferred work). There is always room: each
 * owner reserves by js_timers_reserve when it is made. */
bool js_timer_set(struct js_timers *w, struct js_timer *t, int64_t at);
/* Arms it, or moves it only where `at` is earlier than it is set to. */
bool js_timer_set_earlier(struct js_timers *w, struct js_timer *t, int64_t at);
bool js_timer_cancel(struct js_timers *w, struct js_timer *t);
/* Room for n more (fewer: n < 0) timers. */
enum status js_timers_reserve(struct js_timers *w, int n) MUST_CHECK;

/* For tests without the thread: runs what is due now; how many ran. */
size_t js_timers_run(struct js_timers *w);

#endif
