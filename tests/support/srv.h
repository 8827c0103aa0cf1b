/* SPDX-License-Identifier: Apache-2.0 */
/* A server without listener, monitor and main loop: its accounts, users, API plane, I/O loops and
 * JetStream, with clients on socket pairs. One at a time. Uses the folder of conffile.h. */
#ifndef TESTS_SUPPORT_SRV_H
#define TESTS_SUPPORT_SRV_H

#include <semaphore.h>

#include "server/net/loop.h"
#include "server/priv.h"

struct srv {
    struct server *server; /* owned */
    long live;             /* blocks that there were before */
};

/* conf: text of the configuration file. */
void srv_start(struct srv *v, const char *conf, unsigned loops);
/* As server_run stops. Fails the test if memory was lost. */
void srv_stop(struct srv *v);
/* The steps of srv_stop in front of the loops' end, and the rest. */
void srv_stop_loops(struct srv *v);
void srv_free(struct srv *v);

/* A client, the end of a blocking socket; its INFO has been read. On that loop, or any. */
int srv_client_on(struct srv *v, uint32_t loop);
int srv_client(struct srv *v);
/* The same, with its INFO still to be read. */
int srv_client_raw(struct srv *v, uint32_t loop);
/* The same, which has sent CONNECT with these options, e.g. "\"verbose\":false", and is served. */
int srv_login(struct srv *v, uint32_t loop, const char *options);
/* The id of the last client. */
uint64_t srv_last_cid(struct srv *v);

void srv_say(int fd, const char *text);
void srv_say_n(int fd, const void *data, size_t n);
/* The next bytes must be these. */
void srv_hear(int fd, const char *want);
/* Reads and forgets so many bytes. */
void srv_skip(int fd, size_t n);
/* Nothing has come but what was heard; all that was said before has been carried out. */
void srv_sync(int fd);
/* The connection must have ended. */
void srv_hear_end(int fd);

/* Runs fn on a loop; srv_finish waits for its end, and fails the test if it does not come. */
struct srv_errand {
    struct loop_msg msg;
    void (*fn)(struct loop *l, void *arg);
    void *arg; /* borrowed: until srv_finish */
    sem_t done;
};
/* For who posts e->msg later. */
void srv_errand_init(struct srv_errand *e, void (*fn)(struct loop *l, void *arg), void *arg);
void srv_begin(struct srv *v, uint32_t loop, struct srv_errand *e,
               void (*fn)(struct loop *l, void *arg), void *arg);
void srv_finish(struct srv_errand *e);
/* Both in one. */
void srv_run(struct srv *v, uint32_t loop, void (*fn)(struct loop *l, void *arg), void *arg);
/* Waits until fn(arg) is true, asked on that loop once a turn. */
void srv_until(struct srv *v, uint32_t loop, bool (*fn)(struct loop *l, void *arg), void *arg);

#endif
