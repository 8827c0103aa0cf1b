/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/js_kit.h"

#include "tests/support/cmk.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/subject.h"
#include "stream/js_out.h"
#include "stream/js_priv.h"

struct service {
    struct list_node node;
    char *subject; /* owned */
    js_receive_fn *fn;
    void (*release)(void *arg);
    void *arg;
};

struct out {
    struct list_node node;
    struct kit_msg m;
};

static struct kit {
    char dir[64];
    const char *vfs; /* borrowed: static */
    struct js *js;
    struct clock_fake now;
    pthread_mutex_t lock; /* guards what is below */
    pthread_cond_t cond;
    struct list_node services, sent;
    bool settled;
    uint64_t ticket; /* of the last time that all was settled */
    enum status settled_with;
    char deaf[128];
} kit = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

static char account_place;
#define ACCOUNT ((struct account *)(void *)&account_place)

static char *
copy(const char *s, size_t n)
{
    char *out = malloc(n + 1);
    assert_non_null(out);
    if (n > 0) {
        memcpy(out, s, n);
    }
    out[n] = '\0';
    return out;
}

static void
host_send(void *ctx, struct js_out *o)
{
    (void)ctx;
    struct out *out = calloc(1, sizeof *out);
    assert_non_null(out);
    const char *reply = o->reply != NULL ? o->reply : "";
    out->m = (struct kit_msg){.to = copy(o->to, strlen(o->to)),
                              .subject = copy(o->subject, strlen(o->subject)),
                              .reply = copy(reply, strlen(reply)),
                              .hdr = copy(o->body, o->hdr_len),
                              .data = copy(o->body + o->hdr_len, o->size - o->hdr_len)};
    js_out_free(o);
    (void)pthread_mutex_lock(&kit.lock);
    list_push_back(&kit.sent, &out->node);
    (void)pthread_mutex_unlock(&kit.lock);
}

static void
host_send_list(void *ctx, struct list_node *list)
{
    struct list_node *n;
    while ((n = list_pop_front(list)) != NULL) {
        host_send(ctx, LIST_ENTRY(n, struct js_out, node));
    }
}

static bool
host_interest(void *ctx, struct account *acc, const char *subject)
{
    (void)ctx;
    (void)acc;
    (void)pthread_mutex_lock(&kit.lock);
    bool heard = strcmp(subject, kit.deaf) != 0;
    (void)pthread_mutex_unlock(&kit.lock);
    return heard;
}

static bool
host_queue_interest(void *ctx, struct account *acc, const char *subject, const char *queue)
{
    (void)queue;
    return host_interest(ctx, acc, subject);
}

static enum status
host_subscribe(void *ctx, /* NOLINT(readability-function-size): as js_host.h has it */
               struct account *acc, const char *subject, js_receive_fn *fn,
               void (*release)(void *arg), void *arg, struct js_service **out)
{
    (void)ctx;
    (void)acc;
    struct service *v = calloc(1, sizeof *v);
    assert_non_null(v);
    v->subject = copy(subject, strlen(subject));
    v->fn = fn;
    v->release = release;
    v->arg = arg;
    (void)pthread_mutex_lock(&kit.lock);
    list_push_back(&kit.services, &v->node);
    (void)pthread_mutex_unlock(&kit.lock);
    *out = (struct js_service *)(void *)v;
    return ST_OK;
}

static void
host_unsubscribe(void *ctx, struct account *acc, struct js_service *s)
{
    (void)ctx;
    (void)acc;
    struct service *v = (struct service *)(void *)s;
    (void)pthread_mutex_lock(&kit.lock);
    list_remove(&v->node);
    (void)pthread_mutex_unlock(&kit.lock);
    v->release(v->arg);
    free(v->subject);
    free(v);
}

static const char *
host_text(void *ctx)
{
    (void)ctx;
    return "kit";
}

