/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as an immutable snapshot: made once by config_load (flags and file together),
 * then only read. A reload makes a new one and swaps it; whoever holds a reference keeps reading
 * the old one. Strings are owned by the snapshot; NULL = not set. Times are nanoseconds, sizes
 * bytes, ports -1 = any free port. */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

/* A list of subjects, each perhaps with a queue ("subject queue", as in subscribe permissions). */
struct config_subjects {
    char **v; /* owned */
    size_t n;
    bool set; /* the key was given, perhaps empty */
};

struct config_perms {
    struct config_subjects pub_allow, pub_deny;
    struct config_subjects sub_allow, sub_deny;
    bool responses;            /* allow_responses */
    int64_t responses_max;     /* < 0: no limit */
    int64_t responses_expires; /* ns; < 0: no limit */
};

struct config_user {
    char *username;             /* owned */
    char *password;             /* owned; plain, or bcrypt ("$2a$…") */
    const char *account;        /* borrowed: names an entry of accounts, or "$G" */
    struct config_perms *perms; /* owned; NULL: everything is allowed */
    bool proxy_required;
    char **connection_types; /* owned; upper case; none: all */
    size_t n_connection_types;
};

/* Limits of one account; < 0: none. */
struct config_account {
    char *name; /* owned */
    int64_t max_conns;
    int64_t max_subs;
    int64_t max_payload;
    struct config_perms *default_perms; /* owned or NULL */
};

enum config_discipline { CONFIG_FIFO, CONFIG_LIFO, CONFIG_ADAPTIVE };

/* The block api { … }; defaults in the option table. */
struct config_api {
    int64_t workers;             /* 0: cores, at least 2, at most 16 */
    int64_t request_queue_limit; /* level normal, entries */
    int64_t info_queue_limit;    /* level info, entries */
    int64_t request_queue_max_bytes;
    int64_t info_queue_max_bytes;
    int64_t operator_queue_limit;
    enum config_discipline discipline;
    double adaptive_age;
    int64_t adaptive_wait;
    int64_t aged_share;
    int64_t request_deadline; /* 0: none */
    int64_t max_pending_commits;
    bool limits; /* false: neither limits nor deadlines nor levels (for measurements) */
};

struct config {
    /* server */
    char *host;
    int64_t port;
    char *server_name; /* NULL: the server id is used */
    char *client_advertise;
    char *pid_file;
    char *ports_file_dir;
    char *config_file;  /* as given; NULL: none */
    int64_t io_threads; /* 0: half the cores, at least 1, at most 8 */
    int64_t lame_duck_duration;
    int64_t lame_duck_grace_period;

    /* monitoring */
    char *http_host;
    int64_t http_port; /* 0: off */
    int64_t https_port;
    char *http_base_path;

    /* logging */
    char *log_file;
    bool logtime, logtime_utc, syslog, debug, trace, trace_verbose;
    char *remote_syslog;
    int64_t log_size_limit, log_max_num;
    int64_t max_traced_msg_len;
    int64_t connect_error_reports, reconnect_error_reports;

    /* limits of clients; < 0: none */
    int64_t max_connections;
    int64_t max_subscriptions;
    int64_t max_subscription_tokens; /* 0: none */
    int64_t max_control_line;
    int64_t max_payload;
    int64_t max_pending;
    int64_t write_deadline;
    int64_t ping_interval;
    int64_t ping_max;
    int64_t max_closed_clients;
    bool no_header_support;
    bool disable_sublist_cache;
    bool always_enable_nonce;
    bool no_fast_producer_stall;

    /* authorization */
    bool auth_required; /* any of: user, token, users */
    char *username, *password, *token;
    int64_t auth_timeout;
    char *no_auth_user;
    struct config_perms *default_perms; /* owned; authorization { default_permissions } */
    struct config_user **users;         /* owned; of all accounts, order of the file */
    size_t n_users;
    struct config_account **accounts; /* owned; without $G and $SYS unless the file names them */
    size_t n_accounts;
    const char *system_account; /* "$SYS" unless set; NULL: no_system_account */

    /* JetStream, as far as its limits of the API plane go */
    bool jetstream;
    char *store_dir;

    struct config_api api;

    _Atomic int refs;
};

enum config_action { CONFIG_RUN, CONFIG_EXIT };

/* Flags and the file they name (flags win). On ST_OK: CONFIG_RUN with *out (one reference), or
 * CONFIG_EXIT where the call was --help, --version, -t or --signal and has been carried out with
 * success; *out is NULL then. On failure one clear line (file:line:position where it has one) was
 * written to standard error in nats-server's form; the caller exits with 1. */
enum status config_load(int argc, char **argv, struct config **out,
                        enum config_action *action) MUST_CHECK;

/* Reads the file of `old` anew, with the flags that `old` was started with. On failure *err is a
 * text to log (the caller frees it with mem_free) and `old` stays in force. */
enum status config_reload(const struct config *old, struct config **out, char **err) MUST_CHECK;

/* Compares two snapshots by the option table. changed: each option that differs, as
 * "Reloaded: max_payload = 1024" lines for the log. ST_UNSUPPORTED: an option that cannot change
 * at run time differs; *err names it, as nats-server does. */
enum status config_diff(const struct config *old, const struct config *now,
                        void (*changed)(void *arg, const char *line), void *arg,
                        char **err) MUST_CHECK;

struct config *config_ref(struct config *c);
/* The last reference frees it. NULL is allowed. */
void config_unref(struct config *c);

#endif
