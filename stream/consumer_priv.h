/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of struct consumer, for the files consumer*.c alone. All functions here are called
 * under the stream's lock unless they say otherwise. */
#ifndef STREAM_CONSUMER_PRIV_H
#define STREAM_CONSUMER_PRIV_H

#include "server/base/list.h"
#include "stream/consumer.h"
#include "stream/js_timer.h"
#include "stream/mlog.h"
#include "stream/mlog_subject.h"
#include "stream/stream_priv.h"
#include "stream/unacked.h"

enum { PIN_LEN = 22 };

struct deliver_watch;

/* A message that waits for its time: replay at the original speed, a rate limit. */
struct hold {
    uint64_t seq;  /* 0: none */
    int64_t until; /* monotonic */
    int stage;     /* 1: replay is done with, 2: the rate too */
};

/* The state of a consumer that delivers to a subject. */
struct push {
    struct deliver_watch *watch; /* ref, under the account's deliver_lock */
    struct list_node watch_node;
    bool active;         /* somebody listens */
    int64_t window, max; /* of flow control in bytes; window 0: none */
    int64_t unacked, asked;
    char fc_id[560];      /* reply subject of the last request; "": answered */
    int64_t heartbeat_at; /* monotonic; INT64_MAX: none */
    double tokens;        /* of the rate limit, bytes */
    int64_t tokens_at;
};

/* The state of one that is asked for messages. */
struct pull {
    struct list_node waiting; /* owned: struct request, in the order of service */
    size_t n_waiting, n_no_wait;
    int64_t due;   /* when the first expires or wants a heartbeat; INT64_MAX */
    int64_t last;  /* monotonic: of the last activity */
    int64_t swept; /* when it was last looked through whole */
    char pin[PIN_LEN + 1];
    int64_t pinned_wall, pin_until;
};

/* Guarded by the stream's lock, but for refs. */
struct consumer {
    _Atomic uint32_t refs;
    struct stream *stream;         /* ref */
    char *name;                    /* owned */
    int64_t created;               /* wall ns */
    struct list_node node;         /* of the stream's order */
    bool deleted;                  /* whoever comes late finds nothing */
    bool is_push, stored, limited; /* limited: counts against the limits of consumers */
    bool open;                     /* delivers: its creation is committed */
    struct consumer_config *cfg;   /* owned */
    char *record_config;           /* owned: the configuration as the record has it */
    struct mfilter *filter;        /* owned; NULL: takes all */
    struct mcursor *cursor;        /* owned */
    uint32_t loop;

    uint64_t next;                      /* sequence of the stream to look at next */
    uint64_t dseq;                      /* of the next delivery */
    uint64_t delivered, delivered_dseq; /* the highest */
    uint64_t floor, floor_dseq;         /* all up to these is acknowledged */
    int64_t last_delivered, last_acked; /* wall ns; 0: never */
    uint64_t counted;                   /* num_pending counts messages up to here */
    int64_t num_pending;                /* see consumer_num_pending */
    bool recount;                       /* … is to be counted anew */
    uint64_t *skip;                     /* owned: the last of each subject, or NULL */
    size_t n_skip, at_skip;             /* how many, which is next */
    uint64_t resume;                    /* where it goes on behind them */
    struct unacked_tab unacked;
    bool replaying; /* at the original speed, up to replay_to */
    uint64_t replay_to;
    int64_t replay_ts; /* of the last message */
    struct hold hold;

    struct push push;
    struct pull pull;

    int64_t now, wall; /* when consumer_pump or consumer_ack began */

    struct js_timer timer;
    int64_t armed;      /* the timer fires then or earlier; INT64_MAX: never */
    int64_t idle_limit; /* after so long without use it goes; 0: never */
    int64_t idle_at;    /* monotonic: when to look */
    int64_t pause_at;   /* monotonic: the pause ends; INT64_MAX */
    int64_t sample;     /* per cent of acks */
    bool dirty;         /* the record is out of date */
    int64_t save_at;
};

static inline struct js *
consumer_js(const struct consumer *c)
{
    return c->stream->js;
}

static inline int64_t
consumer_now(const struct consumer *c)
{
    return js_now(c->stream->js);
}

/* For the messages of one go: reading the clock for each would cost more than all the rest. */
static inline void
consumer_read_clock(struct consumer *c)
{
    c->now = js_now(c->stream->js);
    c->wall = js_wall(c->stream->js);
}

/* True if the stream still has that message. */
static inline bool
consumer_stream_has(const struct consumer *c, uint64_t seq)
{
    const char *subject;
    uint32_t size;
    unsigned flags;
    return mlog_peek(c->stream->log, seq, &subject, &size, &flags);
}

/* ---- consumer.c ---- */
void consumer_free(struct consumer *c); /* at the last unref, or one that nobody saw yet */
/* The timer fires at `at` (monotonic) or earlier. */
void consumer_arm(struct consumer *c, int64_t at);
struct consumer *consumer_lookup(struct stream *s, const char *name, size_t len); /* borrowed */
/* It is no longer one of the stream's: all ends, its record goes. cid: who asked; says so. */
void consumer_remove(struct consumer *c, uint64_t cid, bool advise);
void consumer_set_idle_limit(struct consumer *c);
bool consumer_is_paused(const struct consumer *c);
void consumer_set_pause(struct consumer *c);
enum status consumer_make_filter(const struct consumer_config *cfg,
                                 struct mfilter **out) MUST_CHECK;
