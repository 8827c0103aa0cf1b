/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/base/subject.h"
#include "stream/stream_config_priv.h"
#include "stream/transforms.h"

enum { MAX_NAME = 255, MAX_DESCRIPTION = 4 * 1024, MAX_METADATA = 128 * 1024, MAX_REPLICAS = 5 };
#define DEFAULT_DUPLICATES (120 * CLOCK_S)

enum js_error
stream_config_invalid(struct js_fail *f, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return js_fail_text(f, JS_ERR_STREAM_INVALID_CONFIG, text);
}

static size_t
metadata_len(const json_t *m)
{
    size_t n = 0;
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)m, key, v)
    {
        n += strlen(key) + json_string_length(v);
    }
    return n;
}

static enum js_error
check_texts(const struct stream_config *c, struct js_fail *f)
{
    if (c->name == NULL || !js_name_is_valid(c->name, strlen(c->name))) {
        return stream_config_invalid(
            f, "stream name is required and can not contain '.', '*', '>', '\\', '/'");
    }
    if (strlen(c->name) > MAX_NAME) {
        return stream_config_invalid(f, "stream name is too long, maximum allowed is %d", MAX_NAME);
    }
    if (c->description != NULL && strlen(c->description) > MAX_DESCRIPTION) {
        return stream_config_invalid(f, "stream description is too long, maximum allowed is %d",
                                     MAX_DESCRIPTION);
    }
    if (metadata_len(c->metadata) > MAX_METADATA) {
        return stream_config_invalid(f, "stream metadata exceeds maximum size of %d bytes",
                                     MAX_METADATA);
    }
    return JS_OK;
}

static enum js_error
default_limit(int64_t *v, const char *name, bool pedantic, struct js_fail *f)
{
    char text[64];
    if (pedantic && *v < -1) {
        snprintf(text, sizeof text, "%s must be set to -1", name);
        return js_fail_text(f, JS_ERR_PEDANTIC, text);
    }
    if (*v == 0 || *v < -1) {
        *v = -1;
    }
    return JS_OK;
}

static enum js_error
check_numbers(struct stream_config *c, bool pedantic, struct js_fail *f)
{
    if (c->replicas == 0) {
        c->replicas = 1;
    }
    if (c->replicas > MAX_REPLICAS) {
        return stream_config_invalid(f, "maximum replicas is %d", MAX_REPLICAS);
    }
    if (c->replicas < 0) {
        return js_fail_plain(f, JS_ERR_REPLICAS_COUNT_CANNOT_BE_NEGATIVE);
    }
    struct {
        int64_t *v;
        const char *name;
    } limits[] = {{&c->max_msgs, "max_msgs"},
                  {&c->max_msgs_per, "max_msgs_per_subject"},
                  {&c->max_bytes, "max_bytes"},
                  {&c->max_msg_size, "max_msg_size"},
                  {&c->max_consumers, "max_consumers"}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        enum js_error e = default_limit(limits[i].v, limits[i].name, pedantic, f);
        if (e != JS_OK) {
            return e;
        }
    }
    if (c->max_age < 0) {
        return stream_config_invalid(f, "max age can not be negative");
    }
    if (c->max_age != 0 && c->max_age < 100 * CLOCK_MS) {
        return stream_config_invalid(f, "max age needs to be >= 100ms");
    }
    return JS_OK;
}

/* As Go prints a duration of whole seconds and more. */
static const char *
duration_text(int64_t ns, char *out, size_t n)
{
    int64_t s = ns / CLOCK_S;
    double rest = (double)(ns % (60 * CLOCK_S)) / 1e9;
    if (s >= 3600) {
        snprintf(out, n, "%lldh%lldm%gs", (long long)(s / 3600), (long long)(s / 60 % 60), rest);
    } else if (s >= 60) {
        snprintf(out, n, "%lldm%gs", (long long)(s / 60), rest);
    } else if (s >= 1) {
        snprintf(out, n, "%gs", rest);
    } else {
        snprintf(out, n, "%gms", (double)ns / 1e6);
    }
    return out;
}

