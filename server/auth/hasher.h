/* SPDX-License-Identifier: Apache-2.0 */
/* Slow password checks (bcrypt takes tens of milliseconds) on threads of their own, so that I/O
 * threads never wait for one. Threads start with the first job. */
#ifndef SERVER_AUTH_HASHER_H
#define SERVER_AUTH_HASHER_H

#include <stdbool.h>
#include <stdint.h>

#include "server/base/status.h"
#include "server/net/loop.h"

struct hasher;

/* Embedded by the submitter, who frees it in done. */
struct hasher_job {
    struct loop_msg msg;
    struct list_node node;
    struct loop *loop; /* borrowed: outlives the job */
    uint64_t cid;
    char *stored; /* owned */
    char *given;  /* owned; wiped by hasher_job_fini */
    bool matches;
    /* On that loop's thread, once for each job that was submitted. */
    void (*done)(struct loop *l, struct hasher_job *job);
};
enum status hasher_job_init(struct hasher_job *job, struct loop *l, uint64_t cid,
                            const char *stored, const char *given) MUST_CHECK;
void hasher_job_fini(struct hasher_job *job);

enum status hasher_new(struct hasher **out, unsigned threads) MUST_CHECK;
/* Jobs that wait are given back unmatched. Loops must still run. */
void hasher_stop(struct hasher *h);
void hasher_free(struct hasher *h);

/* ST_FULL: 10,000 wait already. ST_LIMIT: no thread could be started. */
enum status hasher_submit(struct hasher *h, struct hasher_job *job) MUST_CHECK;

#endif
