/* SPDX-License-Identifier: Apache-2.0 */
/* What the endpoints $WLM.API.GATE.… have in common. On a worker. */
#ifndef API_GATE_ADMIN_H
#define API_GATE_ADMIN_H

#include <stddef.h>

#include "api/gates.h"
#include "api/reply.h"
#include "api/request.h"

/* The name at the end of $WLM.API.GATE.<what>.<name>. Borrowed: of the request. */
const char *gate_admin_name(const struct api_request *r);

/* The error of a change that failed, with what gates.h says in err. */
enum status gate_admin_failed(const struct api_request *r, struct reply *out, enum status st,
                              const char *err) MUST_CHECK;

/* Answers with the gate of that name as "gate", and a count under `key` (NULL: none). */
enum status gate_admin_show(struct api *a, const struct api_request *r, struct reply *out,
                            const char *key, size_t count) MUST_CHECK;

/* Answers with a page (api/wlm_page.h) of the gates under `key`, in the order of their making; show
 * gives what is shown of one, a new reference. */
enum status gate_admin_page(struct api *a, const struct api_request *r, const json_t *o,
                            const char *key, json_t *(*show)(const struct gate_info *g),
                            struct reply *out) MUST_CHECK;

#endif
