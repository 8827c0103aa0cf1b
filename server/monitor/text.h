/* SPDX-License-Identifier: Apache-2.0 */
/* Values as Go programs print and read them. Pure, any thread. */
#ifndef SERVER_MONITOR_TEXT_H
#define SERVER_MONITOR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_LEN = 48 }; /* enough for any of the texts made here */

/* "3s", "1m3s", "5h0m3s", "2d5h0m3s", "1y2d5h0m3s": whole seconds. out: TEXT_LEN bytes. */
char *text_uptime(int64_t ns, char *out);

/* As time.Duration prints: "0s", "209µs", "1.5ms", "1m0.25s". out: TEXT_LEN bytes. */
char *text_duration(int64_t ns, char *out);

/* As strconv.ParseBool, Atoi, ParseUint: on failure *why is "invalid syntax" or "value out of
 * range". */
bool text_parse_bool(const char *s, bool *out, const char **why);
bool text_parse_int(const char *s, int64_t *out, const char **why);
bool text_parse_uint(const char *s, uint64_t *out, const char **why);

/* 22 random letters and digits and a NUL: an id of an event. */
enum { TEXT_ID_LEN = 23 };
char *text_new_id(char out[TEXT_ID_LEN]);

#endif