/* The filters of a configuration, whichever way they are given. */
size_t consumer_filters(const struct consumer_config *cfg, const char *const **out);
/* It may deliver from now on. Without the lock; takes a reference. */
void consumer_open(struct consumer *c);
void consumer_timer(struct js_timer *t);
void consumer_forget(struct consumer *c); /* out of the table; lets its reference go */

/* ---- consumer_create.c ---- */
/* Of a record, at a start: takes cfg; not yet one of the stream's. Then consumer_resume, which
 * takes c. */
enum status consumer_revive(struct stream *s, struct consumer_config *cfg, const char *name,
                            int64_t created, struct consumer **out) MUST_CHECK;
enum status consumer_resume(struct consumer *c) MUST_CHECK;

/* ---- consumer_start.c ---- */
enum status consumer_select_start(struct consumer *c) MUST_CHECK;

/* ---- consumer_count.c ---- */
/* True: that message is one of those that num_pending counts. */
bool consumer_counts(const struct consumer *c, uint64_t seq, const char *subject, size_t len);
/* All below seq, which are still there, will not be counted any more. */
void consumer_count_drop(struct consumer *c, uint64_t seq);
/* How many messages are still to be delivered for the first time, of those committed. */
uint64_t consumer_num_pending(struct consumer *c);
void consumer_recount(struct consumer *c);

/* ---- consumer_state.c ---- */
void consumer_touch(struct consumer *c);       /* the record is out of date */
void consumer_save(struct consumer *c);        /* pushes it if it is */
void consumer_save_lazily(struct consumer *c); /* or later, where the store takes no writes */
void consumer_save_last(struct consumer *c);   /* at an orderly stop: also of those in memory */
enum status consumer_save_new(struct consumer *c) MUST_CHECK;
void consumer_erase(struct consumer *c);

/* ---- consumer_deliver.c ---- */
/* Delivers what may be delivered now, within bounds. */
void consumer_pump(struct consumer *c);
void consumer_send(struct consumer *c, uint32_t loop, const char *to, const char *reply,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* ---- consumer_ack.c ---- */
/* Redeliveries whose time has come. */
void consumer_expire(struct consumer *c, int64_t now);
/* When it goes out anew, counted from its time stamp. */
int64_t consumer_ack_wait(const struct consumer *c, const struct unacked *u);
void consumer_track(struct consumer *c, uint64_t seq, uint64_t dseq);
/* The message is gone from the stream. */
void consumer_lost(struct consumer *c, struct unacked *u, const char *reason);
/* Floors after an ack of that one, which is no longer in the table. */
void consumer_move_floor(struct consumer *c, uint64_t seq, uint64_t dseq);
void consumer_exceeded(struct consumer *c, struct unacked *u, uint64_t deliveries);
bool consumer_redeliver_all(struct consumer *c);

/* ---- consumer_pull.c ---- */
struct request; /* a pull request that waits */
/* Who gets the next message of that size; NULL: nobody now. The request counts it, and is freed by
 * pull_served. */
struct request *pull_next(struct consumer *c, size_t size);
struct pull_target {
    const char *reply;
    uint32_t loop;
};
struct pull_target pull_target(const struct request *r);
void pull_served(struct consumer *c, struct request *r);
/* Expired requests are told, heartbeats sent. end: there is nothing more to deliver, so that
 * requests that do not wait are told. */
void pull_sweep(struct consumer *c, bool end);
void pull_request(struct consumer *c, const struct js_in *in, const char *body, size_t len);
/* All are told and go. */
void pull_release(struct consumer *c, const char *status, bool with_rest);
void pull_unpin(struct consumer *c, const char *group, const char *reason);
void pull_init(struct consumer *c);
/* How many wait and are still listened to, and for how many messages. */
size_t pull_count(struct consumer *c, int64_t *wanted);

/* ---- consumer_push.c ---- */
void push_init(struct consumer *c);
bool push_may_send(const struct consumer *c);
void push_sent(struct consumer *c, size_t size);
void push_heartbeat(struct consumer *c);
void push_answered(struct consumer *c, const struct js_in *in);
void push_set_rate(struct consumer *c);
/* How long the message of that size is to wait for the rate. */
int64_t push_rate_delay(struct consumer *c, size_t size);
void idle_heartbeat(struct consumer *c, uint32_t loop, const char *to);

/* ---- consumer_interest.c: the account's table of deliver subjects (its own lock inside) ---- */
enum status interest_watch(struct consumer *c) MUST_CHECK;
void interest_unwatch(struct consumer *c);
/* Looks whether somebody listens, and acts on a change. */
void interest_check(struct consumer *c);

/* ---- consumer_retention.c ---- */
/* This consumer is done with the message: it goes if no other needs it. */
void retention_done(struct consumer *c, uint64_t seq);
/* Removes what nobody needs, from that sequence on. */
void retention_sweep(struct stream *s, uint64_t from);
/* Somebody who takes from the stream is done with what the filter takes of [from, to). */
void retention_release(struct stream *s, struct mfilter *filter, uint64_t from, uint64_t to);

#endif
