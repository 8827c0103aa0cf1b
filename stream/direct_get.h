/* SPDX-License-Identifier: Apache-2.0 */
/* DIRECT.GET: seq, last_by_subj (also in the request's subject), next_by_subj, batch, multi_last,
 * up_to_seq, up_to_time, max_bytes. Data: I/O threads, not the API queue. */
#ifndef STREAM_DIRECT_GET_H
#define STREAM_DIRECT_GET_H

#include "stream/js_host.h"

/* The service of $JS.API.DIRECT.GET.<stream> and ….> (and under the domain's prefix); arg is the
 * stream. */
void direct_get_receive(void *stream, const struct js_in *in);

#endif
