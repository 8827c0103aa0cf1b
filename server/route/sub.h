/* SPDX-License-Identifier: Apache-2.0 */
/* One subscription. Shared by reference counts: its connection, the account's subject trie and
 * the match caches of the loops each hold one. */
#ifndef SERVER_ROUTE_SUB_H
#define SERVER_ROUTE_SUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct account;
struct api_endpoint;
struct js_in;
struct conn;
struct gate;
struct peer;
struct subset;

#define SUB_LOOP_SERVICE UINT32_MAX /* of the server itself: no connection */

/* What JetStream does with the messages of a subject. Constant. */
struct sub_service {
    void (*fn)(void *arg, const struct js_in *in); /* on the I/O threads */
    void (*release)(void *arg); /* when the last reference of the subscription goes; or NULL */
    void *arg;                  /* as `release` says */
};

/* Immutable but for: conn, nmsgs, max, hnext (the owning loop); set, index (the trie's lock). */
struct sub {
    _Atomic uint32_t refs;
    uint32_t loop;     /* of the connection, or SUB_LOOP_SERVICE */
    struct conn *conn; /* borrowed: set to NULL by the owning loop before the connection goes */
    struct peer *peer; /* ref; NULL for a service */
    const struct api_endpoint *endpoint; /* borrowed: static; a service's, else NULL */
    struct gate *gate; /* ref: it stands in front of the subject and is no receiver; or NULL */
    struct sub_service *service; /* owned; NULL: it is none of JetStream's */
    uint64_t cid;
    int64_t nmsgs;
    int64_t max;          /* UNSUB's limit; 0: none */
    struct sub *hnext;    /* borrowed: chain of the connection's table */
    struct subset *set;   /* borrowed: where the trie keeps it; NULL: in none */
    uint32_t index;       /* in that set */
    uint16_t subject_len; /* bytes[] holds subject, queue and sid, each with a NUL */
    uint16_t queue_len;
    uint16_t sid_len;
    char bytes[];
};

/* A client's subscription with one reference. Takes a reference of the peer (NULL: a service).
 * ST_INVAL: a part is longer than 65,535 bytes. */
struct sub_spec {
    const char *subject;
    size_t subject_len;
    const char *queue;
    size_t queue_len;
    const char *sid;
    size_t sid_len;
};
enum status sub_new(struct sub **out, const struct sub_spec *spec, struct peer *peer) MUST_CHECK;

struct sub *sub_ref(struct sub *s);
void sub_unref(struct sub *s);

static inline const char *
sub_subject(const struct sub *s)
{
    return s->bytes;
}

static inline const char *
sub_queue(const struct sub *s)
{
    return s->bytes + s->subject_len + 1;
}

static inline const char *
sub_sid(const struct sub *s)
{
    return s->bytes + s->subject_len + 1 + s->queue_len + 1;
}

#endif
