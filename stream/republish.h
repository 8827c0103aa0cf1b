/* SPDX-License-Identifier: Apache-2.0 */
/* What was stored goes out again under another subject. */
#ifndef STREAM_REPUBLISH_H
#define STREAM_REPUBLISH_H

#include <stdint.h>

struct msg;
struct stream;

/* prev: the sequence of the message of the same subject before it, or 0. Under the lock. */
void republish_one(struct stream *s, struct msg *m, uint64_t prev);

#endif
