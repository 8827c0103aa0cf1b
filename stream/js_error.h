/* SPDX-License-Identifier: Apache-2.0 */
/* The errors of JetStream as clients see them: one table (js_error.def) of name, code, err_code and
 * text, the numbers and texts of nats-server. Pure; any thread. */
#ifndef STREAM_JS_ERROR_H
#define STREAM_JS_ERROR_H

#include "server/base/status.h"
#include "stream/js_error.def"

#define JS_ERROR_ENUM(name, code, err_code, text) name,
enum js_error { JS_OK, JS_ERROR_LIST(JS_ERROR_ENUM) JS_ERR_COUNT_ };
#undef JS_ERROR_ENUM

/* Why a request or a publish failed. A value of the caller, who zeroes it. */
struct js_fail {
    enum js_error e;
    int code;       /* "code" */
    int err_code;   /* "err_code" */
    char text[512]; /* "description", its {placeholders} filled */
};

/* Fills f (NULL: nobody wants it) and returns e. Each {placeholder} of the text is replaced by the
 * next of n arguments of type const char *. */
enum js_error js_fail_set(struct js_fail *f, enum js_error e, unsigned n, ...);
static inline enum js_error
js_fail_plain(struct js_fail *f, enum js_error e)
{
    return js_fail_set(f, e, 0);
}

/* With the one placeholder that most have. */
static inline enum js_error
js_fail_text(struct js_fail *f, enum js_error e, const char *err)
{
    return js_fail_set(f, e, 1, err);
}

/* The same for the number of a sequence, a limit. */
enum js_error js_fail_num(struct js_fail *f, enum js_error e, unsigned long long n);
/* Memory ran out, the store failed, the server stops: the error that fits a status. */
enum js_error js_fail_status(struct js_fail *f, enum status st);

int js_error_code(enum js_error e);
int js_error_err_code(enum js_error e);
const char *js_error_text(enum js_error e); /* with its placeholders */

#endif