static enum js_error
default_duplicates(struct stream_config *c, int64_t limit, bool pedantic, struct js_fail *f)
{
    int64_t window = DEFAULT_DUPLICATES;
    if (limit > 0 && window > limit) {
        if (pedantic) {
            return js_fail_text(f, JS_ERR_PEDANTIC,
                                "duplicate window limits are higher than current limits");
        }
        window = limit;
    }
    if (c->max_age != 0 && c->max_age < window) {
        if (pedantic) {
            return js_fail_text(f, JS_ERR_PEDANTIC,
                                "duplicate window cannot be bigger than max age");
        }
        window = c->max_age;
    }
    c->duplicates = window;
    return JS_OK;
}

static enum js_error
check_duplicates(struct stream_config *c, int64_t limit, bool pedantic, struct js_fail *f)
{
    if (c->duplicates == 0 && c->mirror == NULL && c->n_sources == 0) {
        enum js_error e = default_duplicates(c, limit, pedantic, f);
        if (e != JS_OK) {
            return e;
        }
    }
    if (c->duplicates < 0) {
        return stream_config_invalid(f, "duplicates window can not be negative");
    }
    if (c->max_age != 0 && c->duplicates > c->max_age) {
        return stream_config_invalid(f, "duplicates window can not be larger then max age");
    }
    if (limit > 0 && c->duplicates > limit) {
        char text[48];
        return stream_config_invalid(f,
                                     "duplicates window can not be larger then server limit of %s",
                                     duration_text(limit, text, sizeof text));
    }
    if (c->duplicates > 0 && c->duplicates < 100 * CLOCK_MS) {
        return stream_config_invalid(f, "duplicates window needs to be >= 100ms");
    }
    return JS_OK;
}

/* The first condition that holds gives its text. */
struct rule {
    bool broken;
    const char *text;
};

static enum js_error
check_rules(const struct rule *r, size_t n, struct js_fail *f)
{
    for (size_t i = 0; i < n; i++) {
        if (r[i].broken) {
            return stream_config_invalid(f, "%s", r[i].text);
        }
    }
    return JS_OK;
}

#define CHECK_RULES(rules, f) check_rules((rules), sizeof(rules) / sizeof *(rules), (f))

static enum js_error
check_policies(const struct stream_config *c, struct js_fail *f)
{
    bool counter = c->allow_msg_counter;
    const struct rule rules[] = {
        {c->deny_purge && c->allow_rollup, "roll-ups require the purge permission"},
        {counter && c->discard == DISCARD_NEW, "counter stream cannot use discard new"},
        {counter && c->allow_msg_ttl, "counter stream cannot use message TTLs"},
        {counter && c->allow_msg_schedules, "counter stream cannot use message schedules"},
        {counter && c->retention != RETENTION_LIMITS,
         "counter stream can only use limits retention"},
        {c->discard_new_per && c->discard != DISCARD_NEW,
         "discard new per subject requires discard new policy to be set"},
        {c->discard_new_per && c->max_msgs_per <= 0,
         "discard new per subject requires max msgs per subject > 0"},
        {c->subject_delete_marker_ttl < 0, "subject delete marker TTL must not be negative"},
        {c->subject_delete_marker_ttl > 0 && c->subject_delete_marker_ttl < CLOCK_S,
         "subject delete marker TTL must be at least 1 second"}};
    return CHECK_RULES(rules, f);
}

/* Delete markers and schedules bring with them what they need. */
static enum js_error
check_needs(struct stream_config *c, bool pedantic, struct js_fail *f)
{
    bool marker = c->subject_delete_marker_ttl > 0;
    const struct rule rules[] = {
        {pedantic && marker && !c->allow_msg_ttl,
         "subject delete marker cannot be set if message TTLs are disabled"},
        {pedantic && marker && !c->allow_rollup,
         "subject delete marker cannot be set if roll-ups are disabled"},
        {c->allow_msg_schedules && c->discard == DISCARD_NEW,
         "message scheduling cannot use discard new"},
        {pedantic && c->allow_msg_schedules && !c->allow_rollup,
         "message scheduling cannot be set if roll-ups are disabled"}};
    enum js_error e = CHECK_RULES(rules, f);
    if (e != JS_OK) {
        return e;
    }
    c->allow_msg_ttl |= marker;
    if ((marker || c->allow_msg_schedules) && !c->allow_rollup) {
        c->allow_rollup = true;
        c->deny_purge = false;
    }
    bool async = c->persist == PERSIST_ASYNC;
    const struct rule persist[] = {
        {async && c->storage != STORAGE_FILE,
         "async persist mode is only supported on file storage"},
        {async && c->replicas > 1, "async persist mode is not supported on replicated streams"},
        {async && c->allow_atomic,
         "async persist mode is not supported with atomic batch publish"}};
    return CHECK_RULES(persist, f);
}

