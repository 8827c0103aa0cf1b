/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: on_readable reads once into the loop's buffer, behind what was left of the last
 * operation, and hands the bytes to consume, which parses operation by operation. What is left is
 * kept by the connection. An operation larger than the carry space is read straight into a block
 * of its own, which its receivers then share.
 * Failure: end of file and errors close the connection; a full socket arms the write event with
 * write_deadline as its time-out. */
#include "server/net/conn_io.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "server/auth/account.h"
#include "server/base/assert.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/mem.h"
#include "server/conf/number.h"
#include "server/config.h"
#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/net/peer.h"
#include "server/net/stall.h"
#include "server/proto/verbs.h"

enum { WRITE_IOVS = 128 };

static void on_readable(evutil_socket_t fd, short what, void *arg);
static void on_writable(evutil_socket_t fd, short what, void *arg);

void
conn_io_init(struct conn *c)
{
    event_assign(&c->ev_read, c->loop->base, c->fd, EV_READ | EV_PERSIST, on_readable, c);
    event_assign(&c->ev_write, c->loop->base, c->fd, EV_WRITE, on_writable, c);
    event_add(&c->ev_read, NULL);
}

static bool
keep_rest(struct conn *c, const char *buf, size_t len)
{
    if (len == 0) {
        return true;
    }
    c->part = mem_alloc_raw(len);
    if (c->part == NULL) {
        return false;
    }
    memcpy(c->part, buf, len);
    c->part_len = len;
    return true;
}

static bool
begin_big(struct conn *c, const char *buf, size_t len, size_t want)
{
    if (block_new(&c->big, want) != ST_OK) {
        return false;
    }
    memcpy(c->big->data, buf, len);
    c->big_have = len;
    return true;
}

/* What is left of a read: kept as it is in a pause, else as the begin of an operation. */
static void
keep(struct conn *c, const char *buf, size_t len, size_t want)
{
    bool kept = c->pause == 0 && want > LOOP_CARRY_SIZE ? begin_big(c, buf, len, want)
                                                        : keep_rest(c, buf, len);
    if (!kept) {
        conn_close(c, CLOSE_NOMEM);
    }
}

static void
consume(struct conn *c, const char *buf, size_t len, struct block *backing)
{
    struct op op;
    size_t used;
    size_t want = 0;
    size_t all = len;
    while (len > 0 && c->pause == 0) {
        if (!c->connected && !verbs_may_begin(c, buf[0])) {
            return;
        }
        enum parse_result r = parser_next(&c->parser, buf, len, &used, &op);
        if (r == PARSE_MORE) {
            want = used;
            break;
        }
        if (r == PARSE_CUT) {
            len = used;
            break;
        }
        if (r == PARSE_OP) {
            late_place(&c->loop->late, all - len + used, all);
            verbs_run(c, &op, backing);
            buf += used;
            len -= used;
        } else {
            verbs_parse_error(c, r, &op, buf, len);
        }
        if (c->closed) {
            return;
        }
    }
    keep(c, buf, len, want);
}

static void
after_read(struct conn *c)
{
    if (!c->closed) {
        conn_report(c);
        stall_apply(c);
    }
}

/* What the socket holds beyond what was read. */
static size_t
left_unread(const struct conn *c)
{
    int left = 0;
    return ioctl(c->fd, FIONREAD, &left) == 0 && left > 0 ? (size_t)left : 0;
}

static ssize_t
read_some(struct conn *c, char *buf, size_t n)
{
    struct late *late = &c->loop->late;
    ssize_t got;
    do {
        got = recv(c->fd, buf, n, 0);
    } while (got < 0 && errno == EINTR);
    if (got == 0) {
        conn_close(c, CLOSE_CLIENT);
    } else if (got < 0 && errno != EAGAIN) {
        conn_close(c, errno == ECONNRESET ? CLOSE_CLIENT : CLOSE_READ);
    } else if (got > 0) {
        size_t left = late_asks(late, &c->late) ? left_unread(c) : 0;
        late_got(late, &c->late, (size_t)got, left);
    }
    return got;
}

static void
read_big(struct conn *c)
{
    struct block *b = c->big;
    ssize_t got = read_some(c, b->data + c->big_have, b->size - c->big_have);
    if (got <= 0) {
        return;
    }
    c->big_have += (size_t)got;
    if (c->big_have == b->size) {
        c->big = NULL;
        c->big_have = 0;
        consume(c, b->data, b->size, b);
        block_unref(b);
        after_read(c);
    }
}

/* A line without end that no longer fits in front of the read buffer: max_control_line was raised.
 */
static void
read_long_line(struct conn *c)
{
    struct loop *l = c->loop;
    ssize_t got = read_some(c, l->rbuf, LOOP_READ_SIZE);
    if (got <= 0) {
        return;
    }
    size_t len = c->part_len + (size_t)got;
    char *line = mem_realloc(c->part, len);
    if (line == NULL) {
        conn_close(c, CLOSE_NOMEM);
        return;
    }
    memcpy(line + c->part_len, l->rbuf, (size_t)got);
    c->part = NULL;
    c->part_len = 0;
    consume(c, line, len, NULL);
    mem_free(line);
    after_read(c);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct conn *c = arg;
    struct loop *l = c->loop;
    if (late_is_first(&l->late)) {
        late_turn(&l->late, clock_mono_ns());
    }
    if (c->big != NULL) {
        read_big(c);
        return;
    }
    size_t have = c->part_len;
    if (have > LOOP_CARRY_SIZE) {
        read_long_line(c);
        return;
    }
    size_t most = late_is_behind(&l->late) ? LOOP_READ_SIZE / 4 : LOOP_READ_SIZE;
    ssize_t got = read_some(c, l->rbuf + have, most);
    if (got <= 0) {
        return;
    }
    if (have > 0) {
        memcpy(l->rbuf, c->part, have);
        mem_free(c->part);
        c->part = NULL;
        c->part_len = 0;
    }
    consume(c, l->rbuf, have + (size_t)got, NULL);
    after_read(c);
}

