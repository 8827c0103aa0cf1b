/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "server/base/subject.h"
#include "stream/stream_config_priv.h"
#include "stream/transforms.h"

/* The errors of a mirror, of a source. */
struct words {
    enum js_error bad_name, bad_consumer, two_filters, bad_filter, bad_dest, overlap;
};
static const struct words of_mirror = {
    JS_ERR_MIRROR_INVALID_STREAM_NAME,           JS_ERR_MIRROR_DURABLE_CONSUMER_CFG_INVALID,
    JS_ERR_MIRROR_MULTIPLE_FILTERS_NOT_ALLOWED,  JS_ERR_MIRROR_INVALID_SUBJECT_FILTER,
    JS_ERR_MIRROR_INVALID_TRANSFORM_DESTINATION, JS_ERR_MIRROR_OVERLAPPING_SUBJECT_FILTERS};
static const struct words of_source = {
    JS_ERR_SOURCE_INVALID_STREAM_NAME,           JS_ERR_SOURCE_DURABLE_CONSUMER_CFG_INVALID,
    JS_ERR_SOURCE_MULTIPLE_FILTERS_NOT_ALLOWED,  JS_ERR_SOURCE_INVALID_SUBJECT_FILTER,
    JS_ERR_SOURCE_INVALID_TRANSFORM_DESTINATION, JS_ERR_SOURCE_OVERLAPPING_SUBJECT_FILTERS};

static const char *
text(const char *s)
{
    return s != NULL ? s : "";
}

static enum js_error
check_consumer(const struct stream_source *s, const struct words *w, struct js_fail *f)
{
    if (s->consumer == NULL) {
        return JS_OK;
    }
    const char *name = text(json_string_value(json_object_get(s->consumer, "name")));
    const char *to = text(json_string_value(json_object_get(s->consumer, "deliver_subject")));
    if (!js_name_is_valid(name, strlen(name)) || !subject_is_literal(to, strlen(to)) ||
        s->opt_start_seq != 0 || s->has_start_time || s->filter_subject != NULL) {
        return js_fail_plain(f, w->bad_consumer);
    }
    return JS_OK;
}

static bool
overlap(const char *a, const char *b, bool mirror)
{
    if (!mirror) {
        return subject_is_inside(a, strlen(a), b, strlen(b));
    }
    return subject_overlaps(a, strlen(a), b, strlen(b));
}

static enum js_error
check_filters(const struct stream_source *s, const struct words *w, struct js_fail *f)
{
    char err[TRANSFORM_ERR_LEN];
    if (s->filter_subject != NULL && s->n_transforms > 0) {
        return js_fail_plain(f, w->two_filters);
    }
    for (size_t i = 0; i < s->n_transforms; i++) {
        const char *src = text(s->transforms[i].src);
        if (*src != '\0' && !subject_is_valid(src, strlen(src))) {
            snprintf(err, sizeof err, "invalid subject %.200s", src);
            return js_fail_text(f, w->bad_filter, err);
        }
        enum status st = transform_check(src, s->transforms[i].dest, err);
        if (st != ST_OK) {
            return st == ST_SYNTAX ? js_fail_text(f, w->bad_dest, err) : js_fail_status(f, st);
        }
    }
    for (size_t i = 0; i < s->n_transforms; i++) {
        for (size_t k = 0; k < s->n_transforms; k++) {
            const char *a = text(s->transforms[i].src), *b = text(s->transforms[k].src);
            if (i != k && (strcmp(a, b) == 0 || overlap(a, b, w == &of_mirror))) {
                return js_fail_plain(f, w->overlap);
            }
        }
    }
    return JS_OK;
}

static enum js_error
check_external(const struct stream_source *s, struct js_fail *f)
{
    const char *deliver = text(s->deliver_prefix), *api = text(s->api_prefix);
    if (*deliver != '\0' && !subject_is_literal(deliver, strlen(deliver))) {
        return js_fail_text(f, JS_ERR_STREAM_INVALID_EXTERNAL_DELIVERY_SUBJ, deliver);
    }
    if (*api == '\0') {
        return JS_OK;
    }
    if (!subject_is_literal(api, strlen(api))) {
        return stream_config_invalid(
            f, "stream external api prefix \"%s\" must be a valid subject without wildcards", api);
    }
    if (strcmp(api, "$JS.API") == 0) {
        return js_fail_set(f, JS_ERR_STREAM_EXTERNAL_API_OVERLAP, 2, api, "$JS.API");
    }
    return JS_OK;
}

