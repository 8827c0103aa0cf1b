/* SPDX-License-Identifier: Apache-2.0 */
/* Views of accounts: /accountz, its details, and their counters (/accstatz, CONNS). */
#ifndef SERVER_MONITOR_ACCOUNTZ_H
#define SERVER_MONITOR_ACCOUNTZ_H

#include <jansson.h>

#include "server/base/status.h"

struct account_info;
struct server;
struct vopts;

/* As views.h says. */
enum status accountz_build(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;
enum status accountz_build_info(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;
enum status accountz_build_statz(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;
enum status accountz_build_conns(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;

/* The event body "account_connections" of one account. New reference, or NULL without memory. */
json_t *accountz_conns_event(struct server *s, const struct account_info *a);

#endif
