/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes JSON into the system account, if anybody listens. Any thread, also I/O loops. */
#ifndef SERVER_MONITOR_SYSEVENT_H
#define SERVER_MONITOR_SYSEVENT_H

#include <jansson.h>
#include <stdbool.h>

struct server;

enum { SYSEVENT_SUBJECT_LEN = 512 };

struct sysevent {
    char subject[SYSEVENT_SUBJECT_LEN];
};

/* Makes the subject <before><name><after>. True if the system account has interest in it; then the
 * body is worth its price. */
bool sysevent_is_wanted(struct sysevent *e, struct server *s, const char *before, const char *name,
                        const char *after);

/* body is borrowed; NULL (no memory): nothing is sent. */
void sysevent_publish(const struct sysevent *e, struct server *s, const json_t *body);

#endif
