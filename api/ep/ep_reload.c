/* SPDX-License-Identifier: Apache-2.0 */
#include "api/plane.h"
#include "api/zreq.h"
#include "server/base/mem.h"

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    struct zreq z;
    enum status st = zreq_begin(&z, a, r, out);
    if (st != ST_OK) {
        return zreq_skipped(st);
    }
    char *err = NULL;
    st = a->host->reload(a->host->ctx, &err);
    const char *text = st == ST_OK ? NULL : err == NULL ? status_text(st) : err;
    st = zreq_answer(&z, out, "data", NULL, text);
    mem_free(err);
    zreq_fini(&z);
    return st;
}

const struct api_endpoint ep_reload = {
    .name = "reload",
    .subjects = {"$SYS.REQ.SERVER.{id}.RELOAD"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM,
    .run = run,
    .doc = "Reads the configuration file anew.",
};
