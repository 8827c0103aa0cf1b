/* SPDX-License-Identifier: Apache-2.0 */
/* The books of an open-loop run. A call is what a caller wants, counted once, at the time it
 * should have been sent; an attempt is one request on the wire for it. A call ends with its
 * success, with a refusal that is not tried again, or when the patience of its last attempt is
 * over. What comes after that only refines the outcome: answered late, or never. */
#ifndef TESTS_BENCH_LOADGEN_OVERLOAD_H
#define TESTS_BENCH_LOADGEN_OVERLOAD_H

#include <jansson.h>

#include "tests/bench/loadgen/answer.h"
#include "tests/bench/loadgen/delay.h"
#include "tests/bench/loadgen/hist.h"
#include "tests/bench/loadgen/meter.h"
#include "tests/bench/loadgen/net.h"
#include "tests/bench/loadgen/opts.h"

/* Of a run and what is awaited after it. */
#define OVERLOAD_SECONDS_MAX 740

enum outcome {
    CALL_OPEN,
    CALL_OK,
    CALL_REFUSED,  /* told within its patience; call.answer says what */
    CALL_TIMEOUT,  /* nothing has come so far: in the end, never answered */
    CALL_LATE,     /* done, but after its patience */
    CALL_TOLD_LATE /* refused, but after its patience */
};

enum retry { RETRY_NONE, RETRY_TIMEOUT, RETRY_HINT, RETRY_ERROR };

struct call {
    int64_t due;
    int64_t took; /* CALL_OK: from due to the reply */
    uint8_t outcome;
    uint8_t answer;
    uint16_t attempts;
};

struct attempt {
    int64_t from; /* its patience counts from here */
    uint32_t call;
    bool answered;
    bool timed_out;
};

/* What one load is to be. */
struct overload_plan {
    struct net *net;         /* borrowed: outlives the load */
    const struct opts *opts; /* borrowed: likewise */
    json_t *out;             /* borrowed: where the result goes */
    const char *login;       /* borrowed: members for CONNECT's JSON, NULL: those of net */
    unsigned index;          /* which of several loads of one run it is */
};

struct overload {
    struct net *net; /* these four as in the plan */
    const struct opts *opts;
    json_t *out;
    const char *login;
    struct conn *conn; /* owned */
    size_t nconn;
    unsigned short rand[3]; /* of the arrivals */
    int64_t next;           /* when the next call is due */
    char inbox[32];         /* the first tokens of this run's reply subjects */
    struct buf tail;        /* owned: what follows the reply subject in each request */
    enum retry retry;
    int64_t patience;

    struct call *call; /* owned: every call of the run, in the order of due */
    size_t ncall;
    size_t call_max;
    struct attempt *attempt; /* owned: its index is the last token of the reply subject */
    size_t nattempt;
    size_t attempt_max;
    size_t unexpired; /* attempts before it have timed out or are answered */
    struct delay retries;

    uint64_t open;    /* attempts without an answer */
    uint64_t waiting; /* calls that may still change: open, or with a retry to come */
    uint64_t runs;    /* replies without error: the handler ran */
    uint64_t
        offered_runs;   /* of these, while load was offered: after it, idle workers waste nothing */
    uint64_t late_runs; /* of those, the ones whose client had given up */
    uint64_t answers[ANSWER_COUNT]; /* of attempts, late ones too */
    uint64_t duplicates;            /* a second reply for one attempt */
    struct hist ok;                 /* from due to success */
    struct hist told;               /* from the attempt to its refusal */
    struct hist lag;                /* from due to the write */
    int64_t oldest_served;          /* greatest age of what was done, in time or late */
    int64_t oldest_by_second[OVERLOAD_SECONDS_MAX]; /* likewise, by the second of the reply */

    /* With --held: an arrival at a full queue evicts one entry. When, by the books, compared
     * with when somebody is told. */
    int64_t *evicted_at; /* owned: a ring of EVICTED_RING */
    uint64_t evictions;
    uint64_t told_evictions;
    uint64_t told_early; /* a 503 that the books do not explain */
    struct hist told_lag;

    int64_t start;
    int64_t send_end;
    int64_t resumed; /* SIGCONT, 0: no pause in this run */
};

/* Connects. overload_fini on every path. */
enum status overload_init(struct overload *v, const struct overload_plan *plan) MUST_CHECK;
void overload_fini(struct overload *v);

/* A call that was due at that time, and its first attempt. */
void overload_call(struct overload *v, int64_t due, int64_t now);

/* Ends the patience of what has waited long enough, and makes the retries that are due. */
void overload_expire(struct overload *v, int64_t now);

/* When overload_expire has something to do next; INT64_MAX: never. */
int64_t overload_next(const struct overload *v);

/* Sets the result of the run in v->out. */
void overload_report(struct overload *v);

#endif
