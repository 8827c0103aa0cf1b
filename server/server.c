/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: each step of the start takes one thing into use, in the order of `steps`; then the
 * main thread serves its event base (listener, signals, calls of workers) until it is told to
 * stop; then the same steps are undone backwards.
 * Failure: a step logs one [FTL] line, and what had been started is undone. */
#include "server/server.h"

#include <ctype.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "server/advertise.h"
#include "server/auth/account.h"
#include "server/auth/auth.h"
#include "server/auth/hasher.h"
#include "server/base/assert.h"
#include "server/base/clock.h"
#include "server/base/errtext.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/base/nkey.h"
#include "server/config.h"
#include "server/config_check.h"
#include "server/monitor/events.h"
#include "server/monitor/monitor.h"
#include "server/net/listener.h"
#include "server/net/loop.h"
#include "server/priv.h"
#include "server/proto/info.h"
#include "server/runfiles.h"
#include "server/signals.h"
#include "server/start.h"

enum { HASH_THREADS = 2 };

static enum status
no_memory(void)
{
    log_fatal("Error starting server: out of memory");
    return ST_NOMEM;
}

/* A failure goes to standard error as it is: there is no log yet that could take the line. */
static enum status
begin_log(struct server *s)
{
    char *err = NULL;
    enum status st = start_log(s->config, &err);
    if (st == ST_NOMEM || (st != ST_OK && err == NULL)) {
        mem_free(err);
        return no_memory();
    }
    if (st != ST_OK) {
        fprintf(stderr, "%s\n", err);
    }
    mem_free(err);
    return st;
}

static enum status
begin_identity(struct server *s)
{
    if (sodium_init() < 0) {
        log_fatal("Error starting server: no source of randomness");
        return ST_IO;
    }
    nkey_new_public(NKEY_SERVER, s->id);
    nkey_new_public(NKEY_CURVE, s->xkey);
    s->name = mem_strdup(s->config->server_name != NULL ? s->config->server_name : s->id);
    s->host = mem_strdup(s->config->host);
    if (s->name == NULL || s->host == NULL) {
        return no_memory();
    }
    s->start_wall = clock_wall_ns();
    atomic_store(&s->config_wall, s->start_wall);
    start_banner(s, s->config);
    start_raise_files();
    return ST_OK;
}

static void
end_identity(struct server *s)
{
    mem_free(s->name);
    mem_free(s->host);
}

static enum status
begin_base(struct server *s)
{
    struct event_config *cfg = event_config_new();
    if (cfg != NULL) {
        event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
        s->base = event_base_new_with_config(cfg);
        event_config_free(cfg);
    }
    s->signal_fd = -1;
    if (s->base == NULL || calls_init(s) != ST_OK || signals_begin(s) != ST_OK) {
        char why[ERRTEXT_LEN];
        log_fatal("Error starting server: cannot wait for events: %s", errtext(errno, why));
        return ST_IO;
    }
    return ST_OK;
}

static void
end_base(struct server *s)
{
    if (s->base != NULL) {
        signals_end(s);
        calls_fini(s);
        event_base_free(s->base);
    }
}

static enum status
begin_accounts(struct server *s)
{
    return accounts_init(s) == ST_OK ? ST_OK : no_memory();
}

static enum status
check_advertise(const struct config *cfg)
{
    struct advertise told;
    if (cfg->client_advertise == NULL ||
        advertise_parse(cfg->client_advertise, 0, &told) == ST_OK) {
        return ST_OK;
    }
    log_fatal("Error setting server INFO with ClientAdvertise value of %s, err=%s",
              cfg->client_advertise, told.why);
    return ST_INVAL;
}

static enum status
begin_api(struct server *s)
{
    struct api_opts opts = start_api_opts(s->config);
    enum status st = check_advertise(s->config);
    if (st != ST_OK) {
        return st;
    }
    host_init(s);
    st = api_new(&s->api, &s->host_fns, &opts, &clock_real);
    if (st == ST_OK) {
        struct api_tenants tenants = start_api_tenants(s->config);
        st = api_set_tenants(s->api, &tenants);
    }
    if (st != ST_OK) {
        log_fatal("Error starting server: the API plane: %s", status_text(st));
        return st;
    }
    if (accounts_apply(s, s->config) != ST_OK ||
        auth_new(&s->auth, s->config, accounts_get, s) != ST_OK ||
        reload_make_info(s, s->config, false, &s->info) != ST_OK) {
        return no_memory();
    }
    st = start_gates(s, s->config);
    if (st != ST_OK) {
        log_fatal("Error starting server: gates: %s", status_text(st));
    }
    return st;
}

