/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "server/base/mem.h"
#include "stream/consumer.h"
#include "stream/rfc3339.h"
#include "stream/stream_links.h"
#include "stream/stream_priv.h"

enum { MAX_SUBJECTS = 100000 };

static int
set_u64(json_t *o, const char *key, uint64_t v)
{
    return json_object_set_new(o, key, json_integer((json_int_t)v));
}

static int
set_time(json_t *o, const char *key, int64_t wall)
{
    char text[40];
    return json_object_set_new(o, key,
                               json_string(rfc3339_format(wall > 0 ? wall : RFC3339_ZERO, text)));
}

/* ---- deleted ---- */

static int
add_deleted(struct stream *s, json_t *o, const struct mlog_state *st)
{
    json_t *a = json_array();
    uint64_t seq = st->first_seq, next;
    int rc = a == NULL ? -1 : 0;
    while (rc == 0 && seq <= st->last_seq) {
        next = mlog_next(s->log, NULL, seq);
        uint64_t end = next != 0 ? next : st->last_seq + 1;
        for (; rc == 0 && seq < end; seq++) {
            rc = json_array_append_new(a, json_integer((json_int_t)seq));
        }
        seq = end + 1;
    }
    if (rc != 0) {
        json_decref(a);
        return rc;
    }
    return json_object_set_new(o, "deleted", a);
}

/* ---- subjects ---- */

struct subjects {
    struct mlog_subject *v; /* owned */
    size_t n, cap;
    bool failed;
};

static bool
collect(void *arg, const struct mlog_subject *ms)
{
    struct subjects *all = arg;
    if (all->n == all->cap) {
        size_t cap = all->cap > 0 ? all->cap * 2 : 64;
        struct mlog_subject *v = mem_realloc(all->v, cap * sizeof *v);
        if (v == NULL) {
            all->failed = true;
            return false;
        }
        all->v = v;
        all->cap = cap;
    }
    all->v[all->n++] = *ms;
    return true;
}

static int
by_name(const void *a, const void *b)
{
    const struct mlog_subject *x = a, *y = b;
    size_t n = x->len < y->len ? x->len : y->len;
    int c = memcmp(x->subject, y->subject, n);
    return c != 0 ? c : (x->len > y->len) - (x->len < y->len);
}

static int
add_subjects(struct stream *s, json_t *state, const struct stream_info_opts *o, uint64_t *total)
{
    struct subjects all = {0};
    struct mfilter *f;
    const char *filter = o->subjects_filter;
    if (mfilter_new(&f, &filter, strcmp(filter, ">") == 0 ? 0 : 1) != ST_OK) {
        return -1;
    }
    mlog_each_subject(s->log, f, collect, &all);
    mfilter_free(f);
    *total = all.n;
    uint64_t limit = o->limit > 0 && o->limit < MAX_SUBJECTS ? o->limit : MAX_SUBJECTS;
    int rc = all.failed ? -1 : 0;
    if (rc == 0 && all.n > 0 && o->offset < all.n) {
        qsort(all.v, all.n, sizeof *all.v, by_name);
        json_t *m = json_object();
        for (size_t i = o->offset; m != NULL && i < all.n && i - o->offset < limit; i++) {
            rc |= json_object_setn_new_nocheck(m, all.v[i].subject, all.v[i].len,
                                               json_integer((json_int_t)all.v[i].msgs));
        }
        rc |= json_object_set_new(state, "subjects", m);
    }
    mem_free(all.v);
    return rc;
}

/* What is not committed yet is not there for whoever asks, as it is not for who reads; but where
 * limits have made room for it by all that is committed, it is told: else a stream that is never
 * empty would seem to be. */
