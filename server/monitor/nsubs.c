/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/nsubs.h"

#include <string.h>

#include "server/base/subject.h"
#include "server/inspect.h"
#include "server/monitor/vopts.h"
#include "server/server.h"

static bool
is_counted(const struct sub_info *sub, const char *subject, const char *queue)
{
    if (queue[0] != '\0' && strcmp(sub->queue, queue) != 0) {
        return false;
    }
    size_t n = strlen(subject);
    size_t sn = strlen(sub->subject);
    return subject_has_wildcard(subject, n) ? subject_is_inside(sub->subject, sn, subject, n)
                                            : subject_is_inside(subject, n, sub->subject, sn);
}

enum status
nsubs_build(struct server *s, struct vopts *o, json_t **out)
{
    const char *account = vopts_str(o, "acc", "string");
    const char *subject = vopts_str(o, "subject", "string");
    const char *queue = vopts_str(o, "queue", "[]uint8");
    if (o->st != ST_OK) {
        return o->st;
    }
    if (server_account(s, account) == NULL) {
        return ST_NOTFOUND;
    }
    struct sub_info *v;
    size_t n;
    enum status st = inspect_subs(s, account, &v, &n);
    if (st != ST_OK) {
        return st;
    }
    json_int_t count = 0;
    bool is_valid = subject_is_valid(subject, strlen(subject));
    for (size_t i = 0; is_valid && i < n; i++) {
        count += is_counted(&v[i], subject, queue);
    }
    inspect_free_subs(v, n);
    *out = json_integer(count);
    return *out != NULL ? ST_OK : ST_NOMEM;
}
