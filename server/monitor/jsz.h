/* SPDX-License-Identifier: Apache-2.0 */
/* /jsz: JetStream, its accounts, streams and consumers. */
#ifndef SERVER_MONITOR_JSZ_H
#define SERVER_MONITOR_JSZ_H

#include <jansson.h>

#include "server/base/status.h"

struct server;
struct vopts;

/* As views.h says. */
enum status jsz_build(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;
enum status jsz_build_account(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;

#endif