static json_t *
host_client(void *ctx, uint64_t cid)
{
    (void)ctx;
    (void)cid;
    return NULL;
}

static struct account *
host_system(void *ctx)
{
    (void)ctx;
    return NULL;
}

static const struct js_host host = {.send = host_send,
                                    .send_list = host_send_list,
                                    .has_interest = host_interest,
                                    .has_queue_interest = host_queue_interest,
                                    .subscribe = host_subscribe,
                                    .unsubscribe = host_unsubscribe,
                                    .server_id = host_text,
                                    .server_name = host_text,
                                    .client_info = host_client,
                                    .system_account = host_system,
                                    .max_payload = 1 << 20};

static void
start(void)
{
    static struct clock clock;
    clock = clock_fake_of(&kit.now);
    struct js_opts opts = {.store_dir = kit.dir,
                           .sync_interval = 120 * CLOCK_S,
                           .caps = {.max_memory = -1, .max_file = -1},
                           .vfs = kit.vfs,
                           .no_threads = true};
    struct js_limits limits = {-1, -1, -1, -1, -1, 0, 0, false};
    char *err = NULL;
    assert_int_equal(js_new(&kit.js, &host, &opts, &clock, &err), ST_OK);
    assert_int_equal(js_account_enable(kit.js, ACCOUNT, "A", &limits), ST_OK);
    assert_int_equal(js_start(kit.js, &err), ST_OK);
    kit.ticket = js_ticket(kit.js);
}

void
jskit_open(void)
{
    jskit_open_on(NULL);
}

void
jskit_open_on(const char *vfs)
{
    kit.vfs = vfs;
    list_init(&kit.services);
    list_init(&kit.sent);
    kit.deaf[0] = '\0';
    kit.now.t = CLOCK_S;
    snprintf(kit.dir, sizeof kit.dir, "/tmp/sluice-kit-XXXXXX");
    assert_non_null(mkdtemp(kit.dir));
    start();
}

static void
stop(void)
{
    js_stop(kit.js);
    js_free(kit.js);
    kit.js = NULL;
    struct list_node *n = kit.sent.next;
    while (n != &kit.sent) {
        struct out *o = LIST_ENTRY(n, struct out, node);
        n = n->next;
        kit_free(&o->m);
    }
    list_init(&kit.sent);
}

void
jskit_close(void)
{
    stop();
    char cmd[96];
    snprintf(cmd, sizeof cmd, "rm -rf %s", kit.dir);
    assert_int_equal(system(cmd), 0); /* NOLINT(concurrency-mt-unsafe): the only thread left */
}

void
kit_restart(void)
{
    stop();
    start();
}

void
kit_restart_after(const char *sql)
{
    stop();
    char path[96];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/jetstream/sluice.db", kit.dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_true(sqlite3_changes(db) > 0);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    start();
}

struct js *
kit_js(void)
{
    return kit.js;
}

int
kit_set_up(void **state)
{
    (void)state;
    jskit_open();
    return 0;
}

int
kit_tear_down(void **state)
{
    (void)state;
    jskit_close();
    return 0;
}

static json_t *
parse(const char *text)
{
    json_t *o = json_loads(text, 0, NULL);
    assert_non_null(o);
    return o;
}

static struct stream_config *
stream_config(const char *config)
{
    json_t *o = parse(config);
    struct stream_config *cfg;
    struct js_fail fail = {0};
    assert_int_equal(stream_config_from_json(o, true, &cfg, &fail), JS_OK);
    json_decref(o);
    return cfg;
}

static enum js_error
make_stream(const char *config, struct stream **s, struct js_fail *fail)
{
    bool created;
    struct stream_request rq = {0};
    return stream_create(js_account_of(kit.js, ACCOUNT), stream_config(config), &rq, s, &created,
                         fail);
}

struct stream *
kit_stream(const char *config)
{
    struct stream *s = NULL;
    struct js_fail fail = {0};
    if (make_stream(config, &s, &fail) != JS_OK) {
        fail_msg("stream: %s", fail.text);
    }
    kit_settle();
    return s;
}

