/* SPDX-License-Identifier: Apache-2.0 */
/* What the server allows all accounts together, or each stream and consumer. Any thread; may be
 * changed while the engine runs: what is there already keeps what it has. */
#ifndef STREAM_JS_CAPS_H
#define STREAM_JS_CAPS_H

#include <stdint.h>

struct js;

/* Where nothing else is said: 0 or less is no limit. Times in ns. */
struct js_caps {
    int64_t max_memory, max_file;  /* bytes, for all accounts; < 0: no limit */
    int64_t max_ack_pending;       /* of consumers */
    int64_t max_request_batch;     /* of pull requests */
    int64_t max_duplicate_window;  /* of streams */
    int64_t default_max_consumers; /* of a stream where neither it nor the account has a limit */
    int64_t batches_per_stream;    /* open at once; 0: 50 atomic ones, 1,000 fast ones */
    int64_t batches_total;         /* of the server; 0: 1,000 and 50,000 */
    int64_t batch_msgs;            /* of one atomic batch; 0: 1,000 */
    int64_t batch_timeout;         /* since its last message; 0: 10 s */
};

void js_caps(struct js *js, struct js_caps *out);
void js_set_caps(struct js *js, const struct js_caps *caps);

#endif
