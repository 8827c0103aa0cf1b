/* SPDX-License-Identifier: Apache-2.0 */
/* Mirrors and sources within the server: a stream that takes keeps a place in the one it takes
 * from, and is woken when something is committed there. The engine's thread copies; it holds one
 * stream's lock at a time. */
#ifndef STREAM_STREAM_LINKS_H
#define STREAM_STREAM_LINKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct js_account;
struct stream;
struct stream_links;
struct stream_sources;

/* Makes what the configuration has run, and ends the rest. Under stream_admin_lock, no stream's
 * lock. Also after a stream was made that others may wait for (all = its account). */
enum status stream_sources_update(struct stream *s) MUST_CHECK;
/* A stream of that name has come: who takes from it begins. */
void stream_sources_appeared(struct js_account *a, const char *name);
/* The stream is deleted or the engine stops: nothing is taken any more. No lock held. */
void stream_sources_stop(struct stream *s);
void stream_sources_free(struct stream_sources *v); /* NULL is allowed */

/* Something was committed in s, or s is deleted: who takes from it looks. Under its lock. */
void stream_links_notify(struct stream *s);
/* What s took was not written: what it takes from is read anew. Under its lock. */
void stream_sources_rewind(struct stream *s);
/* Somebody takes messages of that subject from s. Under its lock. */
bool stream_links_want(struct stream *s, const char *subject, size_t len);
/* Somebody is still to take that message. Under its lock. */
bool stream_links_need(struct stream *s, uint64_t seq, const char *subject, size_t len);
/* How many take from s. Under its lock. */
size_t stream_links_count(const struct stream *s);
void stream_links_free(struct stream_links *l); /* NULL is allowed */

/* "mirror" and "sources" of StreamInfo. New reference; NULL: none, or *failed. Under the lock. */
json_t *stream_mirror_json(struct stream *s, bool *failed);
json_t *stream_sources_json(struct stream *s, bool *failed);

#endif
