/* SPDX-License-Identifier: Apache-2.0 */
/* What nobody waits for, on a thread of its own: what the journal has goes into the database, and
 * garbage is deleted. Happy path: a while after the writer has written, or as soon as the journal
 * has much, takes the journal's cut and the database's role, does one transaction, and lets the
 * writer go on beside it. Where the journal is long and has little undrained, takes the writer's
 * role too and begins a new turn: short waits now and then, in place of a long one at its end.
 * Garbage is deleted in slices, with pauses while there is other work. Failure: the writer tries
 * again, and nothing is done here until it could write. */
#include "server/base/clock.h"
#include "stream/journal.h"
#include "stream/store_priv.h"

#define DRAIN_NS   (20 * CLOCK_MS)
#define PAUSE_NS   (20 * CLOCK_MS)
#define MUCH_BYTES ((size_t)256 << 10)
#define FEW_BYTES  ((size_t)16 << 10)

static bool
has_undrained(const struct store *s)
{
    return s->journal != NULL && s->journal_ok && !journal_is_drained(s->journal);
}

static bool
is_sound(const struct store *s)
{
    return s->failing == 0 && !s->held;
}

/* Under the lock. 0: there is nothing to do. */
static int64_t
next_look(const struct store *s)
{
    int64_t at = s->drain_at;
    if (s->garbage && (at == 0 || s->garbage_at < at)) {
        at = s->garbage_at > 0 ? s->garbage_at : 1;
    }
    return is_sound(s) ? at : 0;
}

void
store_behind_note(struct store *s)
{
    if (!has_undrained(s)) {
        s->drain_at = 0;
    } else if (journal_undrained(s->journal) >= MUCH_BYTES) {
        s->drain_at = 1;
    } else if (s->drain_at == 0) {
        s->drain_at = clock_mono_ns() + DRAIN_NS;
    }
    int64_t at = next_look(s);
    if (at != 0 && at < s->behind_until) {
        (void)pthread_cond_signal(&s->behind_cond);
    }
}

/* When garbage may have its next slice. To delete writes as much to the log as to append: so not at
 * once where others write, or where the log is long already. */
static void
pace(struct store *s)
{
    bool slow = s->busy || s->wal_pages * s->page_size >= s->opts.wal_limit / 2;
    s->busy = false;
    s->garbage_at = slow ? clock_mono_ns() + PAUSE_NS : 0;
}

/* A new turn: nobody writes meanwhile. */
static enum status
turn_over(struct store *s)
{
    struct list_node none;
    list_init(&none);
    s->writing = true;
    (void)pthread_mutex_unlock(&s->lock);
    enum status st = store_transact(s, &none, false);
    (void)pthread_mutex_lock(&s->lock);
    s->writing = false;
    return st;
}

static enum status
beside_the_writer(struct store *s, bool drain, bool garbage)
{
    uint64_t upto = s->journaled;
    if (drain) {
        journal_cut(s->journal);
    }
    (void)pthread_mutex_unlock(&s->lock);
    enum status st = store_transact_behind(s, drain, garbage);
    (void)pthread_mutex_lock(&s->lock);
    if (drain && st == ST_OK) {
        journal_cut_drained(s->journal);
        s->drained = upto;
    }
    return st;
}

/* One transaction. Under the lock, with both roles free. */
static void
work(struct store *s, bool garbage)
{
    int64_t start = clock_mono_ns();
    bool drain = has_undrained(s);
    bool over = drain && !s->opts.durable && journal_is_long(s->journal) &&
                journal_undrained(s->journal) <= FEW_BYTES;
    s->drain_at = 0;
    s->in_db = true;
    enum status st = over ? turn_over(s) : beside_the_writer(s, drain, garbage);
    store_give_db(s);
    if (st == ST_OK) {
        store_count(s, start, 0);
    } else {
        s->retry_at = clock_mono_ns();
        (void)pthread_cond_signal(&s->cond);
    }
    if (garbage && !over) {
        pace(s);
    }
    if (!s->writing) {
        store_behind_note(s); /* else the writer does, when it has done */
    }
}

/* Until there is something to do and the roles are free; false: the end. *garbage: of what. */
static bool
wait_for_work(struct store *s, bool *garbage)
{
    while (s->behind_running) {
        int64_t at = next_look(s);
        int64_t now = clock_mono_ns();
        if (at == 0) {
            s->behind_until = INT64_MAX;
            (void)pthread_cond_wait(&s->behind_cond, &s->lock);
        } else if (now < at) {
            struct timespec ts = {at / CLOCK_S, at % CLOCK_S};
            s->behind_until = at;
            (void)pthread_cond_timedwait(&s->behind_cond, &s->lock, &ts);
        } else if (s->writing || s->in_db || s->want_db > 0) {
            (void)pthread_cond_wait(&s->free_role, &s->lock);
        } else {
            *garbage = s->garbage && now >= s->garbage_at;
            return true;
        }
        s->behind_until = 0;
    }
    return false;
}

static void *
thread_main(void *arg)
{
    struct store *s = arg;
    bool garbage;
    (void)pthread_mutex_lock(&s->lock);
    while (wait_for_work(s, &garbage)) {
        work(s, garbage);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return NULL;
}

void
store_drain(struct store *s)
{
    (void)pthread_mutex_lock(&s->lock);
    while (s->writing || s->in_db) {
        (void)pthread_cond_wait(&s->free_role, &s->lock);
    }
    if (has_undrained(s) && is_sound(s)) {
        work(s, false);
    }
    (void)pthread_mutex_unlock(&s->lock);
}

enum status
store_behind_start(struct store *s)
{
    s->behind_running = true;
    if (pthread_create(&s->behind, NULL, thread_main, s) != 0) {
        s->behind_running = false;
        return ST_NOMEM;
    }
    (void)pthread_setname_np(s->behind, s->path != NULL ? "store-behind" : "store-mem-behind");
    return ST_OK;
}

void
store_behind_stop(struct store *s)
{
    (void)pthread_mutex_lock(&s->lock);
    bool running = s->behind_running;
    s->behind_running = false;
    (void)pthread_cond_broadcast(&s->behind_cond);
    (void)pthread_cond_broadcast(&s->free_role);
    (void)pthread_mutex_unlock(&s->lock);
    if (running) {
        (void)pthread_join(s->behind, NULL);
    }
}
