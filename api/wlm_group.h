/* SPDX-License-Identifier: Apache-2.0 */
/* What the $WLM.API.GROUP endpoints have in common. On a worker. */
#ifndef API_WLM_GROUP_H
#define API_WLM_GROUP_H

#include "api/catalog.h"
#include "api/group.h"
#include "api/reply.h"
#include "api/request.h"

/* The last token of the subject: the name of a group. */
const char *wlm_group_name(const struct api_request *r);

/* Answers a change with the group as it is now ("stored", "note", and the group), or with what went
 * wrong. done: "made", "changed" or "deleted", for the log. */
enum status wlm_group_changed(struct api *a, const struct api_request *r, const char *done,
                              enum status st, const struct catalog_result *result,
                              struct reply *out) MUST_CHECK;

/* "group not found", code 404. */
enum status wlm_group_missing(const struct api_request *r, const char *name,
                              struct reply *out) MUST_CHECK;

/* Answers with a page (api/wlm_page.h) of the groups, in the order of matching; show gives what is
 * shown of one, a new reference. */
enum status wlm_group_page(struct api *a, const struct api_request *r, const json_t *o,
                           json_t *(*show)(struct api *a, const struct group_info *g),
                           struct reply *out) MUST_CHECK;

#endif
