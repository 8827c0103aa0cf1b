/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers of any size, as decimal text with an optional sign. Pure. */
#ifndef STREAM_DECIMAL_H
#define STREAM_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

#include "server/base/buf.h"

bool decimal_is_valid(const char *s, size_t n);
/* Replaces out's content by a + b (negate: a - b), without leading zeros or plus. Both are valid.
 */
void decimal_add(struct buf *out, const char *a, const char *b, bool negate);

#endif
