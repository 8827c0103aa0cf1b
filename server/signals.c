/* SPDX-License-Identifier: Apache-2.0 */
#include "server/signals.h"

#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/priv.h"

static void
on_interrupt(struct server *s)
{
    server_stop(s);
}

/* During lame-duck mode the orderly end is under way already. */
static void
on_terminate(struct server *s)
{
    if (!atomic_load(&s->is_lame_duck)) {
        server_stop(s);
    }
}

static void
on_reload(struct server *s)
{
    char *err = NULL;
    if (reload_now(s, &err) != ST_OK) {
        log_error("Failed to reload server configuration: %s", err != NULL ? err : "no memory");
        mem_free(err);
    }
}

static void
on_reopen(struct server *s)
{
    (void)s;
    if (log_reopen() != ST_OK) {
        log_error("File log re-open failed, the old file goes on");
    } else {
        log_info("File log re-opened");
    }
}

static const struct handler {
    int number;
    const char *name; /* as Go prints it */
    void (*run)(struct server *s);
} handlers[] = {
    {SIGINT, "interrupt", on_interrupt},
    {SIGTERM, "terminated", on_terminate},
    {SIGQUIT, "quit", on_interrupt},
    {SIGHUP, "hangup", on_reload},
    {SIGUSR1, "user defined signal 1", on_reopen},
    {SIGUSR2, "user defined signal 2", lame_duck_begin},
};

enum { HANDLERS = sizeof(handlers) / sizeof(handlers[0]) };

/* The next that waits, or NULL. */
static const struct handler *
next_signal(const struct server *s)
{
    struct signalfd_siginfo info;
    if (read(s->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
        return NULL;
    }
    int i = 0;
    while (i < HANDLERS - 1 && handlers[i].number != (int)info.ssi_signo) {
        i++;
    }
    return &handlers[i];
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct server *s = arg;
    const struct handler *h;
    while ((h = next_signal(s)) != NULL) {
        log_info("Trapped \"%s\" signal", h->name);
        h->run(s);
    }
}

enum status
signals_begin(struct server *s)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < HANDLERS; i++) {
        sigaddset(&set, handlers[i].number);
    }
    s->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (s->signal_fd < 0) {
        return ST_IO;
    }
    (void)pthread_sigmask(SIG_BLOCK, &set, &s->signals_was);
    event_assign(&s->signals, s->base, s->signal_fd, EV_READ | EV_PERSIST, on_readable, s);
    event_add(&s->signals, NULL);
    return ST_OK;
}

void
signals_end(struct server *s)
{
    if (s->signal_fd < 0) {
        return;
    }
    event_del(&s->signals);
    while (next_signal(s) != NULL) {
        /* what came during the end is not to end it once more */
    }
    (void)close(s->signal_fd);
    s->signal_fd = -1;
    (void)pthread_sigmask(SIG_SETMASK, &s->signals_was, NULL);
}
