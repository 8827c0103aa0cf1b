/* SPDX-License-Identifier: Apache-2.0 */
/* The API plane as the server sees it: messages for API subjects go in by api_receive, answers
 * come out by host->publish. Requests wait in the priority queue (queue/apiq.h) and run on its
 * workers, never on the thread that called. */
#ifndef API_API_H
#define API_API_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host.h"
#include "server/base/clock.h"
#include "server/base/status.h"

struct api;
struct gates; /* api/gates.h: gates in front of user services */
struct group_conf;
struct api_endpoint; /* api/endpoint.h: one const struct per endpoint, one file each */

enum api_discipline { API_FIFO, API_LIFO, API_ADAPTIVE };

/* As the configuration's block api { … }; times in ns. */
struct api_opts {
    int64_t workers; /* > 0 */
    int64_t request_queue_limit, info_queue_limit, operator_queue_limit;
    int64_t request_queue_max_bytes, info_queue_max_bytes;
    enum api_discipline discipline;
    double adaptive_age;
    int64_t adaptive_wait;
    int64_t aged_share;
    int64_t request_deadline; /* 0: none */
    int64_t max_pending_commits;
    bool limits; /* false: no limits and no deadlines, for measurements */
};

/* Starts the workers. host and clock are borrowed until api_free. */
enum status api_new(struct api **out, const struct api_host *host, const struct api_opts *opts,
                    const struct clock *clock) MUST_CHECK;

/* Takes no more requests and ends all that wait and run, each in one way; joins the workers.
 * Answers go out through the host, which must still be there. */
void api_close(struct api *a);
void api_free(struct api *a);

/* Reload: applies limits, disciplines, deadlines, workers at once, with requests waiting. Settings
 * that $WLM.API.QUEUE.UPDATE changed are overwritten. */
enum status api_update(struct api *a, const struct api_opts *opts) MUST_CHECK;

/* Who gets how much. All is copied. */
struct api_weight {
    const char *account;
    int64_t weight; /* turns in the queue where others get one; > 0 */
};
struct api_tenants {
    const struct group_conf *groups; /* workload groups of the configuration, in their order */
    size_t n_groups;
    int64_t cancel_after; /* ns; for groups without one of their own; 0: none */
    const struct api_weight *weights;
    size_t n_weights;
    const char *store_dir; /* of groups made over the API, read once; NULL: they are not kept */
};
/* At the start and at each reload, with requests waiting: takes effect at once. ST_NOMEM, ST_FULL:
 * more than GROUPS_MAX groups; the old ones stay. */
enum status api_set_tenants(struct api *a, const struct api_tenants *t) MUST_CHECK;

/* The subjects that the plane serves: the server puts one service subscription into its subject
 * tries for each: in the system account where system_only, in all others where users_only, else in
 * every account. A message that matches several of them is received once for each. */
struct api_subscription {
    const char *subject; /* borrowed until api_free; may hold wildcards */
    const struct api_endpoint *endpoint;
    bool jetstream; /* only where JetStream is on */
    bool system_only;
    bool users_only;
};
size_t api_subscriptions(const struct api *a, const struct api_subscription **out);

/* A message for an endpoint: copied, admitted or refused; what fell out of the queue for it is
 * answered. I/O threads. Returns soon whatever the load. */
void api_receive(struct api *a, const struct api_endpoint *ep, const struct api_message *m);

/* A connection closed: its waiting requests end as cancelled. I/O thread that owned it. Cheap for
 * a connection that never sent a request. */
void api_conn_closed(struct api *a, uint64_t cid);

/* Never NULL. */
struct gates *api_gates(struct api *a);

/* The incident view /apiz (also $WLM.API.QUEUE.INFO and others build on it). Any thread, bounded
 * time, not through the queue that it describes. New reference, or NULL without memory. */
json_t *api_apiz(struct api *a);

/* The plane's metrics in the Prometheus text format (mem_free by the caller). NULL without
 * memory. Any thread. */
char *api_metrics(struct api *a);

/* The workload groups: settings, counters, busiest buckets (/wlmz). As api_apiz. */
json_t *api_wlmz(struct api *a);

/* The rows of /ipqueuesz (name → {pending, in_progress}). New reference, or NULL. */
json_t *api_ipqueues(struct api *a);

#endif
