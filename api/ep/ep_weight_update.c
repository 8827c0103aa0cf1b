/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/jobj.h"
#include "api/plane.h"
#include "api/weights.h"
#include "api/wlm.h"
#include "api/wlm_group.h"
#include "server/base/log.h"
#include "server/base/mem.h"

/* Reads {"account": weight, …}. ST_INVAL: out says what is wrong. */
static enum status
read_all(struct api *a, const struct api_request *r, const json_t *o, struct api_weight *list,
         struct reply *out)
{
    const char *account;
    json_t *v;
    size_t n = 0;
    json_object_foreach((json_t *)(uintptr_t)o, account, v)
    {
        uint64_t key;
        enum status st;
        json_int_t weight = json_integer_value(v);
        if (a->host->account(a->host->ctx, account, &key) == NULL) {
            st = wlm_error(r, out, 400, "account_weights: there is no account \"%.64s\"", account);
        } else if (!json_is_integer(v) || weight < 1 || weight > WEIGHT_MAX) {
            st = wlm_error(
                r, out, 400,
                "account_weights: the weight of \"%.64s\" must be a whole number from 1 to %d",
                account, WEIGHT_MAX);
        } else {
            list[n++] = (struct api_weight){account, weight};
            continue;
        }
        return st == ST_OK ? ST_INVAL : st;
    }
    return ST_OK;
}

static enum status
change(struct api *a, const struct api_request *r, const json_t *weights, struct reply *out)
{
    size_t n = json_object_size(weights);
    struct api_weight *list = mem_alloc_array(n, sizeof(*list));
    if (list == NULL) {
        return ST_NOMEM;
    }
    enum status st = read_all(a, r, weights, list, out);
    if (st == ST_OK) {
        st = weights_update(a->weights, list, n);
    }
    mem_free(list);
    if (st == ST_INVAL) {
        return ST_OK;
    }
    if (st == ST_FULL) {
        return wlm_error(r, out, 400, "account_weights: more than %u accounts", WEIGHTS_MAX);
    }
    if (st != ST_OK) {
        return st;
    }
    log_info("Weights of accounts changed by connection %llu of account \"%s\"",
             (unsigned long long)r->origin.cid, r->origin.account_name);
    json_t *o = wlm_answer(r);
    jobj_put(&o, "account_weights", weights_json(a->weights));
    return reply_json(out, o);
}

static enum status
answer(struct api *a, struct api_request *r, const json_t *o, struct reply *out)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)o, key, v)
    {
        if (strcmp(key, "account_weights") != 0) {
            return wlm_error(r, out, 400, "unknown key: %.64s", key);
        }
    }
    const json_t *weights = json_object_get(o, "account_weights");
    if (!json_is_object(weights)) {
        return wlm_error(r, out, 400,
                         "account_weights: an object of accounts and weights is expected");
    }
    return change(a, r, weights, out);
}

static enum status
run(struct api *a, struct api_request *r, struct reply *out)
{
    return wlm_run(a, r, out, answer);
}

const struct api_endpoint ep_weight_update = {
    .name = "weight_update",
    .subjects = {"$WLM.API.WEIGHT.UPDATE"},
    .level = APIQ_OPERATOR,
    .flags = API_EP_SYSTEM | API_EP_NO_REPLY,
    .type = "io.sluice.wlm.v1.weight_update_response",
    .run = run,
    .doc = "Changes how many turns accounts get in the queue where others get one: "
           "`account_weights`, by name.",
};
