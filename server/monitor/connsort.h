/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of /connz. Pure, any thread. */
#ifndef SERVER_MONITOR_CONNSORT_H
#define SERVER_MONITOR_CONNSORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conn_info;

/* "cid" "start" "subs" "pending" "msgs_to" "msgs_from" "bytes_to" "bytes_from" "last" "idle"
 * "uptime" "stop" "reason" "rtt"; "" is "cid". */
bool connsort_is_known(const char *key);

/* Sorts by a known key: cid, start, uptime (youngest first) and reason ascending, all others
 * descending; ties by cid. now: wall ns, for the ages. */
void connsort(struct conn_info **v, size_t n, const char *key, int64_t now);

#endif
