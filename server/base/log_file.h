/* SPDX-License-Identifier: Apache-2.0 */
/* The file that log.c writes to, with its rotation. Guarded by the lock of log.c. */
#ifndef SERVER_BASE_LOG_FILE_H
#define SERVER_BASE_LOG_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

struct log_file {
    char *path; /* owned; NULL: standard error */
    int fd;
    int64_t size;
    int64_t size_limit; /* > 0: past it the file is renamed with a time stamp and begun anew */
    int64_t max_files;  /* > 0: that many, the current one included, are kept */
};

/* path NULL or "": standard error. ST_IO (errno is set) and ST_NOMEM leave *f as it was. */
enum status log_file_open(struct log_file *f, const char *path) MUST_CHECK;

/* Opens the file anew by its name; ST_IO (errno is set) leaves the old one open. */
enum status log_file_reopen(struct log_file *f) MUST_CHECK;

/* One write(2), then the rotation if it is time for it. */
void log_file_write(struct log_file *f, const char *line, size_t len);

/* Back to standard error. */
void log_file_close(struct log_file *f);

#endif
