/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which a request of the API plane can end. Constant; any thread. */
#ifndef API_ENDS_H
#define API_ENDS_H

enum ledger_outcome {
    LEDGER_ANSWERED,
    LEDGER_REFUSED,
    LEDGER_EVICTED,
    LEDGER_EXPIRED,
    LEDGER_CANCELLED,
    LEDGER_OUTCOMES,
};
const char *ledger_outcome_name(enum ledger_outcome o);

/* How a request can end, and which outcome that is. */
#define LEDGER_ENDS(X)                                                                             \
    X(END_ANSWERED, LEDGER_ANSWERED, "answered")                                                   \
    X(END_FAILED, LEDGER_ANSWERED, "failed")            /* answered with an error */               \
    X(END_LIMIT, LEDGER_REFUSED, "limit")               /* it alone is over the limit */           \
    X(END_NOMEM, LEDGER_REFUSED, "memory")              /* none for its copy */                    \
    X(END_BAD_HEADER, LEDGER_REFUSED, "bad_header")     /* a deadline that is none */              \
    X(END_CLOSED, LEDGER_REFUSED, "closed")             /* the server stops */                     \
    X(END_THROTTLED, LEDGER_REFUSED, "throttled")       /* over a group's limit that parks none */ \
    X(END_PARKING_FULL, LEDGER_REFUSED, "parking_full") /* … or whose parking is full */         \
    X(END_DISPLACED, LEDGER_REFUSED, "displaced")     /* … it was parked; its bucket had most */ \
    X(END_EVICTED, LEDGER_EVICTED, "evicted")         /* fell out of the full queue */             \
    X(END_EXPIRED, LEDGER_EXPIRED, "expired")         /* its deadline passed */                    \
    X(END_DISCONNECT, LEDGER_CANCELLED, "disconnect") /* its connection closed */                  \
    X(END_NO_INTEREST, LEDGER_CANCELLED, "no_interest")   /* nobody hears its reply any more */    \
    X(END_CANCEL_AFTER, LEDGER_CANCELLED, "cancel_after") /* was parked for too long */            \
    X(END_OPERATOR, LEDGER_CANCELLED, "operator")         /* $WLM.API.REQUEST.CANCEL */            \
    X(END_SHUTDOWN, LEDGER_CANCELLED, "shutdown")         /* waited when the server stopped */

#define LEDGER_END_ENUM(name, outcome, text) name,
enum ledger_end { LEDGER_ENDS(LEDGER_END_ENUM) LEDGER_END_COUNT };
#undef LEDGER_END_ENUM

enum ledger_outcome ledger_outcome_of(enum ledger_end e);
const char *ledger_end_name(enum ledger_end e);

#endif
