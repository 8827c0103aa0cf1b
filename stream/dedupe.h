/* SPDX-License-Identifier: Apache-2.0 */
/* The Nats-Msg-Ids of the last while, and the sequences they got. Under the stream's lock. */
#ifndef STREAM_DEDUPE_H
#define STREAM_DEDUPE_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct dedupe;

enum status dedupe_new(struct dedupe **out, int64_t window) MUST_CHECK;
void dedupe_free(struct dedupe *d); /* NULL is allowed */
void dedupe_set_window(struct dedupe *d, int64_t window);

/* The sequence that the id got within the window before `now`; 0: none. */
uint64_t dedupe_find(struct dedupe *d, const char *id, size_t len, int64_t now);
/* ts: of the message; never before that of the last one added. */
enum status dedupe_add(struct dedupe *d, const char *id, size_t len, uint64_t seq,
                       int64_t ts) MUST_CHECK;
/* Its message was not stored after all. */
void dedupe_forget(struct dedupe *d, const char *id, size_t len, uint64_t seq);
/* Lets go of what is past the window; when there will be more (INT64_MAX: nothing is kept). */
int64_t dedupe_expire(struct dedupe *d, int64_t now);
size_t dedupe_count(const struct dedupe *d);

#endif
