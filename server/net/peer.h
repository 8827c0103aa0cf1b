/* SPDX-License-Identifier: Apache-2.0 */
/* What other loops may know of a connection: where it lives and how much waits for it. Reference
 * counted, outlives the connection; a message for one that is gone is dropped there. */
#ifndef SERVER_NET_PEER_H
#define SERVER_NET_PEER_H

#include <stdint.h>

#include "server/base/status.h"

/* loop and cid never change; the rest is atomic. */
struct peer {
    _Atomic uint32_t refs;
    uint32_t loop;
    uint64_t cid;
    _Atomic int64_t pending; /* bytes in its out-buffer, as of the last flush */
};

enum status peer_new(struct peer **out, uint32_t loop, uint64_t cid) MUST_CHECK;
struct peer *peer_ref(struct peer *p);
/* NULL is allowed. */
void peer_unref(struct peer *p);

#endif
