/* SPDX-License-Identifier: Apache-2.0 */
#include "api/ends.h"

#include <stddef.h>

#define END_ROW(name, outcome, whose, text) [name] = {LEDGER_##outcome, LEDGER_##whose, text},
static const struct {
    enum ledger_outcome outcome;
    enum ledger_whose whose;
    const char *name;
} ends[LEDGER_END_COUNT] = {LEDGER_ENDS(END_ROW)};
#undef END_ROW

static const struct {
    int code;
    const char *text;
} told[LEDGER_END_COUNT] = {
    [END_LIMIT] = {503, "over the limit of the queue"},
    [END_NOMEM] = {503, "the server is out of memory"},
    [END_BAD_HEADER] = {400, "invalid header Nats-Request-Timeout"},
    [END_CLOSED] = {503, "the server is shutting down"},
    [END_THROTTLED] = {429, "over the limit of the workload group"},
    [END_PARKING_FULL] = {429, "the workload group is full"},
    [END_DISPLACED] = {429, "the workload group is full"},
    [END_EVICTED] = {503, "the queue is full"},
    [END_EXPIRED] = {408, "the deadline passed"},
    [END_CANCEL_AFTER] = {408, "waited too long for the workload group"},
    [END_OPERATOR] = {503, "cancelled by an operator"},
    [END_SHUTDOWN] = {503, "the server is shutting down"},
};

enum ledger_outcome
ledger_outcome_of(enum ledger_end e)
{
    return ends[e].outcome;
}

const char *
ledger_end_name(enum ledger_end e)
{
    return ends[e].name;
}

bool
ledger_end_is_of(enum ledger_end e, enum ledger_whose whose)
{
    return (ends[e].whose & whose) != 0;
}

int
ledger_end_code(enum ledger_end e)
{
    return told[e].code;
}

const char *
ledger_end_text(enum ledger_end e)
{
    return told[e].text;
}

const char *
ledger_outcome_name(enum ledger_outcome o)
{
    static const char *const names[] = {"answered", "refused", "evicted", "expired", "cancelled"};
    return names[o];
}
