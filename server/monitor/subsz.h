/* SPDX-License-Identifier: Apache-2.0 */
/* /subsz: the subscriptions and what the subject tries count. */
#ifndef SERVER_MONITOR_SUBSZ_H
#define SERVER_MONITOR_SUBSZ_H

#include <jansson.h>

#include "server/base/status.h"

struct server;
struct vopts;

/* As views.h says. */
enum status subsz_build(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;

#endif
