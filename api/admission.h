/* SPDX-License-Identifier: Apache-2.0 */
/* The way in, as the plane and its gates both go it: what workload groups (api/group.h) are asked
 * and what they park, and how what they and the queue say stands in the books (api/ends.h). Any
 * thread. */
#ifndef API_ADMISSION_H
#define API_ADMISSION_H

#include "api/ends.h"
#include "api/group.h"

struct api_message;
struct apiq_item;

/* What groups judge the message by; borrows its texts. order_key and link are the caller's. */
void admission_who(struct group_who *out, const struct api_message *m);
/* What is to be parked of it, on its way into that room; the label and name of the item are
 * borrowed. */
void admission_entry(struct group_entry *out, const struct group_ops *ops, struct group_room *room,
                     const struct apiq_item *it);

/* False: it may go on. why is written in any case. */
bool admission_refuses(const struct group_answer *a, enum ledger_end *why);
/* Of what a group dropped. */
enum ledger_end admission_end_of_drop(enum group_why why);
/* Of what apiq_push or apiq_offer did not take. */
enum ledger_end admission_end_of_push(enum status st);

#endif
