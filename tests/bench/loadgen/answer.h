/* SPDX-License-Identifier: Apache-2.0 */
/* What a reply says: done, or an error of which kind. */
#ifndef TESTS_BENCH_LOADGEN_ANSWER_H
#define TESTS_BENCH_LOADGEN_ANSWER_H

#include "tests/bench/loadgen/wire.h"

enum answer {
    ANSWER_OK,
    ANSWER_429, /* refused: over a throttle limit */
    ANSWER_503, /* refused: evicted */
    ANSWER_408, /* refused: expired before it ran */
    ANSWER_NO_RESPONDERS,
    ANSWER_ERROR, /* any other error */
    ANSWER_COUNT
};

/* An error stands in the JSON ("error": {"code", "err_code": 10008}), in the header
 * Nats-Service-Error-Code, or in the status line of the headers. */
enum answer answer_of(const struct frame *f);

const char *answer_name(enum answer a);

/* Nanoseconds of the header Nats-Retry-After (seconds, may have a fraction); -1: none. */
int64_t answer_retry_after(const struct frame *f);

#endif
