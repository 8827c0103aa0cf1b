/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks api { … }, gates { … } and workload_groups { … } of the configuration: the API plane.
 * Part of a snapshot. */
#ifndef SERVER_CONFIG_API_H
#define SERVER_CONFIG_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct api_weight;
struct group_conf;

enum config_discipline { CONFIG_FIFO, CONFIG_LIFO, CONFIG_ADAPTIVE };
/* Defaults and ranges are in the option table. Times are nanoseconds, sizes bytes. */
struct config_api {
    int64_t workers;             /* 0: cores, at least 2, at most 16 */
    int64_t request_queue_limit; /* level normal, entries */
    int64_t info_queue_limit;    /* level info, entries */
    int64_t request_queue_max_bytes;
    int64_t info_queue_max_bytes;
    int64_t operator_queue_limit;
    enum config_discipline discipline;
    double adaptive_age;
    int64_t adaptive_wait;
    int64_t aged_share;       /* 0: none */
    int64_t request_deadline; /* 0: none */
    int64_t max_pending_commits;
    int64_t cancel_after; /* 0: none */
    bool limits;          /* false: neither limits nor deadlines nor levels (for measurements) */
    struct api_weight *weights; /* owned, with its names; account_weights */
    size_t n_weights;
    struct group_conf *groups; /* owned; the block workload_groups, in the order of the file */
    size_t n_groups;
};

struct gate_conf;

/* One gate of the block gates (api/gate_conf.h), with its place in the file for messages. */
struct config_gate {
    struct gate_conf *conf; /* owned */
    char *place;            /* owned: "file:line:position: " */
};

#endif
