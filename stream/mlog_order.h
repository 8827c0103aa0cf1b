/* SPDX-License-Identifier: Apache-2.0 */
/* The subjects of a log in the order of their bytes, so that a filter with wildcards looks at those
 * that begin as it does and leaps over the others. Made when first asked, a part with each ask: who
 * never asks pays nothing, and no ask takes long. Guarded by the stream's lock, as mlog_priv.h. */
#ifndef STREAM_MLOG_ORDER_H
#define STREAM_MLOG_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mlog;
struct morder_leaf;
struct msubject;

/* Embedded; zeroed is empty. */
struct morder {
    struct morder_leaf **leaves; /* owned, each owned and not empty */
    size_t n, cap;
    uint32_t below; /* subjects with lesser numbers are in */
};

/* A subject has got its number, or loses it. Without memory the order begins anew. */
void morder_add(struct mlog *l, struct msubject *s);
void morder_remove(struct mlog *l, const struct msubject *s);
void morder_fini(struct morder *o);

/* Calls fn for the subjects that have messages and that the pattern takes, until it returns false.
 * most: how many are looked at. False: there were more, or fn ended it. fn may settle a subject,
 * but change nothing else. */
bool morder_each(struct mlog *l, const char *pattern, size_t most,
                 bool (*fn)(void *arg, struct msubject *s), void *arg);

/* Does the pattern take it? */
bool morder_takes(const char *pattern, const struct msubject *s);

#endif
