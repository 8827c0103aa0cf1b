/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/late.h"

#include <event2/event.h>

#include "server/base/clock.h"

/* Shorter than this is the machine's ordinary unrest. */
#define STANDSTILL (200 * CLOCK_MS)
#define BEAT       CLOCK_S
/* A loop that had to wait so long for something to read has read up everything. */
#define IDLE CLOCK_MS
/* A read of less than that many bytes may have emptied its sender; so many of them in a row, or one
 * after that time, have. */
#define SHORT_READ  16384u
#define SHORT_READS 4
#define GAP         (100 * CLOCK_MS)
/* What a standstill left is read up for as long as it was, but not longer than this. */
#define LONGEST (10 * CLOCK_S)

/* Until when what the standstill left may still come in. */
static int64_t
last_of(const struct late *t)
{
    int64_t was = t->till - t->from;
    return t->till + (was < LONGEST ? was : LONGEST);
}

static void
begin(struct late *t, int64_t from, int64_t now)
{
    t->from = from;
    t->till = 0;
    t->open = true;
    t->count++;
    t->beat_due = now + BEAT;
}

static bool
is_overdue(const struct late *t, int64_t now)
{
    return now > t->beat_due + STANDSTILL;
}

static void
on_beat(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct late *t = arg;
    int64_t now = clock_mono_ns();
    /* NB: a process that goes on after a stop returns from its wait without events at first. */
    if (is_overdue(t, now) && t->turn_began == 0) {
        t->slept_from = t->wait_began;
    }
    t->beat_due = now + BEAT;
}

void
late_init(struct late *t, struct event_base *base, int64_t now)
{
    static const struct timeval every = {1, 0};
    event_assign(&t->beat, base, -1, EV_PERSIST, on_beat, t);
    event_add(&t->beat, &every);
    t->beat_due = now + BEAT;
}

void
late_fini(struct late *t)
{
    event_del(&t->beat);
}

void
late_wait(struct late *t, int64_t now)
{
    if (t->turn_began != 0 && now - t->turn_began > STANDSTILL) {
        /* A turn that took long: what it left in the sockets came while it lasted. */
        begin(t, t->turn_began, now);
    } else if (t->slept_from != 0) {
        begin(t, t->slept_from, now);
    } else if (is_overdue(t, now)) {
        /* It stood in a turn that read nothing. */
        begin(t, t->wait_began, now);
    }
    t->wait_began = now;
    t->slept_from = 0;
    t->turn_began = 0;
    late_none(t);
}

void
late_turn(struct late *t, int64_t now)
{
    t->turn_began = now;
    /* NB: reads come before the overdue heartbeat's own callback. */
    if (t->from == 0 && is_overdue(t, now)) {
        begin(t, t->wait_began, now);
    }
    if (t->from == 0) {
        return;
    }
    if (t->till == 0) {
        t->till = now;
    } else if (now > last_of(t)) {
        t->from = 0;
    } else if (now - t->wait_began > IDLE) {
        t->open = false;
    }
}

void
late_none(struct late *t)
{
    t->base = 0;
    t->arrived = 0;
}

bool
late_asks(const struct late *t, const struct late_conn *c)
{
    return t->from != 0 && t->open && c->seen != t->count;
}

static void
count(struct late_conn *c, size_t got, int64_t now)
{
    if (c->since == 0) {
        c->since = now;
        c->bytes = 0;
        return; /* what came before the count began */
    }
    c->bytes += got;
    c->last = now;
    if (now - c->since >= BEAT) {
        c->rate = (double)c->bytes / (double)(now - c->since);
        c->since = now;
        c->bytes = 0;
    }
}

/* It reads up what came in the standstill, from the read at hand on. */
static void
fall_behind(const struct late *t, struct late_conn *c, size_t known)
{
    if (c->rate == 0 && c->last > c->since) {
        c->rate = (double)c->bytes / (double)(c->last - c->since);
    }
    double least = (double)known / (double)(t->till - t->from);
    c->rate = c->rate > least ? c->rate : least;
    c->from = t->from;
    c->until = last_of(t);
    c->behind = 0;
    c->shorts = 0;
    c->since = 0;
}

/* The next `got` bytes of a connection that is behind. False: it no longer is. */
static bool
read_up(struct late *t, struct late_conn *c, size_t got, bool is_short)
{
    int64_t now = t->turn_began;
    int64_t base = c->from + (int64_t)((double)c->behind / c->rate);
    int64_t span = (int64_t)((double)got / c->rate);
    bool late_again = is_short && c->behind > 0 && now - c->last > GAP;
    c->shorts = is_short ? c->shorts + 1 : 0;
    if (now > c->until || base >= now || late_again || c->shorts == SHORT_READS) {
        return false;
    }
    c->behind += got;
    c->last = now;
    t->base = base;
    t->span = span < now - base ? span : now - base;
    return true;
}

void
late_got(struct late *t, struct late_conn *c, size_t got, size_t left)
{
    bool is_short = got < SHORT_READ;
    bool first = late_asks(t, c);
    late_none(t);
    if (first) {
        c->seen = t->count;
    }
    if (first && c->from == 0 && is_short) {
        t->base = t->from;
        t->span = t->turn_began - t->from;
        c->since = 0;
        return;
    }
    if (first && c->from == 0) {
        fall_behind(t, c, got + left);
    }
    if (c->from != 0 && read_up(t, c, got, is_short)) {
        return;
    }
    c->from = 0;
    count(c, got, t->turn_began);
}
