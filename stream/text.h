/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of short texts that go out with each message, where a format string would be much of the
 * work. The caller has the room. Any thread. */
#ifndef STREAM_TEXT_H
#define STREAM_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { TEXT_U64 = 20 }; /* digits at most */

/* They return where the text goes on; no NUL is put. */
char *text_put(char *at, const char *text, size_t most);
char *text_put_u64(char *at, uint64_t v);

#endif
