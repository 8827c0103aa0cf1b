/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of subject tries, as /subsz and /accountz show them. */
#ifndef SERVER_MONITOR_SUBLISTZ_H
#define SERVER_MONITOR_SUBLISTZ_H

#include <jansson.h>

struct jput;
struct sublist_stats;

void sublistz_put(struct jput *p, json_t *o, const struct sublist_stats *st);

#endif
