/* SPDX-License-Identifier: Apache-2.0 */
/* Who writes, and when. Happy path: what is pushed wakes the writer, which takes all that waits
 * into one transaction. Two kinds of pushes need no waking: what an I/O thread pushes in a turn is
 * written by that thread at the end of the turn, where that is quick, and what nobody waits for
 * goes along with the next transaction; so does what the journal holds, or 20 ms later. Garbage is
 * deleted in small transactions of the thread, with pauses while there is other work. Whoever
 * writes has the writer's role (`writing`) up to the last `done`, so that transactions and
 * callbacks come one after the other. Failure: after an error what is kept is tried again with the
 * next, RETRY_NS later at the most; a page is written then even where nothing is kept, so that
 * `failing` ends by itself. */
#include <string.h>
#include <time.h>

#include "server/base/assert.h"
#include "server/base/clock.h"
#include "server/base/mem.h"
#include "stream/journal.h"
#include "stream/store_priv.h"

#define RETRY_NS    (100 * CLOCK_MS)
#define LAZY_NS     (20 * CLOCK_MS)
#define PAUSE_NS    (20 * CLOCK_MS)
#define BATCH_BYTES ((size_t)32 << 20)
#define TURN_BYTES  ((size_t)64 << 10)
enum { BATCH_OPS = 16384, TURN_OPS = 32 };

static size_t
bytes_of(const struct store_op *op)
{
    return op->data_len + (op->msg != NULL ? op->msg->data_len + op->msg->hdr_len : 0);
}

/* ---- pushing ---- */

/* True: the writer has to be woken. NB: after the lock, or it wakes up only to wait for it. */
static bool
note_push(struct store *s, enum store_when when)
{
    bool quick = s->queued <= TURN_OPS && s->queued_bytes <= TURN_BYTES;
    if (s->urgent) {
        return false;
    }
    if (when == STORE_NOW || !quick) {
        s->urgent = true;
        return true;
    }
    if (when == STORE_LAZILY && s->lazy_at == 0) {
        s->lazy_at = clock_mono_ns() + LAZY_NS;
        return !s->timed;
    }
    return false;
}

void
store_push_list(struct store *s, struct list_node *ops)
{
    size_t bytes = 0;
    size_t n = 0;
    if (list_is_empty(ops)) {
        return;
    }
    struct store_op *last = LIST_ENTRY(ops->prev, struct store_op, node);
    enum store_when when = last->when;
    last->last = true;
    for (const struct list_node *it = ops->next; it != ops; it = it->next) {
        bytes += bytes_of(LIST_ENTRY(it, const struct store_op, node));
        n++;
    }
    (void)pthread_mutex_lock(&s->lock);
    list_splice_back(&s->queue, ops);
    s->queued += n;
    s->queued_bytes += bytes;
    bool wake = note_push(s, when);
    (void)pthread_mutex_unlock(&s->lock);
    if (wake) {
        (void)pthread_cond_signal(&s->cond);
    }
}

void
store_push(struct store *s, struct store_op *op)
{
    struct list_node one;
    list_init(&one);
    list_push_back(&one, &op->node);
    store_push_list(s, &one);
}

/* ---- writing ---- */

/* Moves what goes into the next transaction: all that waits, up to a bound, whole pushes. */
static void
take(struct store *s, struct list_node *ops)
{
    size_t n = 0;
    size_t bytes = 0;
    list_splice_back(ops, &s->kept);
    bool whole = true;
    while (!list_is_empty(&s->queue) && (!whole || (n < BATCH_OPS && bytes < BATCH_BYTES))) {
        struct store_op *op = LIST_ENTRY(list_pop_front(&s->queue), struct store_op, node);
        whole = op->last;
        n++;
        bytes += bytes_of(op);
        list_push_back(ops, &op->node);
    }
    s->queued -= n;
    s->queued_bytes -= bytes;
    s->urgent = !list_is_empty(&s->queue);
    s->lazy_at = 0;
}

static void
give_back(struct store *s, struct list_node *ops)
{
    for (const struct list_node *it = ops->next; it != ops; it = it->next) {
        s->queued_bytes += bytes_of(LIST_ENTRY(it, const struct store_op, node));
        s->queued++;
    }
    list_splice_back(ops, &s->queue);
    list_splice_back(&s->queue, ops);
}

static void
give_role(struct store *s)
{
    s->writing = false;
    if (s->hold) {
        (void)pthread_cond_signal(&s->free_role);
    }
}

void
store_hold(struct store *s)
{
    (void)pthread_mutex_lock(&s->lock);
    s->hold = true;
    while (s->writing) {
        (void)pthread_cond_wait(&s->free_role, &s->lock);
    }
    s->writing = true;
    s->hold = false;
    (void)pthread_mutex_unlock(&s->lock);
}

void
store_unhold(struct store *s)
{
    (void)pthread_mutex_lock(&s->lock);
    s->writing = false;
    (void)pthread_cond_signal(&s->cond);
    (void)pthread_mutex_unlock(&s->lock);
}

/* When garbage may have its next transaction. To delete writes as much to the log as to append: so
 * not at once where others write, or where the log is long already. Under the lock. */
static void
pace(struct store *s, bool any, enum status st)
{
    if (any) {
        s->busy = true;
        return;
    }
    bool slow = s->busy || s->wal_pages * s->page_size >= s->opts.wal_limit / 2;
    s->busy = false;
    s->garbage_at = st == ST_OK && !slow ? 0 : clock_mono_ns() + PAUSE_NS;
}

