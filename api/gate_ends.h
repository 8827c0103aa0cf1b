/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which a request of a gate can end. Constant; any thread. */
#ifndef API_GATE_ENDS_H
#define API_GATE_ENDS_H

#include "api/ends.h"

/* How a request of a gate ends, and which of the five outcomes that is. */
#define GATE_ENDS(X)                                                                               \
    X(GATE_REPLIED, LEDGER_ANSWERED, "replied")                                                    \
    X(GATE_NOBODY, LEDGER_ANSWERED, "no_responders")     /* delivered to nobody, who said so */    \
    X(GATE_GONE, LEDGER_ANSWERED, "responder_gone")      /* delivered; they closed */              \
    X(GATE_TIMEOUT, LEDGER_ANSWERED, "reply_timeout")    /* delivered; none came in time */        \
    X(GATE_PASSED, LEDGER_ANSWERED, "passed_on")         /* delivered; the gate was removed */     \
    X(GATE_LIMIT, LEDGER_REFUSED, "limit")               /* it alone is over the limit */          \
    X(GATE_NOMEM, LEDGER_REFUSED, "memory")              /* none for its copy */                   \
    X(GATE_THROTTLED, LEDGER_REFUSED, "throttled")       /* over its group's limit, parks none */  \
    X(GATE_PARKING_FULL, LEDGER_REFUSED, "parking_full") /* … or whose parking is full */        \
    X(GATE_DISPLACED, LEDGER_REFUSED, "displaced")   /* … it was parked; its bucket had most */  \
    X(GATE_FULL, LEDGER_EVICTED, "evicted")          /* fell out of the full queue */              \
    X(GATE_LATE, LEDGER_EXPIRED, "expired")          /* its deadline passed */                     \
    X(GATE_LEFT, LEDGER_CANCELLED, "disconnect")     /* its connection closed */                   \
    X(GATE_UNHEARD, LEDGER_CANCELLED, "no_interest") /* nobody hears its reply any more */         \
    X(GATE_CANCEL_AFTER, LEDGER_CANCELLED, "cancel_after") /* was parked for too long */           \
    X(GATE_OPERATOR, LEDGER_CANCELLED, "operator")         /* $WLM.API.REQUEST.CANCEL */           \
    X(GATE_SHUTDOWN, LEDGER_CANCELLED, "shutdown")         /* waited when the server stopped */

#define GATE_END_ENUM(name, outcome, text) name,
enum gate_end { GATE_ENDS(GATE_END_ENUM) GATE_END_COUNT };
#undef GATE_END_ENUM

enum ledger_outcome gate_outcome_of(enum gate_end e);
const char *gate_end_name(enum gate_end e);

#endif
