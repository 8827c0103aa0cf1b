/* SPDX-License-Identifier: Apache-2.0 */
/* What a gate is told to be: by the block gates of the configuration, or as JSON over
 * $WLM.API.GATE. Both are read through one table. A value: owned by who made it. */
#ifndef API_GATE_CONF_H
#define API_GATE_CONF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue/apiq_conf.h"
#include "server/base/status.h"

#define GATES_MAX      1000u
#define GATE_NAME_MAX  64
#define GATE_TEXT_MAX  255
#define GATE_LIMIT_MAX INT64_C(1000000)
#define GATE_QUEUE_MAX INT64_C(10000000)
#define GATE_TIME_MAX  INT64_C(86400000000000) /* a day */
#define GATE_ERR_LEN   400                     /* room for the texts about what is wrong */

enum gate_refuse { GATE_REFUSE_SERVICE_ERROR, GATE_REFUSE_NO_RESPONDERS };

struct gate_conf {
    char name[GATE_NAME_MAX + 1];
    char account[GATE_TEXT_MAX + 1]; /* "$G" unless set */
    char subject[GATE_TEXT_MAX + 1]; /* may hold wildcards, but not as its first token */
    int64_t limit;                   /* slots: how many requests run at once */
    enum apiq_order discipline;      /* adaptive */
    int64_t request_queue_limit;     /* 10,000 */
    int64_t request_deadline;        /* ns; 5 s; 0: none */
    int64_t reply_timeout;           /* ns; 0: off */
    enum gate_refuse refuse;
    char group[GATE_NAME_MAX + 1]; /* the workload group in front of its queue; "": none */
};

/* The defaults. ST_INVAL: no such name: 1 to 64 of letters, digits, '-' and '_'; err says so. */
enum status gate_conf_init(struct gate_conf *c, const char *name, char *err,
                           size_t err_size) MUST_CHECK;

/* A value as both languages have it. */
struct gate_value {
    enum { GATE_VALUE_STRING, GATE_VALUE_INT, GATE_VALUE_OTHER } type;
    const char *s; /* borrowed for the call */
    int64_t i;
};

/* Sets one member. ST_NOTFOUND: there is no such key; ST_INVAL: no such value; err names it. */
enum status gate_conf_put(struct gate_conf *c, const char *key, const struct gate_value *v,
                          char *err, size_t err_size) MUST_CHECK;

/* Once all members are read: what is missing. ST_INVAL; err names it. */
enum status gate_conf_check(const struct gate_conf *c, char *err, size_t err_size) MUST_CHECK;

/* Changes c by the members of a JSON object. ST_INVAL: err says which member is wrong; c is as it
 * was. */
enum status gate_conf_parse(struct gate_conf *c, const json_t *o, char *err,
                            size_t err_size) MUST_CHECK;

/* True if a request could be meant by both: same account, subjects that overlap. */
bool gate_conf_overlaps(const struct gate_conf *a, const struct gate_conf *b);
bool gate_conf_equal(const struct gate_conf *a, const struct gate_conf *b);

/* As gate_conf_parse reads it, with the name. New reference, or NULL without memory. */
json_t *gate_conf_json(const struct gate_conf *c);

#endif
