/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: opens the stores, brings back what they hold, serves the subjects of each account,
 * and ends in the order that loses nothing: no more timers, states written, writers joined. */
#include "stream/js.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "server/base/buf.h"
#include "server/base/hash.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "stream/consumer.h"
#include "stream/js_out.h"
#include "stream/js_priv.h"
#include "stream/store_read.h"
#include "stream/stream.h"
#include "stream/stream_priv.h"

#define CHECKPOINT_NS (10 * CLOCK_S)
enum { CHECKPOINT_CHUNKS = 16 };

/* ---- folders ---- */

static enum status
make_dir(const char *path, char **err)
{
    struct stat sb;
    struct buf b;
    if (mkdir(path, 0750) == 0 ||
        (errno == EEXIST && stat(path, &sb) == 0 && S_ISDIR(sb.st_mode))) {
        return ST_OK;
    }
    buf_init(&b);
    buf_printf(&b, "JetStream store folder %s: %s", path, strerrordesc_np(errno));
    *err = buf_detach(&b, NULL);
    return ST_PERM;
}

/* The folder and those above it. path is changed and put back. */
static enum status
make_dirs(char *path, char **err)
{
    enum status st = ST_OK;
    for (char *p = strchr(path + 1, '/'); p != NULL && st == ST_OK; p = strchr(p + 1, '/')) {
        *p = '\0';
        st = make_dir(path, err);
        *p = '/';
    }
    return st == ST_OK ? make_dir(path, err) : st;
}

static enum status
open_stores(struct js *js, char **err)
{
    struct buf b;
    buf_init(&b);
    buf_printf(&b, "%s/jetstream", js->opts.store_dir);
    enum status st = buf_status(&b);
    if (st == ST_OK) {
        st = make_dirs(b.data, err);
    }
    struct store_opts file = {.dir = b.data,
                              .durable = js->opts.sync_always,
                              .sync_interval = js->opts.sync_interval,
                              .vfs = js->opts.vfs};
    const struct store_opts memory = {0};
    if (st == ST_OK) {
        st = store_open(&js->file, &file, err);
    }
    if (st == ST_OK) {
        st = store_open(&js->memory, &memory, err);
    }
    buf_fini(&b);
    return st;
}

/* ---- life ---- */

enum status
js_new(struct js **out, const struct js_host *host, const struct js_opts *opts,
       const struct clock *clock, char **err)
{
    *out = NULL;
    *err = NULL;
    struct js *js = mem_alloc(sizeof(*js));
    if (js == NULL) {
        return ST_NOMEM;
    }
    js->host = host;
    js->clock = *clock;
    js->opts = *opts;
    js->opts.store_dir = mem_strdup(opts->store_dir);
    js->opts.domain = opts->domain != NULL ? mem_strdup(opts->domain) : NULL;
    list_init(&js->accounts);
    (void)pthread_rwlock_init(&js->lock, NULL);
    js_set_caps(js, &opts->caps);
    bool ok = js->opts.store_dir != NULL && (opts->domain == NULL || js->opts.domain != NULL);
    enum status st = ok ? js_timers_new(&js->timers, clock) : ST_NOMEM;
    if (st == ST_OK) {
        st = js_timers_reserve(js->timers, 1);
    }
    if (st == ST_OK) {
        st = open_stores(js, err);
    }
    if (st != ST_OK) {
        js_free(js);
        return st;
    }
    *out = js;
    return ST_OK;
}

static void
account_free(struct js_account *a)
{
    ntab_fini(&a->streams);
    ptrie_fini(&a->subjects);
    mem_free(a->sorted);
    ntab_fini(&a->deliver);
    (void)pthread_mutex_destroy(&a->lock);
    (void)pthread_mutex_destroy(&a->deliver_lock);
    mem_free(a->name);
    mem_free(a);
}

void
js_free(struct js *js)
{
    if (js == NULL) {
        return;
    }
    /* What was pushed after the stop is told so. */
    if (js->file != NULL) {
        store_stop(js->file);
    }
    if (js->memory != NULL) {
        store_stop(js->memory);
    }
    struct list_node *n;
    while ((n = list_pop_front(&js->accounts)) != NULL) {
        account_free(LIST_ENTRY(n, struct js_account, node));
    }
    store_free(js->file);
    store_free(js->memory);
    js_timers_free(js->timers);
    (void)pthread_rwlock_destroy(&js->lock);
    mem_free((void *)(uintptr_t)js->opts.store_dir);
    mem_free((void *)(uintptr_t)js->opts.domain);
    mem_free(js);
}

