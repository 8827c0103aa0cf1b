/* SPDX-License-Identifier: Apache-2.0 */
/* Views of what links servers: empty as long as this server stands alone. */
#ifndef SERVER_MONITOR_CLUSTERZ_H
#define SERVER_MONITOR_CLUSTERZ_H

#include <jansson.h>

#include "server/base/status.h"

struct server;
struct vopts;

/* As views.h says. */
enum status clusterz_build_routez(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;
enum status clusterz_build_gatewayz(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;
enum status clusterz_build_leafz(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;
enum status clusterz_build_raftz(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;

#endif
