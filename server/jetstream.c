/* SPDX-License-Identifier: Apache-2.0 */
/* JetStream as a part of the server: its options from the configuration, the accounts that have
 * it, its start and stop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "server/auth/account.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/base/version.h"
#include "server/conf/number.h"
#include "server/config.h"
#include "server/priv.h"
#include "stream/js.h"

enum { DIR_MAX = 4096 };
#define UNKNOWN_DISK   (INT64_C(1) << 40)
#define UNKNOWN_MEMORY (INT64_C(256) << 20)

/* buf: DIR_MAX bytes, where the folder is not configured. */
static const char *
store_dir(const struct config *cfg, char *buf)
{
    if (cfg->store_dir != NULL) {
        return cfg->store_dir;
    }
    const char *tmp = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe) */
    snprintf(buf, DIR_MAX, "%s/nats", tmp != NULL && tmp[0] != '\0' ? tmp : P_tmpdir);
    return buf;
}

/* Three quarters of the machine's. */
static int64_t
memory_there(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (int64_t)pages * size / 4 * 3 : UNKNOWN_MEMORY;
}

/* Three quarters of what is free where the folder is, or will be. */
static int64_t
disk_there(const char *dir)
{
    char path[DIR_MAX];
    struct statvfs fs;
    snprintf(path, sizeof path, "%s", dir);
    for (;;) {
        if (statvfs(path[0] != '\0' ? path : ".", &fs) == 0) {
            return (int64_t)(fs.f_bavail * fs.f_frsize / 4 * 3);
        }
        char *slash = strrchr(path, '/');
        if (slash == NULL || path[0] == '\0') {
            return UNKNOWN_DISK;
        }
        *slash = '\0';
    }
}

static struct js_caps
caps_of(const struct config *cfg, const char *dir)
{
    const struct config_js *j = &cfg->js;
    return (struct js_caps){.max_memory = j->max_memory >= 0 ? j->max_memory : memory_there(),
                            .max_file = j->max_file >= 0 ? j->max_file : disk_there(dir),
                            .max_ack_pending = j->max_ack_pending,
                            .max_request_batch = j->max_request_batch,
                            .max_duplicate_window = j->duplicate_window,
                            .default_max_consumers = j->max_consumers,
                            .batches_per_stream = j->batch_per_stream,
                            .batches_total = j->batch_total,
                            .batch_msgs = j->batch_msgs,
                            .batch_timeout = j->batch_timeout};
}

static struct js_opts
opts_of(const struct config *cfg, char *buf)
{
    const struct config_js *j = &cfg->js;
    const char *dir = store_dir(cfg, buf);
    return (struct js_opts){.store_dir = dir,
                            .sync_always = j->sync_interval == 0,
                            .sync_interval = j->sync_interval,
                            .domain = j->domain,
                            .strict = j->strict,
                            .max_buffered_msgs = j->max_buffered_msgs,
                            .max_buffered_size = j->max_buffered_size,
                            .caps = caps_of(cfg, dir)};
}

static void
banner(const struct js_opts *o)
{
    char text[NUMBER_SIZE_LEN];
    log_info("---------------- JETSTREAM ----------------");
    if (o->strict) {
        log_info("  Strict:          true");
    }
    log_info("  Max Memory:      %s", number_format_size(o->caps.max_memory, text));
    log_info("  Max Storage:     %s", number_format_size(o->caps.max_file, text));
    log_info("  Store Directory: \"%s/jetstream\"", o->store_dir);
    if (o->domain != NULL) {
        log_info("  Domain:          %s", o->domain);
    }
    log_info("  API Level:       %d", JS_API_LEVEL);
    log_info("-------------------------------------------");
}

static enum status
failed(enum status st, char *err)
{
    log_fatal("Can't start JetStream: %s", err != NULL ? err : status_text(st));
    mem_free(err);
    return st;
}

static enum status
enable(struct server *s, const char *account, const struct config_js_account *a)
{
    struct js_limits limits = {.max_memory = a->max_memory,
                               .max_file = a->max_file,
                               .max_streams = a->max_streams,
                               .max_consumers = a->max_consumers,
                               .max_ack_pending = a->max_ack_pending,
                               .memory_max_stream_bytes = a->memory_max_stream_bytes,
                               .store_max_stream_bytes = a->store_max_stream_bytes,
                               .max_bytes_required = a->max_bytes_required};
    struct account *acc = server_account(s, account);
    return acc != NULL ? js_account_enable(s->js, acc, account, &limits) : ST_NOMEM;
}

/* Where the file names no account but the system's, everybody is in the global one, and has it. */
static bool
is_global_only(const struct config *cfg)
{
    for (size_t i = 0; i < cfg->n_accounts; i++) {
        if (cfg->system_account == NULL ||
            strcmp(cfg->accounts[i]->name, cfg->system_account) != 0) {
            return false;
        }
    }
    return true;
}

/* What was measured on the machine stays as it was at the start. */
static void
set_caps(struct server *s, const struct config *cfg)
{
    struct js_caps now, old;
    js_caps(s->js, &old);
    now = caps_of(cfg, js_opts(s->js)->store_dir);
    now.max_memory = cfg->js.max_memory >= 0 ? now.max_memory : old.max_memory;
    now.max_file = cfg->js.max_file >= 0 ? now.max_file : old.max_file;
    js_set_caps(s->js, &now);
}

enum status
jetstream_apply(struct server *s, const struct config *cfg)
{
    static const struct config_js_account open = {true, -1, -1, -1, -1, -1, -1, -1, false};
    enum status st = ST_OK;
    if (s->js == NULL) {
        return ST_OK;
    }
    set_caps(s, cfg);
    if (is_global_only(cfg)) {
        st = enable(s, "$G", &open);
    }
    for (size_t i = 0; i < cfg->n_accounts && st == ST_OK; i++) {
        const struct config_account *a = cfg->accounts[i];
        st = a->js.enabled ? enable(s, a->name, &a->js) : ST_OK;
    }
    return st;
}

enum status
jetstream_begin(struct server *s)
{
    char *err = NULL;
    char dir[DIR_MAX];
    if (!s->config->js.enabled) {
        return ST_OK;
    }
    int64_t start = clock_mono_ns();
    struct js_opts opts = opts_of(s->config, dir);
    log_info("Starting JetStream");
    if (s->config->store_dir == NULL) {
        log_warn("Temporary storage directory used, data could be lost on system reboot");
    }
    js_host_init(s);
    enum status st = js_new(&s->js, &s->js_fns, &opts, &clock_real, &err);
    if (st != ST_OK) {
        return failed(st, err);
    }
    banner(&opts);
    st = jetstream_apply(s, s->config);
    if (st == ST_OK) {
        st = js_start(s->js, &err);
    }
    if (st != ST_OK) {
        return failed(st, err);
    }
    log_info("Took %.3f s to start JetStream", (double)(clock_mono_ns() - start) / CLOCK_S);
    return ST_OK;
}

void
jetstream_stop(struct server *s)
{
    if (s->js != NULL) {
        log_info("Initiating JetStream Shutdown...");
        js_stop(s->js);
        log_info("JetStream Shutdown");
    }
}

void
jetstream_free(struct server *s)
{
    js_free(s->js);
    s->js = NULL;
}
