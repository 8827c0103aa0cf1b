/* SPDX-License-Identifier: Apache-2.0 */
/* The head of every NATS event. Any thread. */
#ifndef API_TYPED_H
#define API_TYPED_H

#include <jansson.h>

#define TYPED_ID_LEN 22

/* {"type", "id", "timestamp"}: a unique id in the form of NUIDs, the wall time now. New
 * reference, or NULL without memory. */
json_t *typed_event(const char *type);

#endif
