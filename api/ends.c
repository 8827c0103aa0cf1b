/* SPDX-License-Identifier: Apache-2.0 */
#include "api/ends.h"

#define END_OUTCOME(name, outcome, text) outcome,
static const enum ledger_outcome outcome_of[] = {LEDGER_ENDS(END_OUTCOME)};
#undef END_OUTCOME
#define END_TEXT(name, outcome, text) text,
static const char *const end_text[] = {LEDGER_ENDS(END_TEXT)};
#undef END_TEXT

enum ledger_outcome
ledger_outcome_of(enum ledger_end e)
{
    return outcome_of[e];
}

const char *
ledger_end_name(enum ledger_end e)
{
    return end_text[e];
}

const char *
ledger_outcome_name(enum ledger_outcome o)
{
    static const char *const names[] = {"answered", "refused", "evicted", "expired", "cancelled"};
    return names[o];
}
