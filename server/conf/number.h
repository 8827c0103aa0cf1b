/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, dates and durations as Go reads and writes them, which is how they stand in
 * configuration files and log lines. Pure. */
#ifndef SERVER_CONF_NUMBER_H
#define SERVER_CONF_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

/* "64", "-1", "10K" (1000), "1KB" or "1KiB" (1024) … up to E. ST_LIMIT: too big; ST_SYNTAX. */
enum status number_parse_size(const char *s, int64_t *out) MUST_CHECK;

/* "64", "-1": a whole number alone. ST_LIMIT: too big; ST_SYNTAX. */
enum status number_parse_int(const char *s, int64_t *out) MUST_CHECK;

/* As number_parse_int, also 0x…, 0o… or 0…, 0b…, as flags are read. */
enum status number_parse_flag(const char *s, int64_t *out) MUST_CHECK;

/* Digits with one point. ST_LIMIT: too big. */
enum status number_parse_float(const char *s, double *out) MUST_CHECK;

/* The shortest text that reads back as f, without an exponent between 1e-6 and 1e21. */
#define NUMBER_FLOAT_LEN 48
char *number_format_float(double f, char out[NUMBER_FLOAT_LEN]);

/* True for a day and time that exist, in the form 2006-01-02T15:04:05Z. */
bool number_is_datetime(const char *s);

/* "1h30m", "1.5s", "250ms", "-2us", "0" to nanoseconds. ST_SYNTAX: why is Go's text about it. */
#define NUMBER_WHY_LEN 160
enum status number_parse_duration(const char *s, int64_t *out, char why[NUMBER_WHY_LEN]) MUST_CHECK;

/* Nanoseconds as "2m0s", "1.5s", "250ms", "0s". */
#define NUMBER_DURATION_LEN 40
char *number_format_duration(int64_t ns, char out[NUMBER_DURATION_LEN]);

/* "1.50 MB": with 1024. Returns out. */
#define NUMBER_SIZE_LEN 32
const char *number_format_size(int64_t n, char out[NUMBER_SIZE_LEN]);

#endif
