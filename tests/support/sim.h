/* SPDX-License-Identifier: Apache-2.0 */
/* A discrete-event simulation, in virtual time, of open-loop clients in front of one level of an
 * apiq with so many servers; and of the queue that it is compared with: oldest first, everything
 * thrown away at the limit, nothing skipped. The same seed gives the same run. One thread. */
#ifndef TESTS_SUPPORT_SIM_H
#define TESTS_SUPPORT_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue/apiq_conf.h"

struct sim_conf {
    bool drain_all;        /* not the apiq, but the queue it is compared with */
    struct apiq_conf apiq; /* of the level; max_entries is the limit in both cases */
    double load;           /* arrivals, in multiples of the capacity */
    double capacity;       /* completions a second of all servers */
    unsigned servers;      /* at most SIM_SERVERS */
    bool steady;           /* all services take equally long; else exponentially distributed */
    double seconds;        /* how long requests are sent; then it runs until all have ended */
    double patience;       /* of the clients, in seconds */
    bool tell;             /* the requests carry it as their deadline */
    double drift;          /* capacity goes up and down by this share, in 20 s; 0: constant */
    double pause_at;       /* here the process stands still for */
    double pause;          /* so long; what is sent meanwhile comes in when it goes on. 0: never */
    unsigned
        connections; /* what was sent in the pause is read one connection after the other, and
                      * dated by when it was sent; 0: in the order it was sent, and not dated */
    uint64_t seed;
};

struct sim_result {
    size_t sent;
    size_t in_time;
    size_t late;     /* run, but the client had given up: wasted work */
    size_t expired;  /* told so, at the push or later */
    size_t evicted;  /* told so; with drain_all: thrown away in silence */
    double goodput;  /* in_time a second of the sending time */
    double success;  /* in_time / sent */
    double wasted;   /* late / all that was run */
    double oldest;   /* age at the end of its wait of the oldest that was run, in seconds */
    double p50, p99; /* time to answer, of those in time, in seconds */
    double
        recovery; /* seconds after the pause until at least 99 % of each second's sends succeed */
    uint64_t switches;
};

#define SIM_SERVERS 64u

/* The setting that the comparisons begin with: 290 a second by one server, patience and deadline
 * 1 s, limit 1,000, adaptive with its defaults. */
struct sim_conf sim_conf_default(void);

void sim_run(const struct sim_conf *conf, struct sim_result *out);

#endif
