/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fakehost.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/gate.h"
#include "server/base/clock.h"
#include "server/base/list.h"
#include "server/base/mem.h"
#include "tests/support/cmk.h"

#define ACCOUNTS 64u

/* What the real server hides from the plane. */
struct account {
    char name[16];
};

static struct account accounts[ACCOUNTS];

/* Its `lock` guards everything in it. */
struct inside {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct fake_msg *first; /* owned */
    struct fake_msg **last; /* borrowed: into the list */
    struct list_node gated; /* in the mail of each request */
};

struct account *
fakehost_account(unsigned n)
{
    return &accounts[n];
}

static void
on_publish(void *ctx, struct account *acc, uint32_t loop, const char *subject, const char *reply,
           const struct api_bytes *body)
{
    struct fakehost *f = ctx;
    struct inside *in = f->opaque;
    (void)loop;
    (void)reply;
    struct fake_msg *m = calloc(1, sizeof(*m));
    assert_non_null(m);
    m->acc = acc;
    m->subject = strdup(subject);
    m->hdr = body->hdr == NULL ? strdup("") : strndup(body->hdr, body->hdr_len);
    m->data = strndup(body->data, body->data_len);
    if (f->on_message != NULL) {
        f->on_message(m->subject, m->hdr, m->data);
        fakehost_free(m);
        m = NULL;
    }
    pthread_mutex_lock(&in->lock);
    if (m != NULL) {
        *in->last = m;
        in->last = &m->next;
    }
    f->published++;
    pthread_cond_broadcast(&in->more);
    pthread_mutex_unlock(&in->lock);
}

static bool
on_has_interest(void *ctx, struct account *acc, const char *subject)
{
    struct fakehost *f = ctx;
    (void)acc;
    return *subject == '$' ? atomic_load(&f->events) : !atomic_load(&f->nobody_listens);
}

static struct account *
on_system_account(void *ctx)
{
    (void)ctx;
    return &accounts[1];
}

static const char *
on_server_id(void *ctx)
{
    (void)ctx;
    return FAKE_ID;
}

static const char *
on_server_name(void *ctx)
{
    (void)ctx;
    return FAKE_NAME;
}

static json_t *
on_server_info(void *ctx)
{
    (void)ctx;
    return json_pack("{s:s, s:s, s:s, s:s, s:[s, s]}", "name", FAKE_NAME, "host", "127.0.0.1", "id",
                     FAKE_ID, "cluster", "C1", "tags", "east", "ssd");
}

static enum status
on_monitor(void *ctx, const char *what, const json_t *options, json_t **out, char **err)
{
    (void)ctx;
    const char *acc = json_string_value(json_object_get(options, "account"));
    if (acc != NULL && strcmp(acc, "NOPE") == 0) {
        *err = mem_strdup("Account NOPE does not exist");
        return *err == NULL ? ST_NOMEM : ST_INVAL;
    }
    if (strcmp(what, "NSUBS") == 0) {
        *out = json_integer(7);
    } else if (strcmp(what, "ACCSTATZ") == 0) {
        const json_t *names = json_object_get(options, "accounts");
        const char *one = json_string_value(json_array_get(names, 0));
        *out = one != NULL && strcmp(one, "IDLE") == 0
                   ? json_pack("{s:[]}", "account_statz")
                   : json_pack("{s:[{s:s}]}", "account_statz", "acc", one == NULL ? "all" : one);
    } else if (strcmp(what, "CONNS") == 0) {
        *out = json_pack("{s:O, s:i}", "acc", json_object_get(options, "acc"), "conns", 2);
    } else {
        *out = json_pack("{s:s, s:O?}", "view", what, "options", options);
    }
    return *out == NULL ? ST_NOMEM : ST_OK;
}

static enum status
on_user_info(void *ctx, const struct api_origin *origin, json_t **out)
{
    (void)ctx;
    *out = json_pack("{s:s, s:s}", "user", origin->user, "account", origin->account_name);
    return *out == NULL ? ST_NOMEM : ST_OK;
}

static enum status
on_reload(void *ctx, char **err)
{
    (void)ctx;
    *err = mem_strdup("can only reload config when a file is provided using -c or --config");
    return *err == NULL ? ST_NOMEM : ST_INVAL;
}

static enum status
on_kick(void *ctx, uint64_t cid)
{
    (void)ctx;
    return cid == 5 ? ST_OK : ST_NOTFOUND;
}

static struct account *
on_account(void *ctx, const char *name, uint64_t *key)
{
    (void)ctx;
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        if (strcmp(accounts[i].name, name) == 0) {
            *key = i;
            return &accounts[i];
        }
    }
    return NULL;
}

static enum status
on_gate_open(void *ctx, struct gate_watch *w, struct gate *g, const char *subject, void **handle)
{
    struct fakehost *f = ctx;
    (void)subject;
    f->watch = w;
    gate_unref(f->gate);
    f->gate = gate_ref(g);
    *handle = gate_ref(g);
    return ST_OK;
}

static void
on_gate_close(void *ctx, struct gate_watch *w, void *handle)
{
    struct fakehost *f = ctx;
    (void)w;
    if (f->gate == handle) {
        gate_unref(f->gate);
        f->gate = NULL;
    }
    gate_unref(handle);
}

