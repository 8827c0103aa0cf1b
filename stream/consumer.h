/* SPDX-License-Identifier: Apache-2.0 */
/* Consumers. Guarded by their stream's lock; reference-counted, and each holds its stream. The
 * first part is for the API and takes the lock itself; the second is for the stream, under its
 * lock. */
#ifndef STREAM_CONSUMER_H
#define STREAM_CONSUMER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"
#include "stream/consumer_config.h"
#include "stream/js_error.h"
#include "stream/js_host.h"

struct consumer;
struct msg;
struct stream;

struct consumer *consumer_ref(struct consumer *c);
void consumer_unref(struct consumer *c); /* NULL is allowed */
const char *consumer_name(const struct consumer *c);
struct stream *consumer_stream(const struct consumer *c); /* borrowed */
/* With a reference; NULL: none. Takes the lock. */
struct consumer *consumer_find(struct stream *s, const char *name);
/* All, in the order of creation, with a reference each; consumers_free lets go. ST_NOMEM. */
enum status consumers_of(struct stream *s, struct consumer ***out, size_t *n) MUST_CHECK;
void consumers_free(struct consumer **v, size_t n);

enum consumer_action { CONSUMER_CREATE_OR_UPDATE, CONSUMER_CREATE_ONLY, CONSUMER_UPDATE_ONLY };
struct consumer_request {
    enum consumer_action action;
    bool pedantic;
    uint64_t cid;
};
/* Takes cfg (its name is set; an ephemeral's is made up where it is not). */
enum js_error consumer_create(struct stream *s, struct consumer_config *cfg,
                              const struct consumer_request *rq, struct consumer **out,
                              struct js_fail *f) MUST_CHECK;
enum js_error consumer_delete(struct consumer *c, uint64_t cid, struct js_fail *f) MUST_CHECK;
/* until: wall ns; 0 or past: resume. *paused and *remaining as the answer has them. */
enum js_error consumer_pause(struct consumer *c, int64_t until, bool *paused, int64_t *remaining,
                             struct js_fail *f) MUST_CHECK;
enum js_error consumer_unpin(struct consumer *c, const char *group, struct js_fail *f) MUST_CHECK;
enum js_error consumer_reset(struct consumer *c, uint64_t seq, uint64_t *reset_to,
                             struct js_fail *f) MUST_CHECK;
/* ConsumerInfo without "type". New reference or NULL. */
json_t *consumer_info_json(struct consumer *c);
bool consumer_is_memory(const struct consumer *c);

/* ---- for the stream: its lock is held ---- */
/* Messages up to mlog_committed are there to be delivered. */
void consumers_on_commit(struct stream *s);
/* One message went (mlog_opts.on_remove). */
void consumers_on_remove(struct stream *s, uint64_t seq, const char *subject);
/* All below seq are about to go at once, without consumers_on_remove. */
void consumers_before_drop(struct stream *s, uint64_t seq);
/* They did not go after all. */
void consumers_recount(struct stream *s);
/* All below mlog_first_seq went; filter not NULL: a purge of that subject, one by one. */
void consumers_on_purge(struct stream *s, const char *filter);
/* The stream was updated; it is being deleted (all end, their readers are told). */
void consumers_on_update(struct stream *s);
void consumers_on_delete(struct stream *s);
/* Interest retention: some consumer's filter takes the subject. */
bool consumers_want(struct stream *s, const char *subject, size_t len);
size_t consumers_count(const struct stream *s);
/* A start: from the store's record. The stop: saves states. */
enum status consumer_recover(struct stream *s, const char *name, const char *record,
                             size_t len) MUST_CHECK;
void consumers_stop(struct stream *s);

/* ---- services of an account; arg is the js_account. I/O threads, no lock held. ---- */
void consumer_ack_receive(void *account, const struct js_in *in);  /* $JS.ACK.> */
void consumer_next_receive(void *account, const struct js_in *in); /* ….CONSUMER.MSG.NEXT.*.* */
void consumer_fc_receive(void *account, const struct js_in *in);   /* $JS.FC.> */

/* js.h passes it on. */
void consumers_interest_changed(struct js_account *a, const char *subject, size_t len);

#endif
