/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/srv.h"

#include <errno.h>
#include <event2/event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "api/api.h"
#include "server/auth/auth.h"
#include "server/auth/hasher.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/net/accept.h"
#include "server/net/loop.h"
#include "server/proto/info.h"
#include "server/start.h"
#include "tests/support/cmk.h"
#include "tests/support/conffile.h"

enum { PATIENCE_SECONDS = 60 };

static void
must(enum status st)
{
    assert_int_equal(st, ST_OK);
}

static void
begin_loops(struct server *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct loop_spec spec = {.index = i,
                                 .n_loops = n,
                                 .server = s,
                                 .cfg = config_ref(s->config),
                                 .auth = auth_ref(s->auth),
                                 .info = info_ref(s->info)};
        must(loop_new(&s->loops[i], &spec));
        s->n_loops++;
    }
    for (uint32_t i = 0; i < n; i++) {
        must(loop_start(s->loops[i]));
    }
    atomic_store(&s->loops_run, true);
}

void
srv_start(struct srv *v, const char *conf, unsigned loops)
{
    v->live = mem_live();
    struct server *s = mem_alloc(sizeof *s);
    assert_non_null(s);
    v->server = s;
    s->config = conffile_good(conf);
    pthread_mutex_init(&s->lock, NULL);
    strcpy(s->id, "NSERVER");
    strcpy(s->xkey, "XSERVER");
    s->name = mem_strdup("test");
    s->host = mem_strdup("127.0.0.1");
    s->port = 4222;
    s->base = event_base_new();
    assert_non_null(s->base);
    must(calls_init(s));
    must(accounts_init(s));
    host_init(s);
    struct api_opts opts = start_api_opts(s->config);
    must(api_new(&s->api, &s->host_fns, &opts, &clock_real));
    must(accounts_apply(s, s->config));
    must(auth_new(&s->auth, s->config, accounts_get, s));
    must(reload_make_info(s, s->config, false, &s->info));
    must(hasher_new(&s->hasher, 1));
    begin_loops(s, loops);
    must(jetstream_begin(s));
}

void
srv_stop_loops(struct srv *v)
{
    struct server *s = v->server;
    bool any = true;
    jetstream_stop(s);
    calls_close(s);
    api_close(s->api);
    hasher_stop(s->hasher);
    atomic_store(&s->loops_run, false);
    for (uint32_t i = 0; i < s->n_loops; i++) {
        loop_stop(s->loops[i]);
    }
    while (any) {
        any = false;
        for (uint32_t i = 0; i < s->n_loops; i++) {
            any = loop_drain(s->loops[i]) || any;
        }
    }
}

void
srv_free(struct srv *v)
{
    struct server *s = v->server;
    for (uint32_t i = 0; i < s->n_loops; i++) {
        loop_free(s->loops[i]);
    }
    jetstream_free(s);
    hasher_free(s->hasher);
    lame_duck_fini(s);
    api_free(s->api);
    auth_unref(s->auth);
    info_unref(s->info);
    accounts_fini(s);
    calls_fini(s);
    event_base_free(s->base);
    mem_free(s->name);
    mem_free(s->host);
    config_unref(s->config);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
    v->server = NULL;
    assert_int_equal(mem_live(), v->live);
}

void
srv_stop(struct srv *v)
{
    srv_stop_loops(v);
    srv_free(v);
}

static void
skip_line(int fd)
{
    char ch;
    do {
        assert_int_equal(recv(fd, &ch, 1, 0), 1);
    } while (ch != '\n');
}

int
srv_client_raw(struct srv *v, uint32_t loop)
{
    struct server *s = v->server;
    int pair[2];
    struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    while ((atomic_load(&s->last_cid) + 1) % s->n_loops != loop) {
        atomic_fetch_add(&s->last_cid, 1);
    }
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(evutil_make_socket_nonblocking(pair[1]), 0);
    accept_client(s, pair[1]);
    return pair[0];
}

int
srv_client_on(struct srv *v, uint32_t loop)
{
    int fd = srv_client_raw(v, loop);
    skip_line(fd);
    return fd;
}