void
conn_pause(struct conn *c, unsigned why)
{
    if (c->pause == 0) {
        event_del(&c->ev_read);
    }
    c->pause |= why;
}

void
conn_resume(struct conn *c, unsigned why)
{
    if (c->closed || (c->pause & why) == 0) {
        return;
    }
    c->pause &= ~why;
    if (c->pause != 0) {
        return;
    }
    event_add(&c->ev_read, NULL);
    if (c->part_len > 0) {
        char *rest = c->part;
        size_t len = c->part_len;
        late_none(&c->loop->late);
        c->part = NULL;
        c->part_len = 0;
        consume(c, rest, len, NULL);
        mem_free(rest);
        after_read(c);
    }
}

bool
conn_io_write(struct conn *c)
{
    struct iovec iov[WRITE_IOVS];
    while (c->out.pending > 0) {
        int n = outbuf_iov(&c->out, iov, WRITE_IOVS);
        struct msghdr msg = {.msg_iov = iov, .msg_iovlen = (size_t)n};
        ssize_t wrote = sendmsg(c->fd, &msg, MSG_NOSIGNAL);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote < 0) {
            return errno == EAGAIN || errno == ENOBUFS;
        }
        outbuf_consume(&c->out, &c->loop->pool, (size_t)wrote);
    }
    return true;
}

/* As in nats-server one deadline holds for all that waits when the socket becomes full, so a reader
 * that only trickles is slow too. */
static void
arm_write(struct conn *c)
{
    int64_t most = c->loop->cfg->write_deadline;
    int64_t now = clock_mono_ns();
    if (c->write_armed) {
        return;
    }
    if (c->batch_left <= 0) {
        c->batch_left = c->out.pending;
        c->batch_wrote = 0;
        c->batch_until = now + most;
    }
    int64_t left = c->batch_until > now ? c->batch_until - now : 0;
    struct timeval tv = {(time_t)(left / CLOCK_S), (suseconds_t)(left % CLOCK_S / 1000)};
    c->write_armed = true;
    event_add(&c->ev_write, &tv);
}

static void
note_progress(struct conn *c, int64_t wrote)
{
    c->batch_left -= wrote;
    c->batch_wrote += wrote;
    if (c->is_slow && c->batch_left <= 0) {
        int64_t took = clock_mono_ns() - (c->batch_until - c->loop->cfg->write_deadline);
        long long chunks = c->batch_wrote / OUTBUF_CHUNK + 1;
        c->is_slow = false;
        conn_log(c, LVL_INFO,
                 "Slow Consumer Recovered: Flush took %.3fs with %lld chunks of %lld total bytes.",
                 (double)took / CLOCK_S, chunks, (long long)c->batch_wrote);
    }
}

/* For producers on other loops: see stall.h. */
static void
publish_pending(struct conn *c)
{
    atomic_store_explicit(&c->peer->pending, c->out.pending, memory_order_relaxed);
}

static void
write_or_arm(struct conn *c)
{
    int64_t before = c->out.pending;
    if (!conn_io_write(c)) {
        conn_close(c, CLOSE_WRITE);
        return;
    }
    if (c->batch_left > 0) {
        note_progress(c, before - c->out.pending);
    }
    publish_pending(c);
    if (c->out.pending > 0) {
        arm_write(c);
    }
}

void
conn_flush(struct conn *c)
{
    ASSERT_OWNER(c->loop);
    if (c->closed) {
        return;
    }
    conn_report(c);
    if (c->write_armed) {
        publish_pending(c);
        return; /* the socket is full: on_writable goes on */
    }
    write_or_arm(c);
}

/* With write_timeout "retry" a reader that took at least something may go on. */
static void
too_slow(struct conn *c)
{
    struct loop *l = c->loop;
    if (c->connected) {
        LOOP_COUNT(l->stats.slow_consumers, 1);
        if (c->account != NULL) {
            atomic_fetch_add(&c->account->slow_consumers, 1);
        }
        struct iovec iov[WRITE_IOVS];
        char limit[NUMBER_DURATION_LEN];
        conn_log(c, LVL_INFO,
                 "Slow Consumer %s: WriteDeadline of %s exceeded with %d chunks of %lld "
                 "total bytes.",
                 c->is_slow ? "State" : "Detected",
                 number_format_duration(l->cfg->write_deadline, limit),
                 outbuf_iov(&c->out, iov, WRITE_IOVS), (long long)c->out.pending);
    }
    if (l->cfg->write_timeout != CONFIG_WRITE_RETRY || !c->connected || c->batch_wrote == 0) {
        conn_close(c, CLOSE_SLOW_DEADLINE);
        return;
    }
    c->is_slow = true;
    c->batch_left = 0;
    arm_write(c);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    struct conn *c = arg;
    c->write_armed = false;
    if ((what & EV_WRITE) == 0) {
        too_slow(c);
        return;
    }
    write_or_arm(c);
}
