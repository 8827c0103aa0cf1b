/* SPDX-License-Identifier: Apache-2.0 */
/* Who delivers where, by account, so that a subscription finds its consumers. The table has a lock
 * of its own, a leaf: entered under a stream's lock, and read by I/O threads, which take a
 * reference to each consumer and let the lock go before they enter the stream's. */
#include <string.h>

#include "server/base/mem.h"
#include "stream/consumer_priv.h"

enum { AT_ONCE = 64 };

/* Under the account's deliver_lock. */
struct deliver_watch {
    struct list_node consumers; /* of push.watch_node */
    size_t len;
    char subject[];
};

enum status
interest_watch(struct consumer *c)
{
    struct js_account *a = c->stream->acc;
    const char *subject = c->cfg->deliver_subject;
    size_t len = strlen(subject);
    enum status st = ST_OK;
    (void)pthread_mutex_lock(&a->deliver_lock);
    struct deliver_watch *w = ntab_get(&a->deliver, subject, len);
    if (w == NULL) {
        w = mem_alloc(sizeof *w + len + 1);
        st = w != NULL ? ST_OK : ST_NOMEM;
        if (st == ST_OK) {
            list_init(&w->consumers);
            w->len = len;
            memcpy(w->subject, subject, len + 1);
            st = ntab_put(&a->deliver, w->subject, len, w);
        }
        if (st != ST_OK) {
            mem_free(w);
        }
    }
    if (st == ST_OK) {
        list_push_back(&w->consumers, &c->push.watch_node);
        c->push.watch = w;
        atomic_fetch_add_explicit(&a->n_push, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&a->js->n_push, 1, memory_order_relaxed);
    }
    (void)pthread_mutex_unlock(&a->deliver_lock);
    return st;
}

void
interest_unwatch(struct consumer *c)
{
    struct js_account *a = c->stream->acc;
    struct deliver_watch *w = c->push.watch;
    if (w == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&a->deliver_lock);
    list_remove(&c->push.watch_node);
    c->push.watch = NULL;
    if (list_is_empty(&w->consumers)) {
        (void)ntab_remove(&a->deliver, w->subject, w->len);
        mem_free(w);
    }
    atomic_fetch_sub_explicit(&a->n_push, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&a->js->n_push, 1, memory_order_relaxed);
    (void)pthread_mutex_unlock(&a->deliver_lock);
}

void
interest_check(struct consumer *c)
{
    const struct js_host *h = consumer_js(c)->host;
    bool active = h->has_queue_interest(h->ctx, c->stream->acc->acc, c->cfg->deliver_subject,
                                        c->cfg->deliver_group);
    if (active == c->push.active) {
        return;
    }
    c->push.active = active;
    c->idle_at =
        active || c->idle_limit == 0 ? INT64_MAX : clock_after(consumer_now(c), c->idle_limit);
    consumer_arm(c, c->idle_at);
    if (active) {
        consumer_pump(c);
    }
}

static void
check_one(struct consumer *c)
{
    stream_lock(c->stream);
    if (!c->deleted) {
        interest_check(c);
    }
    stream_unlock(c->stream);
    consumer_unref(c);
}

/* Fills v with consumers of that subject, from the `skip`th on; how many. */
static size_t
gather(struct js_account *a, const char *subject, size_t len, size_t skip, struct consumer **v)
{
    size_t n = 0;
    (void)pthread_mutex_lock(&a->deliver_lock);
    struct deliver_watch *w = ntab_get(&a->deliver, subject, len);
    struct list_node *it = w != NULL ? w->consumers.next : NULL;
    for (; w != NULL && it != &w->consumers && n < AT_ONCE; it = it->next) {
        if (skip > 0) {
            skip--;
        } else {
            v[n++] = consumer_ref(LIST_ENTRY(it, struct consumer, push.watch_node));
        }
    }
    (void)pthread_mutex_unlock(&a->deliver_lock);
    return n;
}

void
consumers_interest_changed(struct js_account *a, const char *subject, size_t len)
{
    struct consumer *v[AT_ONCE];
    size_t n = AT_ONCE;
    for (size_t done = 0; n == AT_ONCE; done += n) {
        n = gather(a, subject, len, done, v);
        for (size_t i = 0; i < n; i++) {
            check_one(v[i]);
        }
    }
}
