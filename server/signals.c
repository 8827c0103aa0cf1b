/* SPDX-License-Identifier: Apache-2.0 */
#include "server/signals.h"

#include <event2/event.h>
#include <signal.h>
#include <stdatomic.h>

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
} handlers[SERVER_SIGNALS] = {
    {SIGINT, "interrupt", on_interrupt},
    {SIGTERM, "terminated", on_terminate},
    {SIGQUIT, "quit", on_interrupt},
    {SIGHUP, "hangup", on_reload},
    {SIGUSR1, "user defined signal 1", on_reopen},
    {SIGUSR2, "user defined signal 2", lame_duck_begin},
};

static void
on_signal(evutil_socket_t number, short what, void *arg)
{
    (void)what;
    struct server *s = arg;
    for (int i = 0; i < SERVER_SIGNALS; i++) {
        if (handlers[i].number == number) {
            log_info("Trapped \"%s\" signal", handlers[i].name);
            handlers[i].run(s);
        }
    }
}

void
signals_begin(struct server *s)
{
    for (int i = 0; i < SERVER_SIGNALS; i++) {
        event_assign(&s->signals[i], s->base, handlers[i].number, EV_SIGNAL | EV_PERSIST, on_signal,
                     s);
        event_add(&s->signals[i], NULL);
    }
}

void
signals_end(struct server *s)
{
    for (int i = 0; i < SERVER_SIGNALS; i++) {
        event_del(&s->signals[i]);
    }
}