static void
on_gate_deliver(void *ctx, struct gate_request *r)
{
    struct fakehost *f = ctx;
    struct inside *in = f->opaque;
    pthread_mutex_lock(&in->lock);
    list_push_back(&in->gated, gate_mail(r));
    pthread_mutex_unlock(&in->lock);
}

struct gate_request *
fakehost_gated(struct fakehost *f)
{
    struct inside *in = f->opaque;
    pthread_mutex_lock(&in->lock);
    struct list_node *node = list_pop_front(&in->gated);
    pthread_mutex_unlock(&in->lock);
    return node != NULL ? gate_of_mail(node) : NULL;
}

static struct js *
on_jetstream(void *ctx)
{
    (void)ctx;
    return NULL;
}

void
fakehost_init(struct fakehost *f)
{
    static const struct api_host host = {
        .publish = on_publish,
        .has_interest = on_has_interest,
        .system_account = on_system_account,
        .server_id = on_server_id,
        .server_name = on_server_name,
        .server_info = on_server_info,
        .monitor = on_monitor,
        .user_info = on_user_info,
        .reload = on_reload,
        .kick = on_kick,
        .lame_duck = on_kick,
        .account = on_account,
        .gate_open = on_gate_open,
        .gate_close = on_gate_close,
        .gate_deliver = on_gate_deliver,
        .jetstream = on_jetstream,
    };
    assert_true(sodium_init() >= 0);
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        (void)snprintf(accounts[i].name, sizeof(accounts[i].name), i == 1 ? "SYS" : "A%u", i);
    }
    memset(f, 0, sizeof(*f));
    struct inside *in = calloc(1, sizeof(*in));
    assert_non_null(in);
    pthread_mutex_init(&in->lock, NULL);
    pthread_cond_init(&in->more, NULL);
    in->last = &in->first;
    list_init(&in->gated);
    f->opaque = in;
    f->host = host;
    f->host.ctx = f;
}

void
fakehost_free(struct fake_msg *m)
{
    if (m != NULL) {
        free(m->subject);
        free(m->hdr);
        free(m->data);
        free(m);
    }
}

void
fakehost_fini(struct fakehost *f)
{
    struct inside *in = f->opaque;
    struct fake_msg *m;
    while ((m = fakehost_take(f)) != NULL) {
        fakehost_free(m);
    }
    pthread_cond_destroy(&in->more);
    pthread_mutex_destroy(&in->lock);
    free(in);
}

struct fake_msg *
fakehost_take(struct fakehost *f)
{
    struct inside *in = f->opaque;
    pthread_mutex_lock(&in->lock);
    struct fake_msg *m = in->first;
    if (m != NULL) {
        in->first = m->next;
        if (in->first == NULL) {
            in->last = &in->first;
        }
        m->next = NULL;
    }
    pthread_mutex_unlock(&in->lock);
    return m;
}

void
fakehost_wait(struct fakehost *f, uint64_t n)
{
    struct inside *in = f->opaque;
    struct timespec end;
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 20;
    int rc = 0;
    pthread_mutex_lock(&in->lock);
    while (f->published < n && rc == 0) {
        rc = pthread_cond_timedwait(&in->more, &in->lock, &end);
    }
    pthread_mutex_unlock(&in->lock);
    assert_int_equal(rc, 0);
}

struct api_message
fakehost_request(unsigned n, uint64_t cid, const char *subject, const char *reply, const char *data)
{
    return (struct api_message){
        .origin =
            {
                .account = &accounts[n],
                .account_name = accounts[n].name,
                .account_key = n,
                .cid = cid,
                .is_client = true,
                .is_operator = n == 1,
                .no_responders = true,
                .user = "alice",
                .client = "",
                .host = "127.0.0.1",
            },
        .subject = subject,
        .reply = reply,
        .data = data,
        .data_len = strlen(data),
        .now = clock_mono_ns(),
    };
}

/* A pattern with * as a whole token. */
static bool
matches(const char *pattern, const char *subject)
{
    while (*pattern != '\0' && *subject != '\0') {
        if (*pattern == '*') {
            pattern++;
            subject += strcspn(subject, ".");
        } else if (*pattern++ != *subject++) {
            return false;
        }
    }
    return *pattern == *subject;
}

const struct api_endpoint *
fakehost_endpoint(struct api *a, const char *subject, bool is_system)
{
    const struct api_subscription *v;
    size_t n = api_subscriptions(a, &v);
    for (size_t i = 0; i < n; i++) {
        if (matches(v[i].subject, subject) && (is_system ? !v[i].users_only : !v[i].system_only)) {
            return v[i].endpoint;
        }
    }
    fail_msg("no endpoint for %s", subject);
    return NULL;
}

struct api_opts
fakehost_opts(int64_t workers)
{
    return (struct api_opts){
        .workers = workers,
        .request_queue_limit = 10000,
        .info_queue_limit = 10000,
        .operator_queue_limit = 256,
        .request_queue_max_bytes = 64 << 20,
        .info_queue_max_bytes = 64 << 20,
        .discipline = API_ADAPTIVE,
        .adaptive_age = 0.5,
        .adaptive_wait = 500 * CLOCK_MS,
        .aged_share = 64,
        .request_deadline = 5 * CLOCK_S,
        .max_pending_commits = 1024,
        .limits = true,
    };
}
