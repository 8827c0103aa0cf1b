/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of an apiq. All of them may change at any time, with items waiting and running:
 * nothing is lost, nothing runs twice. Any thread. */
#ifndef QUEUE_APIQ_CONF_H
#define QUEUE_APIQ_CONF_H

#include "queue/apiq.h"

enum apiq_order { APIQ_FIFO, APIQ_LIFO, APIQ_ADAPTIVE, APIQ_ORDERS };

/* The operator level never holds more than this. */
#define APIQ_OPERATOR_MAX 256u

/* Values, owned by nobody. */
struct apiq_conf {
    enum apiq_order order;    /* adaptive */
    size_t max_entries;       /* 10,000; operator: 256, and no more. 0: refuses all */
    size_t max_bytes;         /* 64 MiB. 0: refuses all that have bytes */
    int64_t deadline_ns;      /* 5 s: for items without their own, also those waiting. 0: none */
    double adaptive_age;      /* 0.5: of the deadline. 0 < x <= 1 */
    int64_t adaptive_wait_ns; /* 500 ms. 0: only adaptive_age counts */
    unsigned aged_share;      /* 64: one pull in so many takes an old one. 0: none */
    unsigned min_share;       /* 8: one pull in so many, when passed over. 0: none, not 1 */
    unsigned max_running;     /* 0: no bound of its own. Told only: apiq_set_max_running sets it */
    unsigned max_pending; /* 1,024: the level is not pulled while more are pending. 0: no bound */
};

/* The values above. */
void apiq_conf_default(enum apiq_level level, struct apiq_conf *out);

void apiq_get_conf(struct apiq *q, enum apiq_level level, struct apiq_conf *out);

/* What no longer fits is appended to `fallen` and is the caller's, oldest of the heaviest flow
 * first. ST_INVAL: a value is out of its range, nothing changed. */
enum status apiq_configure(struct apiq *q, enum apiq_level level, const struct apiq_conf *conf,
                           struct list_node *fallen) MUST_CHECK;

/* How many may be RUNNING at once; a pool sets it. What runs goes on. */
void apiq_set_max_running(struct apiq *q, enum apiq_level level, unsigned n);

/* As the argument of apiq_new; what runs goes on. */
void apiq_set_slots(struct apiq *q, unsigned slots);

/* "fifo", "lifo", "adaptive"; NULL for another value. */
const char *apiq_order_name(enum apiq_order order);
/* ST_INVAL: no such name. */
enum status apiq_order_parse(const char *name, enum apiq_order *out) MUST_CHECK;

/* "operator", "normal", "info"; NULL for another value. */
const char *apiq_level_name(enum apiq_level level);

#endif
