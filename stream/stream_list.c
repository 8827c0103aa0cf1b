/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream_list.h"

#include <string.h>

#include "server/base/subject.h"
#include "stream/stream_priv.h"

static bool
takes(struct stream *s, const char *filter, size_t n)
{
    bool found = false;
    stream_lock(s);
    for (size_t i = 0; i < s->cfg->n_subjects && !found; i++) {
        found = subject_overlaps(s->cfg->subjects[i], strlen(s->cfg->subjects[i]), filter, n);
    }
    stream_unlock(s);
    return found;
}

enum status
stream_list(struct js_account *a, const char *filter, struct stream ***out, size_t *n)
{
    size_t kept = 0;
    enum status st = js_account_streams(a, out, n);
    if (st != ST_OK || filter == NULL) {
        return st;
    }
    struct stream **v = *out;
    size_t len = strlen(filter);
    for (size_t i = 0; i < *n; i++) {
        if (takes(v[i], filter, len)) {
            v[kept++] = v[i];
        } else {
            stream_unref(v[i]);
        }
    }
    *n = kept;
    return ST_OK;
}
