/* SPDX-License-Identifier: Apache-2.0 */
/* What the JetStream engine needs from the server around it: a struct of functions, so that
 * stream/ knows no sockets and its tests bring a host of their own. Any thread may call them; no
 * lock of the engine is held over a call but where it says so, and none calls back into the
 * engine. */
#ifndef STREAM_JS_HOST_H
#define STREAM_JS_HOST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/list.h"
#include "server/base/status.h"

struct account; /* of the server; the engine only hands it back. Outlives the engine. */
struct js_out;
struct js_service;

/* A message for a subject that the engine serves as data (ingest, acks, MSG.NEXT, DIRECT.GET), on
 * the I/O thread that read it. All is borrowed for the call. */
struct js_in {
    struct account *account;
    uint32_t loop; /* where answers to its sender best go out */
    bool in_turn;  /* js_turn_end follows on this thread, at the end of what it reads now */
    uint64_t cid;  /* 0: published by the server itself */
    const char *subject;
    size_t subject_len;
    const char *reply; /* "" where there is none; ends with NUL, as the subject */
    const char *hdr;   /* NULL: none */
    size_t hdr_len;
    const char *data;
    size_t data_len;
};

/* arg is the one given to subscribe. Returns soon: no wait for the disk. */
typedef void js_receive_fn(void *arg, const struct js_in *in);

struct js_host {
    void *ctx; /* borrowed: outlives the engine */

    /* Takes o, and frees it with js_out_free when it is delivered or dropped. Messages that one
     * thread sends through one loop keep their order; so do those of several threads where one
     * send happened after the other's return. */
    void (*send)(void *ctx, struct js_out *o);
    /* The same for a list (of js_out.node), in its order, cheaper; the list is empty after it. */
    void (*send_list)(void *ctx, struct list_node *list);

    /* True if somebody in the account would get a message on that subject now. This and the next
     * are also asked under a stream's lock: what they lock is a leaf. */
    bool (*has_interest)(void *ctx, struct account *acc, const char *subject);
    /* True if somebody subscribed to just that subject (wildcards do not count) in that queue
     * group; "" or NULL: in none. */
    bool (*has_queue_interest)(void *ctx, struct account *acc, const char *subject,
                               const char *queue);

    /* Serves a subject (with wildcards or not) of the account: fn is called on the I/O threads.
     * release(arg) is called once when no thread can be in fn any more, after unsubscribe. */
    enum status (*subscribe)(void *ctx, struct account *acc, const char *subject, js_receive_fn *fn,
                             void (*release)(void *arg), void *arg, struct js_service **out);
    void (*unsubscribe)(void *ctx, struct account *acc, struct js_service *s);

    const char *(*server_id)(void *ctx);
    const char *(*server_name)(void *ctx);
    /* For advisories: the "client" object of the connection that asks, or NULL. New reference. */
    json_t *(*client_info)(void *ctx, uint64_t cid);
    /* The system account, or NULL. */
    struct account *(*system_account)(void *ctx);
    int64_t max_payload;
};

#endif
