/* SPDX-License-Identifier: Apache-2.0 */
#include "server/route/send.h"

#include <stdatomic.h>
#include <string.h>

#include "server/auth/account.h"
#include "server/auth/auth.h"
#include "server/auth/perms.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "server/net/block.h"
#include "server/net/conn.h"
#include "server/net/conn_subs.h"
#include "server/net/loop.h"
#include "server/net/stall.h"
#include "server/proto/trace.h"
#include "server/route/deliver.h"
#include "server/route/replies.h"
#include "server/route/sub.h"

enum {
    INLINE_MAX = 4096,       /* larger payloads are shared by reference */
    FLUSH_AT = 128 * 1024,   /* written out at once instead of at the end of the turn */
    LINE_FIXED = 6 + 3 + 40, /* verb, blanks, two numbers, CRLF */
};

static char *
put(char *at, const char *s, size_t n)
{
    memcpy(at, s, n);
    return at + n;
}

static char *
put_number(char *at, size_t v)
{
    char digits[20];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    while (n > 0) {
        *at++ = digits[--n];
    }
    return at;
}

/* What of the message this subscriber sees. */
static struct message_view
view_for(const struct inbound *in, const struct conn *c)
{
    if (in->hdr_len > 0 && !c->headers) {
        return (struct message_view){in->data + in->hdr_len, in->size - in->hdr_len, 0};
    }
    return (struct message_view){in->data, in->size, in->hdr_len};
}

static size_t
line_bound(const struct inbound *in, const struct sub *s)
{
    return LINE_FIXED + in->subject_len + s->sid_len + in->reply_len + 1;
}

/* "MSG subject sid [reply] size\r\n" or "HMSG subject sid [reply] header-size size\r\n". */
static char *
put_line(char *at, const struct inbound *in, const struct sub *s, const struct message_view *v)
{
    at = v->hdr_len > 0 ? put(at, "HMSG ", 5) : put(at, "MSG ", 4);
    at = put(at, in->subject, in->subject_len);
    *at++ = ' ';
    at = put(at, sub_sid(s), s->sid_len);
    *at++ = ' ';
    if (in->reply_len > 0) {
        at = put(at, in->reply, in->reply_len);
        *at++ = ' ';
    }
    if (v->hdr_len > 0) {
        at = put_number(at, v->hdr_len);
        *at++ = ' ';
    }
    at = put_number(at, v->size);
    return put(at, "\r\n", 2);
}

/* Line and payload in one piece, which is nearly every message. */
static enum status
append_small(const struct inbound *in, struct conn *c, const struct sub *s,
             const struct message_view *v)
{
    char *begin = outbuf_reserve(&c->out, &c->loop->pool, line_bound(in, s) + v->size + 2);
    if (begin == NULL) {
        return ST_NOMEM;
    }
    char *at = put_line(begin, in, s, v);
    if (log_enabled(LVL_TRACE)) {
        trace_out(c, begin, (size_t)(at - begin) - 2, v);
    }
    if (v->size > 0) {
        at = put(at, v->data, v->size);
    }
    at = put(at, "\r\n", 2);
    outbuf_commit(&c->out, (size_t)(at - begin));
    return ST_OK;
}

/* A payload that is in no block yet is copied into one, for all receivers that follow. */
static enum status
share(struct inbound *in)
{
    if (in->backing != NULL) {
        return ST_OK;
    }
    enum status st = block_new(&in->backing, in->size);
    if (st == ST_OK) {
        memcpy(in->backing->data, in->data, in->size);
        in->data = in->backing->data;
        in->own_backing = true;
    }
    return st;
}