static enum js_error
check_mirror(const struct stream_config *c, struct js_fail *f)
{
    const struct {
        bool broken;
        enum js_error e;
    } rules[] = {{c->first_seq > 0, JS_ERR_MIRROR_WITH_FIRST_SEQ},
                 {c->n_subjects > 0, JS_ERR_MIRROR_WITH_SUBJECTS},
                 {c->n_sources > 0, JS_ERR_MIRROR_WITH_SOURCES},
                 {c->allow_msg_counter, JS_ERR_MIRROR_WITH_COUNTERS},
                 {c->allow_atomic, JS_ERR_MIRROR_WITH_ATOMIC_PUBLISH},
                 {c->allow_batched, JS_ERR_MIRROR_WITH_BATCH_PUBLISH},
                 {c->allow_msg_schedules, JS_ERR_MIRROR_WITH_MSG_SCHEDULES}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].broken) {
            return js_fail_plain(f, rules[i].e);
        }
    }
    enum js_error e = check_consumer(c->mirror, &of_mirror, f);
    if (e != JS_OK) {
        return e;
    }
    if (c->subject_delete_marker_ttl > 0) {
        return stream_config_invalid(f, "subject delete markers forbidden on mirrors");
    }
    e = check_filters(c->mirror, &of_mirror, f);
    if (e != JS_OK) {
        return e;
    }
    const char *name = text(c->mirror->name);
    if (!c->mirror->external && !js_name_is_valid(name, strlen(name))) {
        return js_fail_plain(f, JS_ERR_MIRROR_INVALID_STREAM_NAME);
    }
    const char *filter = text(c->mirror->filter_subject);
    if (*filter != '\0' && !subject_is_valid(filter, strlen(filter))) {
        char err[256];
        snprintf(err, sizeof err, "subject filter '%.150s' for the mirror invalid subject", filter);
        return js_fail_text(f, JS_ERR_STREAM_CREATE, err);
    }
    return check_external(c->mirror, f);
}

/* What tells two sources of one stream apart. */
static bool
same_source(const struct stream_source *a, const struct stream_source *b)
{
    if (strcmp(text(a->name), text(b->name)) != 0 ||
        strcmp(text(a->api_prefix), text(b->api_prefix)) != 0 ||
        strcmp(text(a->filter_subject), text(b->filter_subject)) != 0 ||
        a->n_transforms != b->n_transforms) {
        return false;
    }
    for (size_t i = 0; i < a->n_transforms; i++) {
        if (strcmp(text(a->transforms[i].src), text(b->transforms[i].src)) != 0 ||
            strcmp(text(a->transforms[i].dest), text(b->transforms[i].dest)) != 0) {
            return false;
        }
    }
    return true;
}

static enum js_error
check_source(const struct stream_config *c, size_t i, struct js_fail *f)
{
    const struct stream_source *s = &c->sources[i];
    const char *name = text(s->name);
    if (!js_name_is_valid(name, strlen(name))) {
        return js_fail_plain(f, JS_ERR_SOURCE_INVALID_STREAM_NAME);
    }
    for (size_t k = 0; k < i; k++) {
        if (same_source(s, &c->sources[k])) {
            return js_fail_plain(f, JS_ERR_SOURCE_DUPLICATE_DETECTED);
        }
    }
    enum js_error e = check_filters(s, &of_source, f);
    if (e == JS_OK) {
        e = check_consumer(s, &of_source, f);
    }
    const char *filter = text(s->filter_subject);
    if (e == JS_OK && *filter != '\0' && !subject_is_valid(filter, strlen(filter))) {
        char err[256];
        snprintf(err, sizeof err, "subject filter '%.150s' for the source: invalid subject",
                 filter);
        return js_fail_text(f, JS_ERR_STREAM_CREATE, err);
    }
    return e == JS_OK ? check_external(s, f) : e;
}

enum js_error
stream_config_check_origins(struct stream_config *c, struct js_fail *f)
{
    if (c->mirror != NULL) {
        enum js_error e = check_mirror(c, f);
        if (e != JS_OK) {
            return e;
        }
    }
    if (c->n_sources > 0 && c->allow_msg_schedules) {
        return js_fail_plain(f, JS_ERR_SOURCE_WITH_MSG_SCHEDULES);
    }
    for (size_t i = 0; i < c->n_sources; i++) {
        enum js_error e = check_source(c, i, f);
        if (e != JS_OK) {
            return e;
        }
    }
    return JS_OK;
}
