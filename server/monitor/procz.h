/* SPDX-License-Identifier: Apache-2.0 */
/* Views of the process itself: its queues, variables, identity, threads. */
#ifndef SERVER_MONITOR_PROCZ_H
#define SERVER_MONITOR_PROCZ_H

#include <jansson.h>

#include "server/base/status.h"

struct server;
struct vopts;

/* As views.h says. */
enum status procz_build_ipqueuesz(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;
enum status procz_build_expvarz(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;
enum status procz_build_profilez(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;
enum status procz_build_idz(struct server *s, struct vopts *o, json_t **out) MUST_CHECK;

/* Text for /stacksz: one paragraph a thread (name, state, time used, what it waits in). NULL
 * without memory; mem_free by the caller. Takes no lock of ours, so it answers in a deadlock. */
char *procz_threads(void);

#endif
