/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one block of the compression S2 (Snappy's, and its extension of repeated offsets). Pure. */
#ifndef STREAM_S2_BLOCK_H
#define STREAM_S2_BLOCK_H

#include <stddef.h>

#include "server/base/buf.h"
#include "server/base/status.h"

enum { S2_BLOCK_MAX = 4 << 20 }; /* bytes of a block's content */

/* Appends the content to out. ST_SYNTAX: damaged, or larger than a block may be; nothing is
 * appended. ST_NOMEM. */
enum status s2_block_read(struct buf *out, const void *block, size_t len) MUST_CHECK;

#endif
