/* SPDX-License-Identifier: Apache-2.0 */
/* A JetStream engine without a server: a host that keeps what is sent, a clock that tests move, one
 * account. The store's thread runs; timers run where the test says so. One at a time. */
#ifndef TESTS_SUPPORT_JS_KIT_H
#define TESTS_SUPPORT_JS_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/consumer.h"
#include "stream/js.h"
#include "stream/stream.h"

/* A message that went out. */
struct kit_msg {
    char *to, *subject, *reply; /* owned; reply "" where there is none */
    char *hdr, *data;           /* owned, with a NUL */
};

/* In a fresh folder, or in the one of before (a restart). */
void jskit_open(void);
/* The same, on that VFS of SQLite. */
void jskit_open_on(const char *vfs);
void jskit_close(void);
void kit_restart(void);
/* The same; in between that is done to the database. */
void kit_restart_after(const char *sql);
struct js *kit_js(void);
/* For cmocka. */
int kit_set_up(void **state);
int kit_tear_down(void **state);

/* From JSON; fail the test where it is refused. With a reference. */
struct stream *kit_stream(const char *config);
struct consumer *kit_consumer(struct stream *s, const char *config);
/* The err_code of the refusal; 0: it was made. */
int kit_refused_stream(const char *config);
int kit_refused_update(const char *config);
int kit_refused_consumer(struct stream *s, const char *config, enum consumer_action action);

/* A client's publish to a subject that the engine serves; false: nobody serves it. */
bool kit_send(const char *subject, const char *reply, const char *data);
/* The same with a header block. */
bool kit_send_with(const char *subject, const char *reply, const char *hdr, const char *data);
/* Into a stream; waits for the commit, then runs the timers. */
void kit_publish(const char *subject, const char *data);
/* Waits for all commits, then runs what is due. False: the store did not take some of it. */
bool kit_settle(void);
void jskit_advance(int64_t ns);
/* Who listens: all at first. A subject that nobody listens to, or NULL: again all do. */
void kit_deafen(const char *subject);

/* The oldest message sent to that subject and not yet taken; NULL: none. Freed by kit_free. */
struct kit_msg *kit_take(const char *to);
void kit_free(struct kit_msg *m);
/* That message must be there: its payload, or the beginning of its header block. Gives its reply
 * (good until the next call). */
const char *kit_expect(const char *to, const char *data);
const char *kit_expect_hdr(const char *to, const char *hdr);
void kit_expect_silence(const char *to);
/* A member of the consumer's information. */
int64_t kit_info(struct consumer *c, const char *key, const char *inner);

#endif
