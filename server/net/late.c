/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/late.h"

#include <event2/event.h>

#include "server/base/clock.h"
#include "server/net/loop.h"

/* Shorter than this is the machine's ordinary unrest. */
#define STANDSTILL (200 * CLOCK_MS)
#define BEAT       CLOCK_S

static void
on_beat(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct loop *l = arg;
    struct late *t = &l->late;
    int64_t now = clock_mono_ns();
    /* NB: a process that goes on after a stop returns from its wait without events at first. */
    if (now > t->beat_due + STANDSTILL && t->turn_began == 0) {
        t->slept_from = t->wait_began;
    }
    t->beat_due = now + BEAT;
}

void
late_init(struct loop *l)
{
    static const struct timeval every = {1, 0};
    event_assign(&l->late.beat, l->base, -1, EV_PERSIST, on_beat, l);
    event_add(&l->late.beat, &every);
    l->late.beat_due = clock_mono_ns() + BEAT;
}

void
late_fini(struct loop *l)
{
    event_del(&l->late.beat);
}

void
late_wait(struct loop *l)
{
    struct late *t = &l->late;
    t->wait_began = clock_mono_ns();
    /* A turn that took long: what it left in the sockets came while it lasted. */
    bool was_long = t->turn_began != 0 && t->wait_began - t->turn_began > STANDSTILL;
    t->from = was_long ? t->turn_began : t->slept_from;
    t->slept_from = 0;
    t->turn_began = 0;
    t->arrived = 0;
}

void
late_read(struct loop *l)
{
    struct late *t = &l->late;
    if (t->turn_began != 0) {
        return;
    }
    t->turn_began = clock_mono_ns();
    /* NB: reads come before the overdue heartbeat's own callback. */
    if (t->from == 0 && t->turn_began > t->beat_due + STANDSTILL) {
        t->from = t->wait_began;
    }
}
