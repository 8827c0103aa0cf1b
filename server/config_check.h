/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of a load: what was left open gets its default, and what does not fit together is
 * refused, in nats-server's words. */
#ifndef SERVER_CONFIG_CHECK_H
#define SERVER_CONFIG_CHECK_H

#include <stdint.h>

#include "server/base/status.h"

struct config;
struct config_loader;

/* Sets every field of a new snapshot to its option's default. */
enum status config_check_defaults(struct config *c) MUST_CHECK;

/* Once file and flags are in. ST_INVAL: *err is the reason (mem_free). */
enum status config_check_finish(struct config *c, const struct config_loader *ld,
                                char **err) MUST_CHECK;

/* Not part of a load, for nats-server finds it out only when it comes to listen there. ST_INVAL: it
 * is no port (-1: any free one), and err says so. */
#define CONFIG_PORT_ERR_LEN 64
enum status config_check_port(int64_t port, char err[CONFIG_PORT_ERR_LEN]) MUST_CHECK;

#endif