static bool
collide(const char *a, const char *b)
{
    return subject_overlaps(a, strlen(a), b, strlen(b));
}

static bool
inside(const char *sub, const char *pattern)
{
    return subject_is_inside(sub, strlen(sub), pattern, strlen(pattern));
}

static enum js_error
check_reserved(const char *s, const struct stream_config *c, struct js_fail *f)
{
    if (strcmp(s, ">") == 0) {
        if (!c->no_ack) {
            return stream_config_invalid(f, "capturing all subjects requires no-ack to be true");
        }
        if (c->replicas != 1) {
            return stream_config_invalid(f, "capturing all subjects requires replicas of 1");
        }
    }
    if (c->no_ack) {
        return JS_OK;
    }
    if ((collide(s, "$JS.>") || collide(s, "$JSC.>") || collide(s, "$NRG.>")) &&
        !inside(s, "$JS.EVENT.>")) {
        return stream_config_invalid(
            f, "subjects that overlap with jetstream api require no-ack to be true");
    }
    if (collide(s, "$SYS.>") && !inside(s, "$SYS.ACCOUNT.>")) {
        return stream_config_invalid(
            f, "subjects that overlap with system api require no-ack to be true");
    }
    return JS_OK;
}

static enum js_error
default_subjects(struct stream_config *c, struct js_fail *f)
{
    if (c->mirror != NULL || c->n_sources > 0) {
        return JS_OK;
    }
    mem_free(c->subjects);
    c->subjects = mem_alloc_array(1, sizeof *c->subjects);
    if (c->subjects == NULL || (c->subjects[0] = mem_strdup(c->name)) == NULL) {
        return js_fail_status(f, ST_NOMEM);
    }
    c->n_subjects = 1;
    return JS_OK;
}

static enum js_error
check_subjects(struct stream_config *c, struct js_fail *f)
{
    if (c->n_subjects == 0) {
        return default_subjects(c, f);
    }
    for (size_t i = 0; i < c->n_subjects; i++) {
        const char *s = c->subjects[i];
        if (!subject_is_valid(s, strlen(s))) {
            return stream_config_invalid(f, "invalid subject");
        }
        enum js_error e = check_reserved(s, c, f);
        if (e != JS_OK) {
            return e;
        }
        for (size_t k = i + 1; k < c->n_subjects; k++) {
            if (collide(s, c->subjects[k])) {
                return stream_config_invalid(f, "subject \"%s\" overlaps with \"%s\"", s,
                                             c->subjects[k]);
            }
        }
    }
    return JS_OK;
}

static enum js_error
check_max_bytes(const struct stream_config *c, const struct js_limits *l, struct js_fail *f)
{
    if (l == NULL) {
        return JS_OK;
    }
    int64_t most =
        stream_config_is_memory(c) ? l->memory_max_stream_bytes : l->store_max_stream_bytes;
    if (l->max_bytes_required && c->max_bytes <= 0) {
        return js_fail_plain(f, JS_ERR_STREAM_MAX_BYTES_REQUIRED);
    }
    if (most > 0 && c->max_bytes > most) {
        return js_fail_plain(f, JS_ERR_STREAM_MAX_STREAM_BYTES_EXCEEDED);
    }
    return JS_OK;
}

static enum js_error
check_transform(const struct stream_config *c, struct js_fail *f)
{
    char err[TRANSFORM_ERR_LEN], text[TRANSFORM_ERR_LEN + 32];
    const struct subject_transform *t = c->transform;
    if (t == NULL) {
        return JS_OK;
    }
    if (t->src != NULL && !subject_is_valid(t->src, strlen(t->src))) {
        snprintf(text, sizeof text, "invalid subject %.200s", t->src);
        return js_fail_text(f, JS_ERR_STREAM_TRANSFORM_INVALID_SOURCE, text);
    }
    enum status st = transform_check(t->src, t->dest, err);
    if (st == ST_SYNTAX) {
        return js_fail_text(f, JS_ERR_STREAM_TRANSFORM_INVALID_DESTINATION, err);
    }
    return st == ST_OK ? JS_OK : js_fail_status(f, st);
}