static void
end_api(struct server *s)
{
    api_free(s->api);
    s->api = NULL;
    auth_unref(s->auth);
    info_unref(s->info);
}

static enum status
begin_hasher(struct server *s)
{
    return hasher_new(&s->hasher, HASH_THREADS) == ST_OK ? ST_OK : no_memory();
}

static void
end_hasher(struct server *s)
{
    hasher_free(s->hasher);
}

static enum status
new_loop(struct server *s, uint32_t i, uint32_t n)
{
    struct loop_spec spec = {.index = i,
                             .n_loops = n,
                             .server = s,
                             .cfg = config_ref(s->config),
                             .auth = auth_ref(s->auth),
                             .info = info_ref(s->info)};
    return loop_new(&s->loops[i], &spec);
}

static void
stop_loops(struct server *s, uint32_t running)
{
    atomic_store(&s->loops_run, false);
    for (uint32_t i = 0; i < running; i++) {
        loop_stop(s->loops[i]);
    }
    /* Stopping one may have posted to another: until nothing lies there any more. */
    bool any = true;
    while (any) {
        any = false;
        for (uint32_t i = 0; i < running; i++) {
            any = loop_drain(s->loops[i]) || any;
        }
    }
}

static enum status
begin_loops(struct server *s)
{
    uint32_t n = start_io_threads(s->config);
    uint32_t running = 0;
    enum status st = ST_OK;
    for (uint32_t i = 0; i < n && st == ST_OK; i++) {
        st = new_loop(s, i, n);
        s->n_loops += st == ST_OK;
    }
    for (uint32_t i = 0; i < n && st == ST_OK; i++) {
        st = loop_start(s->loops[i]);
        running += st == ST_OK;
    }
    if (st != ST_OK) {
        char why[ERRTEXT_LEN];
        log_fatal("Error starting server: I/O threads: %s: %s", status_text(st),
                  errtext(errno, why));
        stop_loops(s, running);
        return st;
    }
    atomic_store(&s->loops_run, true);
    return ST_OK;
}

/* The API plane has been closed, its last answers are in the mailboxes: they still reach clients.
 */
static void
end_loops(struct server *s)
{
    if (atomic_load(&s->loops_run)) {
        hasher_stop(s->hasher);
        stop_loops(s, s->n_loops);
    }
    for (uint32_t i = 0; i < s->n_loops; i++) {
        loop_free(s->loops[i]);
    }
}

static enum status
begin_monitor(struct server *s)
{
    enum status st = monitor_new(&s->monitor, s);
    if (st != ST_OK) {
        log_fatal("Error starting server: the monitor: %s", status_text(st));
        return st;
    }
    return monitor_start(s->monitor);
}

static void
end_monitor(struct server *s)
{
    events_shutdown(s);
    monitor_stop(s->monitor);
    calls_close(s);
    api_close(s->api);
}

/* In the words of nats-server, which tools look for: those of the system in lower case. */
static enum status
listen_failed(const struct server *s, enum status st)
{
    const struct config *cfg = s->config;
    char text[ERRTEXT_LEN];
    const char *why = st == ST_IO ? errtext(errno, text) : status_text(st);
    long long port = cfg->port < 0 ? 0 : cfg->port;
    log_fatal("Error listening on port: %s:%lld, \"listen tcp %s:%lld: bind: %s\"", s->host, port,
              s->host, port, why);
    return st;
}

