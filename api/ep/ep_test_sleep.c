/* SPDX-License-Identifier: Apache-2.0 */
/* A set cost for measurements and tests; not in a release. Payload, all members optional:
 *   {"us": N}          sleeps            {"spin_us": N}     burns CPU
 *   {"pending_us": N}  completes later, from another thread
 *   {"fail": true}     ends in an error */
#ifdef TESTING

#include <pthread.h>
#include <time.h>

#include "api/dispatch.h"
#include "api/reply.h"
#include "api/request.h"
#include "server/base/clock.h"
#include "server/base/mem.h"

#define COST_MAX_US INT64_C(60000000)

struct later {
    struct api_request *r; /* owned until completed */
    int64_t us;
};

/* NB: a sleep of 0 would still give up the core. */
static void
sleep_us(int64_t us)
{
    struct timespec t = {us / 1000000, (us % 1000000) * 1000};
    if (us <= 0) {
        return;
    }
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void
spin_us(int64_t us)
{
    struct timespec t;
    if (us <= 0) {
        return;
    }
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    int64_t end = t.tv_sec * CLOCK_S + t.tv_nsec + us * CLOCK_US;
    do {
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec * CLOCK_S + t.tv_nsec < end);
}

static enum status
answer(struct reply *out)
{
    buf_puts(&out->body, "{\"ok\":true}");
    return buf_status(&out->body);
}

static void *
run_later(void *arg)
{
    struct later l = *(const struct later *)arg;
    struct reply out;
    mem_free(arg);
    sleep_us(l.us);
    reply_init(&out);
    enum status st = answer(&out);
    dispatch_complete(l.r, st, &out);
    reply_fini(&out);
    return NULL;
}

static enum status
defer(struct api_request *r, int64_t us)
{
    pthread_t t;
    pthread_attr_t attr;
    struct later *l = mem_alloc(sizeof(*l));
    if (l == NULL) {
        return ST_NOMEM;
    }
    *l = (struct later){r, us};
    dispatch_defer(r);
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&t, &attr, run_later, l) != 0) {
        /* Deferred already: only a completion can end it. */
        (void)run_later(l);
    }
    (void)pthread_attr_destroy(&attr);
    return ST_PENDING;
}

/* A cost of the payload; 0 where it is not given. False: a bad value. */
static bool
cost(const json_t *o, const char *key, int64_t *us)
{
    const json_t *v = json_object_get(o, key);
    *us = json_integer_value(v);
    return v == NULL || (json_is_integer(v) && *us >= 0 && *us <= COST_MAX_US);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    (void)a;
    int64_t us;
    int64_t spin;
    int64_t pending;
    json_t *o = r->data_len == 0 ? json_object() : json_loadb(r->data, r->data_len, 0, NULL);
    bool ok = json_is_object(o) && cost(o, "us", &us) && cost(o, "spin_us", &spin) &&
              cost(o, "pending_us", &pending);
    bool fail = json_is_true(json_object_get(o, "fail"));
    bool later = json_object_get(o, "pending_us") != NULL;
    json_decref(o);
    if (!ok) {
        return reply_error(out, NULL, 400, ERR_BAD_REQUEST, "invalid JSON");
    }
    sleep_us(us);
    spin_us(spin);
    if (fail) {
        return ST_IO;
    }
    return later ? defer(r, pending) : answer(out);
}

const struct api_endpoint ep_test_sleep = {
    .name = "test_sleep",
    .subjects = {"$SYS.REQ.TEST.SLEEP"},
    .level = APIQ_NORMAL,
    .flags = API_EP_NO_REPLY | API_EP_TEST_ONLY,
    .run = run,
    .doc = "A set cost.",
};

#else
/* A file must hold something. */
extern const int ep_test_sleep_is_left_out;
#endif
