/* SPDX-License-Identifier: Apache-2.0 */
/* Who writes, and when. Happy path: what is pushed wakes the writer, which takes all that waits
 * into one record of the journal, or one transaction. Two kinds of pushes need no waking: what an
 * I/O thread pushes in a turn is written by that thread at the end of the turn, where that is
 * quick, and what nobody waits for goes along with the next, or 20 ms later. Whoever writes has the
 * writer's role up to the last `done`, so that writes and callbacks come one after the other; for a
 * transaction the database's too. Failure: after an error what is kept is tried again with the
 * next, RETRY_NS later at the most; a page is written then even where nothing is kept, so that
 * `failing` ends by itself. */
#include <time.h>

#include "server/base/assert.h"
#include "server/base/clock.h"
#include "server/base/mem.h"
#include "stream/journal.h"
#include "stream/store_priv.h"

#define RETRY_NS    (100 * CLOCK_MS)
#define LAZY_NS     (20 * CLOCK_MS)
#define BATCH_BYTES ((size_t)32 << 20)
/* What an I/O thread writes itself: about a record, or a small transaction. */
#define TURN_BYTES  ((size_t)96 << 10)
#define SMALL_BYTES ((size_t)64 << 10)
enum { BATCH_OPS = 16384, TURN_OPS = 512, SMALL_OPS = 32 };

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

/* Moves what is written next: all that waits, up to a bound, whole pushes. How many. */
static size_t
take(struct store *s, struct list_node *ops)
{
    size_t n = 0;
    size_t bytes = 0;
    bool whole = true;
    for (const struct list_node *it = s->kept.next; it != &s->kept; it = it->next) {
        n++;
    }
    size_t kept = n;
    list_splice_back(ops, &s->kept);
    while (!list_is_empty(&s->queue) && (!whole || (n < BATCH_OPS && bytes < BATCH_BYTES))) {
        struct store_op *op = LIST_ENTRY(list_pop_front(&s->queue), struct store_op, node);
        whole = op->last;
        n++;
        bytes += bytes_of(op);
        list_push_back(ops, &op->node);
    }
    s->queued -= n - kept;
    s->queued_bytes -= bytes;
    s->urgent = !list_is_empty(&s->queue);
    s->lazy_at = 0;
    s->retry_at = 0;
    return n;
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

/* ---- the roles ---- */

static void
give_role(struct store *s)
{
    s->writing = false;
    (void)pthread_cond_broadcast(&s->free_role);
}

void
store_take_db(struct store *s)
{
    s->want_db++;
    while (s->in_db) {
        (void)pthread_cond_wait(&s->free_role, &s->lock);
    }
    s->want_db--;
    s->in_db = true;
}

void
store_give_db(struct store *s)
{
    s->in_db = false;
    (void)pthread_cond_broadcast(&s->free_role);
}

void
store_hold(struct store *s)
{
    (void)pthread_mutex_lock(&s->lock);
    store_take_db(s);
    (void)pthread_mutex_unlock(&s->lock);
}

void
store_unhold(struct store *s)
{
    (void)pthread_mutex_lock(&s->lock);
    store_give_db(s);
    (void)pthread_mutex_unlock(&s->lock);
}

/* ---- writing ---- */

/* When what is left over has its turn. Under the lock, with the role. */
static void
note(struct store *s, bool any, enum status st)
{
    if (st != ST_OK) {
        s->retry_at = clock_mono_ns() + RETRY_NS;
    }
    s->busy = s->busy || any;
    store_behind_note(s);
}

/* What is taken, with the writer's role. In turn: where it would have to wait ST_EXISTS, and
 * nothing has happened. */
static enum status
write_taken(struct store *s, const struct list_node *ops, size_t n, bool in_turn)
{
    int64_t start = clock_mono_ns();
    enum status st = ST_OK;
    if (!store_journal_write(s, ops)) {
        (void)pthread_mutex_lock(&s->lock);
        bool busy = in_turn && (s->in_db || s->want_db > 0);
        if (!busy) {
            store_take_db(s);
        }
        (void)pthread_mutex_unlock(&s->lock);
        if (busy) {
            return ST_EXISTS;
        }
        st = store_transact(s, ops, in_turn);
        store_unhold(s);
    }
    if (st == ST_OK) {
        store_count(s, start, n);
    }
    return st;
}

/* One write. Enters and leaves under the lock, with the writer's role free. In turn: on an I/O
 * thread; where that would have to wait ST_EXISTS, and nothing has happened. */
static enum status
write_once(struct store *s, bool in_turn)
{
    struct list_node ops;
    list_init(&ops);
    s->writing = true;
    size_t n = take(s, &ops);
    (void)pthread_mutex_unlock(&s->lock);
    enum status st = write_taken(s, &ops, n, in_turn);
    bool busy = in_turn && st == ST_EXISTS;
    if (!busy) {
        store_finish(s, &ops, st);
    }
    (void)pthread_mutex_lock(&s->lock);
    if (busy) {
        give_back(s, &ops);
    }
    note(s, n > 0, busy ? ST_OK : st);
    give_role(s);
    return st;
}

/* What waits is written quickly: by the journal, or as few operations as that takes. Under the
 * lock. */
static bool
is_quick(const struct store *s)
{
    if (!s->opts.durable && store_journal_takes(s, &s->queue)) {
        return true;
    }
    bool small = s->path == NULL || (s->queued <= SMALL_OPS && s->queued_bytes <= SMALL_BYTES);
    return small && !s->in_db && store_is_quick(s);
}

void
store_turn_end(struct store *s, bool may_write)
{
    (void)pthread_mutex_lock(&s->lock);
    if (list_is_empty(&s->queue) || s->urgent) {
        (void)pthread_mutex_unlock(&s->lock);
        return;
    }
    bool can = may_write && s->running && !s->stopping && !s->writing && list_is_empty(&s->kept) &&
               is_quick(s);
    bool done = can && write_once(s, true) == ST_OK;
    s->urgent = s->urgent || !done;
    bool wake = s->urgent;
    (void)pthread_mutex_unlock(&s->lock);
    if (wake) {
        (void)pthread_cond_signal(&s->cond);
    }
}

/* ---- the thread ---- */

/* When the writer has to look again, though nobody wakes it; 0: never. */
static int64_t
next_look(const struct store *s)
{
    bool retry = s->retry_at != 0 && (s->lazy_at == 0 || s->retry_at < s->lazy_at);
    return retry ? s->retry_at : s->lazy_at;
}

static void
wait_for_work(struct store *s)
{
    while (s->writing || (!s->urgent && !s->stopping)) {
        int64_t at = next_look(s);
        if (s->writing) {
            (void)pthread_cond_wait(&s->free_role, &s->lock);
        } else if (at == 0) {
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
        enum status st = write_once(s, false);
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
    enum status st = store_behind_start(s);
    if (st == ST_OK && pthread_create(&s->thread, NULL, thread_main, s) != 0) {
        store_behind_stop(s);
        st = ST_NOMEM;
    }
    if (st != ST_OK) {
        store_checkpointer_stop(s);
        return st;
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
        store_behind_stop(s);
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
