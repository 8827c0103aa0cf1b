/* SPDX-License-Identifier: Apache-2.0 */
/* JSON from jansson's values straight into a buffer: what json_dumps gives with JSON_COMPACT and
 * JSON_ENCODE_ANY, in a third of the time. Any thread that may read the value. */
#ifndef SERVER_BASE_JWRITE_H
#define SERVER_BASE_JWRITE_H

#include <jansson.h>

#include "server/base/buf.h"

/* Appends v; the caller sees buf_status at its end. Reals have 16 digits: 1.18 and
 * not 1.1799999999999999; bytes of a text that are no UTF-8 become \ufffd, as in Go. */
void jwrite(struct buf *b, const json_t *v);

#endif
