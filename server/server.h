/* SPDX-License-Identifier: Apache-2.0 */
/* The server as a whole: start order, and the same list backwards for the stop. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"
#include "server/base/version.h"

struct account;
struct api;
struct config;
struct js;
struct monitor;
struct server;

#define SLUICE_VERSION "0.1.0"
#define SERVER_PROTO   1

/* Runs until a signal or server_stop; takes cfg. ST_OK: an orderly end. On failure a [FTL] line
 * has been logged. Main thread. */
enum status server_run(struct config *cfg) MUST_CHECK;

/* What never changes while the server runs. Any thread. */
const char *server_id(const struct server *s);   /* "N…", 56 characters */
const char *server_name(const struct server *s); /* the configured name, else the id */
const char *server_xkey(const struct server *s); /* "X…": the public curve key */
int64_t server_start_wall(const struct server *s);
/* The addresses really listened on (-1 in the configuration is resolved here). */
const char *server_host(const struct server *s);
int server_port(const struct server *s);

/* The snapshot in force, with a reference for the caller (config_unref). Any thread. */
struct config *server_config(struct server *s);
int64_t server_config_load_wall(const struct server *s);

struct api *server_api(struct server *s);
/* NULL: JetStream is off. Constant while clients are served. Any thread. */
struct js *server_js(const struct server *s);
/* NULL before it was made and after it was freed. Any thread. */
struct monitor *server_monitor(struct server *s);

/* Accounts by name; NULL: no such. system: NULL where the configuration has none. Any thread. */
struct account *server_account(struct server *s, const char *name);
struct account *server_system_account(struct server *s);

/* Publishes as the server into an account, by way of one of the loops. Copies. Any thread. */
void server_publish(struct server *s, struct account *acc, const char *subject, const char *reply,
                    const char *data, size_t len);
bool server_has_interest(struct server *s, struct account *acc, const char *subject);

/* Operator commands, as the signals do. Any thread; they are carried out by the main thread, and
 * the caller waits. *err (mem_free) says what failed. */
enum status server_reload(struct server *s, char **err) MUST_CHECK;
enum status server_kick(struct server *s, uint64_t cid) MUST_CHECK;
enum status server_lame_duck_conn(struct server *s, uint64_t cid) MUST_CHECK;
enum status server_lame_duck(struct server *s) MUST_CHECK;
/* Main thread only: ends server_run's wait. */
void server_stop(struct server *s);
bool server_is_lame_duck(const struct server *s);

#endif
