/* SPDX-License-Identifier: Apache-2.0 */
#include "server/options.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/conf/number.h"
#include "server/config.h"
#include "server/config_blocks.h"
#include "server/config_groups.h"
#include "server/config_users.h"

#define FIELD(x)    .field = offsetof(struct config, x)
#define KIB         INT64_C(1024)
#define MIB         (1024 * KIB)
#define MAX_COUNT   INT32_MAX
#define LIVE        OPTION_RELOADABLE
#define JS_LIMITS   "JetStream limits"
#define LIVE_OR_DEF (OPTION_RELOADABLE | OPTION_ZERO_DEFAULT)

static const char *const disciplines[] = {"fifo", "lifo", "adaptive", NULL};
static const char *const write_timeouts[] = {"default", "close", "retry", NULL};

/* clang-format off */
const struct option options[] = {
    /* --- server --- */
    {.name = "host", .aliases = "net", .flags = "a addr net", .arg = "<host>",
     .group = GROUP_SERVER, .type = OPT_STRING, .bits = OPTION_ZERO_DEFAULT, FIELD(host),
     .sdef = "0.0.0.0", .reload_name = "Host", .doc = "Address to listen on for clients"},
    {.name = "port", .flags = "p port", .arg = "<port>", .group = GROUP_SERVER, .type = OPT_INT,
     .bits = OPTION_ZERO_DEFAULT, FIELD(port), .min = -MAX_COUNT, .max = MAX_COUNT, .def = 4222,
     .reload_name = "Port", .doc = "Port for clients, -1 for any free one"},
    {.name = "listen", .type = OPT_BLOCK, .parse = config_block_listen,
     .doc = "host and port in one: \"host:port\", or a port alone"},
    {.name = "server_name", .flags = "n name server_name", .arg = "<name>", .group = GROUP_SERVER,
     .type = OPT_STRING, FIELD(server_name), .parse = config_block_server_name,
     .reload_name = "ServerName",
     .doc = "Name of this server, without blanks; its id unless set"},
    {.name = "pid_file", .aliases = "pidfile", .flags = "P pid", .arg = "<file>",
     .group = GROUP_SERVER, .type = OPT_STRING, .bits = LIVE, FIELD(pid_file),
     .doc = "File that holds the process id while the server runs"},
    {.name = "http_port", .aliases = "monitor_port", .flags = "m http_port", .arg = "<port>",
     .group = GROUP_SERVER, .type = OPT_INT, FIELD(http_port), .min = -MAX_COUNT, .max = MAX_COUNT,
     .reload_name = "HTTPPort", .doc = "Port of the HTTP monitor, -1 for any free one, 0 for none"},
    {.name = "http", .type = OPT_BLOCK, .parse = config_block_http,
     .doc = "Address of the HTTP monitor: \"host:port\", or a port alone"},
    {.name = "https_port", .aliases = "https", .flags = "ms https_port", .arg = "<port>",
     .group = GROUP_SERVER, .type = OPT_UNSUPPORTED, .doc = "Port of the HTTPS monitor"},
    {.flags = "c config", .arg = "<file>", .group = GROUP_SERVER, .type = OPT_FLAG,
     .doc = "Configuration file"},
    {.flags = "t", .group = GROUP_SERVER, .type = OPT_FLAG, .bits = OPTION_BARE_FLAG,
     .doc = "Test the configuration file and exit"},
    {.flags = "sl signal", .arg = "<signal>[=<pid>]", .group = GROUP_SERVER, .type = OPT_FLAG,
     .doc = "Send ldm, stop, quit, term, reopen or reload to a server, named by its pid or pid "
            "file"},
    {.name = "client_advertise", .flags = "client_advertise", .arg = "<host:port>",
     .group = GROUP_SERVER, .type = OPT_STRING, .bits = LIVE, FIELD(client_advertise),
     .doc = "Address that clients are told to use for this server"},
    {.name = "ports_file_dir", .flags = "ports_file_dir", .arg = "<dir>", .group = GROUP_SERVER,
     .type = OPT_STRING, .bits = LIVE, FIELD(ports_file_dir),
     .doc = "Folder for a file PROGRAM_PID.ports that lists what is listened on"},
    {.name = "http_base_path", .type = OPT_STRING, FIELD(http_base_path), .sdef = "/",
     .reload_name = "HTTPBasePath", .doc = "Path in front of all pages of the HTTP monitor"},
    {.name = "io_threads", .flags = "io_threads", .arg = "<number>", .group = GROUP_SERVER,
     .type = OPT_INT, FIELD(io_threads), .min = 0, .max = 64,
     .doc = "Threads that read and write client connections; 0: half the cores, 1 to 8"},
    {.name = "lame_duck_duration", .type = OPT_DURATION, FIELD(lame_duck_duration),
     .parse = config_block_lame_duck, .def = 120 * CLOCK_S, .min = 30 * CLOCK_S, .max = INT64_MAX,
     .reload_name = "LameDuckDuration",
     .doc = "Time over which lame duck mode closes the clients, at least 30s"},
    {.name = "lame_duck_grace_period", .type = OPT_DURATION, FIELD(lame_duck_grace_period),
     .parse = config_block_lame_duck, .def = 10 * CLOCK_S, .max = INT64_MAX,
     .reload_name = "LameDuckGracePeriod",
     .doc = "Time between the warning of lame duck mode and the first closed client"},
    {.name = "server_tags", .type = OPT_BLOCK, .bits = LIVE, .parse = config_block_tags,
     .reload_name = "tags", .doc = "A word or a list of words about this server, for monitoring"},
    {.name = "server_metadata", .type = OPT_BLOCK, .bits = LIVE, .parse = config_block_metadata,
     .reload_name = "metadata", .doc = "Names and texts about this server, for monitoring"},
    {.name = "feature_flags", .type = OPT_BLOCK, .parse = config_block_feature_flags,
     .doc = "Read for compatibility, without effect"},

    /* --- logging --- */
    {.name = "log_file", .aliases = "logfile", .flags = "l log", .arg = "<file>",
     .group = GROUP_LOGGING, .type = OPT_STRING, .bits = LIVE, FIELD(log_file),
     .doc = "File for the log, instead of standard error"},
    {.name = "logtime", .flags = "T logtime", .group = GROUP_LOGGING, .type = OPT_BOOL,
     .bits = LIVE, FIELD(logtime), .def = true, .doc = "Put the time in front of each line"},
    {.name = "logtime_utc", .flags = "logtime_utc", .group = GROUP_LOGGING, .type = OPT_BOOL,
     .bits = LIVE, FIELD(logtime_utc), .doc = "Write the time in UTC"},
    {.name = "syslog", .flags = "s syslog", .group = GROUP_LOGGING, .type = OPT_BOOL, .bits = LIVE,
     FIELD(syslog), .doc = "Log to syslog"},
    {.name = "remote_syslog", .flags = "r remote_syslog", .arg = "<addr>", .group = GROUP_LOGGING,
     .type = OPT_STRING, .bits = LIVE, FIELD(remote_syslog),
     .doc = "Log to a syslog server, as udp://localhost:514"},
    {.name = "debug", .flags = "D debug", .group = GROUP_LOGGING, .type = OPT_BOOL, .bits = LIVE,
     FIELD(debug), .doc = "Log details for debugging"},
    {.name = "trace", .flags = "V trace", .group = GROUP_LOGGING, .type = OPT_BOOL, .bits = LIVE,
     FIELD(trace), .doc = "Log the protocol"},
    {.name = "trace_verbose", .flags = "VV", .group = GROUP_LOGGING, .type = OPT_BOOL,
     .bits = LIVE | OPTION_BARE_FLAG, FIELD(trace_verbose), .parse = config_block_trace,
     .doc = "Log the protocol, of the system account too"},
    {.flags = "DV", .group = GROUP_LOGGING, .type = OPT_FLAG, .bits = OPTION_BARE_FLAG,
     .doc = "Both -D and -V"},
    {.flags = "DVV", .group = GROUP_LOGGING, .type = OPT_FLAG, .bits = OPTION_BARE_FLAG,
     .doc = "Both -D and -VV"},
    {.name = "trace_headers", .type = OPT_BOOL, .bits = LIVE, FIELD(trace_headers),
     .parse = config_block_trace, .doc = "Log the protocol, of messages only their headers"},
    {.name = "log_size_limit", .aliases = "logfile_size_limit", .flags = "log_size_limit",
     .arg = "<bytes>", .group = GROUP_LOGGING, .type = OPT_INT, FIELD(log_size_limit),
     .max = INT64_MAX, .reload_name = "LogSizeLimit",
     .doc = "Size at which the log file is renamed and begun anew, 0 for none"},
    {.name = "log_max_num", .aliases = "logfile_max_num", .type = OPT_INT, FIELD(log_max_num),
     .max = MAX_COUNT, .reload_name = "LogMaxFiles",
     .doc = "Number of log files that are kept, 0 for all"},
    {.name = "max_traced_msg_len", .flags = "max_traced_msg_len", .arg = "<bytes>",
     .group = GROUP_LOGGING, .type = OPT_INT, .bits = LIVE, FIELD(max_traced_msg_len),
     .max = MAX_COUNT, .doc = "Bytes of a message that a trace shows, 0 for all"},
    {.name = "connect_error_reports", .type = OPT_INT, .bits = LIVE_OR_DEF,
     FIELD(connect_error_reports), .max = MAX_COUNT, .def = 3600,
     .doc = "Log one in so many failed attempts to connect to another server"},
    {.name = "reconnect_error_reports", .type = OPT_INT, .bits = LIVE_OR_DEF,
     FIELD(reconnect_error_reports), .max = MAX_COUNT, .def = 1,
     .doc = "The same once there was a connection"},

    /* --- limits of clients --- */
    {.name = "max_connections", .aliases = "max_conn", .type = OPT_INT, .bits = LIVE,
     FIELD(max_connections), .parse = config_block_max_connections, .min = -1, .max = MAX_COUNT,
     .def = 65536, .doc = "Connections at a time; 0 refuses all"},
    {.name = "max_subscriptions", .aliases = "max_subs", .type = OPT_INT,
     FIELD(max_subscriptions), .min = -1, .max = MAX_COUNT, .reload_name = "MaxSubs",
     .doc = "Subscriptions of a connection, 0 for any number"},
    {.name = "max_subscription_tokens", .aliases = "max_sub_tokens", .type = OPT_INT,
     FIELD(max_subscription_tokens), .parse = config_block_sub_tokens, .min = 1, .max = 255,
     .reload_name = "MaxSubTokens",
     .doc = "Tokens that the subject of a subscription may have; any number unless set"},
    {.name = "max_control_line", .type = OPT_INT, .bits = LIVE_OR_DEF, FIELD(max_control_line),
     .max = MAX_COUNT, .def = 4 * KIB, .doc = "Bytes of a protocol line, without the payload"},
    {.name = "max_payload", .type = OPT_INT, .bits = LIVE_OR_DEF, FIELD(max_payload), .min = -1,
     .max = MAX_COUNT, .def = MIB, .doc = "Bytes of a message, -1 for any number"},
    {.name = "max_pending", .type = OPT_INT, .bits = OPTION_ZERO_DEFAULT, FIELD(max_pending),
     .max = INT64_MAX, .def = 64 * MIB, .reload_name = "MaxPending",
     .doc = "Bytes that may wait for a client before it counts as a slow consumer"},
    {.name = "write_deadline", .type = OPT_DURATION, .bits = LIVE_OR_DEF | OPTION_SECONDS,
     FIELD(write_deadline), .max = INT64_MAX, .def = 10 * CLOCK_S,
     .doc = "Time that a write to a client may take"},
    {.name = "write_timeout", .type = OPT_ENUM, FIELD(write_timeout), .values = write_timeouts,
     .def = CONFIG_WRITE_DEFAULT, .reload_name = "WriteTimeout",
     .doc = "What happens to a client past write_deadline; default is close"},
    {.name = "ping_interval", .type = OPT_DURATION, .bits = LIVE_OR_DEF | OPTION_SECONDS,
     FIELD(ping_interval), .max = INT64_MAX, .def = 120 * CLOCK_S,
     .doc = "Time without traffic after which a client gets a PING"},
    {.name = "ping_max", .type = OPT_INT, .bits = LIVE_OR_DEF, FIELD(ping_max), .max = MAX_COUNT,
     .def = 2, .doc = "PINGs without an answer before a connection counts as stale"},
    {.name = "max_closed_clients", .type = OPT_INT, .bits = OPTION_ZERO_DEFAULT,
     FIELD(max_closed_clients), .max = 10000000, .def = 10000, .reload_name = "MaxClosedClients",
     .doc = "Closed connections that the monitor remembers"},
    {.name = "no_header_support", .type = OPT_BOOL, FIELD(no_header_support),
     .reload_name = "NoHeaderSupport", .doc = "Refuse messages with headers"},
    {.name = "disable_sublist_cache", .aliases = "no_sublist_cache", .type = OPT_BOOL,
     FIELD(disable_sublist_cache), .reload_name = "NoSublistCache",
     .doc = "Look up every message anew"},
    {.name = "no_fast_producer_stall", .type = OPT_BOOL, .bits = LIVE,
     FIELD(no_fast_producer_stall), .doc = "Never slow a publisher down for a slow receiver"},

    /* --- authorization --- */
    {.name = "authorization", .type = OPT_BLOCK, .bits = LIVE, .parse = config_users_authorization,
     .doc = "Block: who may connect; its keys follow"},
    {.name = "authorization.user", .aliases = "username", .flags = "user", .arg = "<user>",
     .group = GROUP_AUTHORIZATION, .type = OPT_STRING, .bits = LIVE | OPTION_SECRET,
     FIELD(username), .reload_name = "authorization username",
     .doc = "User that clients must give"},
    {.name = "authorization.password", .aliases = "pass", .flags = "pass", .arg = "<password>",
     .group = GROUP_AUTHORIZATION, .type = OPT_STRING, .bits = LIVE | OPTION_SECRET,
     FIELD(password), .reload_name = "authorization password",
     .doc = "Password that clients must give, plain or as a bcrypt hash"},
    {.name = "authorization.token", .flags = "auth", .arg = "<token>",
     .group = GROUP_AUTHORIZATION, .type = OPT_STRING, .bits = LIVE | OPTION_SECRET, FIELD(token),
     .reload_name = "authorization token", .doc = "Token that clients must give"},
    {.name = "authorization.timeout", .type = OPT_DURATION, .bits = LIVE, FIELD(auth_timeout),
     .parse = config_users_auth_timeout, .def = 2 * CLOCK_S, .max = INT64_MAX,
     .reload_name = "authorization timeout",
     .doc = "Time for a client to show who it is, in seconds or with a unit"},
    {.name = "authorization.users", .type = OPT_BLOCK, .bits = LIVE,
     .parse = config_users_auth_users, .reload_name = "authorization users",
     .doc = "List of users, each { user, password, permissions, … }"},
    {.name = "authorization.default_permissions", .aliases = "default_permission permissions",
     .type = OPT_BLOCK, .bits = LIVE, .parse = config_users_default_permissions,
     .doc = "Permissions of the users that have none of their own"},
    {.name = "authorization.auth_callout", .aliases = "auth_hook", .type = OPT_UNSUPPORTED,
     .doc = "Authentication by a service"},
    {.name = "authorization.proxy_required", .type = OPT_UNSUPPORTED,
     .doc = "Clients only through a trusted proxy"},
    {.name = "accounts", .type = OPT_BLOCK, .bits = LIVE, .parse = config_users_accounts,
     .reload_name = "accounts", .doc = "Block: accounts by name, each { users, limits, … }"},
    {.name = "no_auth_user", .type = OPT_STRING, FIELD(no_auth_user), .reload_name = "NoAuthUser",
     .doc = "User that a client without credentials becomes"},
    {.name = "system_account", .aliases = "system", .type = OPT_STRING, FIELD(system_account),
     .parse = config_users_system_account, .sdef = "$SYS", .reload_name = "SystemAccount",
     .doc = "Account of the server's own subjects"},
    {.name = "no_system_account", .aliases = "no_system no_sys_acc", .type = OPT_BLOCK,
     .parse = config_users_no_system_account, .doc = "Have no system account unless one is named"},

    /* --- JetStream --- */
    {.name = "jetstream", .flags = "js jetstream", .group = GROUP_JETSTREAM, .type = OPT_BOOL,
     .bits = OPTION_BARE_FLAG, FIELD(js.enabled), .parse = config_block_jetstream,
     .reload_name = "JetStream",
     .doc = "JetStream: true or false, or a block, which switches it on; its keys follow"},
    {.name = "store_dir", .aliases = "storedir", .flags = "sd store_dir", .arg = "<dir>",
     .group = GROUP_JETSTREAM, .type = OPT_STRING, FIELD(store_dir), .reload_name = "StoreDir",
     .parse = config_block_jetstream_store_dir,
     .doc = "Folder of stored messages; the folder jetstream is made in it"},
    {.name = "jetstream.store_dir", .aliases = "store storedir", .type = OPT_BLOCK,
     .parse = config_block_jetstream_store_dir, .doc = "The same as store_dir"},
    {.name = "jetstream.sync_interval", .aliases = "sync", .type = OPT_DURATION,
     FIELD(js.sync_interval), .parse = config_block_jetstream_sync, .max = INT64_MAX,
     .reload_name = "SyncInterval",
     .doc = "How long an acknowledged message may be on its way to the disk; always (0): it is "
            "there before it is acknowledged"},
    {.name = "jetstream.max_memory_store", .aliases = "max_mem_store max_mem", .type = OPT_INT,
     FIELD(js.max_memory), .parse = config_block_jetstream_size, .min = INT64_MIN,
     .max = INT64_MAX, .def = -1,
     .bits = LIVE, .reload_name = "JetStream max_mem_store",
     .doc = "Bytes of all streams in memory; -1: three quarters of the machine's"},
    {.name = "jetstream.max_file_store", .aliases = "max_file", .type = OPT_INT,
     FIELD(js.max_file), .parse = config_block_jetstream_size, .min = INT64_MIN,
     .max = INT64_MAX, .def = -1,
     .bits = LIVE, .reload_name = "JetStream max_file_store",
     .doc = "Bytes of all streams on disk; -1: three quarters of what is free"},
    {.name = "jetstream.domain", .type = OPT_STRING, FIELD(js.domain),
     .reload_name = "JetStreamDomain",
     .doc = "Name under which clients may ask for this JetStream: $JS.NAME.API"},
    {.name = "jetstream.strict", .type = OPT_BOOL, FIELD(js.strict), .def = true,
     .reload_name = "NoJetStreamStrict", .doc = "Refuse requests with unknown fields"},
    {.name = "jetstream.max_buffered_msgs", .type = OPT_INT, FIELD(js.max_buffered_msgs),
     .min = -MAX_COUNT, .max = MAX_COUNT, .def = 100000, .bits = OPTION_ZERO_DEFAULT,
     .reload_name = "StreamMaxBufferedMsgs",
     .doc = "Messages of one stream that may wait to be stored"},
    {.name = "jetstream.max_buffered_size", .type = OPT_INT, FIELD(js.max_buffered_size),
     .parse = config_block_jetstream_size, .max = INT64_MAX, .def = 128 * MIB, .bits = OPTION_ZERO_DEFAULT,
     .reload_name = "StreamMaxBufferedSize", .doc = "Their bytes"},
    {.name = "jetstream.request_queue_limit", .type = OPT_BLOCK,
     .parse = config_block_jetstream_limit, .doc = "The same as api.request_queue_limit"},
    {.name = "jetstream.info_queue_limit", .type = OPT_BLOCK,
     .parse = config_block_jetstream_limit, .doc = "The same as api.info_queue_limit"},
    {.name = "jetstream.limits", .type = OPT_BLOCK, .parse = config_block_jetstream_limits,
     .doc = "Block: what streams and consumers may ask for; its keys follow"},
    {.name = "jetstream_limits.max_ack_pending", .type = OPT_INT, FIELD(js.max_ack_pending),
     .min = -MAX_COUNT, .max = MAX_COUNT, .bits = LIVE, .reload_name = JS_LIMITS,
     .doc = "max_ack_pending of consumers; 0 for any"},
    {.name = "jetstream_limits.max_request_batch", .type = OPT_INT, FIELD(js.max_request_batch),
     .min = -MAX_COUNT, .max = MAX_COUNT, .bits = LIVE, .reload_name = JS_LIMITS,
     .doc = "max_batch of pull consumers; 0 for any"},
    {.name = "jetstream_limits.duplicate_window", .type = OPT_DURATION,
     FIELD(js.duplicate_window), .max = INT64_MAX, .bits = LIVE, .reload_name = JS_LIMITS,
     .doc = "duplicate_window of streams; 0 for any"},
    {.name = "jetstream_limits.default_max_consumers", .type = OPT_INT, FIELD(js.max_consumers),
     .min = -MAX_COUNT, .max = MAX_COUNT, .def = 1000, .bits = LIVE_OR_DEF, .reload_name = JS_LIMITS,
     .doc = "Consumers of a stream where neither it nor its account has a limit; -1 for any"},
    {.name = "jetstream_limits.max_ha_assets", .type = OPT_INT, FIELD(js.max_ha_assets),
     .min = -MAX_COUNT, .max = MAX_COUNT, .bits = LIVE, .reload_name = JS_LIMITS,
     .doc = "Without effect outside a cluster"},
    {.name = "jetstream_limits.batch", .type = OPT_BLOCK, .parse = config_block_jetstream_batch,
     .doc = "Block: batches of publishers; its keys follow"},
    {.name = "jetstream_batch.max_inflight_per_stream", .type = OPT_INT,
     FIELD(js.batch_per_stream), .min = -MAX_COUNT, .max = MAX_COUNT, .bits = LIVE, .reload_name = JS_LIMITS,
     .doc = "Batches of one stream that may be open; 0 for 50 atomic ones and 1,000 fast ones"},
    {.name = "jetstream_batch.max_inflight_total", .type = OPT_INT, FIELD(js.batch_total),
     .min = -MAX_COUNT, .max = MAX_COUNT, .bits = LIVE, .reload_name = JS_LIMITS,
     .doc = "Batches of the server that may be open; 0 for 1,000 atomic ones and 50,000 fast ones"},
    {.name = "jetstream_batch.max_msgs", .type = OPT_INT, FIELD(js.batch_msgs), .min = -MAX_COUNT,
     .max = MAX_COUNT, .bits = LIVE, .reload_name = JS_LIMITS,
     .doc = "Messages of an atomic batch; 0 for 1,000"},
    {.name = "jetstream_batch.timeout", .type = OPT_DURATION, FIELD(js.batch_timeout),
     .max = INT64_MAX, .bits = LIVE, .reload_name = JS_LIMITS,
     .doc = "Time after its last message when an open batch is given up; 0 for 10s"},
    {.name = "jetstream.encryption_key", .aliases = "key ek prev_key prev_ek prev_encryption_key "
     "cipher tpm", .type = OPT_UNSUPPORTED, .doc = "Encryption of the store"},
    {.name = "jetstream.extension_hint", .aliases = "unique_tag max_outstanding_catchup "
     "meta_compact meta_compact_size meta_compact_sync max_concurrent_io", .type = OPT_BLOCK,
     .parse = config_block_jetstream_idle, .doc = "Without effect outside a cluster"},

    /* --- the API plane --- */
    {.name = "api", .type = OPT_BLOCK, .parse = config_block_api,
     .doc = "Block: the API plane; its keys follow"},
    {.name = "api.workers", .type = OPT_INT, .bits = LIVE, FIELD(api.workers), .max = 256,
     .doc = "Threads that run API requests; 0: the cores, 2 to 16"},
    {.name = "api.request_queue_limit", .type = OPT_INT, .bits = LIVE,
     FIELD(api.request_queue_limit), .min = 0, .max = 100000000, .def = 10000,
     .doc = "Requests that may wait on the level normal"},
    {.name = "api.info_queue_limit", .type = OPT_INT, .bits = LIVE, FIELD(api.info_queue_limit),
     .min = 0, .max = 100000000, .doc = "The same for the level info; as request_queue_limit unless "
                                       "set"},
    {.name = "api.request_queue_max_bytes", .type = OPT_INT, .bits = LIVE,
     FIELD(api.request_queue_max_bytes), .min = 0, .max = INT64_MAX, .def = 64 * MIB,
     .doc = "Bytes of the requests that may wait on the level normal"},
    {.name = "api.info_queue_max_bytes", .type = OPT_INT, .bits = LIVE,
     FIELD(api.info_queue_max_bytes), .min = 0, .max = INT64_MAX, .def = 64 * MIB,
     .doc = "The same for the level info"},
    {.name = "api.operator_queue_limit", .type = OPT_INT, .bits = LIVE,
     FIELD(api.operator_queue_limit), .min = 1, .max = 256, .def = 256,
     .doc = "Requests of the system account that may wait"},
    {.name = "api.discipline", .type = OPT_ENUM, .bits = LIVE, FIELD(api.discipline),
     .values = disciplines, .def = CONFIG_ADAPTIVE, .doc = "Order of service"},
    {.name = "api.adaptive_age", .type = OPT_FLOAT, .bits = LIVE, FIELD(api.adaptive_age),
     .fmin = 0.01, .fmax = 1, .fdef = 0.5,
     .doc = "Part of its deadline that the oldest may wait before adaptive serves the newest "
            "first"},
    {.name = "api.adaptive_wait", .type = OPT_DURATION, .bits = LIVE, FIELD(api.adaptive_wait),
     .min = 0, .max = 86400 * CLOCK_S, .def = 500 * CLOCK_MS,
     .doc = "Time after which adaptive does so in any case"},
    {.name = "api.aged_share", .type = OPT_INT, .bits = LIVE, FIELD(api.aged_share),
     .max = 1000000, .def = 64,
     .doc = "Under newest-first, one pull in so many takes an old request; 0 for none"},
    {.name = "api.request_deadline", .type = OPT_DURATION, .bits = LIVE,
     FIELD(api.request_deadline), .max = 86400 * CLOCK_S, .def = 5 * CLOCK_S,
     .doc = "Time that a request without a deadline of its own may wait; 0 for any time"},
    {.name = "api.max_pending_commits", .type = OPT_INT, .bits = LIVE,
     FIELD(api.max_pending_commits), .min = 0, .max = 1000000, .def = 10000,
     .doc = "Requests that may wait for the disk at a time"},
    {.name = "api.cancel_after", .type = OPT_DURATION, .bits = LIVE, FIELD(api.cancel_after),
     .max = 86400 * CLOCK_S,
     .doc = "Time after which a request that a workload group has parked is cancelled; 0 for none"},
    {.name = "api.account_weights", .type = OPT_BLOCK, .bits = LIVE, .parse = config_groups_weights,
     .doc = "Block: turns in the queue by account, where others get 1: { A: 3 }"},
    {.name = "api.limits", .type = OPT_BOOL, FIELD(api.limits), .def = true,
     .doc = "False: no limits, deadlines and levels, for measurements"},
    {.name = "workload_groups", .type = OPT_BLOCK, .bits = LIVE, .parse = config_groups_block,
     .doc = "Block: workload groups by name, each { match, throttling, queue, cancel_after }"},

    /* --- gates --- */
    {.name = "gates", .type = OPT_BLOCK, .bits = LIVE, .parse = config_block_gates,
     .doc = "Block: gates by name, each { subject, limit, … }"},

    /* --- what nats-server has and this server not yet --- */
    {.flags = "tls", .group = GROUP_TLS, .type = OPT_UNSUPPORTED, .bits = OPTION_BARE_FLAG,
     .doc = "TLS for clients"},
    {.flags = "tlscert", .arg = "<file>", .group = GROUP_TLS, .type = OPT_UNSUPPORTED,
     .doc = "Certificate of the server"},
    {.flags = "tlskey", .arg = "<file>", .group = GROUP_TLS, .type = OPT_UNSUPPORTED,
     .doc = "Private key of the certificate"},
    {.flags = "tlsverify", .group = GROUP_TLS, .type = OPT_UNSUPPORTED, .bits = OPTION_BARE_FLAG,
     .doc = "TLS with certificates of the clients"},
    {.flags = "tlscacert", .arg = "<file>", .group = GROUP_TLS, .type = OPT_UNSUPPORTED,
     .doc = "Authority that the clients' certificates come from"},
    {.flags = "routes", .arg = "<url, url>", .group = GROUP_CLUSTER, .type = OPT_UNSUPPORTED,
     .doc = "Servers to connect to"},
    {.name = "cluster", .flags = "cluster cluster_listen", .arg = "<url>", .group = GROUP_CLUSTER,
     .type = OPT_UNSUPPORTED, .doc = "Address for other servers of a cluster"},
    {.flags = "cluster_name", .arg = "<name>", .group = GROUP_CLUSTER, .type = OPT_UNSUPPORTED,
     .doc = "Name of the cluster"},
    {.flags = "no_advertise", .group = GROUP_CLUSTER, .type = OPT_UNSUPPORTED,
     .bits = OPTION_BARE_FLAG, .doc = "Do not tell clients about the other servers"},
    {.flags = "cluster_advertise", .arg = "<host:port>", .group = GROUP_CLUSTER,
     .type = OPT_UNSUPPORTED, .doc = "Address that other servers are told"},
    {.flags = "connect_retries", .arg = "<number>", .group = GROUP_CLUSTER,
     .type = OPT_UNSUPPORTED, .doc = "Attempts to connect to a server that was learned of"},
    {.name = "prof_port", .flags = "profile", .arg = "<port>", .group = GROUP_PROFILING,
     .type = OPT_UNSUPPORTED, .doc = "Port of the profiler"},
    {.name = "prof_block_rate", .type = OPT_UNSUPPORTED, .doc = "Rate of the profiler"},
    {.name = "tls", .type = OPT_UNSUPPORTED, .min = 1, .doc = "Block: TLS for clients"},
    {.name = "allow_non_tls", .type = OPT_UNSUPPORTED, .doc = "Clients with and without TLS"},
    {.name = "ocsp", .type = OPT_UNSUPPORTED, .doc = "Block: stapling"},
    {.name = "ocsp_cache", .type = OPT_UNSUPPORTED, .doc = "Block: cache of stapling"},
    {.name = "gateway", .type = OPT_UNSUPPORTED, .doc = "Block: clusters of clusters"},
    {.name = "leafnodes", .aliases = "leaf", .type = OPT_UNSUPPORTED, .doc = "Block: leaf nodes"},
    {.name = "websocket", .aliases = "ws", .type = OPT_UNSUPPORTED, .doc = "Block: WebSocket"},
    {.name = "mqtt", .type = OPT_UNSUPPORTED, .doc = "Block: MQTT"},
    {.name = "mappings", .aliases = "maps", .type = OPT_UNSUPPORTED,
     .doc = "Block: subjects that become others"},
    {.name = "operator", .aliases = "operators roots root root_operators root_operator",
     .type = OPT_UNSUPPORTED, .doc = "JWT of the operator"},
    {.name = "resolver", .aliases = "account_resolver accounts_resolver", .type = OPT_UNSUPPORTED,
     .doc = "Where JWTs of accounts come from"},
    {.name = "resolver_tls", .type = OPT_UNSUPPORTED, .doc = "Block: TLS of the resolver"},
    {.name = "resolver_preload", .type = OPT_UNSUPPORTED, .doc = "Block: JWTs of accounts"},
    {.name = "resolver_pinned_accounts", .type = OPT_UNSUPPORTED, .doc = "Accounts of operators"},
    {.name = "trusted_keys", .aliases = "trusted", .type = OPT_UNSUPPORTED,
     .doc = "Keys of operators"},
    {.name = "default_sentinel", .type = OPT_UNSUPPORTED, .doc = "JWT of clients that have none"},
    {.name = "default_js_domain", .type = OPT_UNSUPPORTED, .doc = "Block: JetStream domains"},
    {.name = "proxies", .type = OPT_UNSUPPORTED, .doc = "Block: trusted proxies"},
    {.name = "proxy_protocol", .type = OPT_UNSUPPORTED, .doc = "The PROXY protocol in front"},

    /* --- common --- */
    {.flags = "h help", .group = GROUP_COMMON, .type = OPT_FLAG, .bits = OPTION_BARE_FLAG,
     .doc = "Show this text"},
    {.flags = "v version", .group = GROUP_COMMON, .type = OPT_FLAG, .bits = OPTION_BARE_FLAG,
     .doc = "Show the version"},
    {.flags = "help_tls", .group = GROUP_COMMON, .type = OPT_UNSUPPORTED,
     .bits = OPTION_BARE_FLAG, .doc = "Show help about TLS"},
};
/* clang-format on */

