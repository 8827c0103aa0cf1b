/* SPDX-License-Identifier: Apache-2.0 */
/* Many small things that are made together and go together share one allocation: messages that
 * were read ahead, what a consumer sends in one go. Whoever makes them has the open slab, one
 * thread at a time; any thread lets go of a thing. The memory is free when all are gone, so nothing
 * that lives long belongs here. */
#ifndef STREAM_SLAB_H
#define STREAM_SLAB_H

#include <stddef.h>

#include "server/base/status.h"

struct slab;

/* n bytes, not zeroed, aligned as malloc does; NULL: no memory. *open: the maker's, NULL at first;
 * open NULL: an allocation of its own. *of: what it is a part of, or NULL, for slab_drop. */
void *slab_take(struct slab **open, size_t n, struct slab **of) MUST_CHECK;
/* The maker has done; *open is NULL then. */
void slab_close(struct slab **open);
/* The thing at `at`, a part of `of`, is gone. */
void slab_drop(struct slab *of, void *at);

#endif
