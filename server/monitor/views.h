/* SPDX-License-Identifier: Apache-2.0 */
/* The table of views: a name, the type name of its options, and what builds it. */
#ifndef SERVER_MONITOR_VIEWS_H
#define SERVER_MONITOR_VIEWS_H

#include <jansson.h>

#include "server/base/status.h"

struct jput;
struct server;
struct vopts;

/* Builds the data part. Reads its options from o and answers o->st if reading failed, or sets an
 * error with vopts_fail; statuses as monitor_view. On ST_OK *out is a new reference. May wait some
 * ms for the I/O loops. */
struct view {
    const char *what;
    const char *type; /* Go type of the options, as error texts name it */
    enum status (*build)(struct server *s, struct vopts *o, json_t **out);
};

/* NULL: no such view. Static. */
const struct view *views_find(const char *what);

/* Begins a view with server_id and now. */
json_t *views_begin(struct jput *p, struct server *s);

#endif
