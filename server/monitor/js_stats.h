/* SPDX-License-Identifier: Apache-2.0 */
/* The parts about JetStream that several views have in common. js: NULL where it is off. */
#ifndef SERVER_MONITOR_JS_STATS_H
#define SERVER_MONITOR_JS_STATS_H

#include <jansson.h>
#include <stddef.h>

#include "server/monitor/jput.h"

struct js;
struct js_account;
struct server;

size_t js_stats_accounts(struct js *js);

/* The members "memory" … "api" into o: of all accounts, or of one (then level 0 and no count of
 * accounts, and reserved is what the account may use where that is limited, as nats-server has it).
 */
void js_stats_put(struct jput *p, json_t *o, struct js *js);
void js_stats_put_account(struct jput *p, json_t *o, struct js_account *a);

/* "config" and "limits" into o. */
void js_stats_put_config(struct jput *p, json_t *o, struct server *s);
/* Into the "config" of o, if it has one: /varz and /jsz tell, others do not. */
void js_stats_put_compress_ok(struct jput *p, json_t *o);

/* /varz: the object "jetstream". */
void js_stats_put_varz(struct jput *p, json_t *o, struct server *s);

#endif
