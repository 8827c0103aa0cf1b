/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which a request of a gate can end. Constant; any thread. */
#ifndef API_GATE_ENDS_H
#define API_GATE_ENDS_H

enum gate_outcome {
    GATE_ANSWERED,
    GATE_REFUSED,
    GATE_EVICTED,
    GATE_EXPIRED,
    GATE_CANCELLED,
    GATE_OUTCOMES
};
const char *gate_outcome_name(enum gate_outcome o);

/* How a request of a gate ends, and which of the five outcomes that is. */
#define GATE_ENDS(X)                                                                               \
    X(GATE_REPLIED, GATE_ANSWERED, "replied")                                                      \
    X(GATE_NOBODY, GATE_ANSWERED, "no_responders")     /* delivered to nobody, who said so */      \
    X(GATE_GONE, GATE_ANSWERED, "responder_gone")      /* delivered; they closed */                \
    X(GATE_TIMEOUT, GATE_ANSWERED, "reply_timeout")    /* delivered; none came in time */          \
    X(GATE_PASSED, GATE_ANSWERED, "passed_on")         /* delivered; the gate was removed */       \
    X(GATE_LIMIT, GATE_REFUSED, "limit")               /* it alone is over the limit */            \
    X(GATE_NOMEM, GATE_REFUSED, "memory")              /* none for its copy */                     \
    X(GATE_THROTTLED, GATE_REFUSED, "throttled")       /* over its group's limit, parks none */    \
    X(GATE_PARKING_FULL, GATE_REFUSED, "parking_full") /* … or whose parking is full */          \
    X(GATE_DISPLACED, GATE_REFUSED, "displaced")   /* … it was parked; its bucket had most */    \
    X(GATE_FULL, GATE_EVICTED, "evicted")          /* fell out of the full queue */                \
    X(GATE_LATE, GATE_EXPIRED, "expired")          /* its deadline passed */                       \
    X(GATE_LEFT, GATE_CANCELLED, "disconnect")     /* its connection closed */                     \
    X(GATE_UNHEARD, GATE_CANCELLED, "no_interest") /* nobody hears its reply any more */           \
    X(GATE_CANCEL_AFTER, GATE_CANCELLED, "cancel_after") /* was parked for too long */             \
    X(GATE_OPERATOR, GATE_CANCELLED, "operator")         /* $WLM.API.REQUEST.CANCEL */             \
    X(GATE_SHUTDOWN, GATE_CANCELLED, "shutdown")         /* waited when the server stopped */

#define GATE_END_ENUM(name, outcome, text) name,
enum gate_end { GATE_ENDS(GATE_END_ENUM) GATE_END_COUNT };
#undef GATE_END_ENUM

enum gate_outcome gate_outcome_of(enum gate_end e);
const char *gate_end_name(enum gate_end e);

#endif