const size_t options_count = sizeof(options) / sizeof(options[0]);

bool
option_has_word(const char *list, const char *word, bool any_case)
{
    size_t n = strlen(word);
    for (const char *p = list; p != NULL && *p != '\0';) {
        size_t len = strcspn(p, " ");
        if (len == n && (any_case ? strncasecmp(p, word, n) == 0 : strncmp(p, word, n) == 0)) {
            return true;
        }
        p += len + strspn(p + len, " ");
    }
    return false;
}

const struct option *
option_by_key(const char *block, const char *key)
{
    size_t nb = block != NULL ? strlen(block) : 0;
    for (size_t i = 0; i < options_count; i++) {
        const struct option *o = &options[i];
        if (o->name == NULL) {
            continue;
        }
        const char *dot = strchr(o->name, '.');
        bool here = block == NULL ? dot == NULL
                                  : dot != NULL && (size_t)(dot - o->name) == nb &&
                                        strncmp(o->name, block, nb) == 0;
        const char *name = dot != NULL ? dot + 1 : o->name;
        if (here && (strcasecmp(name, key) == 0 || option_has_word(o->aliases, key, true))) {
            return o;
        }
    }
    return NULL;
}

const struct option *
option_by_flag(const char *flag)
{
    for (size_t i = 0; i < options_count; i++) {
        if (option_has_word(options[i].flags, flag, false)) {
            return &options[i];
        }
    }
    return NULL;
}

