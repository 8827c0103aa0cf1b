/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/routes.h"

#include <string.h>

#include "server/monitor/params.h"

/* The order is the one in which a wrong value is found. */
static const struct param connz[] = {
    {"auth", "auth", PARAM_BOOL},    {"subs", "subscriptions", PARAM_SUBS},
    {"offset", "offset", PARAM_INT}, {"limit", "limit", PARAM_INT},
    {"cid", "cid", PARAM_UINT},      {"state", "state", PARAM_STATE},
    {"sort", "sort", PARAM_STR},     {"user", "user", PARAM_STR},
    {"acc", "acc", PARAM_STR},       {"mqtt_client", "mqtt_client", PARAM_STR},
};
static const struct param subsz[] = {
    {"subs", "subscriptions", PARAM_BOOL}, {"offset", "offset", PARAM_INT},
    {"limit", "limit", PARAM_INT},         {"test", "test", PARAM_STR},
    {"acc", "account", PARAM_STR},
};
static const struct param routez[] = {{"subs", "subscriptions", PARAM_SUBS}};
static const struct param gatewayz[] = {
    {"subs", "subscriptions", PARAM_SUBS},
    {"accs", "accounts", PARAM_BOOL},
    {"gw_name", "name", PARAM_STR},
    {"acc_name", "account_name", PARAM_STR},
};
static const struct param leafz[] = {
    {"subs", "subscriptions", PARAM_BOOL},
    {"acc", "account", PARAM_STR},
};
static const struct param accountz[] = {{"acc", "account", PARAM_STR}};
static const struct param accstatz[] = {{"unused", "include_unused", PARAM_BOOL}};
static const struct param ipqueuesz[] = {
    {"all", "all", PARAM_BOOL},
    {"queues", "filter", PARAM_STR},
};
static const struct param jsz[] = {
    {"accounts", "accounts", PARAM_BOOL},  {"streams", "streams", PARAM_BOOL},
    {"consumers", "consumer", PARAM_BOOL}, {"direct-consumers", "direct_consumer", PARAM_BOOL},
    {"config", "config", PARAM_BOOL},      {"offset", "offset", PARAM_INT},
    {"limit", "limit", PARAM_INT},         {"leader-only", "leader_only", PARAM_BOOL},
    {"raft", "raft", PARAM_BOOL},          {"stream-leader-only", "stream_leader_only", PARAM_BOOL},
    {"acc", "account", PARAM_STR},
};
static const struct param healthz[] = {
    {"js-enabled", "js-enabled", PARAM_BOOL},
    {"js-enabled-only", "js-enabled-only", PARAM_BOOL},
    {"js-server-only", "js-server-only", PARAM_BOOL},
    {"js-meta-only", "js-meta-only", PARAM_BOOL},
    {"details", "details", PARAM_BOOL},
    {"account", "account", PARAM_STR},
    {"stream", "stream", PARAM_STR},
    {"consumer", "consumer", PARAM_STR},
};

#define PARAMS(p) (p), sizeof(p) / sizeof((p)[0])
#define NONE      NULL, 0

const struct route routes[] = {
    {"/", ROUTE_INDEX, 0, NULL, NONE, NULL, "/"},
    {"/accountz", ROUTE_VIEW, 2, "ACCOUNTZ", PARAMS(accountz), NULL, "/accountz"},
    {"/accstatz", ROUTE_VIEW, 2, "ACCSTATZ", PARAMS(accstatz), NULL, "/accstatz"},
    {"/apiz", ROUTE_APIZ, 2, NULL, NONE, NULL, "/apiz"},
    {"/connz", ROUTE_VIEW, 2, "CONNZ", PARAMS(connz), NULL, "/connz"},
    {"/debug/vars", ROUTE_VIEW, 1, "EXPVARZ", NONE, "application/json; charset=utf-8", NULL},
    {"/gatewayz", ROUTE_VIEW, 2, "GATEWAYZ", PARAMS(gatewayz), NULL, "/gatewayz"},
    {"/healthz", ROUTE_HEALTH, 0, "HEALTHZ", PARAMS(healthz), NULL, "/healthz"},
    {"/ipqueuesz", ROUTE_VIEW, 3, "IPQUEUESZ", PARAMS(ipqueuesz), NULL, NULL},
    {"/jsz", ROUTE_VIEW, 2, "JSZ", PARAMS(jsz), NULL, "/jsz"},
    {"/leafz", ROUTE_VIEW, 2, "LEAFZ", PARAMS(leafz), NULL, "/leafz"},
    {"/metrics", ROUTE_METRICS, 0, NULL, NONE, NULL, "/metrics"},
    {"/raftz", ROUTE_RAFT, 0, NULL, NONE, NULL, NULL},
    {"/routez", ROUTE_VIEW, 2, "ROUTEZ", PARAMS(routez), NULL, "/routez"},
    {"/stacksz", ROUTE_THREADS, 0, NULL, NONE, NULL, NULL},
    {"/subscriptionsz", ROUTE_VIEW, 2, "SUBSZ", PARAMS(subsz), NULL, "/subsz"},
    {"/subsz", ROUTE_VIEW, 2, "SUBSZ", PARAMS(subsz), NULL, "/subsz"},
    {"/varz", ROUTE_VIEW, 2, "VARZ", NONE, NULL, "/varz"},
    {"/wlmz", ROUTE_WLMZ, 2, NULL, NONE, NULL, "/wlmz"},
};
const size_t routes_count = sizeof routes / sizeof routes[0];

int
routes_find(const char *path)
{
    for (size_t i = 0; i < routes_count; i++) {
        if (strcmp(routes[i].path, path) == 0) {
            return (int)i;
        }
    }
    return -1;
}
