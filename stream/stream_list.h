/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of an account, selected. Any thread. */
#ifndef STREAM_STREAM_LIST_H
#define STREAM_STREAM_LIST_H

#include <stddef.h>

#include "server/base/status.h"

struct js_account;
struct stream;

/* Those with a subject that a message and `filter` could share (NULL: all), by name; as
 * js_account_streams, and js_streams_free lets go. ST_NOMEM. */
enum status stream_list(struct js_account *a, const char *filter, struct stream ***out,
                        size_t *n) MUST_CHECK;

#endif