/* The line alone. One longer than a chunk (max_control_line was raised) takes a detour. */
static enum status
append_line(const struct inbound *in, struct conn *c, const struct sub *s,
            const struct message_view *v)
{
    size_t bound = line_bound(in, s);
    char *heap = bound > OUTBUF_CHUNK ? mem_alloc_raw(bound) : NULL;
    char *begin = bound > OUTBUF_CHUNK ? heap : outbuf_reserve(&c->out, &c->loop->pool, bound);
    if (begin == NULL) {
        return ST_NOMEM;
    }
    size_t n = (size_t)(put_line(begin, in, s, v) - begin);
    if (log_enabled(LVL_TRACE)) {
        trace_out(c, begin, n - 2, v);
    }
    if (heap == NULL) {
        outbuf_commit(&c->out, n);
        return ST_OK;
    }
    enum status st = outbuf_append(&c->out, &c->loop->pool, heap, n);
    mem_free(heap);
    return st;
}

static enum status
append_large(struct inbound *in, struct conn *c, const struct sub *s)
{
    struct outpool *pool = &c->loop->pool;
    enum status st = share(in);
    if (st != ST_OK) {
        return st;
    }
    struct message_view v = view_for(in, c);
    st = append_line(in, c, s, &v);
    if (st == ST_OK) {
        st = outbuf_append_block(&c->out, pool, in->backing, v.data, v.size);
    }
    return st == ST_OK ? outbuf_append(&c->out, pool, "\r\n", 2) : st;
}

static bool
may_receive(const struct inbound *in, const struct conn *c, const struct sub *s)
{
    const struct perms *p = c->user->perms;
    if (p == NULL || (!p->sub_deny.set && !p->star)) {
        return true;
    }
    const char *queue = s->queue_len > 0 ? sub_queue(s) : NULL;
    if (perms_is_wide(p, sub_subject(s), s->subject_len)) {
        return perms_may_subscribe(p, in->subject, in->subject_len, queue, s->queue_len);
    }
    return perms_may_receive(p, in->subject, in->subject_len, queue, s->queue_len);
}

static void
note_reply(const struct inbound *in, struct conn *c)
{
    if (c->replies != NULL && in->reply_len > 0 &&
        !perms_may_publish(c->user->perms, in->reply, in->reply_len)) {
        replies_note(c->replies, in->reply, in->reply_len, clock_mono_ns());
    }
}

static void
too_much(struct conn *c)
{
    LOOP_COUNT(c->loop->stats.slow_consumers, 1);
    atomic_fetch_add(&c->account->slow_consumers, 1);
    conn_log(c, LVL_INFO, "Slow Consumer Detected: MaxPending of %lld Exceeded",
             (long long)c->loop->cfg->max_pending);
    conn_close(c, CLOSE_SLOW_PENDING);
}

static void
after_append(const struct inbound *in, struct conn *c)
{
    if (c->out.pending > c->loop->cfg->max_pending) {
        too_much(c);
        return;
    }
    conn_mark_dirty(c);
    if (c->out.pending >= FLUSH_AT && !c->write_armed) {
        conn_flush(c);
    }
    if (in->from != NULL && in->from != c && !c->closed) {
        stall_note(in->from, c->peer, c->out.pending);
    }
}

bool
send_to_sub(struct inbound *in, struct sub *s)
{
    struct conn *c = s->conn;
    if (c == NULL || c->closed || (in->from_cid == c->cid && !c->echo) || !may_receive(in, c, s)) {
        return false;
    }
    s->nmsgs++;
    bool over = s->max > 0 && s->nmsgs > s->max;
    if (!over) {
        struct message_view v = view_for(in, c);
        bool small = line_bound(in, s) + v.size + 2 <= OUTBUF_CHUNK &&
                     (v.size <= INLINE_MAX || (in->single && in->backing == NULL));
        enum status st = small ? append_small(in, c, s, &v) : append_large(in, c, s);
        if (st != ST_OK) {
            conn_log(c, LVL_ERROR, "out of memory for a message");
            conn_close(c, CLOSE_NOMEM);
            return false;
        }
        c->out_msgs++;
        c->out_bytes += (int64_t)v.size;
        note_reply(in, c);
    }
    if (s->max > 0 && s->nmsgs >= s->max) {
        conn_subs_remove(c, s);
    }
    if (!over) {
        after_append(in, c);
    }
    return !over;
}
