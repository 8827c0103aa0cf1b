/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/base/subject.h"
#include "stream/stream_inner.h"
#include "stream/stream_priv.h"

enum status
stream_last_seq(struct stream *s, const char *subject, size_t len, uint64_t *out)
{
    struct mlog_subject ms;
    *out = 0;
    if (!subject_has_wildcard(subject, len)) {
        if (mlog_subject(s->log, subject, len, &ms) && ms.msgs > 0) {
            *out = ms.last;
        }
        return *out > 0 ? ST_OK : ST_NOTFOUND;
    }
    struct mfilter *f;
    enum status st = mfilter_new(&f, &subject, 1);
    if (st == ST_OK) {
        *out = mlog_prev(s->log, f, mlog_last_seq(s->log));
        mfilter_free(f);
        st = *out > 0 ? ST_OK : ST_NOTFOUND;
    }
    return st;
}

enum status
stream_last_visible(struct stream *s, const char *subject, uint64_t *out)
{
    enum status st = stream_last_seq(s, subject, strlen(subject), out);
    uint64_t end = mlog_committed(s->log);
    if (st == ST_OK && *out > end) {
        struct mfilter *f;
        st = mfilter_new(&f, &subject, 1);
        if (st == ST_OK) {
            *out = mlog_prev(s->log, f, end);
            mfilter_free(f);
            st = *out > 0 ? ST_OK : ST_NOTFOUND;
        }
    }
    return st;
}

enum status
stream_next_seq(struct stream *s, const char *subject, uint64_t from, uint64_t *out)
{
    struct mfilter *f;
    bool all = subject == NULL || strcmp(subject, ">") == 0;
    enum status st = mfilter_new(&f, &subject, all ? 0 : 1);
    if (st == ST_OK) {
        *out = mlog_next(s->log, f, from);
        mfilter_free(f);
        st = *out > 0 ? ST_OK : ST_NOTFOUND;
    }
    return st;
}

/* What a reader may see: nothing before its commit. */
static enum status
get(struct stream *s, uint64_t seq, struct msg **out)
{
    return seq == 0 || seq > mlog_committed(s->log) ? ST_NOTFOUND
                                                    : mlog_get(s->log, seq, NULL, out);
}

enum js_error
stream_msg_get(struct stream *s, const struct stream_get *g, struct msg **out, struct js_fail *f)
{
    enum status st = ST_OK;
    stream_lock(s);
    uint64_t seq = g->has_start_time ? mlog_seq_at(s->log, g->start_time) : g->seq;
    if (g->next_by_subj != NULL && *g->next_by_subj != '\0') {
        st = stream_next_seq(s, g->next_by_subj, seq, &seq);
    } else if (seq == 0) {
        st = stream_last_visible(s, g->last_by_subj != NULL ? g->last_by_subj : "", &seq);
    }
    if (st == ST_OK) {
        st = s->deleted ? ST_NOTFOUND : get(s, seq, out);
    }
    stream_unlock(s);
    if (st == ST_NOTFOUND) {
        return js_fail_plain(f, JS_ERR_NO_MESSAGE_FOUND);
    }
    return st == ST_OK ? JS_OK : js_fail_status(f, st);
}