int
srv_client(struct srv *v)
{
    return srv_client_on(v, (uint32_t)((srv_last_cid(v) + 1) % v->server->n_loops));
}

int
srv_login(struct srv *v, uint32_t loop, const char *options)
{
    char line[1024];
    int fd = srv_client_on(v, loop);
    snprintf(line, sizeof line, "CONNECT {\"verbose\":false,\"pedantic\":false%s%s}\r\n",
             options[0] != '\0' ? "," : "", options);
    srv_say(fd, line);
    srv_sync(fd);
    return fd;
}

uint64_t
srv_last_cid(struct srv *v)
{
    return atomic_load(&v->server->last_cid);
}

void
srv_say_n(int fd, const void *data, size_t n)
{
    const char *at = data;
    while (n > 0) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        assert_true(sent > 0);
        at += sent;
        n -= (size_t)sent;
    }
}

void
srv_say(int fd, const char *text)
{
    srv_say_n(fd, text, strlen(text));
}

void
srv_hear(int fd, const char *want)
{
    char got[8192];
    size_t n = strlen(want);
    size_t have = 0;
    assert_true(n < sizeof got);
    while (have < n) {
        ssize_t r = recv(fd, got + have, n - have, 0);
        if (r <= 0 || memcmp(got, want, have + (size_t)r) != 0) {
            got[have + (size_t)(r > 0 ? r : 0)] = '\0';
            fail_msg("heard: %s\nwanted: %s", got, want);
        }
        have += (size_t)r;
    }
}

void
srv_skip(int fd, size_t n)
{
    char waste[65536];
    while (n > 0) {
        ssize_t r = recv(fd, waste, n < sizeof waste ? n : sizeof waste, 0);
        assert_true(r > 0);
        n -= (size_t)r;
    }
}

void
srv_sync(int fd)
{
    srv_say(fd, "PING\r\n");
    srv_hear(fd, "PONG\r\n");
}

void
srv_hear_end(int fd)
{
    char ch;
    ssize_t r = recv(fd, &ch, 1, 0);
    assert_true(r == 0 || (r < 0 && errno == ECONNRESET));
    close(fd);
}

static void
on_errand(struct loop *l, struct loop_msg *msg)
{
    struct srv_errand *e = LIST_ENTRY(msg, struct srv_errand, msg);
    e->fn(l, e->arg);
    sem_post(&e->done);
}

void
srv_errand_init(struct srv_errand *e, void (*fn)(struct loop *l, void *arg), void *arg)
{
    *e = (struct srv_errand){.msg = {.run = on_errand}, .fn = fn, .arg = arg};
    sem_init(&e->done, 0, 0);
}

void
srv_begin(struct srv *v, uint32_t loop, struct srv_errand *e, void (*fn)(struct loop *l, void *arg),
          void *arg)
{
    srv_errand_init(e, fn, arg);
    loop_post(v->server->loops[loop], &e->msg);
}

void
srv_finish(struct srv_errand *e)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_SECONDS;
    while (sem_timedwait(&e->done, &until) != 0) {
        assert_int_equal(errno, EINTR); /* else the loop sleeps on */
    }
    sem_destroy(&e->done);
}

void
srv_run(struct srv *v, uint32_t loop, void (*fn)(struct loop *l, void *arg), void *arg)
{
    struct srv_errand e;
    srv_begin(v, loop, &e, fn, arg);
    srv_finish(&e);
}

struct wish {
    bool (*fn)(struct loop *l, void *arg);
    void *arg;
    bool granted;
};

static void
ask_wish(struct loop *l, void *arg)
{
    struct wish *w = arg;
    w->granted = w->fn(l, w->arg);
}

void
srv_until(struct srv *v, uint32_t loop, bool (*fn)(struct loop *l, void *arg), void *arg)
{
    struct wish w = {.fn = fn, .arg = arg};
    int64_t end = clock_mono_ns() + PATIENCE_SECONDS * CLOCK_S;
    while (!w.granted) {
        assert_true(clock_mono_ns() < end);
        srv_run(v, loop, ask_wish, &w);
    }
}