bool
js_is_stopping(const struct js *js)
{
    return atomic_load(&js->stopping);
}

const struct js_opts *
js_opts(const struct js *js)
{
    return &js->opts;
}

int64_t
js_wall(const struct js *js)
{
    /* NB: a clock that tests move is not the machine's; then wall time is that clock's. */
    return js->clock.now == clock_real.now ? clock_wall_ns() : js_now(js) + CLOCK_S * 1000000000;
}

void
js_send(struct js *js, struct js_out *o)
{
    if (o != NULL) {
        js->host->send(js->host->ctx, o);
    }
}

/* ---- accounts ---- */

struct js_account *
js_account_next(struct js *js, const struct js_account *prev)
{
    (void)pthread_rwlock_rdlock(&js->lock);
    const struct list_node *n = prev != NULL ? prev->node.next : js->accounts.next;
    struct js_account *a = n != &js->accounts ? LIST_ENTRY(n, struct js_account, node) : NULL;
    (void)pthread_rwlock_unlock(&js->lock);
    return a;
}

struct js_account *
js_account_of(struct js *js, const struct account *acc)
{
    struct js_account *a = js_account_next(js, NULL);
    while (a != NULL && a->acc != acc) {
        a = js_account_next(js, a);
    }
    return a;
}

static struct js_account *
account_named(struct js *js, const char *name, size_t len)
{
    struct js_account *a = js_account_next(js, NULL);
    while (a != NULL && (strlen(a->name) != len || memcmp(a->name, name, len) != 0)) {
        a = js_account_next(js, a);
    }
    return a;
}

static void
no_release(void *arg)
{
    (void)arg;
}

struct service {
    const char *subject; /* behind the API's prefix where api */
    bool api;
    js_receive_fn *fn;
};

static const struct service services[] = {
    {"$JS.ACK.>", false, consumer_ack_receive},
    {"$JS.FC.>", false, consumer_fc_receive},
    {"CONSUMER.MSG.NEXT.*.*", true, consumer_next_receive},
};

static enum status
serve_one(struct js *js, struct js_account *a, const char *subject, js_receive_fn *fn)
{
    int i = 0;
    while (i < JS_ACCOUNT_SERVICES && a->services[i] != NULL) {
        i++;
    }
    return i < JS_ACCOUNT_SERVICES ? js->host->subscribe(js->host->ctx, a->acc, subject, fn,
                                                         no_release, a, &a->services[i])
                                   : ST_FULL;
}

static enum status
serve(struct js *js, struct js_account *a)
{
    struct buf b;
    enum status st = ST_OK;
    buf_init(&b);
    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]) && st == ST_OK; i++) {
        const struct service *v = &services[i];
        buf_reset(&b);
        buf_printf(&b, "%s%s", v->api ? "$JS.API." : "", v->subject);
        st = buf_status(&b);
        if (st == ST_OK) {
            st = serve_one(js, a, b.data, v->fn);
        }
        if (st == ST_OK && v->api && js->opts.domain != NULL) {
            buf_reset(&b);
            buf_printf(&b, "$JS.%s.API.%s", js->opts.domain, v->subject);
            st = buf_status(&b) == ST_OK ? serve_one(js, a, b.data, v->fn) : ST_NOMEM;
        }
    }
    buf_fini(&b);
    return st;
}

enum status
js_account_enable(struct js *js, struct account *acc, const char *name,
                  const struct js_limits *limits)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    struct js_account *a = js_account_of(js, acc);
    if (a != NULL) {
        (void)pthread_mutex_lock(&a->lock);
        a->limits = *limits;
        (void)pthread_mutex_unlock(&a->lock);
        return ST_OK;
    }
    a = mem_alloc(sizeof(*a));
    if (a == NULL) {
        return ST_NOMEM;
    }
    a->name = mem_strdup(name);
    if (a->name == NULL) {
        mem_free(a);
        return ST_NOMEM;
    }
    uint64_t h = hash_bytes(name, strlen(name));
    for (int i = 0; i < 8; i++) {
        a->hash[i] = digits[h % 62];
        h /= 62;
    }
    a->js = js;
    a->acc = acc;
    a->limits = *limits;
    (void)pthread_mutex_init(&a->lock, NULL);
    (void)pthread_mutex_init(&a->deliver_lock, NULL);
    (void)pthread_rwlock_wrlock(&js->lock);
    list_push_back(&js->accounts, &a->node);
    (void)pthread_rwlock_unlock(&js->lock);
    return js->started ? serve(js, a) : ST_OK;
}

