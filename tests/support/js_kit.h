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
struct js_kit_msg {
    char *to, *subject, *reply; /* owned; reply "" where there is none */
    char *hdr, *data;           /* owned, with a NUL */
};

/* In a fresh folder, or in the one of before (a restart). */
void js_kit_open(void);
void js_kit_close(void);
void js_kit_restart(void);
struct js *js_kit_js(void);
/* For cmocka. */
int js_kit_set_up(void **state);
int js_kit_tear_down(void **state);

/* From JSON; fail the test where it is refused. With a reference. */
struct stream *js_kit_stream(const char *config);
struct consumer *js_kit_consumer(struct stream *s, const char *config);
/* The err_code of the refusal; 0: it was made. */
int js_kit_refused_consumer(struct stream *s, const char *config, enum consumer_action action);

/* A client's publish to a subject that the engine serves; false: nobody serves it. */
bool js_kit_send(const char *subject, const char *reply, const char *data);
/* The same with a header block. */
bool js_kit_send_with(const char *subject, const char *reply, const char *hdr, const char *data);
/* Into a stream; waits for the commit, then runs the timers. */
void js_kit_publish(const char *subject, const char *data);
/* Waits for all commits, then runs what is due. */
void js_kit_settle(void);
void js_kit_advance(int64_t ns);
/* Who listens: all at first. A subject that nobody listens to, or NULL: again all do. */
void js_kit_deafen(const char *subject);

/* The oldest message sent to that subject and not yet taken; NULL: none. Freed by js_kit_free. */
struct js_kit_msg *js_kit_take(const char *to);
void js_kit_free(struct js_kit_msg *m);
/* That message must be there: its payload, or the beginning of its header block. Gives its reply
 * (good until the next call). */
const char *js_kit_expect(const char *to, const char *data);
const char *js_kit_expect_hdr(const char *to, const char *hdr);
void js_kit_expect_silence(const char *to);
/* A member of the consumer's information. */
int64_t js_kit_info(struct consumer *c, const char *key, const char *inner);

#endif