static enum status
begin_listener(struct server *s)
{
    const struct config *cfg = s->config;
    struct info *info = NULL;
    char why[CONFIG_PORT_ERR_LEN];
    enum status st = config_check_port(cfg->port, why);
    if (st != ST_OK) {
        log_fatal("Error listening on port: %s:%lld, \"%s\"", s->host, (long long)cfg->port, why);
        return st;
    }
    st = listener_new(&s->listener, s, s->base, cfg->host, (int)cfg->port, &s->port);
    if (st != ST_OK) {
        return listen_failed(s, st);
    }
    /* The port is known only now; no client has come yet. */
    if (reload_make_info(s, cfg, false, &info) != ST_OK) {
        return no_memory();
    }
    info_unref(s->info);
    s->info = info;
    if (reload_tell_loops(s) != ST_OK) {
        return no_memory();
    }
    log_info("Listening for client connections on %s:%d", s->host, s->port);
    return ST_OK;
}

static void
end_listener(struct server *s)
{
    lame_duck_fini(s);
    listener_free(s->listener);
}

static enum status
begin_files(struct server *s)
{
    const struct config *cfg = s->config;
    char why[ERRTEXT_LEN];
    int http = monitor_port(s->monitor);
    struct runfiles_ports ports = {.host = s->host,
                                   .port = s->port,
                                   .monitor_host = http > 0 ? cfg->http_host : NULL,
                                   .monitor_port = http};
    if (cfg->pid_file != NULL && runfiles_write_pid(cfg->pid_file) != ST_OK) {
        log_fatal("Could not write pidfile: open %s: %s", cfg->pid_file, errtext(errno, why));
        return ST_IO;
    }
    if (cfg->ports_file_dir != NULL &&
        runfiles_write_ports(cfg->ports_file_dir, program_invocation_name, &ports) != ST_OK) {
        log_fatal("Error writing ports file (%s): %s", cfg->ports_file_dir, errtext(errno, why));
        return ST_IO;
    }
    log_info("Server is ready");
    return ST_OK;
}

static void
end_files(struct server *s)
{
    const struct config *cfg = s->config;
    if (cfg->pid_file != NULL) {
        runfiles_remove_pid(cfg->pid_file);
    }
    if (cfg->ports_file_dir != NULL &&
        runfiles_remove_ports(cfg->ports_file_dir, program_invocation_name) != ST_OK) {
        char why[ERRTEXT_LEN];
        log_warn("ports file in %s: %s", cfg->ports_file_dir, errtext(errno, why));
    }
}

static void
end_monitor_memory(struct server *s)
{
    monitor_free(s->monitor);
}

static void
end_nothing(struct server *s)
{
    (void)s;
}

static enum status
begin_nothing(struct server *s)
{
    (void)s;
    return ST_OK;
}

/* Each step with what undoes it. Started downwards, stopped upwards. A begin that fails is undone
 * by its own end. */
static const struct step {
    enum status (*begin)(struct server *s);
    void (*end)(struct server *s);
} steps[] = {
    {begin_log, end_nothing},
    {begin_identity, end_identity},
    {begin_base, end_base},
    {begin_accounts, accounts_fini},
    {begin_api, end_api},
    {begin_hasher, end_hasher},
    {begin_nothing, end_monitor_memory},
    {begin_nothing, jetstream_free},
    {begin_loops, end_loops},
    {jetstream_begin, jetstream_stop},
    {begin_monitor, end_monitor},
    {begin_listener, end_listener},
    {begin_files, end_files},
};
enum { N_STEPS = sizeof steps / sizeof steps[0] };

enum status
server_run(struct config *cfg)
{
    enum status st = ST_NOMEM;
    size_t done = 0;
    struct server *s = mem_alloc(sizeof *s);
    if (s == NULL) {
        log_fatal("Error starting server: out of memory");
        config_unref(cfg);
        return ST_NOMEM;
    }
    s->config = cfg;
    pthread_mutex_init(&s->lock, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of its writer */
    for (st = ST_OK; done < N_STEPS && st == ST_OK; done++) {
        st = steps[done].begin(s);
    }
    if (st == ST_OK) {
        event_base_dispatch(s->base);
        log_info("Initiating Shutdown...");
    }
    s->stopping = true;
    while (done > 0) {
        steps[--done].end(s);
    }
    if (st == ST_OK) {
        log_info("Server Exiting..");
    }
    config_unref(s->config);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
    log_close();
    return st;
}
