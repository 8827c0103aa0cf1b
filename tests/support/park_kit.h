/* SPDX-License-Identifier: Apache-2.0 */
/* Workload groups alone, with requests that only count what becomes of them. A drain has a parked
 * request in hand and offers it without the lock, and in the offer a test may do what another
 * thread could do just then. One at a time. */
#ifndef TESTS_SUPPORT_PARK_KIT_H
#define TESTS_SUPPORT_PARK_KIT_H

#include "api/group.h"
#include "api/group_admin.h"

#define PARK_KIT_OWNER 7u

struct parked {
    struct group_entry e;
    unsigned offered, dropped, queued;
    enum group_why why;
    enum group_verdict verdict; /* of its parking */
};

struct park_kit {
    struct groups *gs;
    struct clock_fake now;
    struct apiq *queue; /* of `room`; empty but for what the test puts there */
    struct group_room room;
    struct group_who who;
    unsigned chased;         /* of PARK_KIT_OWNER */
    struct parked *of_owner; /* which gives its permit back when it is chased; or NULL */
    /* Done in the next offer, once, and what that offer comes to. */
    void (*meanwhile)(struct parked *p);
    enum status outcome;
};
extern struct park_kit kit;

/* For cmocka: one group "g" with the limit 1 and room for 10. The latter expects that nothing is
 * left and that the backstop finds nothing. */
int park_kit_set_up(void **state);
int park_kit_tear_down(void **state);

void park_kit_set(int64_t limit, int64_t size);
/* Fails the test if they do not add up. */
struct group_counts park_kit_counts(void);

/* An arrival that must get a permit; one that is to park, with a deadline of its own in ns or 0. */
struct group_bucket *park_kit_admitted(void);
void park_kit_park(struct parked *p, uint64_t owner, int64_t due);
void park_kit_drain(void);
/* What api-park does with what is due. */
void park_kit_tick(void);

/* It went into the queue, once; its end there. Or it was dropped, once. */
void park_kit_ran(const struct parked *p);
void park_kit_leave(const struct parked *p);
void park_kit_dropped(const struct parked *p, enum group_why why);

#endif
