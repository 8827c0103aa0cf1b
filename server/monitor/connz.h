/* SPDX-License-Identifier: Apache-2.0 */
/* /connz: the connections, open and closed, sorted and in pages. */
#ifndef SERVER_MONITOR_CONNZ_H
#define SERVER_MONITOR_CONNZ_H

#include <jansson.h>

#include "server/base/status.h"

struct server;
struct vopts;

/* As views.h says. */
enum status connz_build(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;

#endif
