/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a $SYS request's options that say which servers are to answer: server_name,
 * cluster, host, exact_match, tags, domain. Pure. */
#ifndef API_FILTER_H
#define API_FILTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "server/base/status.h"

/* ST_SYNTAX: a member has another type; err names it as nats-server does, where go is its name of
 * the options. */
enum status filter_check(const json_t *options, const char *go, char *err,
                         size_t err_size) MUST_CHECK;

/* Whether this server is meant; server: its "server" object. */
bool filter_matches(const json_t *options, const json_t *server);

#endif
