/* SPDX-License-Identifier: Apache-2.0 */
#include "api/endpoint.h"

#include <string.h>

#include "server/base/hash.h"

static const char *
token(const char *subject, unsigned n, size_t *len)
{
    while (--n > 0) {
        subject = strchr(subject, '.');
        if (subject == NULL) {
            return NULL;
        }
        subject++;
    }
    *len = strcspn(subject, ".");
    return subject;
}

uint64_t
endpoint_order_key(const struct api_endpoint *ep, uint64_t account_key, uint64_t cid,
                   const char *subject)
{
    if (ep->order_token == 0 || cid == 0) {
        return 0;
    }
    size_t len;
    const char *stream = token(subject, ep->order_token, &len);
    if (stream == NULL) {
        return 0;
    }
    /* Two streams whose hashes agree run one after the other for nothing, which harms nobody. */
    uint64_t parts[3] = {account_key, cid, hash_bytes(stream, len)};
    uint64_t key = hash_bytes(parts, sizeof(parts));
    return key == 0 ? 1 : key;
}
