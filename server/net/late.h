/* SPDX-License-Identifier: Apache-2.0 */
/* When did what is read now arrive? As a rule just now: the kernel wakes the loop. But after a
 * standstill (the process was stopped, the machine paused, a turn took very long) what came
 * meanwhile is read all at once and would look young, and a request whose client has left would be
 * served before one whose client still waits. So each loop notices a standstill: its heartbeat of
 * one a second is overdue, or its last turn was long. What a read then brings is taken to have
 * come evenly over that time, in the order of its bytes. Owned by the loop. */
#ifndef SERVER_NET_LATE_H
#define SERVER_NET_LATE_H

#include <event2/event_struct.h>
#include <stddef.h>
#include <stdint.h>

struct loop;

/* Owner: the loop it is part of. All monotonic ns. */
struct late {
    struct event beat;
    int64_t beat_due;   /* when the next heartbeat should come */
    int64_t wait_began; /* when the loop last began to wait for events */
    int64_t turn_began; /* when this turn's first read began; 0: nothing was read yet */
    int64_t slept_from; /* a standstill was noticed before anything was read; 0: none */
    int64_t from;       /* what is read in this turn came since then; 0: it came just now */
    int64_t arrived;    /* of the operation at hand; 0: just now */
};

void late_init(struct loop *l);
void late_fini(struct loop *l);
/* Before the loop waits for events. */
void late_wait(struct loop *l);
/* Before a connection is read. */
void late_read(struct loop *l);

/* The operation at hand stands `at` bytes into the `len` that were read. */
static inline void
late_place(struct late *t, size_t at, size_t len)
{
    if (t->from != 0) {
        t->arrived =
            t->from + (int64_t)((double)(t->turn_began - t->from) * ((double)at / (double)len));
    }
}

#endif
