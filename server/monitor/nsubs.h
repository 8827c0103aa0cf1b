/* SPDX-License-Identifier: Apache-2.0 */
/* NSUBS: how many subscriptions of an account match a subject. */
#ifndef SERVER_MONITOR_NSUBS_H
#define SERVER_MONITOR_NSUBS_H

#include <jansson.h>

#include "server/base/status.h"

struct server;
struct vopts;

/* As views.h says. A literal subject counts those that would get its messages, a wildcard one
 * those inside it. */
enum status nsubs_build(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;

#endif
