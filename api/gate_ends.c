/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gate_ends.h"

#define GATE_ROW(name, outcome, text) [name] = {outcome, text},
static const struct {
    enum gate_outcome outcome;
    const char *text;
} ends[] = {GATE_ENDS(GATE_ROW)};
#undef GATE_ROW

enum gate_outcome
gate_outcome_of(enum gate_end e)
{
    return ends[e].outcome;
}

const char *
gate_end_name(enum gate_end e)
{
    return ends[e].text;
}

const char *
gate_outcome_name(enum gate_outcome o)
{
    static const char *const names[] = {[GATE_ANSWERED] = "answered",
                                        [GATE_REFUSED] = "refused",
                                        [GATE_EVICTED] = "evicted",
                                        [GATE_EXPIRED] = "expired",
                                        [GATE_CANCELLED] = "cancelled"};
    return names[o];
}