/* When what is left over has its turn. Under the lock, with the role. */
static void
note_times(struct store *s, enum status st)
{
    int64_t now = clock_mono_ns();
    s->retry_at = st != ST_OK ? now + RETRY_NS : 0;
    if (s->journal == NULL || journal_is_drained(s->journal)) {
        s->drain_at = 0;
    } else if (st != ST_OK) {
        s->drain_at = s->retry_at;
    } else if (s->drain_at == 0) {
        s->drain_at = now + LAZY_NS;
    }
}

/* One transaction. Enters and leaves under the lock, with the role free. In turn: on an I/O thread;
 * where that would have to wait for another process ST_EXISTS, and nothing has happened. */
static enum status
write_once(struct store *s, enum store_way way)
{
    struct list_node ops;
    list_init(&ops);
    s->writing = true;
    take(s, &ops);
    bool any = !list_is_empty(&ops);
    (void)pthread_mutex_unlock(&s->lock);
    enum status st = store_transact(s, &ops, way);
    bool in_turn = way == STORE_WAY_IN_TURN;
    bool busy = in_turn && st == ST_EXISTS;
    if (!busy) {
        store_finish(s, &ops, st);
    }
    if (st == ST_OK) {
        store_checkpoint_after(s);
    } else if (!in_turn) {
        /* NB: garbage alone must not spin on a full disk. */
        struct timespec pause = {0, 10 * CLOCK_MS};
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    (void)pthread_mutex_lock(&s->lock);
    if (busy) {
        give_back(s, &ops);
    }
    note_times(s, st);
    give_role(s);
    pace(s, any, st);
    return st;
}

void
store_turn_end(struct store *s, bool may_write)
{
    (void)pthread_mutex_lock(&s->lock);
    if (list_is_empty(&s->queue) || s->urgent) {
        (void)pthread_mutex_unlock(&s->lock);
        return;
    }
    bool can = may_write && s->running && !s->stopping && !s->writing && !s->hold &&
               list_is_empty(&s->kept) && store_is_quick(s);
    bool done = can && write_once(s, STORE_WAY_IN_TURN) == ST_OK;
    s->urgent = s->urgent || !done;
    bool wake = s->urgent || ((s->garbage || s->drain_at != 0) && !s->timed);
    (void)pthread_mutex_unlock(&s->lock);
    if (wake) {
        (void)pthread_cond_signal(&s->cond);
    }
}

void
store_drain(struct store *s)
{
    struct list_node none;
    list_init(&none);
    store_hold(s);
    if (s->journal != NULL && !journal_is_drained(s->journal) &&
        store_transact(s, &none, STORE_WAY_DRAIN) == ST_OK) {
        store_checkpoint_after(s);
    }
    store_unhold(s);
}

/* ---- the thread ---- */

/* When the writer has to look again, though nobody wakes it; 0: never. */
static int64_t
next_look(const struct store *s)
{
    int64_t at = s->lazy_at;
    if (s->garbage && (at == 0 || s->garbage_at < at)) {
        at = s->garbage_at > 0 ? s->garbage_at : 1;
    }
    if ((!list_is_empty(&s->kept) || s->failing != 0) && (at == 0 || s->retry_at < at)) {
        at = s->retry_at;
    }
    if (s->drain_at != 0 && (at == 0 || s->drain_at < at)) {
        at = s->drain_at;
    }
    return at;
}

static void
wait_for_work(struct store *s)
{
    while (s->writing || s->hold || (!s->urgent && !s->stopping)) {
        int64_t at = s->writing || s->hold ? 0 : next_look(s);
        if (at == 0) {
            (void)pthread_cond_wait(&s->cond, &s->lock);
        } else if (clock_mono_ns() >= at) {
            return;
        } else {
            struct timespec ts = {at / CLOCK_S, at % CLOCK_S};
            s->timed = true;
            (void)pthread_cond_timedwait(&s->cond, &s->lock, &ts);
            s->timed = false;
        }
    }
}

static void *
thread_main(void *arg)
{
    struct store *s = arg;
    (void)pthread_mutex_lock(&s->lock);
    for (;;) {
        wait_for_work(s);
        if (s->stopping && list_is_empty(&s->queue) && list_is_empty(&s->kept)) {
            break;
        }
        bool drain = s->drain_at != 0 && clock_mono_ns() >= s->drain_at;
        enum status st = write_once(s, drain ? STORE_WAY_DRAIN : STORE_WAY_ANY);
        if (s->stopping && st != ST_OK && list_is_empty(&s->queue)) {
            break;
        }
    }
    (void)pthread_mutex_unlock(&s->lock);
    store_let_go(s);
    return NULL;
}

enum status
store_start(struct store *s)
{
    if (s->path != NULL) {
        enum status st = store_checkpointer_start(s);
        if (st != ST_OK) {
            return st;
        }
    }
    if (pthread_create(&s->thread, NULL, thread_main, s) != 0) {
        store_checkpointer_stop(s);
        return ST_NOMEM;
    }
    (void)pthread_setname_np(s->thread, s->path != NULL ? "store" : "store-mem");
    (void)pthread_mutex_lock(&s->lock);
    s->running = true;
    (void)pthread_mutex_unlock(&s->lock);
    return ST_OK;
}

void
store_stop(struct store *s)
{
    (void)pthread_mutex_lock(&s->lock);
    bool running = s->running;
    s->stopping = true;
    (void)pthread_cond_signal(&s->cond);
    (void)pthread_mutex_unlock(&s->lock);
    if (running) {
        (void)pthread_join(s->thread, NULL);
        store_checkpointer_stop(s);
    }
    struct list_node rest;
    list_init(&rest);
    (void)pthread_mutex_lock(&s->lock);
    s->running = false;
    list_splice_back(&rest, &s->queue);
    s->queued = 0;
    s->queued_bytes = 0;
    (void)pthread_mutex_unlock(&s->lock);
    store_finish(s, &rest, ST_CLOSED);
    store_let_go(s);
    store_journal_retire(s);
}