/* ---- the start ---- */

struct recovery {
    struct js *js;
    enum status st;
    uint64_t streams;
    char name[600]; /* of the stream that failed */
};

static bool
on_stream(void *arg, const struct store_record *r)
{
    struct recovery *rc = arg;
    size_t len = strnlen(r->name, r->name_len);
    struct js_account *a = account_named(rc->js, r->name, len);
    if (a == NULL) {
        log_warn("JetStream: account %.*s has no JetStream now; its streams stay in the store",
                 (int)len, r->name);
        return true;
    }
    rc->st = stream_recover(a, r->stream, r->data, r->data_len);
    if (rc->st != ST_OK) {
        (void)snprintf(rc->name, sizeof(rc->name), "%.*s", (int)(r->name_len - len - 1),
                       r->name + len + 1);
    }
    rc->streams++;
    return rc->st == ST_OK;
}

static enum status
recover(struct js *js, char **err)
{
    struct recovery rc = {.js = js, .st = ST_OK};
    int64_t begin = clock_mono_ns();
    enum status st = store_streams(js->file, on_stream, &rc);
    if (st == ST_OK) {
        st = rc.st;
    }
    if (st != ST_OK) {
        struct buf b;
        buf_init(&b);
        buf_printf(&b, "JetStream store %s/jetstream/sluice.db: stream '%s' could not be read: %s",
                   js->opts.store_dir, rc.name, status_text(st));
        *err = buf_detach(&b, NULL);
        return st;
    }
    if (rc.streams > 0) {
        log_info("  Restored %llu streams in %.3fs", (unsigned long long)rc.streams,
                 (double)(clock_mono_ns() - begin) / 1e9);
    }
    return ST_OK;
}

/* ---- the slow timer: index chunks, idle memory ---- */

static void
checkpoint_all(struct js *js, bool stopping)
{
    for (struct js_account *a = js_account_next(js, NULL); a != NULL; a = js_account_next(js, a)) {
        struct stream **v;
        size_t n;
        if (js_account_streams(a, &v, &n) != ST_OK) {
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            bool more = true;
            while (more) {
                stream_lock(v[i]);
                more = !v[i]->deleted && mlog_checkpoint(v[i]->log, CHECKPOINT_CHUNKS, stopping) &&
                       stopping;
                stream_unlock(v[i]);
            }
        }
        js_streams_free(v, n);
    }
}

static void
on_checkpoint(struct js_timer *t)
{
    struct js *js = LIST_ENTRY(t, struct js, checkpoint);
    if (!js_is_stopping(js)) {
        checkpoint_all(js, false);
        (void)js_timer_set(js->timers, t, js_now(js) + CHECKPOINT_NS);
    }
}

enum status
js_start(struct js *js, char **err)
{
    *err = NULL;
    enum status st = store_start(js->file);
    if (st == ST_OK) {
        st = store_start(js->memory);
    }
    js->stores_run = st == ST_OK;
    if (st == ST_OK) {
        st = recover(js, err);
    }
    for (struct js_account *a = js_account_next(js, NULL); a != NULL && st == ST_OK;
         a = js_account_next(js, a)) {
        st = serve(js, a);
    }
    js->started = true;
    js->checkpoint.fn = on_checkpoint;
    (void)js_timer_set(js->timers, &js->checkpoint, js_now(js) + CHECKPOINT_NS);
    if (st == ST_OK && !js->opts.no_threads) {
        /* Who takes from another stream is known there before anybody acknowledges. */
        (void)js_timers_run(js->timers);
        st = js_timers_start(js->timers);
    }
    return st;
}

/* ---- the stop ---- */

struct js_waiter {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool done;
};

