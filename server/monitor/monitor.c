/* SPDX-License-Identifier: Apache-2.0 */
/* Other threads leave what they want in the mailbox (names of accounts, the wish to stop) and
 * write the eventfd; all else happens on the thread "http". */
#include "server/monitor/monitor.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/config_check.h"
#include "server/inspect.h"
#include "server/monitor/accountz.h"
#include "server/monitor/http.h"
#include "server/monitor/jput.h"
#include "server/monitor/sysevent.h"
#include "server/monitor/usage.h"
#include "server/monitor/varz.h"
#include "server/monitor/views.h"
#include "server/monitor/vopts.h"
#include "server/server.h"

/* Of the bits in which nats-server tells what a server can. */
enum { FLAG_JETSTREAM = 1 };

enum {
    STATSZ_FIRST_MS = 250,
    STATSZ_MAX_MS = 10000,
    SECOND_MS = 1000,
    CONNS_MS = 30000,
    TRIM_S = 10
};

/* Owner: the thread "http", but for the members marked otherwise. */
struct monitor {
    struct server *server;   /* borrowed: outlives us */
    struct event_base *base; /* owned */
    struct http *http;       /* owned; NULL: off */
    struct event *on_wake;   /* owned */
    struct event *on_statsz; /* owned */
    struct event *on_second; /* owned */
    struct event *on_conns;  /* owned */
    int statsz_ms;           /* the interval, growing from the first to the last */
    int seconds;             /* since the last trim of the memory */
    struct usage_cpu cpu;    /* its percent: any thread */
    pthread_t thread;        /* of the thread that starts and stops us, as the next */
    bool is_running;
    int wake_fd;              /* owned; any thread writes it */
    _Atomic bool is_stopping; /* any thread */
    _Atomic uint64_t seq;     /* any thread */
    pthread_mutex_t lock;     /* guards changed */
    json_t *changed;          /* owned; an object used as a set of account names */
};

static void
arm(struct event *ev, int ms)
{
    struct timeval tv = {ms / 1000, (long)(ms % 1000) * 1000};
    evtimer_add(ev, &tv);
}

static void
send_conns(struct server *s, const struct account_info *a)
{
    struct sysevent old;
    struct sysevent now;
    bool want_old = sysevent_is_wanted(&old, s, "$SYS.SERVER.ACCOUNT.", a->name, ".CONNS");
    bool want_now = sysevent_is_wanted(&now, s, "$SYS.ACCOUNT.", a->name, ".SERVER.CONNS");
    if (!want_old && !want_now) {
        return;
    }
    json_t *body = accountz_conns_event(s, a);
    if (want_old) {
        sysevent_publish(&old, s, body);
    }
    if (want_now) {
        sysevent_publish(&now, s, body);
    }
    json_decref(body);
}

/* names: the accounts that changed, or NULL: all that have connections. */
static void
send_all_conns(struct server *s, const json_t *names)
{
    struct account_info *v;
    size_t n;
    if (server_system_account(s) == NULL || inspect_accounts(s, &v, &n) != ST_OK) {
        return; /* the next heartbeat tells what this one would have */
    }
    for (size_t i = 0; i < n; i++) {
        bool is_due = names != NULL ? json_object_get(names, v[i].name) != NULL : v[i].conns > 0;
        if (is_due && strcmp(v[i].name, "$G") != 0) {
            send_conns(s, &v[i]);
        }
    }
    inspect_free_accounts(v, n);
}

static void
on_wake(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    struct monitor *m = arg;
    uint64_t count;
    if (read(fd, &count, sizeof count) < 0) {
        return;
    }
    if (atomic_load(&m->is_stopping)) {
        event_base_loopbreak(m->base);
        return;
    }
    pthread_mutex_lock(&m->lock);
    json_t *names = m->changed;
    m->changed = NULL;
    pthread_mutex_unlock(&m->lock);
    if (names != NULL) {
        send_all_conns(m->server, names);
        json_decref(names);
    }
}

static void
on_conns(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct monitor *m = arg;
    arm(m->on_conns, CONNS_MS);
    send_all_conns(m->server, NULL);
}

static void
on_second(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct monitor *m = arg;
    arm(m->on_second, SECOND_MS);
    usage_cpu_sample(&m->cpu);
    m->seconds++;
    if (m->seconds >= TRIM_S) {
        m->seconds = 0;
        usage_trim();
    }
    if (m->http != NULL) {
        http_tick(m->http, clock_mono_ns());
    }
}

