/* SPDX-License-Identifier: Apache-2.0 */
/* Slow password checks (bcrypt takes tens of milliseconds) on threads of their own, so that I/O
 * threads never wait for one. Threads start with the first job.
 * What waits stands in a queue/apiq: each password is a flow of its own, so guesses at one hold up
 * no other; adaptive order and deadlines, so that after a storm of logins those are checked whose
 * clients still wait. */
#ifndef SERVER_AUTH_HASHER_H
#define SERVER_AUTH_HASHER_H

#include <stdbool.h>
#include <stdint.h>

#include "server/base/status.h"
#include "server/net/loop.h"

/* NB: behind libevent's headers, which have a LIST_ENTRY of their own. */
#include "queue/item.h"

struct hasher;

/* Embedded by the submitter, who frees it in done. */
struct hasher_job {
    struct loop_msg msg;
    struct apiq_item item;
    struct loop *loop; /* borrowed: outlives the job */
    uint64_t cid;
    char *stored; /* owned */
    char *given;  /* owned; wiped by hasher_job_fini */
    bool checked; /* false: its time was over, it was put out by others, or the server stops */
    bool matches; /* if checked */
    /* On that loop's thread, once for each job that was submitted. */
    void (*done)(struct loop *l, struct hasher_job *job);
};
/* item.deadline_ns may be set afterwards: how long it is worth while. */
enum status hasher_job_init(struct hasher_job *job, struct loop *l, uint64_t cid,
                            const char *stored, const char *given) MUST_CHECK;
void hasher_job_fini(struct hasher_job *job);

enum status hasher_new(struct hasher **out, unsigned threads) MUST_CHECK;
/* Jobs that wait are given back unchecked. Loops must still run. */
void hasher_stop(struct hasher *h);
void hasher_free(struct hasher *h);

/* Where 10,000 wait already, the oldest of the password with most of them is given back unchecked.
 * On an error the job is not submitted. ST_CLOSED: stopped. ST_LIMIT: no thread could be started.
 * ST_NOMEM. */
enum status hasher_submit(struct hasher *h, struct hasher_job *job) MUST_CHECK;

#endif
