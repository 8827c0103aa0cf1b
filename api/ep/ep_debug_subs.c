/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/plane.h"
#include "api/zreq.h"
#include "server/base/mem.h"

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    /* "subject" or "subject queue", perhaps with blanks around it. */
    const char *s = r->data + strspn(r->data, " \t\r\n");
    size_t subject = strcspn(s, " \t\r\n");
    const char *q = s + subject + strspn(s + subject, " \t\r\n");
    size_t queue = strcspn(q, " \t\r\n");
    json_t *count = NULL;
    char *err = NULL;
    json_t *o = json_pack("{s:s, s:s%}", "acc", r->origin.account_name, "subject", s, subject);
    if (o != NULL && queue > 0 && json_object_set_new(o, "queue", json_stringn(q, queue)) != 0) {
        json_decref(o);
        o = NULL;
    }
    if (o == NULL) {
        /* A subject that is no UTF-8 has no subscribers. */
        return reply_json(out, json_integer(0));
    }
    enum status st = a->host->monitor(a->host->ctx, "NSUBS", o, &count, &err);
    json_decref(o);
    mem_free(err);
    if (st == ST_NOTFOUND) {
        count = json_integer(0);
    } else if (st != ST_OK) {
        return st;
    }
    return reply_json(out, count);
}

const struct api_endpoint ep_debug_subs = {
    .name = "debug_subs",
    .subjects = {"$SYS.DEBUG.SUBSCRIBERS"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .run = run,
    .doc = "How many subscriptions match the subject that is the payload.",
};
