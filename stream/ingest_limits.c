/* SPDX-License-Identifier: Apache-2.0 */
/* Limits: those that refuse what is new are asked before an append, those that drop what is old
 * work after the commit. So nothing acknowledged goes for a message that then fails to be written.
 */
#include <string.h>

#include "stream/hdr.h"
#include "stream/ingest.h"
#include "stream/ingest_priv.h"
#include "stream/stream_inner.h"

static enum js_error
store_failed(struct js_fail *f, const char *text)
{
    return js_fail_text(f, JS_ERR_STREAM_STORE_FAILED, text);
}

static enum js_error
check_discard_new(struct stream *s, const struct pub *p, uint64_t size, struct js_fail *f)
{
    const struct stream_config *c = s->cfg;
    struct mlog_subject ms = {0};
    struct mlog_state state;
    const char *v;
    size_t n;
    (void)mlog_subject(s->log, p->subject, p->subject_len, &ms);
    bool at_limit = c->max_msgs_per > 0 && ms.msgs + p->ahead_subject >= (uint64_t)c->max_msgs_per;
    if (at_limit && c->discard_new_per && !hdr_find(p->hdr, p->hdr_len, "Nats-Rollup", &v, &n)) {
        return store_failed(f, "maximum messages per subject exceeded");
    }
    mlog_state(s->log, &state);
    state.msgs += p->ahead_msgs;
    state.bytes += p->ahead_bytes;
    if (c->max_msgs > 0 && state.msgs >= (uint64_t)c->max_msgs && !at_limit) {
        return store_failed(f, "maximum messages exceeded");
    }
    if (c->max_bytes > 0 && state.bytes + size > (uint64_t)c->max_bytes) {
        const char *subject;
        uint32_t first_size = 0;
        unsigned flags;
        if (!at_limit || !mlog_peek(s->log, ms.first, &subject, &first_size, &flags) ||
            first_size < size) {
            return store_failed(f, "maximum bytes exceeded");
        }
    }
    return JS_OK;
}

enum js_error
ingest_check_room(struct stream *s, const struct pub *p, struct js_fail *f)
{
    uint64_t size = mlog_size(s->memory, p->subject_len, p->hdr_len, p->data_len);
    enum js_error e = js_account_check_room(s->acc, s->memory, (int64_t)(size + p->ahead_bytes), f);
    if (e != JS_OK) {
        return e;
    }
    return s->cfg->discard == DISCARD_NEW ? check_discard_new(s, p, size, f) : JS_OK;
}

/* Drops the oldest of a subject while there are more than `most`, but never what is `seq` or later.
 */
static void
trim_subject(struct stream *s, const struct msg *m, uint64_t most)
{
    struct mlog_subject ms;
    while (mlog_subject(s->log, msg_subject(m), m->subject_len, &ms) && ms.msgs > most &&
           ms.first < m->seq) {
        if (stream_remove(s, ms.first) != ST_OK) {
            return;
        }
    }
}

static void
drop_schedule(struct stream *s, const struct msg *m)
{
    const char *v, *who;
    size_t n, wn;
    char subject[512];
    if (s->schedules == NULL || !hdr_find(msg_hdr(m), m->hdr_len, "Nats-Schedule-Next", &v, &n) ||
        n != 5 || memcmp(v, "purge", 5) != 0 ||
        !hdr_find(msg_hdr(m), m->hdr_len, "Nats-Scheduler", &who, &wn) || wn >= sizeof subject) {
        return;
    }
    memcpy(subject, who, wn);
    subject[wn] = '\0';
    struct stream_purge all = {.filter = subject};
    uint64_t gone;
    if (wn > 0 && stream_purge_locked(s, &all, &gone) != ST_OK) {
        return;
    }
}

void
ingest_settle(struct stream *s, const struct put *u)
{
    const struct msg *m = u->p.op.msg;
    uint64_t n;
    if (u->rollup_all) {
        if (stream_drop_before(s, m->seq, &n) != ST_OK) {
            return;
        }
    } else if (u->rollup_subject) {
        trim_subject(s, m, 1);
    }
    if (s->cfg->max_msgs_per > 0) {
        trim_subject(s, m, (uint64_t)s->cfg->max_msgs_per);
    }
    drop_schedule(s, m);
}

void
ingest_enforce_limits(struct stream *s)
{
    const struct stream_config *c = s->cfg;
    struct mlog_state state;
    if (c->discard == DISCARD_NEW || (c->max_msgs <= 0 && c->max_bytes <= 0)) {
        return;
    }
    mlog_state(s->log, &state);
    uint64_t committed = mlog_committed(s->log);
    while (((c->max_msgs > 0 && state.msgs > (uint64_t)c->max_msgs) ||
            (c->max_bytes > 0 && state.bytes > (uint64_t)c->max_bytes)) &&
           state.msgs > 0 && state.first_seq <= committed) {
        if (stream_remove(s, state.first_seq) != ST_OK) {
            return;
        }
        mlog_state(s->log, &state);
    }
}
