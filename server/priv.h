/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of struct server, for the server*.c files and inspect.c only. */
#ifndef SERVER_PRIV_H
#define SERVER_PRIV_H

#include <event2/event_struct.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/host.h"
#include "server/base/list.h"
#include "server/net/closed.h"
#include "server/server.h"
#include "server/server_loops.h"
#include "stream/js_host.h"

struct auth;
struct event_base;
struct hasher;
struct info;
struct lame_duck;
struct listener;
struct loop;
struct monitor;

enum { SERVER_MAX_LOOPS = 64 };

/* Owner: the main thread. Constant after the start but for: config, auth, info (lock),
 * accounts (accounts_lock, only ever added to), calls (lock), the atomics. */
struct server {
    char id[64];   /* public nkey */
    char xkey[64]; /* public curve key */
    char *name;    /* owned */
    char *host;    /* owned */
    int port;
    int64_t start_wall;
    _Atomic int64_t config_wall;

    pthread_mutex_t lock;
    struct config *config; /* ref */
    struct auth *auth;     /* ref */
    struct info *info;     /* ref: what new loops and reloads hand out */

    pthread_rwlock_t accounts_lock;
    struct account *accounts; /* owned list */
    struct account *global;   /* borrowed: of the list */
    struct account *system;   /* borrowed: of the list, or NULL */
    uint64_t n_accounts;

    struct loop *loops[SERVER_MAX_LOOPS]; /* owned */
    uint32_t n_loops;
    _Atomic bool loops_run;
    _Atomic uint64_t last_cid;
    _Atomic int64_t open_conns, dropped;
    _Atomic uint32_t next_loop; /* for what is published by no connection */

    struct hasher *hasher; /* owned */
    struct api *api;       /* owned */
    struct api_host host_fns;
    struct js *js; /* owned; NULL: off */
    struct js_host js_fns;
    struct monitor *monitor; /* owned */

    struct event_base *base; /* owned: the main thread's */
    struct event signals;
    int signal_fd;               /* -1: not begun */
    sigset_t signals_was;        /* what was blocked before */
    struct listener *listener;   /* owned or NULL */
    struct lame_duck *lame_duck; /* owned or NULL */
    _Atomic bool is_lame_duck;
    bool stopping;

    /* Work that other threads want done on the main thread (server_call). Under lock. */
    struct list_node calls;
    bool calls_closed;
    int call_fd;
    struct event call_ev;
};

/* accounts.c */
enum status accounts_init(struct server *s) MUST_CHECK;
void accounts_fini(struct server *s);
/* Finds or makes; NULL without memory. Main thread. As auth_account_fn. */
struct account *accounts_get(void *server, const char *name);
/* Takes over names and limits of the configuration and puts the API's subscriptions into new
 * accounts. Main thread. */
enum status accounts_apply(struct server *s, const struct config *cfg) MUST_CHECK;

/* reload.c */
/* ST_INVAL: client_advertise is no address. Any thread. */
enum status reload_make_info(struct server *s, const struct config *cfg, bool lame_duck,
                             struct info **out) MUST_CHECK;
enum status reload_now(struct server *s, char **err) MUST_CHECK;
/* Gives every loop the snapshots in force. */
enum status reload_tell_loops(struct server *s) MUST_CHECK;

/* calls.c: runs fn on the main thread and waits. ST_CLOSED: the server is stopping. */
enum status server_call(struct server *s, enum status (*fn)(struct server *s, char **err),
                        char **err) MUST_CHECK;
enum status calls_init(struct server *s) MUST_CHECK;
void calls_close(struct server *s);
void calls_fini(struct server *s);

/* lame_duck.c */
void lame_duck_begin(struct server *s);
/* Tells one client to look for another server. Any thread. */
void lame_duck_tell(struct server *s, uint64_t cid);
void lame_duck_fini(struct server *s);

/* host.c: what the API plane needs. */
void host_init(struct server *s);

/* js_host.c: what the JetStream engine needs. */
void js_host_init(struct server *s);
/* The connection of that id as events show it; NULL: it is gone. Any thread but a loop. */
json_t *js_host_client_info(void *server, uint64_t cid);

/* jetstream.c. begin: opens the store and serves what it has, where the configuration wants it;
 * after a failure a [FTL] line was logged. stop: while the loops still run. free: after them. */
enum status jetstream_begin(struct server *s) MUST_CHECK;
void jetstream_stop(struct server *s);
void jetstream_free(struct server *s);
/* Gives the accounts of a configuration their JetStream and its limits. Main thread. */
enum status jetstream_apply(struct server *s, const struct config *cfg) MUST_CHECK;

/* Closes the connection of that id, on whichever loop it is. text: a static error that the client
 * is told first, or NULL. Any thread. */
void server_close_conn(struct server *s, uint64_t cid, enum close_reason reason, const char *text);

#endif