static void
wake(void *arg, enum status st)
{
    (void)st;
    struct js_waiter *w = arg;
    (void)pthread_mutex_lock(&w->lock);
    w->done = true;
    (void)pthread_cond_signal(&w->cond);
    (void)pthread_mutex_unlock(&w->lock);
}

/* Waits until all that was pushed before is committed. */
static void
settle(struct js *js)
{
    struct js_waiter w = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    if (js_when_committed(js, js_ticket(js), false, wake, &w) != ST_OK) {
        return;
    }
    (void)pthread_mutex_lock(&w.lock);
    while (!w.done) {
        (void)pthread_cond_wait(&w.cond, &w.lock);
    }
    (void)pthread_mutex_unlock(&w.lock);
}

static void
stop_account(struct js *js, struct js_account *a)
{
    for (int i = 0; i < JS_ACCOUNT_SERVICES; i++) {
        if (a->services[i] != NULL) {
            js->host->unsubscribe(js->host->ctx, a->acc, a->services[i]);
            a->services[i] = NULL;
        }
    }
    struct stream **v;
    size_t n;
    if (js_account_streams(a, &v, &n) == ST_OK) {
        for (size_t i = 0; i < n; i++) {
            stream_stop(v[i]);
        }
        js_streams_free(v, n);
    }
}

void
js_stop(struct js *js)
{
    atomic_store(&js->stopping, true);
    js_timers_stop(js->timers);
    for (struct js_account *a = js_account_next(js, NULL); a != NULL; a = js_account_next(js, a)) {
        stop_account(js, a);
    }
    if (js->stores_run) {
        settle(js);
        checkpoint_all(js, true);
    }
    store_stop(js->file);
    store_stop(js->memory);
    for (struct js_account *a = js_account_next(js, NULL); a != NULL; a = js_account_next(js, a)) {
        struct stream **v;
        size_t n;
        if (js_account_streams(a, &v, &n) == ST_OK) {
            for (size_t i = 0; i < n; i++) {
                js_account_remove(a, v[i]);
            }
            js_streams_free(v, n);
        }
    }
}

/* ---- commits ---- */

struct commit_wait {
    struct store_op op;
    void (*fn)(void *arg, enum status st);
    void *arg;
};

static void
on_committed(struct store_op *op, struct list_node *more, enum status st)
{
    (void)more;
    struct commit_wait *w = LIST_ENTRY(op, struct commit_wait, op);
    w->fn(w->arg, st);
    mem_free(w);
}

uint64_t
js_ticket(struct js *js)
{
    return store_failures(js->file);
}

enum status
js_when_committed(struct js *js, uint64_t ticket, bool memory,
                  void (*fn)(void *arg, enum status st), void *arg)
{
    if (memory) {
        fn(arg, ST_OK);
        return ST_OK;
    }
    struct commit_wait *w = mem_alloc(sizeof(*w));
    if (w == NULL) {
        return ST_NOMEM;
    }
    w->op.kind = STORE_SYNC;
    w->op.row = ticket;
    w->op.done = on_committed;
    w->fn = fn;
    w->arg = arg;
    store_push(js->file, &w->op);
    return ST_OK;
}

enum js_error
js_check_writes(struct js *js, bool memory, struct js_fail *f)
{
    const char *why;
    enum status st = store_failing(js_store(js, memory), &why);
    if (st == ST_OK) {
        return JS_OK;
    }
    return st == ST_FULL ? js_fail_plain(f, JS_ERR_STORAGE_RESOURCES_EXCEEDED)
                         : js_fail_text(f, JS_ERR_STREAM_GENERAL_ERROR, why);
}

const char *
js_trouble(struct js *js)
{
    const char *why;
    return store_failing(js->file, &why) != ST_OK ? why : NULL;
}

void
js_turn_end(struct js *js, bool may_write)
{
    store_turn_end(js->file, may_write);
    store_turn_end(js->memory, may_write);
}

/* ---- what is passed on ---- */

void
js_interest_changed(struct js *js, struct account *acc, const char *subject, size_t len)
{
    if (atomic_load_explicit(&js->n_push, memory_order_relaxed) == 0 || js_is_stopping(js)) {
        return;
    }
    struct js_account *a = js_account_of(js, acc);
    if (a != NULL && atomic_load_explicit(&a->n_push, memory_order_relaxed) > 0) {
        consumers_interest_changed(a, subject, len);
    }
}
