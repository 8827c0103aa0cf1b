/* SPDX-License-Identifier: Apache-2.0 */
#include "server/start.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/auth/auth.h"
#include "server/base/errtext.h"
#include "server/base/failure.h"
#include "server/base/log.h"
#include "server/config.h"
#include "server/priv.h"

enum { MIN_WORKERS = 2, MAX_WORKERS = 16, MAX_IO = 8 };

/* In the words of nats-server. Takes the errno of log_open. */
static enum status
log_failed(const struct config *cfg, enum status st, char **err)
{
    char text[ERRTEXT_LEN];
    const char *why = errno == 0 ? "no such host" : errtext(errno, text);
    const char *remote = cfg->remote_syslog != NULL ? cfg->remote_syslog : "";
    if (st == ST_NOMEM) {
        return failure(err, st, "out of memory");
    }
    if (cfg->log_file != NULL && cfg->log_file[0] != '\0') {
        return failure(err, st, "error opening file: open %s: %s", cfg->log_file, why);
    }
    if (remote[0] == '\0') {
        return failure(err, st, "error connecting to syslog: \"Unix syslog delivery error\"");
    }
    if (st == ST_INVAL) {
        int len = strchr(remote, ':') != NULL ? (int)strcspn(remote, ":") : 0;
        return failure(err, st, "error invalid network type: \"%.*s\"", len, remote);
    }
    return failure(err, st, "error connecting to syslog: \"dial %s: %s\"", remote, why);
}

enum status
start_log(const struct config *cfg, char **err)
{
    struct log_opts o = {.file = cfg->log_file,
                         .syslog = cfg->syslog,
                         .remote_syslog = cfg->remote_syslog,
                         .time = cfg->logtime,
                         .utc = cfg->logtime_utc,
                         .debug = cfg->debug,
                         .trace = cfg->trace,
                         .size_limit = cfg->log_size_limit,
                         .max_files = cfg->log_max_num};
    enum status st = log_open(&o);
    return st == ST_OK ? st : log_failed(cfg, st, err);
}

static int64_t
cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? n : 1;
}

static int64_t
clamp(int64_t v, int64_t least, int64_t most)
{
    return v < least ? least : v > most ? most : v;
}

unsigned
start_io_threads(const struct config *cfg)
{
    if (cfg->io_threads > 0) {
        return (unsigned)clamp(cfg->io_threads, 1, SERVER_MAX_LOOPS);
    }
    return (unsigned)clamp(cores() / 2, 1, MAX_IO);
}

struct api_tenants
start_api_tenants(const struct config *cfg)
{
    return (struct api_tenants){.groups = cfg->api.groups,
                                .n_groups = cfg->api.n_groups,
                                .cancel_after = cfg->api.cancel_after,
                                .weights = cfg->api.weights,
                                .n_weights = cfg->api.n_weights,
                                .store_dir = cfg->store_dir};
}

struct api_opts
start_api_opts(const struct config *cfg)
{
    const struct config_api *a = &cfg->api;
    static const enum api_discipline disciplines[] = {
        [CONFIG_FIFO] = API_FIFO, [CONFIG_LIFO] = API_LIFO, [CONFIG_ADAPTIVE] = API_ADAPTIVE};
    return (struct api_opts){.workers = a->workers > 0 ? a->workers
                                                       : clamp(cores(), MIN_WORKERS, MAX_WORKERS),
                             .request_queue_limit = a->request_queue_limit,
                             .info_queue_limit = a->info_queue_limit,
                             .operator_queue_limit = a->operator_queue_limit,
                             .request_queue_max_bytes = a->request_queue_max_bytes,
                             .info_queue_max_bytes = a->info_queue_max_bytes,
                             .discipline = disciplines[a->discipline],
                             .adaptive_age = a->adaptive_age,
                             .adaptive_wait = a->adaptive_wait,
                             .aged_share = a->aged_share,
                             .request_deadline = a->request_deadline,
                             .max_pending_commits = a->max_pending_commits,
                             .limits = a->limits};
}

static bool
is_plain(const char *password)
{
    return password != NULL && *password != '\0' && !auth_is_bcrypt(password);
}

static bool
has_plain_password(const struct config *cfg)
{
    bool plain = is_plain(cfg->password);
    for (size_t i = 0; i < cfg->n_users && !plain; i++) {
        plain = is_plain(cfg->users[i]->password);
    }
    return plain;
}

void
start_banner(const struct server *s, const struct config *cfg)
{
    log_info("Starting sluice");
    log_info("  Version:  %s (sluice %s)", SERVER_VERSION, SLUICE_VERSION);
    log_info("  Name:     %s", s->name);
    log_info("  ID:       %s", s->id);
    if (has_plain_password(cfg)) {
        log_warn("Plaintext passwords detected, use bcrypt");
    }
    if (cfg->config_file != NULL) {
        log_info("Using configuration file: %s (%s)", cfg->config_file, cfg->config_digest);
    }
}

void
start_raise_files(void)
{
    struct rlimit lim;
    if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < lim.rlim_max) {
        lim.rlim_cur = lim.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &lim) != 0) {
            log_debug("the limit of open files stays as it is");
        }
    }
}
