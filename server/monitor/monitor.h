/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor: one thread with an event base of its own. It answers HTTP (where http_port is not
 * 0), sends the periodic events (STATSZ, connections of accounts) and samples the CPU usage. It
 * reads counters and snapshots only, so it answers whatever the API plane does. */
#ifndef SERVER_MONITOR_MONITOR_H
#define SERVER_MONITOR_MONITOR_H

#include <jansson.h>
#include <stdint.h>

#include "server/base/status.h"

struct monitor;
struct server;

/* s is borrowed until monitor_free. Starts nothing. ST_NOMEM, ST_IO. */
enum status monitor_new(struct monitor **out, struct server *s) MUST_CHECK;

/* Listens on http_host:http_port of the configuration in force, if set, and starts the thread.
 * After it the inspect_… functions may be called at any time. ST_IO and others: a [FTL] line was
 * logged, nothing runs. */
enum status monitor_start(struct monitor *m) MUST_CHECK;

/* The port really bound; 0: HTTP is off. Any thread, after monitor_start. */
int monitor_port(const struct monitor *m);

/* Ends the thread; to be called while the loops still answer inspect_…. Without monitor_start, or
 * a second time, it does nothing. */
void monitor_stop(struct monitor *m);
void monitor_free(struct monitor *m);

/* One view as JSON, for HTTP and for $SYS.REQ. what, with its options as nats-server names them:
 *   VARZ CONNZ SUBSZ ROUTEZ GATEWAYZ LEAFZ ACCOUNTZ JSZ HEALTHZ IPQUEUESZ RAFTZ IDZ EXPVARZ
 *   PROFILEZ   "data" of $SYS.REQ.SERVER.<id>.<what> (IDZ: the whole body)
 *   STATSZ     the object "statsz"
 *   ACCSTATZ   the counters of accounts: {"accounts": [name…], "include_unused": bool}
 *   ACCINFO    "data" of $SYS.REQ.ACCOUNT.<account>.INFO: {"account": name}
 *   ACCJSZ     "data" of $SYS.REQ.ACCOUNT.<account>.JSZ: {"account": name}
 *   CONNS      the counters of one account: {"acc": name}; ST_NOTFOUND where it is unknown
 *   NSUBS      a number, the subscriptions that match: {"acc", "subject", "queue"}; ST_NOTFOUND
 * ACCOUNT.<acc>.CONNZ, SUBSZ and LEAFZ are those views with "acc" (CONNZ) or "account" set; SUBSZ
 * there has "subscriptions": true as well.
 * ST_OK: *out is a new reference. ST_NOTFOUND: no such view. *err (mem_free; may be NULL) is set
 * with: ST_SYNTAX, the options have a wrong JSON type (code 400); ST_INVAL, the values make no
 * sense (code 500 in $SYS replies, 400 over HTTP). ST_CANCELLED: nats-server sends no answer at
 * all here. ST_TIMEOUT: an I/O loop did not answer. ST_NOMEM.
 * Any thread but an I/O loop; waits some ms for the loops. */
enum status monitor_view(struct server *s, const char *what, const json_t *options, json_t **out,
                         char **err) MUST_CHECK;

/* The "server" object of $SYS replies and events, with the next sequence number. New reference, or
 * NULL without memory. Any thread. */
json_t *monitor_server_info(struct server *s);

/* For events.c and the views. Any thread; m may be NULL. */
uint64_t monitor_next_seq(struct monitor *m);
double monitor_cpu_percent(const struct monitor *m);
/* Number of requests by path as /varz shows it: a new object, empty for NULL. */
json_t *monitor_http_stats(const struct monitor *m);
/* The connections of that account changed: an event is due. Never waits. */
void monitor_account_changed(struct monitor *m, const char *account);

#endif