static void
on_statsz(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct monitor *m = arg;
    m->statsz_ms = m->statsz_ms * 2 < STATSZ_MAX_MS ? m->statsz_ms * 2 : STATSZ_MAX_MS;
    arm(m->on_statsz, m->statsz_ms);
    struct server *s = m->server;
    struct sysevent e;
    if (!sysevent_is_wanted(&e, s, "$SYS.SERVER.", server_id(s), ".STATSZ")) {
        return;
    }
    json_t *stats = NULL;
    char *err = NULL;
    if (monitor_view(s, "STATSZ", NULL, &stats, &err) != ST_OK) {
        mem_free(err);
        return; /* the next one tells */
    }
    struct jput p = {0};
    json_t *root = jput_new(&p);
    jput_val(&p, root, "server", monitor_server_info(s));
    jput_val(&p, root, "statsz", stats);
    json_t *body;
    if (jput_end(&p, root, &body) == ST_OK) {
        sysevent_publish(&e, s, body);
        json_decref(body);
    }
}

static void
free_event(struct event *ev)
{
    if (ev != NULL) {
        event_free(ev);
    }
}

static struct event_base *
new_base(void)
{
    struct event_config *cfg = event_config_new();
    if (cfg == NULL) {
        return NULL;
    }
    event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
    struct event_base *base = event_base_new_with_config(cfg);
    event_config_free(cfg);
    return base;
}

enum status
monitor_new(struct monitor **out, struct server *s)
{
    struct monitor *m = mem_alloc(sizeof *m);
    if (m == NULL) {
        return ST_NOMEM;
    }
    m->server = s;
    m->statsz_ms = STATSZ_FIRST_MS;
    pthread_mutex_init(&m->lock, NULL);
    m->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (m->wake_fd < 0) {
        monitor_free(m);
        return ST_IO;
    }
    m->base = new_base();
    if (m->base != NULL) {
        m->on_wake = event_new(m->base, m->wake_fd, EV_READ | EV_PERSIST, on_wake, m);
        m->on_statsz = evtimer_new(m->base, on_statsz, m);
        m->on_second = evtimer_new(m->base, on_second, m);
        m->on_conns = evtimer_new(m->base, on_conns, m);
    }
    if (m->on_wake == NULL || m->on_statsz == NULL || m->on_second == NULL || m->on_conns == NULL ||
        event_add(m->on_wake, NULL) != 0) {
        monitor_free(m);
        return ST_NOMEM;
    }
    *out = m;
    return ST_OK;
}

static enum status
start_http(struct monitor *m)
{
    struct config *c = server_config(m->server);
    char wrong[CONFIG_PORT_ERR_LEN];
    enum status st = ST_OK;
    if (c->http_port != 0 && c->https_port != 0) {
        log_fatal("Can't start monitoring: can't specify both HTTP (%lld) and HTTPs (%lld) ports",
                  (long long)c->http_port, (long long)c->https_port);
        st = ST_INVAL;
    } else if (c->https_port != 0) {
        log_fatal("Can't start monitoring: TLS cert and key required for HTTPS");
        st = ST_UNSUPPORTED;
    } else if ((st = config_check_port(c->http_port, wrong)) != ST_OK) {
        log_fatal("Can't start monitoring: can't listen to the monitor port: %s", wrong);
    } else if (c->http_port != 0) {
        const char *host = c->http_host != NULL ? c->http_host : c->host;
        struct http_opts opts = {.host = host != NULL ? host : "0.0.0.0",
                                 .port = (int)c->http_port,
                                 .base_path = c->http_base_path};
        char *why = NULL;
        st = http_new(&m->http, m->base, m->server, &opts, &why);
        if (st != ST_OK) {
            log_fatal("Can't start monitoring: %s", why != NULL ? why : status_text(st));
        }
        mem_free(why);
    }
    config_unref(c);
    return st;
}

static void *
run(void *arg)
{
    struct monitor *m = arg;
    pthread_setname_np(pthread_self(), "http");
    usage_cpu_sample(&m->cpu);
    arm(m->on_second, SECOND_MS);
    arm(m->on_statsz, m->statsz_ms);
    arm(m->on_conns, CONNS_MS);
    event_base_dispatch(m->base);
    return NULL;
}

