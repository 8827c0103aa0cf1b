/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/js_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct row {
    int code, err_code;
    const char *text;
};

#define ROW(name, code, err_code, text) [name] = {code, err_code, text},
static const struct row rows[] = {[JS_OK] = {200, 0, "ok"}, JS_ERROR_LIST(ROW)};
#undef ROW

/* Copies the text, each {placeholder} replaced by the next argument while there are some. */
static void
fill(char *out, size_t size, const char *text, unsigned n, va_list ap)
{
    size_t len = 0;
    for (const char *p = text; *p != '\0' && len + 1 < size;) {
        const char *end = *p == '{' && n > 0 ? strchr(p, '}') : NULL;
        if (end == NULL) {
            out[len++] = *p++;
            continue;
        }
        const char *arg = va_arg(ap, const char *);
        int k = snprintf(out + len, size - len, "%s", arg != NULL ? arg : "");
        len = k < 0 || (size_t)k >= size - len ? size - 1 : len + (size_t)k;
        n--;
        p = end + 1;
    }
    out[len] = '\0';
}

enum js_error
js_fail_set(struct js_fail *f, enum js_error e, unsigned n, ...)
{
    if (f != NULL) {
        va_list ap;
        f->e = e;
        f->code = rows[e].code;
        f->err_code = rows[e].err_code;
        va_start(ap, n);
        fill(f->text, sizeof(f->text), rows[e].text, n, ap);
        va_end(ap);
    }
    return e;
}

enum js_error
js_fail_num(struct js_fail *f, enum js_error e, unsigned long long n)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%llu", n);
    return js_fail_text(f, e, text);
}

enum js_error
js_fail_status(struct js_fail *f, enum status st)
{
    switch ((int)st) {
    case ST_NOMEM:
    case ST_FULL:
    case ST_LIMIT:
        return js_fail_plain(f, JS_ERR_INSUFFICIENT_RESOURCES);
    case ST_CLOSED:
        return js_fail_plain(f, JS_ERR_CLUSTER_NOT_AVAIL);
    case ST_NOTFOUND:
        return js_fail_plain(f, JS_ERR_STREAM_NOT_FOUND);
    default:
        return js_fail_text(f, JS_ERR_STREAM_GENERAL_ERROR, status_text(st));
    }
}

int
js_error_code(enum js_error e)
{
    return rows[e].code;
}

int
js_error_err_code(enum js_error e)
{
    return rows[e].err_code;
}

const char *
js_error_text(enum js_error e)
{
    return rows[e].text;
}
