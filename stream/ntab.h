/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from names to pointers. Not thread-safe. */
#ifndef STREAM_NTAB_H
#define STREAM_NTAB_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct ntab_slot {
    const char *name; /* borrowed: in the value; NULL: free */
    uint32_t len, hash;
    void *value; /* borrowed */
};

/* Embedded; zeroed is empty. */
struct ntab {
    struct ntab_slot *slots; /* owned */
    size_t cap, n;
};

/* The name must live in the value. ST_EXISTS, ST_NOMEM. */
enum status ntab_put(struct ntab *t, const char *name, size_t len, void *value) MUST_CHECK;
void *ntab_get(const struct ntab *t, const char *name, size_t len); /* NULL: none */
void *ntab_remove(struct ntab *t, const char *name, size_t len);    /* NULL: none */
/* Walks all in no order: *at begins as 0; NULL at the end. The table must not change. */
void *ntab_next(const struct ntab *t, size_t *at);
void ntab_fini(struct ntab *t);

#endif
