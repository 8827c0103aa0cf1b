/* SPDX-License-Identifier: Apache-2.0 */
#include "api/history.h"

#include <pthread.h>

#include "server/base/assert.h"
#include "server/base/mem.h"

/* Its `lock` guards everything in it. */
struct history {
    pthread_mutex_t lock;
    struct history_sample ring[HISTORY_LEN];
    uint64_t added;
    unsigned calm; /* seconds without pressure */
    struct history_state state;
};

enum status
history_new(struct history **out)
{
    struct history *h = mem_alloc(sizeof(*h));
    if (h == NULL) {
        return ST_NOMEM;
    }
    ASSERT(pthread_mutex_init(&h->lock, NULL) == 0);
    *out = h;
    return ST_OK;
}

void
history_free(struct history *h)
{
    if (h == NULL) {
        return;
    }
    pthread_mutex_destroy(&h->lock);
    mem_free(h);
}

static bool
is_pressed(const struct history_sample *s)
{
    return s->engaged || s->ended[LEDGER_EVICTED] > 0 || s->ended[LEDGER_EXPIRED] > 0 ||
           s->ended[LEDGER_REFUSED] > 0;
}

static enum history_change
follow(struct history *h, const struct history_sample *s)
{
    if (is_pressed(s)) {
        h->calm = 0;
        if (h->state.overloaded) {
            return HISTORY_SAME;
        }
        h->state = (struct history_state){true, s->wall, h->state.begins + 1};
        return HISTORY_BEGINS;
    }
    if (!h->state.overloaded || ++h->calm < HISTORY_CALM) {
        return HISTORY_SAME;
    }
    h->state.overloaded = false;
    h->state.since = s->wall;
    return HISTORY_ENDS;
}

enum history_change
history_add(struct history *h, const struct history_sample *s)
{
    pthread_mutex_lock(&h->lock);
    h->ring[h->added++ % HISTORY_LEN] = *s;
    enum history_change change = follow(h, s);
    pthread_mutex_unlock(&h->lock);
    return change;
}

size_t
history_read(struct history *h, struct history_sample *out, struct history_state *state)
{
    pthread_mutex_lock(&h->lock);
    size_t n = h->added < HISTORY_LEN ? (size_t)h->added : HISTORY_LEN;
    for (size_t i = 0; i < n; i++) {
        out[i] = h->ring[(h->added - n + i) % HISTORY_LEN];
    }
    *state = h->state;
    pthread_mutex_unlock(&h->lock);
    return n;
}
