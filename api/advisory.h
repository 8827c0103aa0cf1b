/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the plane for whoever watches the system account:
 *   $JS.EVENT.ADVISORY.API.LIMIT_REACHED   as nats-server's, but at most one a second, with the
 *                                          number of requests dropped since the last one
 *   $WLM.EVENT.ADVISORY.API.OVERLOAD       "state": "begin" or "end", with what was seen
 * Nothing is made or sent where nobody listens. Any thread. */
#ifndef API_ADVISORY_H
#define API_ADVISORY_H

#include <jansson.h>
#include <stdint.h>

#include "api/host.h"
#include "server/base/clock.h"
#include "server/base/status.h"

struct advisory;

#define ADVISORY_LIMIT_SUBJECT    "$JS.EVENT.ADVISORY.API.LIMIT_REACHED"
#define ADVISORY_LIMIT_TYPE       "io.nats.jetstream.advisory.v1.api_limit_reached"
#define ADVISORY_OVERLOAD_SUBJECT "$WLM.EVENT.ADVISORY.API.OVERLOAD"
#define ADVISORY_OVERLOAD_TYPE    "io.sluice.api.advisory.v1.overload"

enum status advisory_new(struct advisory **out, const struct api_host *host,
                         const struct clock *clock) MUST_CHECK;
void advisory_free(struct advisory *d);

/* n requests were dropped for a limit: said at once, or with those of this second. */
void advisory_dropped(struct advisory *d, uint64_t n);
/* Says what advisory_dropped kept back, if its second is over. */
void advisory_flush(struct advisory *d);

/* Takes seen (may be NULL): the members of the event besides type, id, time, server and state. */
void advisory_overload(struct advisory *d, bool begins, json_t *seen);

#endif
