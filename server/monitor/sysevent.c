/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/sysevent.h"

#include <stdio.h>

#include "server/base/buf.h"
#include "server/server.h"

bool
sysevent_is_wanted(struct sysevent *e, struct server *s, const char *before, const char *name,
                   const char *after)
{
    struct account *sys = server_system_account(s);
    if (sys == NULL) {
        return false;
    }
    int n = snprintf(e->subject, sizeof e->subject, "%s%s%s", before, name, after);
    return n > 0 && (size_t)n < sizeof e->subject && server_has_interest(s, sys, e->subject);
}

static int
add_to_buf(const char *data, size_t n, void *arg)
{
    struct buf *b = arg;
    buf_append(b, data, n);
    return b->failed ? -1 : 0;
}

void
sysevent_publish(const struct sysevent *e, struct server *s, const json_t *body)
{
    struct account *sys = server_system_account(s);
    if (sys == NULL || body == NULL) {
        return;
    }
    struct buf b;
    buf_init(&b);
    if (json_dump_callback(body, add_to_buf, &b, JSON_COMPACT | JSON_REAL_PRECISION(15)) == 0) {
        server_publish(s, sys, e->subject, NULL, b.data, b.len);
    }
    buf_fini(&b);
}
