/* SPDX-License-Identifier: Apache-2.0 */
/* A failure with a text for the user. Any thread. */
#ifndef SERVER_BASE_FAILURE_H
#define SERVER_BASE_FAILURE_H

#include <stdarg.h>

#include "server/base/status.h"

/* Writes the text into *err, which is the caller's to free with mem_free, and returns st. ST_NOMEM:
 * there was no memory for it, and *err is NULL. */
enum status failure(char **err, enum status st, const char *fmt, ...) MUST_CHECK
    __attribute__((format(printf, 3, 4)));
enum status vfailure(char **err, enum status st, const char *fmt, va_list ap) MUST_CHECK
    __attribute__((format(printf, 3, 0)));

#endif
