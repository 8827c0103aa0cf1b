/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets a message: connections of this loop directly, connections of other loops through their
 * mailboxes (batched, see deliver_flush), the API plane for its subjects. On an I/O loop. */
#ifndef SERVER_ROUTE_DELIVER_H
#define SERVER_ROUTE_DELIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct account;
struct block;
struct conn;
struct gate_request;
struct loop;

/* One message on its way. All borrowed for the call. */
struct inbound {
    struct loop *loop;
    struct account *account;
    struct conn *from;   /* NULL: the server itself, or a connection of another loop */
    uint64_t from_cid;   /* 0: the server itself */
    const char *subject; /* as receivers see it */
    size_t subject_len;
    const char *route; /* the subject that receivers are found by; NULL: the same */
    size_t route_len;
    const char *reply; /* NULL where there is none */
    size_t reply_len;
    const char *data; /* header block and payload in one */
    size_t size;
    size_t hdr_len;
    struct block *backing;      /* the block that data lies in, or NULL */
    bool own_backing;           /* delivery made it (and lets it go) */
    bool single;                /* there is one receiver: sharing gains nothing */
    bool may_gate;              /* a client's: goes into the gate of its subject, if there is one */
    struct gate_request *gated; /* it comes out of a gate: borrowed, held by the caller; or NULL */
    uint64_t tried;             /* of a queue group: bits of the loops whose members all declined */
};

/* Returns the number of receivers; a queue group counts as one, and so does a gate. */
size_t deliver(struct inbound *in);

/* Posts what this turn gathered for other loops. At the end of a turn. */
void deliver_flush(struct loop *l);

/* Publishes from any thread, as the server, by way of the loop. Copies. Without memory the message
 * is dropped and counted. */
struct deliver_post {
    struct account *account;
    const char *subject;
    const char *reply; /* NULL or "": none */
    const char *hdr;   /* NULL: none */
    size_t hdr_len;
    const char *data;
    size_t data_len;
};
void deliver_post(struct loop *l, const struct deliver_post *p);

#endif
