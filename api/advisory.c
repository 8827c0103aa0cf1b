/* SPDX-License-Identifier: Apache-2.0 */
#include "api/advisory.h"

#include <stdatomic.h>
#include <string.h>

#include "api/typed.h"
#include "server/base/log.h"
#include "server/base/mem.h"

/* Atomics: any thread. The rest is constant. */
struct advisory {
    const struct api_host *host; /* borrowed: outlives the plane */
    struct clock clock;
    _Atomic uint64_t dropped; /* and not said yet */
    _Atomic int64_t next;     /* clock time from which the next may be said */
};

enum status
advisory_new(struct advisory **out, const struct api_host *host, const struct clock *clock)
{
    struct advisory *d = mem_alloc(sizeof(*d));
    if (d == NULL) {
        return ST_NOMEM;
    }
    d->host = host;
    d->clock = *clock;
    atomic_init(&d->next, INT64_MIN);
    *out = d;
    return ST_OK;
}

void
advisory_free(struct advisory *d)
{
    mem_free(d);
}

/* Takes event. */
static void
publish(struct advisory *d, struct account *acc, const char *subject, json_t *event)
{
    char *text = event == NULL ? NULL : json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(event);
    if (text == NULL) {
        return;
    }
    struct api_bytes body = {NULL, 0, text, strlen(text)};
    d->host->publish(d->host->ctx, acc, 0, subject, NULL, &body);
    /* NB: json_dumps allocates with jansson's own functions, whichever those are. */
    json_malloc_t alloc_fn;
    json_free_t free_fn;
    json_get_alloc_funcs(&alloc_fn, &free_fn);
    free_fn(text);
}

static struct account *
listener(struct advisory *d, const char *subject)
{
    struct account *acc = d->host->system_account(d->host->ctx);
    return acc != NULL && d->host->has_interest(d->host->ctx, acc, subject) ? acc : NULL;
}

void
advisory_flush(struct advisory *d)
{
    if (atomic_load_explicit(&d->dropped, memory_order_relaxed) == 0) {
        return;
    }
    int64_t now = clock_now(&d->clock);
    int64_t next = atomic_load(&d->next);
    if (now < next || !atomic_compare_exchange_strong(&d->next, &next, now + CLOCK_S)) {
        return;
    }
    uint64_t n = atomic_exchange(&d->dropped, 0);
    if (n == 0) {
        return;
    }
    log_warn("API queue limit reached, dropped %llu requests", (unsigned long long)n);
    struct account *acc = listener(d, ADVISORY_LIMIT_SUBJECT);
    if (acc == NULL) {
        return;
    }
    json_t *event = typed_event(ADVISORY_LIMIT_TYPE);
    if (event != NULL &&
        (json_object_set_new(event, "server", json_string(d->host->server_name(d->host->ctx))) !=
             0 ||
         json_object_set_new(event, "dropped", json_integer((json_int_t)n)) != 0)) {
        json_decref(event);
        event = NULL;
    }
    publish(d, acc, ADVISORY_LIMIT_SUBJECT, event);
}

void
advisory_dropped(struct advisory *d, uint64_t n)
{
    atomic_fetch_add(&d->dropped, n);
    advisory_flush(d);
}

void
advisory_overload(struct advisory *d, bool begins, json_t *seen)
{
    struct account *acc = listener(d, ADVISORY_OVERLOAD_SUBJECT);
    if (acc == NULL) {
        json_decref(seen);
        return;
    }
    json_t *event = typed_event(ADVISORY_OVERLOAD_TYPE);
    if (event != NULL &&
        (json_object_set_new(event, "server", json_string(d->host->server_name(d->host->ctx))) !=
             0 ||
         json_object_set_new(event, "state", json_string(begins ? "begin" : "end")) != 0 ||
         (seen != NULL && json_object_update(event, seen) != 0))) {
        json_decref(event);
        event = NULL;
    }
    json_decref(seen);
    publish(d, acc, ADVISORY_OVERLOAD_SUBJECT, event);
}