enum status
monitor_start(struct monitor *m)
{
    enum status st = start_http(m);
    if (st != ST_OK) {
        return st;
    }
    if (pthread_create(&m->thread, NULL, run, m) != 0) {
        log_fatal("Can't start monitoring: no thread");
        http_free(m->http);
        m->http = NULL;
        return ST_NOMEM;
    }
    m->is_running = true;
    return ST_OK;
}

static void
wake(struct monitor *m)
{
    uint64_t one = 1;
    /* It can fail only because the counter is full, and then the thread is awake. */
    ssize_t n = write(m->wake_fd, &one, sizeof one);
    (void)n;
}

void
monitor_stop(struct monitor *m)
{
    if (!m->is_running) {
        return;
    }
    atomic_store(&m->is_stopping, true);
    wake(m);
    pthread_join(m->thread, NULL);
    m->is_running = false;
}

void
monitor_free(struct monitor *m)
{
    if (m == NULL) {
        return;
    }
    monitor_stop(m);
    http_free(m->http);
    free_event(m->on_wake);
    free_event(m->on_statsz);
    free_event(m->on_second);
    free_event(m->on_conns);
    if (m->base != NULL) {
        event_base_free(m->base);
    }
    if (m->wake_fd >= 0) {
        close(m->wake_fd);
    }
    json_decref(m->changed);
    pthread_mutex_destroy(&m->lock);
    mem_free(m);
}

int
monitor_port(const struct monitor *m)
{
    return m->http != NULL ? http_port(m->http) : 0;
}

enum status
monitor_view(struct server *s, const char *what, const json_t *options, json_t **out, char **err)
{
    *out = NULL;
    *err = NULL;
    const struct view *v = views_find(what);
    if (v == NULL) {
        return ST_NOTFOUND;
    }
    struct vopts o;
    vopts_init(&o, options, v->type);
    enum status st = v->build(s, &o, out);
    if (st == ST_OK) {
        mem_free(o.err);
    } else {
        *err = o.err;
    }
    return st;
}

json_t *
monitor_server_info(struct server *s)
{
    struct jput p = {0};
    json_t *o = jput_new(&p);
    jput_str(&p, o, "name", server_name(s));
    jput_str(&p, o, "host", server_host(s));
    jput_str(&p, o, "id", server_id(s));
    struct config *c = server_config(s);
    jput_str_opt(&p, o, "domain", c->js.domain);
    jput_str(&p, o, "ver", SERVER_VERSION);
    varz_put_tags(&p, o, c);
    jput_bool(&p, o, "jetstream", c->js.enabled);
    jput_int(&p, o, "flags", c->js.enabled ? FLAG_JETSTREAM : 0);
    config_unref(c);
    jput_int(&p, o, "seq", (int64_t)monitor_next_seq(server_monitor(s)));
    jput_time(&p, o, "time", clock_wall_ns());
    json_t *out;
    return jput_end(&p, o, &out) == ST_OK ? out : NULL;
}

uint64_t
monitor_next_seq(struct monitor *m)
{
    return m != NULL ? atomic_fetch_add(&m->seq, 1) + 1 : 0;
}

double
monitor_cpu_percent(const struct monitor *m)
{
    return m != NULL ? usage_cpu_percent(&m->cpu) : 0;
}

json_t *
monitor_http_stats(const struct monitor *m)
{
    return m != NULL && m->http != NULL ? http_stats(m->http) : json_object();
}

void
monitor_account_changed(struct monitor *m, const char *account)
{
    /* Nobody is told about $G, so its many clients cost nothing. */
    if (m == NULL || strcmp(account, "$G") == 0) {
        return;
    }
    struct sysevent e;
    if (!sysevent_is_wanted(&e, m->server, "$SYS.SERVER.ACCOUNT.", account, ".CONNS") &&
        !sysevent_is_wanted(&e, m->server, "$SYS.ACCOUNT.", account, ".SERVER.CONNS")) {
        return;
    }
    pthread_mutex_lock(&m->lock);
    bool was_empty = m->changed == NULL;
    if (was_empty) {
        m->changed = json_object();
    }
    if (m->changed != NULL) {
        /* Without memory the heartbeat tells it. */
        json_object_set_new_nocheck(m->changed, account, json_true());
    }
    pthread_mutex_unlock(&m->lock);
    if (was_empty) {
        wake(m);
    }
}
