/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of stream_config*.c. */
#ifndef STREAM_STREAM_CONFIG_PRIV_H
#define STREAM_STREAM_CONFIG_PRIV_H

#include "stream/stream_config.h"

/* JS_ERR_STREAM_INVALID_CONFIG with that text. */
enum js_error stream_config_invalid(struct js_fail *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Mirror, sources and their transforms. */
enum js_error stream_config_check_origins(struct stream_config *c, struct js_fail *f) MUST_CHECK;

void stream_source_fini(struct stream_source *s);

#endif
