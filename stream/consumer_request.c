/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/consumer_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/mem.h"
#include "stream/consumer_text.h"
#include "stream/jfield.h"
#include "stream/jtidy.h"

#define AT(member) offsetof(struct wire, member)

/* As JSON has it. */
struct wire {
    int64_t expires, batch, max_bytes, heartbeat, min_pending, min_ack_pending, priority;
    bool no_wait;
    char *group, *id; /* owned */
};

static const struct jfield fields[] = {
    {.key = "expires", .kind = JF_DURATION, .off = AT(expires)},
    {.key = "batch", .kind = JF_INT, .off = AT(batch), .type = "int"},
    {.key = "max_bytes", .kind = JF_INT, .off = AT(max_bytes), .type = "int"},
    {.key = "no_wait", .kind = JF_BOOL, .off = AT(no_wait)},
    {.key = "idle_heartbeat", .kind = JF_DURATION, .off = AT(heartbeat)},
    {.key = "group", .kind = JF_STR, .off = AT(group)},
    {.key = "min_pending", .kind = JF_INT, .off = AT(min_pending)},
    {.key = "min_ack_pending", .kind = JF_INT, .off = AT(min_ack_pending)},
    {.key = "id", .kind = JF_STR, .off = AT(id)},
    {.key = "priority", .kind = JF_INT, .off = AT(priority), .type = "int"},
    {.key = NULL}};

static void
copy_text(char *out, size_t cap, const char *text)
{
    snprintf(out, cap, "%s", text != NULL ? text : "");
}

static bool
is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool
parse_object(const char *p, size_t n, struct pull_spec *out, char why[160])
{
    json_error_t err = {.line = 0};
    json_t *o = jtidy_load(p, n, 0, &err);
    if (o == NULL) {
        bool cut = json_error_code(&err) == json_error_premature_end_of_input;
        snprintf(why, 160, "400 Bad Request - %.100s",
                 cut ? "unexpected end of JSON input" : err.text);
        return false;
    }
    struct wire w = {0};
    struct jread r = {.fields = fields, .type = "JSApiConsumerGetNextRequest", .path = ""};
    enum status st = jfield_read(&r, o, &w);
    json_decref(o);
    *out = (struct pull_spec){.n = w.batch,
                              .max_bytes = w.max_bytes > 0 ? w.max_bytes : 0,
                              .expires = w.expires,
                              .heartbeat = w.heartbeat > 0 ? w.heartbeat : 0,
                              .no_wait = w.no_wait,
                              .formal = true,
                              .min_pending = w.min_pending,
                              .min_ack_pending = w.min_ack_pending,
                              .priority = w.priority};
    copy_text(out->group, sizeof out->group, w.group);
    copy_text(out->pin, sizeof out->pin, w.id);
    mem_free(w.group);
    mem_free(w.id);
    if (st != ST_OK) {
        snprintf(why, 160, "400 Bad Request - %.120s", st == ST_SYNTAX ? r.err : status_text(st));
        return false;
    }
    if (w.heartbeat > 0 && w.heartbeat > w.expires / 2) {
        snprintf(why, 160, "400 Bad Request - heartbeat value too large");
        return false;
    }
    return true;
}

bool
pull_spec_parse(const char *body, size_t len, struct pull_spec *out, char why[160])
{
    while (len > 0 && is_space(body[0])) {
        body++;
        len--;
    }
    while (len > 0 && is_space(body[len - 1])) {
        len--;
    }
    *out = (struct pull_spec){.n = 1, .priority = INT32_MAX};
    if (len > 0 && body[0] == '{') {
        return parse_object(body, len, out, why);
    }
    char text[20];
    if (len > 0 && len < sizeof text) {
        memcpy(text, body, len);
        text[len] = '\0';
        char *end;
        long long n = strtoll(text, &end, 10);
        out->n = *end == '\0' ? n : 1;
    }
    return true;
}

static bool
refuse(char why[160], const char *text)
{
    snprintf(why, 160, "%s", text);
    return false;
}

static bool
check_limits(const struct consumer_config *cfg, const struct pull_spec *s, char why[160])
{
    if (cfg->max_batch > 0 && s->n > cfg->max_batch) {
        snprintf(why, 160, "409 Exceeded MaxRequestBatch of %" PRId64, cfg->max_batch);
        return false;
    }
    if (cfg->max_expires > 0 && s->expires > cfg->max_expires) {
        char text[DURATION_TEXT];
        snprintf(why, 160, "409 Exceeded MaxRequestExpires of %s",
                 duration_text(cfg->max_expires, text));
        return false;
    }
    if (cfg->max_bytes > 0 && s->max_bytes > cfg->max_bytes) {
        snprintf(why, 160, "409 Exceeded MaxRequestMaxBytes of %" PRId64, cfg->max_bytes);
        return false;
    }
    return true;
}

bool
pull_spec_allowed(const struct consumer_config *cfg, const struct pull_spec *s, char why[160])
{
    if (!check_limits(cfg, s, why)) {
        return false;
    }
    if (!s->formal) {
        return true;
    }
    if ((s->min_pending != 0 || s->min_ack_pending != 0) && cfg->priority != PRIORITY_OVERFLOW) {
        return refuse(why, "400 Bad Request - Not a Overflow Priority consumer");
    }
    if (s->pin[0] != '\0' && cfg->priority != PRIORITY_PINNED_CLIENT) {
        return refuse(why, "400 Bad Request - Not a Pinned Client Priority consumer");
    }
    if (s->priority < 0 || s->priority > 9) {
        return refuse(why, "400 Bad Request - Priority must be between 0 and 9");
    }
    if (cfg->priority == PRIORITY_NONE) {
        return true;
    }
    if (s->group[0] == '\0') {
        return refuse(why, "400 Bad Request - Priority Group missing");
    }
    for (size_t i = 0; i < cfg->n_priority_groups; i++) {
        if (strcmp(cfg->priority_groups[i], s->group) == 0) {
            return true;
        }
    }
    return refuse(why, "400 Bad Request - Invalid Priority Group");
}
