/* SPDX-License-Identifier: Apache-2.0 */
/* A message on its way into the API plane: what the server says of it and of who sent it. */
#ifndef API_MESSAGE_H
#define API_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/clock.h"

struct account; /* of the server; api/ only hands it back. Lives until after api_free. */

/* Where a request came from. A connection is named by loop and id, never by a pointer. */
struct api_origin {
    struct account *account;  /* borrowed: accounts live until the server ends */
    const char *account_name; /* borrowed, as account */
    uint64_t account_key;     /* the account's number, never 0: the flow of its requests */
    uint32_t loop;
    uint64_t cid;       /* the connection's id; 0: no connection (the server itself) */
    bool is_client;     /* false: a route, gateway or leaf node; never cancelled for absence */
    bool is_operator;   /* the account is the system account */
    bool no_responders; /* the client asked for status 503 where nobody answers */
    const char *user;   /* borrowed for the call; "" where there is none */
    const char *client; /* borrowed for the call; the name that the client gave, or "" */
    const char *host;   /* borrowed for the call; the client's address */
};

/* One message for an API subject, on the I/O thread that read it. All is borrowed for the call. */
struct api_message {
    struct api_origin origin;
    const char *subject;
    const char *reply; /* "" where there is none */
    const char *hdr;   /* the header block as on the wire ("NATS/1.0\r\n…\r\n\r\n"), or NULL */
    size_t hdr_len;
    const char *data;
    size_t data_len;
    int64_t now; /* monotonic ns: when it arrived; earlier than the call if it lay unread */
};

/* For apiq_item.late_ns: how long it lay unread. Less than 1 ms is how a busy server reads: 0. */
static inline int64_t
api_message_unread(const struct api_message *m, const struct clock *clock)
{
    int64_t unread = clock_now(clock) - m->now;
    return unread > CLOCK_MS ? unread : 0;
}

struct api_bytes {
    const char *hdr; /* borrowed for the call; NULL: no header block */
    size_t hdr_len;
    const char *data; /* borrowed for the call */
    size_t data_len;
};

#endif