int
kit_refused_stream(const char *config)
{
    struct stream *s = NULL;
    struct js_fail fail = {0};
    enum js_error e = make_stream(config, &s, &fail);
    stream_unref(s);
    return e != JS_OK ? fail.err_code : 0;
}

int
kit_refused_update(const char *config)
{
    struct stream *s = NULL;
    struct js_fail fail = {0};
    struct stream_request rq = {0};
    enum js_error e =
        stream_update(js_account_of(kit.js, ACCOUNT), stream_config(config), &rq, &s, &fail);
    stream_unref(s);
    return e != JS_OK ? fail.err_code : 0;
}

static enum js_error
make(struct stream *s, const char *config, enum consumer_action action, struct consumer **c,
     struct js_fail *fail)
{
    json_t *o = parse(config);
    struct consumer_config *cfg;
    enum js_error e = consumer_config_from_json(o, true, &cfg, fail);
    json_decref(o);
    struct consumer_request rq = {.action = action};
    return e == JS_OK ? consumer_create(s, cfg, &rq, c, fail) : e;
}

struct consumer *
kit_consumer(struct stream *s, const char *config)
{
    struct consumer *c = NULL;
    struct js_fail fail = {0};
    if (make(s, config, CONSUMER_CREATE_OR_UPDATE, &c, &fail) != JS_OK) {
        fail_msg("consumer: %s", fail.text);
    }
    kit_settle();
    return c;
}

int
kit_refused_consumer(struct stream *s, const char *config, enum consumer_action action)
{
    struct consumer *c = NULL;
    struct js_fail fail = {0};
    if (make(s, config, action, &c, &fail) != JS_OK) {
        return fail.err_code;
    }
    consumer_unref(c);
    return 0;
}

static struct service *
service_of(const char *subject)
{
    struct service *found = NULL;
    struct list_node *it;
    (void)pthread_mutex_lock(&kit.lock);
    for (it = kit.services.next; it != &kit.services && found == NULL; it = it->next) {
        struct service *v = LIST_ENTRY(it, struct service, node);
        if (subject_is_inside(subject, strlen(subject), v->subject, strlen(v->subject))) {
            found = v;
        }
    }
    (void)pthread_mutex_unlock(&kit.lock);
    return found;
}

bool
kit_send(const char *subject, const char *reply, const char *data)
{
    return kit_send_with(subject, reply, NULL, data);
}

bool
kit_send_with(const char *subject, const char *reply, const char *hdr, const char *data)
{
    struct service *v = service_of(subject);
    if (v == NULL) {
        return false;
    }
    struct js_in in = {.account = ACCOUNT,
                       .cid = 1,
                       .subject = subject,
                       .subject_len = strlen(subject),
                       .reply = reply != NULL ? reply : "",
                       .hdr = hdr,
                       .hdr_len = hdr != NULL ? strlen(hdr) : 0,
                       .data = data,
                       .data_len = strlen(data)};
    v->fn(v->arg, &in);
    return true;
}

void
kit_publish(const char *subject, const char *data)
{
    assert_true(kit_send(subject, NULL, data));
    kit_settle();
}

static void
settled(void *arg, enum status st)
{
    (void)arg;
    (void)pthread_mutex_lock(&kit.lock);
    kit.settled = true;
    kit.settled_with = st;
    (void)pthread_cond_signal(&kit.cond);
    (void)pthread_mutex_unlock(&kit.lock);
}

static void
wait_settled(void)
{
    (void)pthread_mutex_lock(&kit.lock);
    while (!kit.settled) {
        (void)pthread_cond_wait(&kit.cond, &kit.lock);
    }
    (void)pthread_mutex_unlock(&kit.lock);
}

static void
memory_settled(struct store_op *op, struct list_node *more, enum status st)
{
    (void)op;
    (void)more;
    settled(NULL, st);
}

