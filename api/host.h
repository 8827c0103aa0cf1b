/* SPDX-License-Identifier: Apache-2.0 */
/* What the API plane needs from the server around it: one struct of functions, so that api/ knows
 * no sockets and its tests bring a host of their own. Every function may be called from any
 * thread, takes no lock of api/, and never calls back into api/. */
#ifndef API_HOST_H
#define API_HOST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/message.h"
#include "server/base/status.h"

struct gate;
struct gate_request;
struct gate_watch;
struct js;

struct api_host {
    void *ctx; /* borrowed: outlives the plane */

    /* Publishes into an account, as the server, by way of the loop (of an origin; or any number:
     * taken modulo the loops). Copies everything. hdr may be NULL, reply may be NULL. Messages of
     * one caller through one loop keep their order. Memory running out drops it, counted. */
    void (*publish)(void *ctx, struct account *acc, uint32_t loop, const char *subject,
                    const char *reply, const struct api_bytes *body);

    /* True if somebody in the account would get a message on that subject now. */
    bool (*has_interest)(void *ctx, struct account *acc, const char *subject);

    /* The system account, or NULL where the configuration has none. */
    struct account *(*system_account)(void *ctx);

    /* The public nkey that names this server ("N…"), and its name; constant. */
    const char *(*server_id)(void *ctx);
    const char *(*server_name)(void *ctx);

    /* The "server" object of $SYS replies and events. New reference, or NULL without memory. */
    json_t *(*server_info)(void *ctx);

    /* One of the monitor's views, as $SYS.REQ.SERVER.<id>.<what> gives it in "data": VARZ CONNZ
     * SUBSZ ROUTEZ GATEWAYZ LEAFZ ACCOUNTZ JSZ HEALTHZ STATSZ (the object "statsz") PROFILEZ
     * EXPVARZ IPQUEUESZ RAFTZ; and of one account, named by a key of the options:
     *   ACCSTATZ  {"accounts":[…], "include_unused"}   ACCINFO  {"account"}
     *   ACCJSZ    {"account", …}                       CONNS    {"acc"}: "acc" … "slow_consumers"
     *   NSUBS     {"acc", "subject", "queue"}: an integer, subscriptions of clients that match
     * options: the request's JSON object or NULL; the names are those of nats-server's options.
     * ST_OK: *out is a new reference. ST_NOTFOUND: no such view, or no such account (CONNS,
     * NSUBS). ST_INVAL: *err (mem_free) says what is wrong, as nats-server words it. May wait some
     * ms for the loops. */
    enum status (*monitor)(void *ctx, const char *what, const json_t *options, json_t **out,
                           char **err);

    /* The body of $SYS.REQ.USER.INFO for the connection of the origin. ST_NOTFOUND: it is gone. */
    enum status (*user_info)(void *ctx, const struct api_origin *origin, json_t **out);

    /* Operator commands of $SYS.REQ.SERVER.<id>.RELOAD, .KICK, .LDM: ST_OK or what failed. */
    enum status (*reload)(void *ctx, char **err);
    enum status (*kick)(void *ctx, uint64_t cid);
    enum status (*lame_duck)(void *ctx, uint64_t cid);

    /* An account by name and its number; NULL: there is none. */
    struct account *(*account)(void *ctx, const char *name, uint64_t *key);

    /* Puts a gate in front of a subject of w's account: from now on its messages with a reply
     * subject go to gate_receive, and the account's publishes are compared with w. *handle is for
     * gate_close, after which none go there any more but those that are on their way. ST_NOMEM. */
    enum status (*gate_open)(void *ctx, struct gate_watch *w, struct gate *g, const char *subject,
                             void **handle);
    void (*gate_close)(void *ctx, struct gate_watch *w, void *handle);
    /* Delivers what a gate lets through, on the loop gate_loop(r): gate_begin … gate_sent. */
    void (*gate_deliver)(void *ctx, struct gate_request *r);
    /* The JetStream engine, or NULL: it is off. */
    struct js *(*jetstream)(void *ctx);
    /* The "client" object of events: the connection of the origin. New reference, or NULL. May wait
     * some ms for the loops. */
    json_t *(*client_info)(void *ctx, const struct api_origin *origin);
};

#endif