static void
committed_state(struct stream *s, struct mlog_state *st)
{
    struct msg *m;
    const char *subject;
    uint32_t size;
    unsigned flags;
    mlog_state(s->log, st);
    uint64_t end = mlog_committed(s->log);
    if (end >= st->last_seq || st->first_seq > end + 1) {
        return;
    }
    for (uint64_t seq = end; (seq = mlog_next(s->log, NULL, seq + 1)) != 0;) {
        if (mlog_peek(s->log, seq, &subject, &size, &flags)) {
            st->msgs -= st->msgs > 0;
            st->bytes -= st->bytes >= size ? size : st->bytes;
        }
    }
    st->last_seq = end;
    if (mlog_get(s->log, st->last_seq, NULL, &m) == ST_OK) {
        st->last_ts = m->ts;
        msg_unref(m);
    }
    if (st->msgs == 0) {
        st->num_subjects = 0;
        st->last_ts = st->last_seq > 0 ? st->last_ts : 0;
    }
}

static json_t *
state_json(struct stream *s, const struct stream_info_opts *o, uint64_t *total)
{
    struct mlog_state st;
    committed_state(s, &st);
    json_t *j = json_object();
    if (j == NULL) {
        return NULL;
    }
    /* A stream that never had a message says 0, as nats-server's. */
    bool fresh = st.msgs == 0 && st.last_seq == 0;
    int rc = set_u64(j, "messages", st.msgs) | set_u64(j, "bytes", st.bytes) |
             set_u64(j, "first_seq", fresh ? 0 : st.first_seq) |
             set_time(j, "first_ts", st.msgs > 0 ? st.first_ts : 0) |
             set_u64(j, "last_seq", st.last_seq) | set_time(j, "last_ts", st.last_ts);
    if (st.num_subjects > 0) {
        rc |= set_u64(j, "num_subjects", st.num_subjects);
    }
    if (o != NULL && o->subjects_filter != NULL && *o->subjects_filter != '\0') {
        rc |= add_subjects(s, j, o, total);
    }
    if (st.num_deleted > 0) {
        rc |= set_u64(j, "num_deleted", st.num_deleted);
        if (o != NULL && o->deleted_details) {
            rc |= add_deleted(s, j, &st);
        }
    }
    rc |= set_u64(j, "consumer_count", consumers_count(s));
    if (rc != 0) {
        json_decref(j);
        return NULL;
    }
    return j;
}

static int
add_origins(struct stream *s, json_t *o)
{
    bool failed = false;
    int rc = 0;
    json_t *mirror = stream_mirror_json(s, &failed);
    if (mirror != NULL) {
        rc |= json_object_set_new(o, "mirror", mirror);
    }
    json_t *sources = stream_sources_json(s, &failed);
    if (sources != NULL) {
        rc |= json_object_set_new(o, "sources", sources);
    }
    return failed ? -1 : rc;
}

/* Made once, and shared by all answers: nobody changes it. Borrowed; NULL without memory. */
static json_t *
config_json(struct stream *s)
{
    if (s->cfg_answer == NULL) {
        json_t *o = stream_config_to_json(s->cfg);
        if (o != NULL && js_metadata_for_answer(o) != ST_OK) {
            json_decref(o);
            o = NULL;
        }
        s->cfg_answer = o;
    }
    return s->cfg_answer;
}

json_t *
stream_info_json(struct stream *s, const struct stream_info_opts *o, uint64_t *total_subjects,
                 struct js_fail *f)
{
    uint64_t total = 0;
    json_t *info = json_object();
    stream_lock(s);
    json_t *config = config_json(s);
    json_t *state = state_json(s, o, &total);
    int rc = info == NULL || config == NULL;
    rc |= json_object_set(info, "config", config);
    rc |= set_time(info, "created", s->created);
    rc |= json_object_set_new(info, "state", state);
    if (s->js->opts.domain != NULL) {
        rc |= json_object_set_new(info, "domain", json_string(s->js->opts.domain));
    }
    rc |= add_origins(s, info);
    rc |= set_time(info, "ts", js_wall(s->js));
    stream_unlock(s);
    if (total_subjects != NULL) {
        *total_subjects = total;
    }
    if (rc != 0) {
        json_decref(info);
        js_fail_status(f, ST_NOMEM);
        return NULL;
    }
    return info;
}
