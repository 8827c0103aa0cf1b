/* SPDX-License-Identifier: Apache-2.0 */
/* System events, published into the system account in nats-server's form. Any thread, also I/O
 * loops: nothing waits, and without a listener each costs one look-up of interest. Without a system
 * account they do nothing. */
#ifndef SERVER_MONITOR_EVENTS_H
#define SERVER_MONITOR_EVENTS_H

struct conn_info;
struct server;

/* A client has authenticated; its account counts it already. ci is borrowed for the call.
 * $SYS.ACCOUNT.<acc>.CONNECT; the CONNS events of the account follow from the monitor's thread. */
void events_connect(struct server *s, const struct conn_info *ci);

/* A client's connection ended (stop_wall and reason set); its account no longer counts it.
 * $SYS.ACCOUNT.<acc>.DISCONNECT, and CONNS. */
void events_disconnect(struct server *s, const struct conn_info *ci);

/* A client failed to authenticate: $SYS.SERVER.<id>.CLIENT.AUTH.ERR with ci->reason
 * ("Authentication Failure", "Authentication Timeout"). */
void events_auth_error(struct server *s, const struct conn_info *ci);

/* $SYS.SERVER.<id>.SHUTDOWN and .LAMEDUCK: to be called while the loops still deliver. */
void events_shutdown(struct server *s);
void events_lame_duck(struct server *s);

#endif
