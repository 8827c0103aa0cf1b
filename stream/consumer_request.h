/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a pull request. Pure; any thread. */
#ifndef STREAM_CONSUMER_REQUEST_H
#define STREAM_CONSUMER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/consumer_config.h"

struct pull_spec {
    int64_t n, max_bytes;       /* max_bytes 0: no limit */
    int64_t expires, heartbeat; /* ns; 0: none */
    bool no_wait, formal;       /* formal: it was an object */
    int64_t min_pending, min_ack_pending;
    int64_t priority;
    char group[24]; /* "": none; cut, as names of groups are shorter */
    char pin[32];   /* "": none; cut, as pins are shorter */
};

/* False: why has the status line's end ("400 Bad Request - …"). */
bool pull_spec_parse(const char *body, size_t len, struct pull_spec *out, char why[160]);
/* By the limits and the priority policy of the consumer. */
bool pull_spec_allowed(const struct consumer_config *cfg, const struct pull_spec *s, char why[160]);

#endif
