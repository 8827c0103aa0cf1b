/* SPDX-License-Identifier: Apache-2.0 */
/* Reference-counted bytes: a large payload, shared by all its receivers, and the buffer that a
 * large payload was read into. Written by its maker before it is shared, then immutable. */
#ifndef SERVER_NET_BLOCK_H
#define SERVER_NET_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct block {
    _Atomic uint32_t refs;
    size_t size;
    char data[];
};

enum status block_new(struct block **out, size_t size) MUST_CHECK;
struct block *block_ref(struct block *b);
/* NULL is allowed. */
void block_unref(struct block *b);

#endif
