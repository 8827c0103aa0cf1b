/* SPDX-License-Identifier: Apache-2.0 */
/* What the $WLM.API endpoints have in common: strict JSON requests and typed answers. On a
 * worker. */
#ifndef API_WLM_H
#define API_WLM_H

#include <jansson.h>
#include <stdint.h>

#include "api/reply.h"
#include "api/request.h"
#include "api/wlm_page.h"
#include "queue/apiq_view.h"

/* Fills out with an error of code 400 about the request (fmt), or of another code. */
enum status wlm_error(const struct api_request *r, struct reply *out, int code, const char *fmt,
                      ...) MUST_CHECK __attribute__((format(printf, 4, 5)));

/* The error of a member of the request: what it may be, or NULL where there is none of that name.
 */
enum status wlm_bad_member(const struct api_request *r, struct reply *out, const char *key,
                           const char *allowed) MUST_CHECK;

/* False: it is no whole number from min to max. */
bool wlm_take_int(const json_t *j, int64_t min, int64_t max, int64_t *out);

/* Runs fn with the request's JSON object; what is no object is answered. */
typedef enum status wlm_with_json(struct api *a, struct api_request *r, const json_t *o,
                                  struct reply *out);
enum status wlm_run(struct api *a, struct api_request *r, struct reply *out,
                    wlm_with_json *fn) MUST_CHECK;

/* Runs fn where the request has no member; one that has is answered. */
typedef enum status wlm_bare(struct api *a, struct api_request *r, struct reply *out);
enum status wlm_run_bare(struct api *a, struct api_request *r, struct reply *out,
                         wlm_bare *fn) MUST_CHECK;

/* What a request says about which waiting requests are meant, and how many of them. */
struct wlm_select {
    struct apiq_match match;
    const char *account; /* borrowed: of the parsed object; NULL: not given */
    const char *group;   /* borrowed, as account: only what that workload group has parked */
    const char *gate;    /* borrowed, as account: only what waits for that gate */
    bool all;
    bool nothing; /* there is no such account: nothing matches */
    struct wlm_page page;
};

enum wlm_keys { WLM_KEYS_LIST, WLM_KEYS_CANCEL };

/* Runs fn with what the request's members id, account, cid, level, group, gate, and for a list
 * offset and limit, for a cancel all, say; an unknown key or a bad value is answered by name. */
typedef enum status wlm_chosen(struct api *a, const struct api_request *r,
                               const struct wlm_select *sel, struct reply *out);
enum status wlm_run_select(struct api *a, struct api_request *r, struct reply *out,
                           enum wlm_keys keys, wlm_chosen *fn) MUST_CHECK;

/* A new object with "type" in it. NULL without memory. */
json_t *wlm_answer(const struct api_request *r);

#endif
