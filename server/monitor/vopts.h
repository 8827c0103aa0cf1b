/* SPDX-License-Identifier: Apache-2.0 */
/* Options of one view, read out of a JSON object with nats-server's rules: keys in any case,
 * unknown keys and null are ignored, a wrong type is an error in its words. The first error stays;
 * what is read after it is the default. Owned by one thread. */
#ifndef SERVER_MONITOR_VOPTS_H
#define SERVER_MONITOR_VOPTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/base/status.h"

struct vopts {
    const json_t *json; /* borrowed for the call; NULL: no options */
    const char *type;   /* borrowed: static; the Go type of the options, for error texts */
    enum status st;     /* ST_OK, ST_SYNTAX, or what vopts_fail set */
    char *err;          /* owned until the caller takes it; NULL: none */
};

/* ST_SYNTAX unless the options are an object (or absent). */
void vopts_init(struct vopts *o, const json_t *json, const char *type);

bool vopts_bool(struct vopts *o, const char *key);
int64_t vopts_int(struct vopts *o, const char *key, const char *go_type);
uint64_t vopts_uint(struct vopts *o, const char *key);
/* "" where it is absent; borrowed from the options. */
const char *vopts_str(struct vopts *o, const char *key, const char *go_type);
/* An array of strings, or NULL; borrowed from the options. */
const json_t *vopts_strings(struct vopts *o, const char *key);

/* Sets the first error; returns the status in force. */
enum status vopts_fail(struct vopts *o, enum status st, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
