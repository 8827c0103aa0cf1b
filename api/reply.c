/* SPDX-License-Identifier: Apache-2.0 */
#include "api/reply.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/jwrite.h"
#include "server/base/mem.h"

void
reply_init(struct reply *out)
{
    buf_init(&out->body);
    out->hdr = NULL;
    out->none = false;
}

void
reply_fini(struct reply *out)
{
    buf_fini(&out->body);
}

enum status
reply_json(struct reply *out, json_t *json)
{
    buf_reset(&out->body);
    if (json == NULL) {
        return ST_NOMEM;
    }
    jwrite(&out->body, json);
    json_decref(json);
    enum status st = buf_status(&out->body);
    if (st != ST_OK) {
        buf_reset(&out->body);
    }
    return st;
}

enum status
reply_error(struct reply *out, const char *type, int code, int err_code, const char *fmt, ...)
{
    va_list ap;
    char text[512];
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    /* A text that was cut, or that quotes a peer, may not be UTF-8. */
    json_t *desc = json_string(text);
    if (desc == NULL) {
        desc = json_string("invalid request");
    }
    json_t *err =
        json_pack("{s:i, s:i, s:o}", "code", code, "err_code", err_code, "description", desc);
    json_t *all = type == NULL ? json_pack("{s:o}", "error", err)
                               : json_pack("{s:s, s:o}", "type", type, "error", err);
    return reply_json(out, all);
}

static uint64_t
next_random(void)
{
    static _Thread_local uint64_t x;
    while (x == 0) {
        randombytes_buf(&x, sizeof(x));
    }
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

int64_t
reply_retry_ns(int64_t drain)
{
    int64_t base = drain <= 0 ? REPLY_RETRY_UNKNOWN : drain;
    base = base < REPLY_RETRY_MIN ? REPLY_RETRY_MIN : base;
    base = base > REPLY_RETRY_MAX ? REPLY_RETRY_MAX : base;
    int64_t spread = base / 2;
    return base - spread / 2 + (int64_t)(next_random() % (uint64_t)spread);
}

bool
reply_is_told(enum ledger_end e)
{
    return ledger_end_code(e) != 0;
}

/* Appends what fits below end, and a NUL; there is room for that. Returns where the NUL is.
 * NB: refusals come in floods, and printf would be an eighth of what one costs the I/O thread. */
static char *
put(char *at, char *end, const char *s)
{
    char *behind = memccpy(at, s, '\0', (size_t)(end - at));
    if (behind != NULL) {
        return behind - 1;
    }
    end[-1] = '\0';
    return end - 1;
}

/* n in decimal, with so many digits at least (20 at most). */
static char *
put_number(char *at, char *end, uint64_t n, unsigned digits)
{
    char text[21];
    char *p = text + sizeof(text) - 1;
    *p = '\0';
    for (unsigned k = 0; k < digits || n > 0; k++) {
        *--p = (char)('0' + n % 10);
        n /= 10;
    }
    return put(at, end, p);
}

/* With three digits behind the point. */
static void
put_hint(struct refusal *out, int64_t retry_ns)
{
    char *end = out->hdr + sizeof(out->hdr);
    uint64_t ms = (uint64_t)(retry_ns + CLOCK_MS / 2) / CLOCK_MS;
    char *at = put(out->hdr, end, "NATS/1.0\r\nNats-Retry-After: ");
    at = put_number(at, end, ms / 1000, 1);
    at = put(at, end, ".");
    at = put_number(at, end, ms % 1000, 3);
    (void)put(at, end, "\r\n\r\n");
}

void
reply_refusal(struct refusal *out, enum ledger_end e, const char *server, const char *type,
              int64_t retry_ns)
{
    bool again = e != END_BAD_HEADER; /* the same would fail the same */
    char *end = out->body + sizeof(out->body);
    char *at = put(out->body, end, "{");
    out->hdr[0] = '\0';
    if (again && retry_ns > 0) {
        put_hint(out, retry_ns);
    }
    if (server != NULL) {
        at = put(at, end, "\"server\":");
        at = put(at, end, server);
        at = put(at, end, ",");
    }
    if (type != NULL) {
        at = put(at, end, "\"type\":\"");
        at = put(at, end, type);
        at = put(at, end, "\",");
    }
    at = put(at, end, "\"error\":{\"code\":");
    at = put_number(at, end, (uint64_t)ledger_end_code(e), 1);
    at = put(at, end, ",\"err_code\":");
    at = put_number(at, end, again ? ERR_UNAVAILABLE : ERR_BAD_REQUEST, 1);
    at = put(at, end, ",\"description\":\"");
    at = put(at, end, ledger_end_text(e));
    (void)put(at, end, ": the request was not executed\"}}");
}