void *
option_field(const struct option *o, struct config *c)
{
    return (char *)c + o->field;
}

const void *
option_field_const(const struct option *o, const struct config *c)
{
    return (const char *)c + o->field;
}

enum status
option_set_default(const struct option *o, struct config *c)
{
    void *field = option_field(o, c);
    switch (o->type) {
    case OPT_STRING:
        mem_free(*(char **)field);
        *(char **)field = NULL;
        if (o->sdef != NULL) {
            *(char **)field = mem_strdup(o->sdef);
            return *(char **)field != NULL ? ST_OK : ST_NOMEM;
        }
        break;
    case OPT_BOOL:
        *(bool *)field = o->def != 0;
        break;
    case OPT_FLOAT:
        *(double *)field = o->fdef;
        break;
    case OPT_ENUM:
        *(unsigned *)field = (unsigned)o->def;
        break;
    case OPT_INT:
    case OPT_DURATION:
        *(int64_t *)field = o->def;
        break;
    case OPT_BLOCK:
    case OPT_UNSUPPORTED:
    case OPT_FLAG:
        break;
    }
    return ST_OK;
}

/* "10s", "1MB", "4222": the way a person would write v. */
static void
put_number(const struct option *o, char out[OPTION_TEXT_LEN])
{
    if (o->type == OPT_DURATION) {
        number_format_duration(o->def, out);
    } else if (o->def >= MIB && o->def % MIB == 0) {
        snprintf(out, OPTION_TEXT_LEN, "%lldMB", (long long)(o->def / MIB));
    } else {
        snprintf(out, OPTION_TEXT_LEN, "%lld", (long long)o->def);
    }
}

const char *
option_default_text(const struct option *o, char out[OPTION_TEXT_LEN])
{
    out[0] = '\0';
    switch (o->type) {
    case OPT_STRING:
        return o->sdef != NULL ? o->sdef : "";
    case OPT_BOOL:
        return o->def != 0 ? "true" : "false";
    case OPT_ENUM:
        return o->values[o->def];
    case OPT_FLOAT:
        return number_format_float(o->fdef, out);
    case OPT_INT:
    case OPT_DURATION:
        put_number(o, out);
        break;
    case OPT_BLOCK:
    case OPT_UNSUPPORTED:
    case OPT_FLAG:
        break;
    }
    return out;
}
