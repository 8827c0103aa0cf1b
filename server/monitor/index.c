/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/index.h"

#include <stddef.h>

#include "server/base/buf.h"
#include "server/server.h"

static const struct {
    const char *path, *title;
} links[] = {
    {"/varz", "General"},
    {"/jsz", "JetStream"},
    {"/connz", "Connections"},
    {"/accountz", "Accounts"},
    {"/accstatz", "Account Stats"},
    {"/subsz", "Subscriptions"},
    {"/routez", "Routes"},
    {"/leafz", "LeafNodes"},
    {"/gatewayz", "Gateways"},
    {"/raftz", "Raft Groups"},
    {"/healthz", "Health Probe"},
    {"/debug/vars", "Expvar"},
    {"/ipqueuesz", "Internal Queues"},
    {"/stacksz", "Threads"},
    {"/apiz", "API plane: what happens now, what was lost, who asks"},
    {"/wlmz", "Workload groups: limits, who runs, who waits"},
    {"/metrics", "Prometheus metrics"},
};

static void
put_escaped(struct buf *b, const char *s)
{
    for (; *s != '\0'; s++) {
        switch (*s) {
        case '<':
            buf_puts(b, "&lt;");
            break;
        case '>':
            buf_puts(b, "&gt;");
            break;
        case '&':
            buf_puts(b, "&amp;");
            break;
        case '"':
            buf_puts(b, "&quot;");
            break;
        default:
            buf_putc(b, *s);
        }
    }
}

char *
index_html(struct server *s, const char *base)
{
    struct buf b;
    buf_init(&b);
    buf_puts(&b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
    put_escaped(&b, server_name(s));
    buf_puts(&b,
             "</title>\n<style>body{font-family:sans-serif;margin:2em}"
             "li{margin:.4em 0}code{color:#666}</style>\n</head>\n<body>\n<h1>Sluice</h1>\n<p>");
    put_escaped(&b, server_name(s));
    buf_printf(&b, ", version %s (NATS %s)</p>\n<ul>\n", SLUICE_VERSION, SERVER_VERSION);
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        buf_puts(&b, "<li><a href=\"");
        put_escaped(&b, base);
        buf_printf(&b, "%s\">%s</a> <code>%s</code></li>\n", links[i].path, links[i].title,
                   links[i].path);
    }
    buf_puts(&b, "</ul>\n</body>\n</html>\n");
    return buf_detach(&b, NULL);
}
