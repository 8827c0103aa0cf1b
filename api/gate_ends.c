/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gate_ends.h"

#define GATE_ROW(name, outcome, text) [name] = {outcome, text},
static const struct {
    enum ledger_outcome outcome;
    const char *text;
} ends[] = {GATE_ENDS(GATE_ROW)};
#undef GATE_ROW

enum ledger_outcome
gate_outcome_of(enum gate_end e)
{
    return ends[e].outcome;
}

const char *
gate_end_name(enum gate_end e)
{
    return ends[e].text;
}
