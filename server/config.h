/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as an immutable snapshot: made once by config_load (flags and file together),
 * then only read. A reload makes a new one and swaps it; whoever holds a reference keeps reading
 * the old one. Strings are owned by the snapshot; NULL = not set. Times are nanoseconds, sizes
 * bytes, ports -1 = any free port. What each option means and its default: server/options.c. */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"
#include "server/config_api.h"
#include "server/config_auth.h"
#include "server/config_js.h"

/* What a write past write_deadline does to a client; default is to close it. */
enum config_write_timeout { CONFIG_WRITE_DEFAULT, CONFIG_WRITE_CLOSE, CONFIG_WRITE_RETRY };

struct config_pair {
    char *key, *value; /* owned */
};

struct cli;

struct config {
    /* server */
    char *host;
    int64_t port;
    char *server_name; /* NULL: the server id is used */
    char *client_advertise;
    char *pid_file, *ports_file_dir;
    char *config_file;      /* as given; NULL: none */
    char config_digest[72]; /* "sha256:…", "" without a file */
    int64_t io_threads;     /* 0: half the cores, at least 1, at most 8 */
    int64_t lame_duck_duration, lame_duck_grace_period;
    char **tags; /* owned; lower case */
    size_t n_tags;
    struct config_pair *metadata; /* owned */
    size_t n_metadata;

    /* monitoring */
    char *http_host;
    int64_t http_port;    /* 0: off */
    int64_t https_port;   /* always 0: not supported */
    char *http_base_path; /* "/" or "/x/y" */

    /* logging */
    char *log_file, *remote_syslog;
    bool logtime, logtime_utc, syslog, debug, trace, trace_verbose, trace_headers;
    int64_t log_size_limit, log_max_num;
    int64_t max_traced_msg_len; /* 0: all */
    int64_t connect_error_reports, reconnect_error_reports;

    /* limits of clients; < 0: none, but for max_connections: < 0 no client at all */
    int64_t max_connections;
    int64_t max_subscriptions;
    int64_t max_subscription_tokens; /* 0: none */
    int64_t max_control_line, max_payload, max_pending;
    int64_t write_deadline;
    enum config_write_timeout write_timeout;
    int64_t ping_interval, ping_max;
    int64_t max_closed_clients;
    bool no_header_support, disable_sublist_cache, no_fast_producer_stall;

    /* authorization */
    bool auth_required; /* any of: user, token, users */
    char *username, *password, *token;
    int64_t auth_timeout;
    char *no_auth_user;
    struct config_perms *default_perms; /* owned; authorization { default_permissions } */
    struct config_user **users;         /* owned; of all accounts, order of the file */
    size_t n_users;
    struct config_account **accounts; /* owned; without $G, and $SYS only if the file names it */
    size_t n_accounts;
    char *system_account; /* "$SYS" unless set; NULL: no_system_account */
    bool auth_block;      /* authorization { … } was given */

    struct config_js js;
    char *store_dir; /* NULL: in the system's folder for temporary files */

    struct config_api api;
    struct config_gate *gates; /* owned */
    size_t n_gates;

    struct cli *cli; /* ref; the flags it was made with; NULL: none */
    _Atomic int refs;
};

enum config_action { CONFIG_RUN, CONFIG_EXIT };

/* Flags and the file they name (flags win); secrets in argv are covered up afterwards. On ST_OK:
 * CONFIG_RUN with *out (one reference), or CONFIG_EXIT where the call was --help, --version, -t or
 * --signal and has been carried out with success; *out is NULL then. On failure one clear line
 * (file:line:position where it has one) was written to standard error in nats-server's form; the
 * caller exits with 1. */
enum status config_load(int argc, char **argv, struct config **out,
                        enum config_action *action) MUST_CHECK;

/* Reads the file of `old` anew, with the flags that `old` was started with. On failure *err is a
 * text to log (the caller frees it with mem_free) and `old` stays in force. */
enum status config_reload(const struct config *old, struct config **out, char **err) MUST_CHECK;

/* Compares two snapshots by the option table. changed: each option that differs, as
 * "Reloaded: max_payload = 1024" lines for the log. ST_UNSUPPORTED: an option that cannot change
 * at run time differs; *err names it, as nats-server does, and nothing was reported. */
enum status config_diff(const struct config *old, const struct config *now,
                        void (*changed)(void *arg, const char *line), void *arg,
                        char **err) MUST_CHECK;

struct config *config_ref(struct config *c);
/* The last reference frees it. NULL is allowed. */
void config_unref(struct config *c);

#endif
