/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which a request can end, of the API plane and of its gates, and what who asked is
 * told. Constant; any thread. */
#ifndef API_ENDS_H
#define API_ENDS_H

#include <stdbool.h>

enum ledger_outcome {
    LEDGER_ANSWERED,
    LEDGER_REFUSED,
    LEDGER_EVICTED,
    LEDGER_EXPIRED,
    LEDGER_CANCELLED,
    LEDGER_OUTCOMES,
};
const char *ledger_outcome_name(enum ledger_outcome o);

enum ledger_whose { LEDGER_PLANE = 1, LEDGER_GATES = 2, LEDGER_BOTH = 3 };

/* How a request can end, which outcome that is, and whose requests end so. */
#define LEDGER_ENDS(X)                                                                             \
    X(END_ANSWERED, ANSWERED, PLANE, "answered")                                                   \
    X(END_FAILED, ANSWERED, PLANE, "failed") /* answered with an error */                          \
    X(END_REPLIED, ANSWERED, GATES, "replied")                                                     \
    X(END_NO_RESPONDERS, ANSWERED, GATES, "no_responders")   /* to nobody, who said so */          \
    X(END_RESPONDER_GONE, ANSWERED, GATES, "responder_gone") /* delivered; they closed */          \
    X(END_REPLY_TIMEOUT, ANSWERED, GATES, "reply_timeout")   /* delivered; none came in time */    \
    X(END_PASSED_ON, ANSWERED, GATES, "passed_on")           /* delivered; the gate was removed */ \
    X(END_LIMIT, REFUSED, BOTH, "limit")                     /* it alone is over the limit */      \
    X(END_NOMEM, REFUSED, BOTH, "memory")                    /* none for its copy */               \
    X(END_BAD_HEADER, REFUSED, PLANE, "bad_header")          /* a deadline that is none */         \
    X(END_CLOSED, REFUSED, PLANE, "closed")                  /* the server stops */                \
    X(END_THROTTLED, REFUSED, BOTH, "throttled")       /* over a group's limit that parks none */  \
    X(END_PARKING_FULL, REFUSED, BOTH, "parking_full") /* … or whose parking is full */          \
    X(END_DISPLACED, REFUSED, BOTH, "displaced")     /* … it was parked; its bucket had most */  \
    X(END_EVICTED, EVICTED, BOTH, "evicted")         /* fell out of the full queue */              \
    X(END_EXPIRED, EXPIRED, BOTH, "expired")         /* its deadline passed */                     \
    X(END_DISCONNECT, CANCELLED, BOTH, "disconnect") /* its connection closed */                   \
    X(END_NO_INTEREST, CANCELLED, BOTH, "no_interest")   /* nobody hears its reply any more */     \
    X(END_CANCEL_AFTER, CANCELLED, BOTH, "cancel_after") /* was parked for too long */             \
    X(END_OPERATOR, CANCELLED, BOTH, "operator")         /* $WLM.API.REQUEST.CANCEL */             \
    X(END_SHUTDOWN, CANCELLED, BOTH, "shutdown")         /* waited when the server stopped */

#define LEDGER_END_ENUM(name, outcome, whose, text) name,
enum ledger_end { LEDGER_ENDS(LEDGER_END_ENUM) LEDGER_END_COUNT };
#undef LEDGER_END_ENUM

enum ledger_outcome ledger_outcome_of(enum ledger_end e);
const char *ledger_end_name(enum ledger_end e);
bool ledger_end_is_of(enum ledger_end e, enum ledger_whose whose);

/* The status that who asked is told, without having been served, and why. 0, NULL: nothing. */
int ledger_end_code(enum ledger_end e);
const char *ledger_end_text(enum ledger_end e);

#endif
