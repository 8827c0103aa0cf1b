/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/failure.h"

#include <stdarg.h>

#include "server/base/buf.h"

enum status
failure(char **err, enum status st, const char *fmt, ...)
{
    struct buf b;
    buf_init(&b);
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    *err = buf_detach(&b, NULL);
    return *err != NULL ? st : ST_NOMEM;
}
