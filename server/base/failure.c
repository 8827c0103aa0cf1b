/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/failure.h"

#include "server/base/buf.h"

enum status
vfailure(char **err, enum status st, const char *fmt, va_list ap)
{
    struct buf b;
    buf_init(&b);
    buf_vprintf(&b, fmt, ap);
    *err = buf_detach(&b, NULL);
    return *err != NULL ? st : ST_NOMEM;
}

enum status
failure(char **err, enum status st, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    st = vfailure(err, st, fmt, ap);
    va_end(ap);
    return st;
}
