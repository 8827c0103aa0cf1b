/* SPDX-License-Identifier: Apache-2.0 */
/* What the plane does once a second, on a thread of its own: a sample for the history, the
 * advisories that were kept back, begin and end of an overload. */
#ifndef API_TICKER_H
#define API_TICKER_H

#include <stdbool.h>

#include "server/base/status.h"

struct api;
struct ticker;

/* thread false: no thread, ticker_tick is called by the owner. a: borrowed, outlives it. */
enum status ticker_new(struct ticker **out, struct api *a, bool thread) MUST_CHECK;
/* Ends and joins the thread. NULL is allowed. */
void ticker_free(struct ticker *t);

/* Does the work of a second if one has passed on the plane's clock since the last time. On the
 * ticker's thread, or its owner's where it has none. */
void ticker_tick(struct ticker *t);

#endif
