/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/metrics.h"

#include <inttypes.h>

#include "api/api.h"
#include "server/base/buf.h"
#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/inspect.h"
#include "server/monitor/usage.h"
#include "server/server.h"

struct row {
    const char *name, *type, *help;
    double value;
};

static void
put_rows(struct buf *b, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", rows[i].name, rows[i].help,
                   rows[i].name, rows[i].type, rows[i].name, rows[i].value);
    }
}

static void
put_traffic(struct buf *b, const struct server_totals *t)
{
    const struct row rows[] = {
        {"sluice_connections", "gauge", "Open client connections.", (double)t->connections},
        {"sluice_connections_total", "counter", "Client connections accepted since the start.",
         (double)t->total_connections},
        {"sluice_subscriptions", "gauge", "Subscriptions of clients.", (double)t->subscriptions},
        {"sluice_in_messages_total", "counter", "Messages received.", (double)t->in_msgs},
        {"sluice_in_bytes_total", "counter", "Bytes of messages received.", (double)t->in_bytes},
        {"sluice_out_messages_total", "counter", "Messages sent.", (double)t->out_msgs},
        {"sluice_out_bytes_total", "counter", "Bytes of messages sent.", (double)t->out_bytes},
        {"sluice_slow_consumers_total", "counter", "Connections closed as slow consumers.",
         (double)t->slow_consumers},
        {"sluice_stale_connections_total", "counter", "Connections closed as stale.",
         (double)t->stale_connections},
        {"sluice_stalled_clients_total", "counter",
         "Times that a publisher was held back by its receivers.", (double)t->stalled_clients},
        {"sluice_auth_errors_total", "counter", "Failed authentications.", (double)t->auth_errors},
        {"sluice_replies_dropped_total", "counter",
         "Answers whose connection was gone or that found no memory.", (double)t->replies_dropped},
    };
    put_rows(b, rows, sizeof rows / sizeof rows[0]);
}

static void
put_process(struct buf *b, struct server *s)
{
    const struct row rows[] = {
        {"process_start_time_seconds", "gauge", "Start of the process, seconds since 1970.",
         (double)server_start_wall(s) / (double)CLOCK_S},
        {"process_cpu_seconds_total", "counter", "CPU time used.",
         (double)usage_cpu_ns() / (double)CLOCK_S},
        {"process_resident_memory_bytes", "gauge", "Resident memory.", (double)usage_rss()},
        {"sluice_healthy", "gauge", "1 while clients can connect.",
         server_port(s) > 0 && !server_is_lame_duck(s) ? 1 : 0},
    };
    put_rows(b, rows, sizeof rows / sizeof rows[0]);
}

/* A label value: backslash, quote and line feed are escaped. */
static void
put_label(struct buf *b, const char *val)
{
    for (; *val != '\0'; val++) {
        if (*val == '\n') {
            buf_puts(b, "\\n");
            continue;
        }
        if (*val == '"' || *val == '\\') {
            buf_putc(b, '\\');
        }
        buf_putc(b, *val);
    }
}

static void
put_info(struct buf *b, struct server *s)
{
    buf_puts(b, "# HELP sluice_info The server's identity.\n# TYPE sluice_info gauge\n");
    buf_puts(b, "sluice_info{server_id=\"");
    put_label(b, server_id(s));
    buf_puts(b, "\",server_name=\"");
    put_label(b, server_name(s));
    buf_printf(b, "\",version=\"%s\",nats_version=\"%s\"} 1\n", SLUICE_VERSION, SERVER_VERSION);
}

char *
metrics_text(struct server *s)
{
    struct server_totals t = {0};
    inspect_totals(s, &t);
    struct buf b;
    buf_init(&b);
    put_info(&b, s);
    put_process(&b, s);
    put_traffic(&b, &t);
    struct api *api = server_api(s);
    if (api != NULL) {
        char *more = api_metrics(api);
        if (more == NULL) {
            buf_fini(&b);
            return NULL;
        }
        buf_puts(&b, more);
        mem_free(more);
    }
    return buf_detach(&b, NULL);
}
