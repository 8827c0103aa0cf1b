/* SPDX-License-Identifier: Apache-2.0 */
/* As the other views, but its answer has "statsz" in place of "data"; without a reply subject the
 * answer goes where the server publishes its statistics on its own. */
#include <stdio.h>
#include <string.h>

#include "api/plane.h"
#include "api/zreq.h"
#include "server/base/mem.h"

static void
broadcast(struct api *a, struct reply *out)
{
    char subject[128];
    struct account *acc = a->host->system_account(a->host->ctx);
    (void)snprintf(subject, sizeof(subject), "$SYS.SERVER.%s.STATSZ",
                   a->host->server_id(a->host->ctx));
    if (acc != NULL && out->body.len > 0) {
        struct api_bytes body = {NULL, 0, out->body.data, out->body.len};
        a->host->publish(a->host->ctx, acc, 0, subject, NULL, &body);
    }
    out->none = true;
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct zreq z;
    enum status st = zreq_begin(&z, a, r, out);
    if (st == ST_OK) {
        json_t *data = NULL;
        char *err = NULL;
        st = a->host->monitor(a->host->ctx, "STATSZ", z.options, &data, &err);
        mem_free(err);
        if (st == ST_OK) {
            st = zreq_answer(&z, out, "statsz", data, NULL);
            out->hdr = NULL;
        }
        zreq_fini(&z);
    }
    if (*r->reply == '\0') {
        broadcast(a, out);
    }
    return zreq_skipped(st);
}

const struct api_endpoint ep_statsz = {
    .name = "statsz",
    .subjects = {"$SYS.REQ.SERVER.PING", "$SYS.REQ.SERVER.PING.STATSZ",
                 "$SYS.REQ.SERVER.{id}.STATSZ"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM | API_EP_NO_REPLY,
    .go = "StatszEventOptions",
    .run = run,
    .doc = "The statistics of the server.",
};
