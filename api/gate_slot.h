/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds the slots of the gates. For gate*.c alone. */
#ifndef API_GATE_SLOT_H
#define API_GATE_SLOT_H

#include "api/gate_priv.h"

/* Under the lock. ST_CLOSED: the gate is gone. ST_NOMEM. */
enum status slot_enter(struct gates *gs, struct gate_request *r) MUST_CHECK;
/* It holds no slot any more, and is counted. slot_done must follow, without the lock. */
void slot_leave(struct gates *gs, struct gate_request *r, enum ledger_end e);
/* The oldest that runs and waits for that reply, or NULL. */
struct gate_request *slot_find(struct gates *gs, const struct gate_watch *w, const char *reply,
                               size_t n);
/* Without the lock: gives the slot and the permit back and lets the next ones run and in. */
void slot_done(struct gate_request *r);
void slot_conn_closed(struct gates *gs, uint64_t cid);
/* Takes one reference away. */
void gate_request_release(struct gate_request *r);
void gate_request_free(struct gate_request *r);

#endif
