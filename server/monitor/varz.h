/* SPDX-License-Identifier: Apache-2.0 */
/* /varz: the server's settings and counters. */
#ifndef SERVER_MONITOR_VARZ_H
#define SERVER_MONITOR_VARZ_H

#include <jansson.h>

#include "server/base/status.h"

struct config;
struct jput;
struct server;
struct server_totals;
struct vopts;

/* As views.h says. */
enum status varz_build(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;

/* The objects slow_consumer_stats and stale_connection_stats, shared with STATSZ. */
void varz_put_kinds(struct jput *p, json_t *o, const char *key, int64_t clients);

/* The members tags and metadata, where the configuration has any. */
void varz_put_tags(struct jput *p, json_t *o, const struct config *c);

#endif
