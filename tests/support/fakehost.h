/* SPDX-License-Identifier: Apache-2.0 */
/* A host for the API plane without a server: it keeps what is published, says who listens, and
 * answers the monitor's views with what it was asked. Any thread; a lock is inside. */
#ifndef TESTS_SUPPORT_FAKEHOST_H
#define TESTS_SUPPORT_FAKEHOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"

#define FAKE_ID   "NFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKE"
#define FAKE_NAME "fake"

struct gate;
struct gate_request;
struct gate_watch;

struct fake_msg {
    const struct account *acc; /* as published into */
    char *subject;             /* owned */
    char *hdr;                 /* owned; "" where there is none */
    char *data;                /* owned, with a NUL behind it */
    struct fake_msg *next;     /* owned */
};

struct fakehost {
    struct api_host host;
    atomic_bool nobody_listens; /* has_interest says no */
    atomic_bool events;         /* … yes also for the subjects of events, "$…" */
    /* Where set, messages are given to it (from any thread) and not kept. */
    void (*on_message)(const char *subject, const char *hdr, const char *data);
    _Atomic uint64_t published;
    struct gate *gate; /* ref: the last one that was put before a subject and is still there */
    struct gate_watch *watch; /* borrowed: of its account */
    void *opaque;             /* owned: the inside */
};

/* With memory of the C library, so that fault sweeps of the plane do not hit the host. */
void fakehost_init(struct fakehost *f);
void fakehost_fini(struct fakehost *f);

/* Accounts by number: 1 is the system's. */
struct account *fakehost_account(unsigned n);

/* The first message kept, unlinked, or NULL. Freed by fakehost_free. */
struct fake_msg *fakehost_take(struct fakehost *f);
void fakehost_free(struct fake_msg *m);
/* Waits until n messages were published since the start; fails the test after 20 s. */
void fakehost_wait(struct fakehost *f, uint64_t n);

/* A request from connection cid of account n ("A<n>", 1: "SYS") with the payload text. */
struct api_message fakehost_request(unsigned n, uint64_t cid, const char *subject,
                                    const char *reply, const char *data);

/* The endpoint whose subscription matches the subject for that account; fails the test if there is
 * none. */
const struct api_endpoint *fakehost_endpoint(struct api *a, const char *subject, bool is_system);

/* The next request that a gate let through, or NULL; the test delivers it (api/gate.h). */
struct gate_request *fakehost_gated(struct fakehost *f);

/* The settings of a release, with that many workers. */
struct api_opts fakehost_opts(int64_t workers);

#endif
