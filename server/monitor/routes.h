/* SPDX-License-Identifier: Apache-2.0 */
/* The table of HTTP paths, in their order, which is that of http_req_stats. Static. */
#ifndef SERVER_MONITOR_ROUTES_H
#define SERVER_MONITOR_ROUTES_H

#include <stddef.h>

struct param;

enum routes_kind {
    ROUTE_VIEW,
    ROUTE_HEALTH, /* a view that brings its own status code */
    ROUTE_INDEX,
    ROUTE_THREADS,
    ROUTE_APIZ,
    ROUTE_WLMZ,
    ROUTE_METRICS,
    ROUTE_RAFT
};

struct route {
    const char *path;
    enum routes_kind kind;
    int indent;                 /* of the JSON; 0: compact */
    const char *view;           /* a name for monitor_view, or NULL */
    const struct param *params; /* of the query */
    size_t n_params;
    const char *type; /* of the JSON content; NULL: application/json */
    const char *stat; /* the name it is counted under in http_req_stats; NULL: it is not */
};

extern const struct route routes[];
extern const size_t routes_count;

/* The index of the route for path, or -1. */
int routes_find(const char *path);

#endif
