/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/loadgen/answer.h"

#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"

static enum answer
refusal(int code)
{
    switch (code) {
    case 429:
        return ANSWER_429;
    case 503:
        return ANSWER_503;
    case 408:
        return ANSWER_408;
    default:
        return ANSWER_ERROR;
    }
}

/* The number behind `key` in JSON that a server wrote; 0 where there is none. */
static int
number_after(struct span s, const char *key)
{
    const char *p = memmem(s.p, s.n, key, strlen(key));
    int v = 0;

    if (p == NULL) {
        return 0;
    }
    p += strlen(key);
    while (p < s.p + s.n && (*p == ' ' || *p == ':')) {
        p++;
    }
    while (p < s.p + s.n && *p >= '0' && *p <= '9' && v < 1000000) {
        v = v * 10 + (*p++ - '0');
    }
    return v;
}

static enum answer
of_json(struct span data)
{
    const char *error = memmem(data.p, data.n, "\"error\"", 7);

    if (error == NULL) {
        return ANSWER_OK;
    }
    struct span rest = {error, data.n - (size_t)(error - data.p)};
    if (number_after(rest, "\"err_code\"") != 10008) {
        return ANSWER_ERROR;
    }
    return refusal(number_after(rest, "\"code\""));
}

enum answer
answer_of(const struct frame *f)
{
    if (f->hdr.n > 0) {
        int status = wire_hdr_status(f->hdr);
        struct span code = wire_header(f->hdr, "Nats-Service-Error-Code");
        if (status == 503) {
            return ANSWER_NO_RESPONDERS;
        }
        if (code.n > 0) {
            return refusal(atoi(code.p)); /* NB: a CR ends it */
        }
        if (status != 0) {
            return ANSWER_ERROR;
        }
    }
    return of_json(f->data);
}

const char *
answer_name(enum answer a)
{
    static const char *const names[ANSWER_COUNT] = {"ok",          "refused_429",   "refused_503",
                                                    "refused_408", "no_responders", "error"};
    return names[a];
}

int64_t
answer_retry_after(const struct frame *f)
{
    struct span v = wire_header(f->hdr, "Nats-Retry-After");

    if (v.n == 0) {
        return -1;
    }
    double s = strtod(v.p, NULL); /* NB: a CR ends it */
    return s < 0 || s > 3600 ? -1 : (int64_t)(s * (double)CLOCK_S);
}
