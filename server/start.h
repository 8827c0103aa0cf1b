/* SPDX-License-Identifier: Apache-2.0 */
/* Small steps of the start that a reload takes again. Main thread. */
#ifndef SERVER_START_H
#define SERVER_START_H

#include <stddef.h>

#include "api/api.h"
#include "server/base/status.h"

struct config;
struct server;

/* Opens the log as configured; a failure leaves it as it was, with a text in *err as failure()
 * makes it. */
enum status start_log(const struct config *cfg, char **err) MUST_CHECK;
/* The settings of the API plane, with "0 workers" resolved for this machine. */
struct api_opts start_api_opts(const struct config *cfg);
/* Makes, changes and removes gates as the configuration has them. Accounts must be there. */
enum status start_gates(struct server *s, const struct config *cfg) MUST_CHECK;
/* Borrows from cfg. */
struct api_tenants start_api_tenants(const struct config *cfg);
/* Number of I/O threads for this machine. */
unsigned start_io_threads(const struct config *cfg);
/* The first lines of the log. */
void start_banner(const struct server *s, const struct config *cfg);
/* As many descriptors as the machine lets us have. */
void start_raise_files(void);

#endif
