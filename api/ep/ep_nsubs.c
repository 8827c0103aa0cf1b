/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>
#include <string.h>

#include "api/plane.h"
#include "api/zreq.h"
#include "server/base/mem.h"

/* The queue name, which comes in base64, in plain. ST_SYNTAX: it is malformed. */
static enum status
decode_queue(json_t *o)
{
    const json_t *q = json_object_get(o, "queue");
    unsigned char plain[512];
    size_t n;
    if (q == NULL || json_is_null(q)) {
        return ST_OK;
    }
    if (!json_is_string(q) ||
        sodium_base642bin(plain, sizeof(plain), json_string_value(q), json_string_length(q), NULL,
                          &n, NULL, sodium_base64_VARIANT_ORIGINAL) != 0) {
        return ST_SYNTAX;
    }
    return json_object_set_new(o, "queue", json_stringn((const char *)plain, n)) == 0 ? ST_OK
                                                                                      : ST_NOMEM;
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    json_t *count = NULL;
    char *err = NULL;
    json_t *o;
    enum status st = zreq_object(r, &o);
    if (st == ST_OK) {
        st = decode_queue(o);
    }
    if (st == ST_OK) {
        st = a->host->monitor(a->host->ctx, "NSUBS", o, &count, &err);
    }
    json_decref(o);
    mem_free(err);
    if (st != ST_OK) {
        /* NB: nats-server says nothing to what it cannot read or does not know. */
        out->none = st != ST_NOMEM;
        return st == ST_NOMEM ? st : ST_OK;
    }
    return reply_json(out, count);
}

const struct api_endpoint ep_nsubs = {
    .name = "nsubs",
    .subjects = {"$SYS.REQ.ACCOUNT.NSUBS"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .run = run,
    .doc = "How many subscriptions of an account match a subject.",
};