/* What is committed in memory may have more to do on disk, so memory comes first. */
static bool
wait_for_commits(void)
{
    struct store *memory = js_store(kit.js, true);
    struct store_op op = {.kind = STORE_SYNC, .done = memory_settled};
    op.row = store_failures(memory);
    kit.settled = false;
    store_push(memory, &op);
    wait_settled();
    kit.settled = false;
    assert_int_equal(js_when_committed(kit.js, kit.ticket, false, settled, NULL), ST_OK);
    wait_settled();
    (void)pthread_mutex_lock(&kit.lock);
    kit.ticket = js_ticket(kit.js);
    bool whole = kit.settled_with == ST_OK;
    (void)pthread_mutex_unlock(&kit.lock);
    return whole;
}

bool
kit_settle(void)
{
    bool whole = wait_for_commits();
    while (js_timers_run(kit.js->timers) > 0) {
        whole &= wait_for_commits();
    }
    return whole;
}

void
jskit_advance(int64_t ns)
{
    clock_fake_advance(&kit.now, ns);
    kit_settle();
}

void
kit_deafen(const char *subject)
{
    (void)pthread_mutex_lock(&kit.lock);
    char old[128];
    memcpy(old, kit.deaf, sizeof old);
    snprintf(kit.deaf, sizeof kit.deaf, "%s", subject != NULL ? subject : "");
    (void)pthread_mutex_unlock(&kit.lock);
    const char *changed = subject != NULL ? subject : old;
    js_interest_changed(kit.js, ACCOUNT, changed, strlen(changed));
    kit_settle();
}

struct kit_msg *
kit_take(const char *to)
{
    struct out *found = NULL;
    (void)pthread_mutex_lock(&kit.lock);
    for (struct list_node *it = kit.sent.next; it != &kit.sent && found == NULL; it = it->next) {
        struct out *o = LIST_ENTRY(it, struct out, node);
        if (strcmp(o->m.to, to) == 0) {
            found = o;
        }
    }
    if (found != NULL) {
        list_remove(&found->node);
    }
    (void)pthread_mutex_unlock(&kit.lock);
    return found != NULL ? &found->m : NULL;
}

void
kit_free(struct kit_msg *m)
{
    free(m->to);
    free(m->subject);
    free(m->reply);
    free(m->hdr);
    free(m->data);
    free(LIST_ENTRY(m, struct out, m));
}

static const char *
expect(const char *to, const char *hdr, const char *data)
{
    static char reply[700];
    struct kit_msg *m = kit_take(to);
    if (m == NULL) {
        fail_msg("nothing was sent to %s", to);
        return "";
    }
    if (data != NULL) {
        assert_string_equal(m->data, data);
    }
    if (hdr != NULL && strncmp(m->hdr, hdr, strlen(hdr)) != 0) {
        fail_msg("to %s: not \"%s\" but \"%s\"", to, hdr, m->hdr);
    }
    snprintf(reply, sizeof reply, "%s", m->reply);
    kit_free(m);
    return reply;
}

const char *
kit_expect(const char *to, const char *data)
{
    return expect(to, NULL, data);
}

const char *
kit_expect_hdr(const char *to, const char *hdr)
{
    return expect(to, hdr, NULL);
}

void
kit_expect_silence(const char *to)
{
    struct kit_msg *m = kit_take(to);
    if (m != NULL) {
        fail_msg("sent to %s: %s%s", to, m->hdr, m->data);
    }
}

int64_t
kit_info(struct consumer *c, const char *key, const char *inner)
{
    json_t *o = consumer_info_json(c);
    assert_non_null(o);
    const json_t *v = json_object_get(o, key);
    v = inner != NULL ? json_object_get(v, inner) : v;
    int64_t n = json_is_true(v) ? 1 : json_integer_value(v);
    json_decref(o);
    return n;
}
