/* SPDX-License-Identifier: Apache-2.0 */
/* Durations as Go writes and reads them, and unique ids. Pure; any thread. */
#ifndef STREAM_CONSUMER_TEXT_H
#define STREAM_CONSUMER_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

/* As "1.5s", "2m0s"; out holds at least DURATION_TEXT bytes. Returns out. */
#define DURATION_TEXT 40
char *duration_text(int64_t ns, char *out);

/* "300ms", "-1.5h", "2h45m". ST_SYNTAX. */
enum status duration_parse(const char *s, size_t n, int64_t *ns) MUST_CHECK;

/* n random letters and digits, and a NUL. */
char *random_name(char *out, size_t n);

#endif
