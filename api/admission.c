/* SPDX-License-Identifier: Apache-2.0 */
#include "api/admission.h"

#include "api/message.h"
#include "queue/item.h"

void
admission_who(struct group_who *out, const struct api_message *m)
{
    const struct api_origin *o = &m->origin;
    *out = (struct group_who){.account = o->account_name,
                              .account_key = o->account_key,
                              .user = o->user,
                              .client = o->client,
                              .subject = m->subject};
}

void
admission_entry(struct group_entry *out, const struct group_ops *ops, struct group_room *room,
                const struct apiq_item *it)
{
    *out = (struct group_entry){
        .ops = ops,
        .room = room,
        .owner = it->owner,
        .order_key = it->order_key,
        .id = it->id,
        .flow = it->flow,
        .bytes = it->bytes,
        .label = it->label,
        .name = it->name,
        .due = it->deadline_ns > 0 ? it->arrived_ns + it->deadline_ns : 0,
    };
}

bool
admission_refuses(const struct group_answer *a, enum ledger_end *why)
{
    *why = a->verdict == GROUP_OFF    ? END_THROTTLED
           : a->verdict == GROUP_FULL ? END_PARKING_FULL
                                      : END_NOMEM;
    return a->verdict == GROUP_OFF || a->verdict == GROUP_FULL || a->verdict == GROUP_NOMEM;
}

enum ledger_end
admission_end_of_drop(enum group_why why)
{
    static const enum ledger_end ends[] = {
        [GROUP_DEADLINE] = END_EXPIRED,    [GROUP_CANCEL_AFTER] = END_CANCEL_AFTER,
        [GROUP_DISPLACED] = END_DISPLACED, [GROUP_GONE] = END_DISCONNECT,
        [GROUP_OPERATOR] = END_OPERATOR,   [GROUP_CLOSED] = END_SHUTDOWN,
        [GROUP_ROOM_GONE] = END_SHUTDOWN,
    };
    return ends[why];
}

enum ledger_end
admission_end_of_push(enum status st)
{
    switch ((int)st) {
    case ST_EXPIRED:
        return END_EXPIRED;
    case ST_CLOSED:
        return END_CLOSED;
    case ST_NOMEM:
        return END_NOMEM;
    default:
        return END_LIMIT;
    }
}
