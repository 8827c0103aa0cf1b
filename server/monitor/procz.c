/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/procz.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "server/base/buf.h"
#include "server/base/clock.h"
#include "server/monitor/jput.h"
#include "server/monitor/text.h"
#include "server/monitor/usage.h"
#include "server/monitor/vopts.h"
#include "server/server.h"

static bool
is_idle(const json_t *row)
{
    return json_integer_value(json_object_get(row, "pending")) == 0 &&
           json_integer_value(json_object_get(row, "in_progress")) == 0;
}

enum status
procz_build_ipqueuesz(struct server *s, struct vopts *o, json_t **out)
{
    bool all = vopts_bool(o, "all");
    const char *filter = vopts_str(o, "filter", "string");
    if (o->st != ST_OK) {
        return o->st;
    }
    struct api *api = server_api(s);
    json_t *rows = api != NULL ? api_ipqueues(api) : json_object();
    if (rows == NULL) {
        return ST_NOMEM;
    }
    const char *name;
    json_t *row;
    void *tmp;
    json_object_foreach_safe(rows, tmp, name, row)
    {
        if ((!all && is_idle(row)) || strstr(name, filter) == NULL) {
            json_object_del(rows, name);
        }
    }
    *out = rows;
    return ST_OK;
}

enum status
procz_build_expvarz(struct server *s, struct vopts *o, json_t **out)
{
    (void)s;
    if (o->st != ST_OK) {
        return o->st;
    }
    struct jput p = {0};
    json_t *root = jput_new(&p);
    usage_put_expvar(&p, root);
    return jput_end(&p, root, out);
}

enum status
procz_build_profilez(struct server *s, struct vopts *o, json_t **out)
{
    (void)s;
    const char *name = vopts_str(o, "name", "string");
    vopts_int(o, "debug", "int");
    int64_t duration = vopts_int(o, "duration", "time.Duration");
    if (o->st != ST_OK) {
        return o->st;
    }
    struct buf b;
    buf_init(&b);
    char text[TEXT_LEN];
    if (name[0] == '\0') {
        buf_puts(&b, "Profile name not specified");
    } else if (strcmp(name, "cpu") == 0 && (duration <= 0 || duration > 15 * CLOCK_S)) {
        buf_printf(&b, "Duration %s should be between 0s and 15s", text_duration(duration, text));
    } else if (strcmp(name, "cpu") == 0) {
        buf_puts(&b, "Failed to start CPU profile: not available in this server");
    } else {
        buf_printf(&b, "Profile \"%s\" not found", name);
    }
    struct jput p = {0};
    json_t *root = jput_new(&p);
    jput_val(&p, root, "profile", json_null());
    jput_str(&p, root, "error", b.data);
    p.failed |= buf_status(&b) != ST_OK;
    buf_fini(&b);
    return jput_end(&p, root, out);
}

enum status
procz_build_idz(struct server *s, struct vopts *o, json_t **out)
{
    (void)o;
    struct jput p = {0};
    json_t *root = jput_new(&p);
    jput_str(&p, root, "name", server_name(s));
    jput_str(&p, root, "host", server_host(s));
    jput_str(&p, root, "id", server_id(s));
    return jput_end(&p, root, out);
}

static void
read_task_file(const char *tid, const char *file, char *out, size_t cap)
{
    char path[128];
    snprintf(path, sizeof path, "/proc/self/task/%s/%s", tid, file);
    out[0] = '\0';
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return;
    }
    size_t n = fread(out, 1, cap - 1, f);
    out[n] = '\0';
    fclose(f);
}

static void
put_task(struct buf *b, const char *tid)
{
    char stat[1024];
    char wchan[128];
    read_task_file(tid, "stat", stat, sizeof stat);
    read_task_file(tid, "wchan", wchan, sizeof wchan);
    char *open = strchr(stat, '(');
    char *close = strrchr(stat, ')');
    if (open == NULL || close == NULL) {
        return; /* the thread has just ended */
    }
    *close = '\0';
    char state = '?';
    unsigned long user = 0;
    unsigned long sys = 0;
    sscanf(close + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu", &state, &user, &sys);
    buf_printf(b, "thread %s [%c] %s:\n\tuser %lu ticks, system %lu ticks\n", tid, state, open + 1,
               user, sys);
    if (wchan[0] != '\0' && strcmp(wchan, "0") != 0) {
        buf_printf(b, "\tin %s\n", wchan);
    }
    buf_putc(b, '\n');
}

static int
is_task(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

char *
procz_threads(void)
{
    struct buf b;
    buf_init(&b);
    struct dirent **tasks = NULL;
    int n = scandir("/proc/self/task", &tasks, is_task, versionsort);
    for (int i = 0; i < n; i++) {
        put_task(&b, tasks[i]->d_name);
        free(tasks[i]); /* the C library's allocation */
    }
    free(tasks);
    return buf_detach(&b, NULL);
}
