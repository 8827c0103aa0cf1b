/* SPDX-License-Identifier: Apache-2.0 */
/* /healthz: can clients connect? status_code is the code for HTTP. */
#ifndef SERVER_MONITOR_HEALTHZ_H
#define SERVER_MONITOR_HEALTHZ_H

#include <jansson.h>

#include "server/base/status.h"

struct server;
struct vopts;

/* As views.h says. */
enum status healthz_build(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;

#endif
