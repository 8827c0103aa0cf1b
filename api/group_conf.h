/* SPDX-License-Identifier: Apache-2.0 */
/* What a workload group is told to be: by the block workload_groups of the configuration, or as
 * JSON over $WLM.API.GROUP. Both are read through one table. A value: owned by who made it, not
 * changed once others can see it. */
#ifndef API_GROUP_CONF_H
#define API_GROUP_CONF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

#define GROUPS_MAX       256u /* groups in all */
#define GROUP_NAME_MAX   64
#define GROUP_LIMIT_MAX  INT64_C(1000000)
#define GROUP_SIZE_MAX   INT64_C(10000000)
#define GROUP_BYTES_MAX  (INT64_C(1) << 40)
#define GROUP_CANCEL_MAX INT64_C(86400000000000) /* a day */
#define GROUP_TEXT_MAX   255

enum group_attribute {
    GROUP_BY_GROUP,
    GROUP_BY_ACCOUNT,
    GROUP_BY_USER,
    GROUP_BY_CLIENT,
    GROUP_BY_SUBJECT,
};
enum group_mode { GROUP_ENFORCED, GROUP_MONITOR };

struct group_conf {
    char name[GROUP_NAME_MAX + 1];
    /* Patterns; "": any. account, user, client: api/match.h's glob; subject: NATS wildcards. */
    char account[GROUP_TEXT_MAX + 1];
    char user[GROUP_TEXT_MAX + 1];
    char client[GROUP_TEXT_MAX + 1];
    char subject[GROUP_TEXT_MAX + 1];
    int64_t limit; /* how many run at once in a bucket; 0: not limited (no throttling block) */
    enum group_attribute attribute;
    enum group_mode mode;
    int64_t size;         /* how many may be parked; 0: over the limit is refused at once */
    int64_t max_bytes;    /* of what is parked */
    int64_t cancel_after; /* ns that one may be parked; 0: as the plane's */
};

/* A group of that name that matches everything and throttles nothing. ST_INVAL: no such name: 1 to
 * 64 of letters, digits, '-' and '_'; err (as below) says so. */
enum status group_conf_init(struct group_conf *c, const char *name, char *err,
                            size_t err_size) MUST_CHECK;

/* A value as both languages have it. */
struct group_value {
    enum { GROUP_VALUE_STRING, GROUP_VALUE_INT, GROUP_VALUE_OTHER } type;
    const char *s; /* borrowed for the call */
    int64_t i;
};

/* True if block is NULL (the group itself) and key names one of its blocks: match, throttling,
 * queue. */
bool group_conf_is_block(const char *key);
/* Before the members of a block that is given anew are read: as if it had not been there. */
void group_conf_reset_block(struct group_conf *c, const char *block);

/* Sets one member. ST_NOTFOUND: there is no such key; ST_INVAL: no such value; err names it. */
enum status group_conf_put(struct group_conf *c, const char *block, const char *key,
                           const struct group_value *v, char *err, size_t err_size) MUST_CHECK;

/* Once all members are read: what is missing or does not fit together. ST_INVAL. */
enum status group_conf_check(const struct group_conf *c, char *err, size_t err_size) MUST_CHECK;

/* Changes c by the members of a JSON object: blocks that are given replace what was there, the
 * others stay. ST_INVAL: err says which member is wrong; c is as it was. */
enum status group_conf_parse(struct group_conf *c, const json_t *o, char *err,
                             size_t err_size) MUST_CHECK;

/* As group_conf_parse reads it. New reference, or NULL without memory. */
json_t *group_conf_json(const struct group_conf *c);

bool group_conf_equal(const struct group_conf *a, const struct group_conf *b);

const char *group_attribute_name(enum group_attribute a);
const char *group_mode_name(enum group_mode m);

#endif
