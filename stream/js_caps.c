/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/js_caps.h"

#include "stream/js_priv.h"

void
js_caps(struct js *js, struct js_caps *out)
{
    (void)pthread_rwlock_rdlock(&js->lock);
    *out = js->caps;
    (void)pthread_rwlock_unlock(&js->lock);
}

void
js_set_caps(struct js *js, const struct js_caps *caps)
{
    (void)pthread_rwlock_wrlock(&js->lock);
    js->caps = *caps;
    (void)pthread_rwlock_unlock(&js->lock);
    atomic_store_explicit(&js->max_memory, caps->max_memory, memory_order_relaxed);
    atomic_store_explicit(&js->max_file, caps->max_file, memory_order_relaxed);
}
