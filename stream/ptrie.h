/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of subjects, found by what meets them: a look-up takes as long as what it finds, and
 * does not look at the others. Not thread-safe. */
#ifndef STREAM_PTRIE_H
#define STREAM_PTRIE_H

#include <stdbool.h>
#include <stddef.h>

#include "server/base/status.h"

struct ptrie_node;

/* Embedded; zeroed is empty. */
struct ptrie {
    struct ptrie_node *root; /* owned; NULL: empty */
};

/* The same pair may be in several times. The pattern is borrowed until it is removed. ST_NOMEM. */
enum status ptrie_add(struct ptrie *t, const char *pattern, void *value) MUST_CHECK;
/* Once, by the address of the pattern, which must be in. */
void ptrie_remove(struct ptrie *t, const char *pattern, const void *value);

/* False ends the walk. */
typedef bool ptrie_fn(void *arg, const char *pattern, void *value);

/* Calls fn for each pattern that some subject shares with the filter of n bytes, in no order. */
void ptrie_overlaps(const struct ptrie *t, const char *filter, size_t n, ptrie_fn *fn, void *arg);

/* Forgets all. */
void ptrie_fini(struct ptrie *t);

#endif
