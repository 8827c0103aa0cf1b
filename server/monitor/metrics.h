/* SPDX-License-Identifier: Apache-2.0 */
/* /metrics: the server's counters in the Prometheus text format, then the API plane's. */
#ifndef SERVER_MONITOR_METRICS_H
#define SERVER_MONITOR_METRICS_H

struct server;

/* NULL without memory; mem_free by the caller. Any thread. */
char *metrics_text(struct server *s);

#endif
