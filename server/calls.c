/* SPDX-License-Identifier: Apache-2.0 */
/* Work that API workers want done on the main thread: they wait, the main thread never waits for
 * them while it lasts (calls are closed before the API plane is). */
#include <event2/event.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/priv.h"

/* On the stack of the caller, which waits. */
struct call {
    struct list_node node;
    enum status (*fn)(struct server *s, char **err);
    char **err;
    enum status st;
    bool done;
    pthread_cond_t finished;
};

static void
finish(struct server *s, struct call *c, enum status st)
{
    pthread_mutex_lock(&s->lock);
    c->st = st;
    c->done = true;
    pthread_cond_signal(&c->finished);
    pthread_mutex_unlock(&s->lock);
}

static struct call *
next_call(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    struct list_node *node = list_pop_front(&s->calls);
    pthread_mutex_unlock(&s->lock);
    return node != NULL ? LIST_ENTRY(node, struct call, node) : NULL;
}

static void
on_call(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    struct server *s = arg;
    uint64_t n;
    if (read(fd, &n, sizeof n) < 0) {
        return;
    }
    struct call *c;
    while ((c = next_call(s)) != NULL) {
        finish(s, c, c->fn(s, c->err));
    }
}

enum status
calls_init(struct server *s)
{
    list_init(&s->calls);
    s->call_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->call_fd < 0) {
        return ST_IO;
    }
    event_assign(&s->call_ev, s->base, s->call_fd, EV_READ | EV_PERSIST, on_call, s);
    event_add(&s->call_ev, NULL);
    return ST_OK;
}

enum status
server_call(struct server *s, enum status (*fn)(struct server *s, char **err), char **err)
{
    struct call c = {.fn = fn, .err = err};
    pthread_cond_init(&c.finished, NULL);
    pthread_mutex_lock(&s->lock);
    if (s->calls_closed) {
        c.st = ST_CLOSED;
        c.done = true;
    } else {
        list_push_back(&s->calls, &c.node);
        uint64_t one = 1;
        if (write(s->call_fd, &one, sizeof one) < 0) {
            list_remove(&c.node);
            c.st = ST_IO;
            c.done = true;
        }
    }
    while (!c.done) {
        pthread_cond_wait(&c.finished, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    pthread_cond_destroy(&c.finished);
    return c.st;
}

void
calls_close(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    s->calls_closed = true;
    pthread_mutex_unlock(&s->lock);
    struct call *c;
    while ((c = next_call(s)) != NULL) {
        finish(s, c, ST_CLOSED);
    }
}

void
calls_fini(struct server *s)
{
    event_del(&s->call_ev);
    close(s->call_fd);
}
