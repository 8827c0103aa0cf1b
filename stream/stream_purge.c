/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/base/mem.h"
#include "server/base/subject.h"
#include "stream/consumer.h"
#include "stream/stream_inner.h"
#include "stream/stream_priv.h"

enum status
stream_remove(struct stream *s, uint64_t seq)
{
    return mlog_remove(s->log, seq, false);
}

enum status
stream_drop_before(struct stream *s, uint64_t seq, uint64_t *n)
{
    struct mlog_state before, after;
    mlog_state(s->log, &before);
    consumers_before_drop(s, seq);
    enum status st = mlog_purge_to(s->log, seq, n);
    if (st == ST_OK) {
        mlog_state(s->log, &after);
        js_account_use(s->acc, s->memory, (int64_t)after.bytes - (int64_t)before.bytes);
        consumers_on_purge(s, NULL);
    } else {
        consumers_recount(s);
    }
    return st;
}

/* Those below `end` that the filter takes, at most `most`. */
static enum status
purge_some(struct stream *s, struct mfilter *f, uint64_t end, uint64_t most, uint64_t *purged)
{
    uint64_t seq = mlog_first_seq(s->log);
    while (*purged < most && (seq = mlog_next(s->log, f, seq)) != 0 && seq < end) {
        enum status st = stream_remove(s, seq);
        if (st != ST_OK) {
            return st;
        }
        (*purged)++;
        seq++;
    }
    return ST_OK;
}

enum status
stream_purge_locked(struct stream *s, const struct stream_purge *p, uint64_t *purged)
{
    bool all = p->filter == NULL || *p->filter == '\0' || strcmp(p->filter, ">") == 0;
    *purged = 0;
    if (p->seq == 1) {
        return ST_OK;
    }
    if (all && p->keep == 0) {
        return stream_drop_before(s, p->seq > 1 ? p->seq : mlog_last_seq(s->log) + 1, purged);
    }
    struct mfilter *f;
    enum status st = mfilter_new(&f, all ? NULL : &p->filter, all ? 0 : 1);
    if (st != ST_OK) {
        return st;
    }
    uint64_t most = UINT64_MAX;
    if (p->keep > 0) {
        uint64_t there = mlog_count(s->log, f, 0, 0);
        most = there > p->keep ? there - p->keep : 0;
    }
    st = purge_some(s, f, p->seq > 0 ? p->seq : UINT64_MAX, most, purged);
    mfilter_free(f);
    consumers_on_purge(s, all ? NULL : p->filter);
    return st;
}

enum js_error
stream_purge(struct stream *s, const struct stream_purge *p, uint64_t *purged, struct js_fail *f)
{
    enum js_error e = JS_OK;
    *purged = 0;
    stream_lock(s);
    if (s->deleted) {
        e = js_fail_plain(f, JS_ERR_STREAM_NOT_FOUND);
    } else if (s->cfg->sealed) {
        e = js_fail_plain(f, JS_ERR_STREAM_SEALED);
    } else if (s->cfg->deny_purge) {
        e = js_fail_text(f, JS_ERR_STREAM_PURGE_FAILED, "stream purge not permitted");
    } else {
        enum status st = stream_purge_locked(s, p, purged);
        e = st == ST_OK ? JS_OK : js_fail_status(f, st);
    }
    stream_unlock(s);
    return e;
}

enum js_error
stream_msg_delete(struct stream *s, uint64_t seq, bool no_erase, struct js_fail *f)
{
    enum js_error e = JS_OK;
    stream_lock(s);
    if (s->deleted) {
        e = js_fail_plain(f, JS_ERR_STREAM_NOT_FOUND);
    } else if (s->cfg->sealed) {
        e = js_fail_plain(f, JS_ERR_STREAM_SEALED);
    } else if (s->cfg->deny_delete) {
        e = js_fail_text(f, JS_ERR_STREAM_MSG_DELETE_FAILED, "message delete not permitted");
    } else {
        enum status st = mlog_remove(s->log, seq, !no_erase);
        if (st == ST_NOTFOUND) {
            e = js_fail_num(f, JS_ERR_SEQUENCE_NOT_FOUND, seq);
        } else if (st != ST_OK) {
            e = js_fail_status(f, st);
        }
    }
    stream_unlock(s);
    return e;
}
