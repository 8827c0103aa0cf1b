/* SPDX-License-Identifier: Apache-2.0 */
/* When did what is read now arrive? As a rule just now: the kernel wakes the loop. But after a
 * standstill (the process was stopped, the machine paused, a turn took very long) what came
 * meanwhile is read all at once and would look young, and a request whose client has left would be
 * served before one whose client still waits. So each loop notices a standstill: its heartbeat of
 * one a second is overdue, or its last turn was long. Until the loop finds nothing to read for a
 * moment, each connection's first read brings what came in that time, and that is taken to have
 * come:
 *   a little    evenly over the standstill
 *   much        at the rate that the connection had before (or the least that what is there shows,
 *               if that is more). What follows stands in the buffers of its sender and is not young
 *               either: so for it too, until reads are short or it has caught up, and not longer
 *               than the standstill was.
 * Pure but for the heartbeat: the caller tells the time. All times are monotonic ns. */
#ifndef SERVER_NET_LATE_H
#define SERVER_NET_LATE_H

#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;

/* Owner: the loop it is part of. */
struct late {
    struct event beat;
    int64_t beat_due;   /* when the next heartbeat should come */
    int64_t wait_began; /* when the loop last began to wait for events */
    int64_t turn_began; /* when this turn's first read began; 0: nothing was read yet */
    int64_t slept_from; /* a standstill was noticed before anything was read; 0: none */
    int64_t from;       /* the standstill that is read up: its begin; 0: none */
    int64_t till;       /* its end; 0: nothing was read since */
    uint32_t count;     /* of standstills */
    bool open;          /* not everything that stood in sockets at its end was read */
    int64_t base, span; /* the read at hand came from base on, for so long; base 0: just now */
    int64_t arrived;    /* of the operation at hand; 0: just now */
};

/* What is known of one connection. Owner: the connection. Zeroed: nothing. */
struct late_conn {
    int64_t since; /* bytes are counted since then; 0: no count has begun */
    uint64_t bytes;
    double rate;     /* bytes per ns of the last whole count; 0: unknown */
    uint32_t seen;   /* the last standstill it has come through */
    int64_t from;    /* it reads up what came since then; 0: it does not */
    int64_t until;   /* not longer than that */
    uint64_t behind; /* bytes read up so far */
    int64_t last;    /* when bytes were counted or read up last */
    uint32_t shorts; /* short reads since one that was not */
};

/* Arms the heartbeat. */
void late_init(struct late *t, struct event_base *base, int64_t now);
void late_fini(struct late *t);
/* Before the loop waits for events. */
void late_wait(struct late *t, int64_t now);
/* Before a connection is read. True if it is the turn's first read: late_turn is next. */
static inline bool
late_is_first(const struct late *t)
{
    return t->turn_began == 0;
}
void late_turn(struct late *t, int64_t now);

/* True if the connection has yet to come through a standstill: late_got wants to know what is left
 * in its socket. */
bool late_asks(const struct late *t, const struct late_conn *c);
/* After a read of `got` bytes. left: bytes that the socket still holds (0 unless
 * late_asks). */
void late_got(struct late *t, struct late_conn *c, size_t got, size_t left);
/* True while the backlog of a standstill is read: better in small pieces, so that the answers to
 * the first of it get out before the last of it is read. */
static inline bool
late_is_behind(const struct late *t)
{
    return t->from != 0;
}
/* What is worked on next was not read just now, but is not known to be late. */
void late_none(struct late *t);

/* The operation at hand stands `at` bytes into the `len` that were read. */
static inline void
late_place(struct late *t, size_t at, size_t len)
{
    if (t->base != 0) {
        t->arrived = t->base + (int64_t)((double)t->span * ((double)at / (double)len));
    }
}

#endif
