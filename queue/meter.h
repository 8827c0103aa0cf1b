/* SPDX-License-Identifier: Apache-2.0 */
/* How long a level's items take and how fast it drains, from the recent past. Constant memory.
 * Not thread-safe: guarded by the queue's lock. Times in ns of the queue's clock. */
#ifndef QUEUE_METER_H
#define QUEUE_METER_H

#include <stdbool.h>
#include <stdint.h>

/* Four buckets to the octave. */
#define METER_BUCKETS 256

/* Guarded by the queue's lock. Zeroed is ready. */
struct meter {
    uint32_t count[METER_BUCKETS];
    uint32_t total;
    bool counting;   /* something waits since `last` */
    int64_t last;    /* the last completion, or when the first item began to wait */
    int64_t time_ns; /* time during which something waited */
    double ended;    /* completions in that time */
};

/* One item has taken so long. Older ones fade. */
void meter_service(struct meter *m, int64_t ns);
/* The median of it, within 1/8; 0: none known. */
int64_t meter_median(const struct meter *m);

/* The first item has begun to wait. */
void meter_backlog(struct meter *m, int64_t now);
/* One item has ended; waiting: others wait still. Only time with a backlog says how fast the level
 * can drain: without one, completions are as many as arrivals. */
void meter_done(struct meter *m, int64_t now, bool waiting);
/* Completions a second; 0: not known. */
double meter_rate(const struct meter *m, int64_t now);

#endif
