/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences by the time at which something is due for them. An entry cannot be taken out before its
 * turn: whoever pops it looks whether it still holds. Not thread-safe. */
#ifndef STREAM_THEAP_H
#define STREAM_THEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct theap_entry {
    int64_t at; /* wall ns */
    uint64_t seq;
};

/* Embedded; zeroed is empty. */
struct theap {
    struct theap_entry *v; /* owned */
    size_t n, cap;
};

enum status theap_push(struct theap *h, int64_t at, uint64_t seq) MUST_CHECK;
/* The earliest that is due at `now`; false: none. */
bool theap_pop(struct theap *h, int64_t now, struct theap_entry *out);
/* INT64_MAX: empty. */
int64_t theap_next(const struct theap *h);
void theap_fini(struct theap *h);

#endif
