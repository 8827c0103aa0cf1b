/* SPDX-License-Identifier: Apache-2.0 */
#include "api/refuse_some.h"

#ifdef TESTING

#include <pthread.h>
#include <stdatomic.h>

#include "api/match.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct refuse_some now; /* lock */
static atomic_bool on;         /* whether the lock is worth taking */

void
refuse_some_set(const struct refuse_some *s)
{
    pthread_mutex_lock(&lock);
    now = *s;
    now.seen = 0;
    now.refused = 0;
    atomic_store(&on, s->every > 0);
    pthread_mutex_unlock(&lock);
}

void
refuse_some_get(struct refuse_some *out)
{
    pthread_mutex_lock(&lock);
    *out = now;
    pthread_mutex_unlock(&lock);
}

static bool
take_turn(enum ledger_end *why)
{
    static const enum ledger_end ends[] = {END_THROTTLED, END_EVICTED, END_EXPIRED};
    now.seen++;
    if (now.every == 0 || now.seen % now.every != 0) {
        return false;
    }
    if (now.times > 0 && now.refused == now.times) {
        return false;
    }
    *why = ends[now.refused % (sizeof(ends) / sizeof(ends[0]))];
    now.refused++;
    return true;
}

bool
refuse_some_hits(const char *subject, enum ledger_end *why)
{
    if (!atomic_load_explicit(&on, memory_order_relaxed)) {
        return false;
    }
    pthread_mutex_lock(&lock);
    bool hit = match_subject(now.subject, subject) && take_turn(why);
    pthread_mutex_unlock(&lock);
    return hit;
}

#endif
