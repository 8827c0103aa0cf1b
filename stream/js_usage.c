/* SPDX-License-Identifier: Apache-2.0 */
/* What accounts use. */
#include <stdatomic.h>

#include "stream/js.h"
#include "stream/js_priv.h"
#include "stream/stream_priv.h"

void
js_count_api(struct js_account *a, bool is_error)
{
    atomic_fetch_add_explicit(&a->api_total, 1, memory_order_relaxed);
    if (is_error) {
        atomic_fetch_add_explicit(&a->api_errors, 1, memory_order_relaxed);
    }
}

static void
add_messages(struct js_account *a, struct js_usage *out)
{
    struct stream **v;
    size_t n;
    if (js_account_streams(a, &v, &n) != ST_OK) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct mlog_state st;
        stream_lock(v[i]);
        mlog_state(v[i]->log, &st);
        stream_unlock(v[i]);
        out->messages += st.msgs;
    }
    js_streams_free(v, n);
}

static void
add_usage(struct js_account *a, struct js_usage *out)
{
    out->memory += (uint64_t)a->memory;
    out->file += (uint64_t)a->file;
    out->reserved_memory += (uint64_t)a->reserved_memory;
    out->reserved_file += (uint64_t)a->reserved_file;
    out->streams += (uint64_t)a->n_streams;
    out->consumers += (uint64_t)a->n_consumers;
    out->api_total += a->api_total;
    out->api_errors += a->api_errors;
    add_messages(a, out);
}

void
js_account_usage(struct js_account *a, struct js_usage *out)
{
    *out = (struct js_usage){0};
    add_usage(a, out);
}

void
js_usage(struct js *js, struct js_usage *out)
{
    *out = (struct js_usage){0};
    for (struct js_account *a = js_account_next(js, NULL); a != NULL; a = js_account_next(js, a)) {
        add_usage(a, out);
    }
}
