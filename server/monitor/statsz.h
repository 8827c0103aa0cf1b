/* SPDX-License-Identifier: Apache-2.0 */
/* STATSZ: the figures that a server sends about itself every 10 s. */
#ifndef SERVER_MONITOR_STATSZ_H
#define SERVER_MONITOR_STATSZ_H

#include <jansson.h>

#include "server/base/status.h"

struct server;
struct vopts;

/* As views.h says. */
enum status statsz_build(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;

#endif
