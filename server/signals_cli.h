/* SPDX-License-Identifier: Apache-2.0 */
/* `--signal command[=pid]`: tells a running server what to do. */
#ifndef SERVER_SIGNALS_CLI_H
#define SERVER_SIGNALS_CLI_H

#include "server/base/status.h"

/* spec: stop (at once), quit, term, reopen (the log), reload, ldm (lame duck); behind `=` a pid,
 * the start of one with a `*`, or the path of a pid file. Without a pid, the one server that runs.
 * On failure *err is nats-server's text (mem_free), without the program's name. */
enum status signals_cli_send(const char *spec, char **err) MUST_CHECK;

#endif