static enum js_error
set_text(char **to, const char *text, struct js_fail *f)
{
    char *copy = mem_strdup(text);
    if (copy == NULL) {
        return js_fail_status(f, ST_NOMEM);
    }
    mem_free(*to);
    *to = copy;
    return JS_OK;
}

static enum js_error
default_republish(struct stream_config *c, bool pedantic, struct js_fail *f)
{
    struct subject_transform *r = c->republish;
    const char *dest = r->dest != NULL ? r->dest : "";
    if (r->src == NULL) {
        if (pedantic) {
            return js_fail_text(f, JS_ERR_PEDANTIC, "republish source can not be empty");
        }
        enum js_error e = set_text(&r->src, ">", f);
        if (e != JS_OK) {
            return e;
        }
    }
    const struct subject_transform *t = c->transform;
    if (r->src == NULL || strcmp(dest, ">") != 0 || strcmp(r->src, ">") != 0 || t == NULL ||
        c->n_subjects != 1 || t->src == NULL || strcmp(t->src, c->subjects[0]) != 0) {
        return JS_OK;
    }
    if (pedantic) {
        return js_fail_text(f, JS_ERR_PEDANTIC, "implicit republish based on subject transform");
    }
    const char *both = t->dest != NULL ? t->dest : "";
    enum js_error e = set_text(&r->src, both, f);
    return e == JS_OK ? set_text(&r->dest, both, f) : e;
}

static enum js_error
check_republish(struct stream_config *c, bool pedantic, struct js_fail *f)
{
    if (c->republish == NULL) {
        return JS_OK;
    }
    enum js_error e = default_republish(c, pedantic, f);
    if (e != JS_OK) {
        return e;
    }
    const struct subject_transform *r = c->republish;
    const char *dest = r->dest != NULL ? r->dest : "";
    for (size_t i = 0; i < c->n_subjects; i++) {
        if (*dest != '\0' && collide(dest, c->subjects[i])) {
            return stream_config_invalid(
                f, "stream configuration for republish destination forms a cycle");
        }
    }
    char err[TRANSFORM_ERR_LEN];
    struct transform *t;
    enum status st = transform_new(&t, r->src, dest, err);
    if (st == ST_SYNTAX) {
        return stream_config_invalid(
            f, "stream configuration for republish with transform from '%s' to '%s' not valid",
            r->src, dest);
    }
    if (st != ST_OK) {
        return js_fail_status(f, st);
    }
    transform_free(t);
    return JS_OK;
}

/* The sequences of a log are counted in 63 bits. */
static enum js_error
check_first_seq(const struct stream_config *c, struct js_fail *f)
{
    return c->first_seq > INT64_MAX / 2 ? stream_config_invalid(f, "first sequence is too large")
                                        : JS_OK;
}

static enum js_error
check_placement(struct stream_config *c, struct js_fail *f)
{
    const char *preferred = json_string_value(json_object_get(c->placement, "preferred"));
    if (preferred != NULL && *preferred != '\0') {
        return stream_config_invalid(f, "preferred server not permitted in placement");
    }
    const char *cluster = json_string_value(json_object_get(c->placement, "cluster"));
    if (c->placement != NULL && (cluster == NULL || *cluster == '\0') &&
        json_array_size(json_object_get(c->placement, "tags")) == 0) {
        json_decref(c->placement);
        c->placement = NULL;
    }
    return JS_OK;
}

enum js_error
stream_config_check(struct stream_config *c, const struct js_caps *caps,
                    const struct js_limits *limits, bool pedantic, struct js_fail *f)
{
    int64_t window = caps != NULL ? caps->max_duplicate_window : 0;
    enum js_error e;
    if ((e = check_texts(c, f)) != JS_OK || (e = check_numbers(c, pedantic, f)) != JS_OK ||
        (e = check_duplicates(c, window, pedantic, f)) != JS_OK ||
        (e = check_policies(c, f)) != JS_OK || (e = check_needs(c, pedantic, f)) != JS_OK ||
        (e = stream_config_check_origins(c, f)) != JS_OK || (e = check_subjects(c, f)) != JS_OK ||
        (e = check_max_bytes(c, limits, f)) != JS_OK || (e = check_transform(c, f)) != JS_OK ||
        (e = check_republish(c, pedantic, f)) != JS_OK || (e = check_placement(c, f)) != JS_OK ||
        (e = check_first_seq(c, f)) != JS_OK) {
        return e;
    }
    return JS_OK;
}
