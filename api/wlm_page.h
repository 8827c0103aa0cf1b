/* SPDX-License-Identifier: Apache-2.0 */
/* Lists over $WLM.API by pages: the members offset and limit of a request, and total, offset and
 * limit of the answer. On a worker. */
#ifndef API_WLM_PAGE_H
#define API_WLM_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/reply.h"
#include "api/request.h"

struct wlm_page {
    size_t offset, limit;
};

#define WLM_LIMIT_DEFAULT 100
#define WLM_LIMIT_MAX     1000

/* What a request means that says nothing of it. */
void wlm_page_init(struct wlm_page *p);
/* ST_NOTFOUND: the member is neither of the two. ST_INVAL: a bad value. */
enum status wlm_page_take(struct wlm_page *p, const char *key, const json_t *value) MUST_CHECK;
/* What the member of that name may be, for who gave something else; NULL: it is neither. */
const char *wlm_page_allowed(const char *key);
void wlm_page_put(json_t **answer, const struct wlm_page *p, size_t total);

/* What there is to list. */
struct wlm_listing {
    const char *key; /* of the array in the answer */
    /* False: there is no i-th. Else *out is what is shown of it, a new reference, or NULL without
     * memory. out NULL: it is only counted. */
    bool (*one)(struct api *a, const struct wlm_listing *l, size_t i, json_t **out);
    const void *arg; /* borrowed for the call: for one */
};
/* Answers with a page of it; a request (o) with other members, or bad ones, is told so. */
enum status wlm_page_answer(struct api *a, const struct api_request *r, const json_t *o,
                            const struct wlm_listing *l, struct reply *out) MUST_CHECK;

#endif
