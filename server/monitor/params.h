/* SPDX-License-Identifier: Apache-2.0 */
/* Query parameters of the HTTP views, turned into the JSON options of the views. Pure. */
#ifndef SERVER_MONITOR_PARAMS_H
#define SERVER_MONITOR_PARAMS_H

#include <jansson.h>
#include <stddef.h>

#include "server/base/status.h"

enum param_kind {
    PARAM_STR,
    PARAM_BOOL,
    PARAM_INT,
    PARAM_UINT,
    PARAM_STATE, /* open, closed, any, all: the option is a number */
    PARAM_SUBS,  /* a boolean, or "detail": sets <option>_detail */
};

struct param {
    const char *name;   /* in the query */
    const char *option; /* in the JSON */
    enum param_kind kind;
};

/* query: what stands behind '?', still encoded; NULL: nothing. Parameters that are absent or empty
 * set nothing; of several with one name the first counts. ST_OK: *out is a new object.
 * ST_INVAL: *err (mem_free) is what nats-server answers. ST_NOMEM. */
enum status params_parse(const char *query, const struct param *params, size_t n, json_t **out,
                         char **err) MUST_CHECK;

#endif
