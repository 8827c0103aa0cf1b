/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals on demand: every n-th request whose subject matches is refused on arrival, in turn as
 * over a limit (429), as evicted (503) and as expired (408). For tests of what clients make of
 * them: in a release it never refuses anything. One setting for the process; any thread. */
#ifndef API_REFUSE_SOME_H
#define API_REFUSE_SOME_H

#include <stdbool.h>

#include "api/ends.h"

#ifdef TESTING

#include <stdint.h>

#define REFUSE_SOME_SUBJECT 256

struct refuse_some {
    uint64_t every;                    /* 0: none are refused */
    uint64_t times;                    /* how many to refuse at most; 0: no end */
    char subject[REFUSE_SOME_SUBJECT]; /* may hold wildcards */
    uint64_t seen;                     /* that matched, since it was set */
    uint64_t refused;
};

/* Counts from 0 again: seen and refused of s are not looked at. */
void refuse_some_set(const struct refuse_some *s);
void refuse_some_get(struct refuse_some *out);

/* True: this request is to be refused, as *why says. */
bool refuse_some_hits(const char *subject, enum ledger_end *why);

#else

static inline bool
refuse_some_hits(const char *subject, enum ledger_end *why)
{
    (void)subject;
    (void)why;
    return false;
}

#endif

#endif
