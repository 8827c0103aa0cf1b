/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults and checks of a consumer's configuration, in nats-server's order, because the first
 * error is the one that is told. */
#include <stdio.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/subject.h"
#include "stream/consumer_config.h"
#include "stream/consumer_text.h"

enum { DESCRIPTION_MAX = 4 * 1024, METADATA_MAX = 128 * 1024, ACK_PENDING = 1000, WAITING = 512 };
enum { GROUP_NAME_MAX = 16 };

#define ACK_WAIT     (30 * CLOCK_S)
#define PINNED_TTL   (120 * CLOCK_S)
#define HEARTBEAT_FC CLOCK_S

/* What a configuration is checked by. On the stack of the callers. */
struct check {
    struct consumer_config *c;
    const struct stream_config *stream;
    const struct js_caps *caps;
    const struct js_limits *limits;
    struct js_fail *f;
};

static enum js_error
pedantic_error(struct js_fail *f, const char *text)
{
    return js_fail_text(f, JS_ERR_PEDANTIC, text);
}

struct floor {
    int64_t *v;
    int64_t least, to;
    const char *text;
};

static enum js_error
lift_negatives(struct consumer_config *c, bool pedantic, struct js_fail *f)
{
    const struct floor floors[] = {
        {&c->max_deliver, -1, -1, "max_deliver must be set to -1"},
        {&c->max_waiting, 0, 0, "max_waiting must not be negative"},
        {&c->max_ack_pending, -1, -1, "max_ack_pending must be set to -1"},
        {&c->max_batch, 0, 0, "max_batch must not be negative"},
        {&c->max_expires, 0, 0, "max_expires must not be negative"},
        {&c->max_bytes, 0, 0, "max_bytes must not be negative"},
        {&c->heartbeat, 0, 0, "idle_heartbeat must not be negative"},
        {&c->inactive_threshold, 0, 0, "inactive_threshold must not be negative"},
        {&c->pinned_ttl, 0, 0, "priority_timeout must not be negative"}};
    for (size_t i = 0; i < sizeof floors / sizeof floors[0]; i++) {
        if (*floors[i].v < floors[i].least) {
            if (pedantic) {
                return pedantic_error(f, floors[i].text);
            }
            *floors[i].v = floors[i].to;
        }
    }
    if (c->max_deliver == 0) {
        c->max_deliver = -1;
    }
    return JS_OK;
}

static int64_t
lower(int64_t v, int64_t limit)
{
    return limit > 0 && limit < v ? limit : v;
}

static enum js_error
set_from_stream(const struct check *k, bool pedantic)
{
    struct consumer_config *c = k->c;
    if (c->n_backoff > 0) {
        if (pedantic && c->ack_wait != c->backoff[0]) {
            return pedantic_error(k->f, "first backoff value has to equal batch AckWait");
        }
        c->ack_wait = c->backoff[0];
    }
    if (c->max_ack_pending == 0) {
        if (pedantic && k->stream->limit_max_ack_pending > 0) {
            return pedantic_error(
                k->f, "max_ack_pending must be set if it's configured in stream limits");
        }
        c->max_ack_pending = k->stream->limit_max_ack_pending;
    }
    if (c->inactive_threshold == 0) {
        if (pedantic && k->stream->limit_inactive_threshold > 0) {
            return pedantic_error(
                k->f, "inactive_threshold must be set if it's configured in stream limits");
        }
        c->inactive_threshold = k->stream->limit_inactive_threshold;
    }
    return JS_OK;
}

static enum js_error
set_defaults(const struct check *k, bool pedantic)
{
    struct consumer_config *c = k->c;
    enum js_error e = lift_negatives(c, pedantic, k->f);
    if (e != JS_OK) {
        return e;
    }
    if (c->deliver_subject == NULL && c->max_waiting == 0) {
        c->max_waiting = WAITING;
    }
    if (c->ack_wait == 0 && (c->ack == ACK_EXPLICIT || c->ack == ACK_ALL)) {
        c->ack_wait = ACK_WAIT;
    }
    e = set_from_stream(k, pedantic);
    if (e != JS_OK) {
        return e;
    }
    if (c->max_ack_pending == 0 && c->ack != ACK_NONE) {
        c->max_ack_pending =
            lower(lower(ACK_PENDING, k->caps->max_ack_pending), k->limits->max_ack_pending);
    }
    if (c->deliver_subject == NULL && c->max_batch == 0 && k->caps->max_request_batch > 0) {
        if (pedantic) {
            return pedantic_error(k->f,
                                  "max_request_batch must be set if it's JetStream limits are set");
        }
        c->max_batch = k->caps->max_request_batch;
    }
    if (c->priority == PRIORITY_PINNED_CLIENT && c->pinned_ttl == 0) {
        c->pinned_ttl = PINNED_TTL;
    }
    if (c->ack == ACK_FLOW_CONTROL && !pedantic) {
        c->flow_control = true;
        c->heartbeat = HEARTBEAT_FC;
    }
    return JS_OK;
}

static enum js_error
bad_config(struct js_fail *f, const char *text)
{
    return js_fail_text(f, JS_ERR_STREAM_INVALID_CONFIG, text);
}

static enum js_error
check_names(const struct check *k)
{
    const struct consumer_config *c = k->c;
    if (c->name != NULL && !js_name_is_valid(c->name, strlen(c->name))) {
        return bad_config(k->f, "consumer name can not contain '.', '*', '>', '\\', '/'");
    }
    if (c->durable != NULL && !js_name_is_valid(c->durable, strlen(c->durable))) {
        return bad_config(k->f, "consumer durable name can not contain '.', '*', '>', '\\', '/'");
    }
    if (c->replicas > 0 && c->replicas > k->stream->replicas) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_REPLICAS_EXCEEDS_STREAM);
    }
    if (c->replicas < 0) {
        return js_fail_plain(k->f, JS_ERR_REPLICAS_COUNT_CANNOT_BE_NEGATIVE);
    }
    if (k->stream->retention != RETENTION_LIMITS && c->replicas != 0 &&
        c->replicas != k->stream->replicas) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_REPLICAS_SHOULD_MATCH_STREAM);
    }
    return JS_OK;
}

static enum js_error
check_flow_control_acks(const struct check *k)
{
    const struct consumer_config *c = k->c;
    if (c->deliver_subject == NULL) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_ACK_FC_REQUIRES_PUSH);
    }
    if (!c->flow_control) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_ACK_FC_REQUIRES_FC);
    }
    if (c->heartbeat != HEARTBEAT_FC) {
        return bad_config(k->f, "flow control ack policy heartbeat needs to be 1s");
    }
    if (c->max_ack_pending <= 0) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_ACK_FC_REQUIRES_MAX_ACK_PENDING);
    }
    if (c->ack_wait != 0 || c->n_backoff > 0) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_ACK_FC_REQUIRES_NO_ACK_WAIT);
    }
    if (c->max_deliver > 0) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_ACK_FC_REQUIRES_NO_MAX_DELIVER);
    }
    return JS_OK;
}

static enum js_error
check_acks(const struct check *k)
{
    const struct consumer_config *c = k->c;
    for (size_t i = 0; i < c->n_backoff; i++) {
        if (c->backoff[i] < 0) {
            return js_fail_plain(k->f, JS_ERR_CONSUMER_BACK_OFF_NEGATIVE);
        }
    }
    if (c->ack_wait < 0) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_ACK_WAIT_NEGATIVE);
    }
    enum js_error e = c->ack == ACK_FLOW_CONTROL ? check_flow_control_acks(k) : JS_OK;
    if (e != JS_OK) {
        return e;
    }
    if (c->n_backoff > 0 && c->max_deliver != -1 && (int64_t)c->n_backoff > c->max_deliver) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_MAX_DELIVER_BACKOFF);
    }
    if (c->description != NULL && strlen(c->description) > DESCRIPTION_MAX) {
        return js_fail_num(k->f, JS_ERR_CONSUMER_DESCRIPTION_TOO_LONG, DESCRIPTION_MAX);
    }
    return JS_OK;
}

static enum js_error
check_push(const struct check *k)
{
    const struct consumer_config *c = k->c;
    const char *to = c->deliver_subject;
    size_t n = strlen(to);
    if (subject_has_wildcard(to, n)) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_DELIVER_TO_WILDCARDS);
    }
    if (!subject_is_valid(to, n)) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_INVALID_DELIVER_SUBJECT);
    }
    for (size_t i = 0; i < k->stream->n_subjects; i++) {
        const char *s = k->stream->subjects[i];
        if (subject_is_inside(to, n, s, strlen(s))) {
            return js_fail_plain(k->f, JS_ERR_CONSUMER_DELIVER_CYCLE);
        }
    }
    if (c->max_waiting != 0) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_PUSH_MAX_WAITING);
    }
    if (c->max_ack_pending > 0 && c->ack == ACK_NONE) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_MAX_PENDING_ACK_POLICY_REQUIRED);
    }
    if (c->heartbeat > 0 && c->heartbeat < 100 * CLOCK_MS) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_SMALL_HEARTBEAT);
    }
    return JS_OK;
}

static enum js_error
check_pull(const struct check *k)
{
    const struct consumer_config *c = k->c;
    if (c->ack == ACK_NONE && k->stream->retention == RETENTION_WORKQUEUE) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_PULL_REQUIRES_ACK);
    }
    if (c->rate_limit > 0) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_PULL_WITH_RATE_LIMIT);
    }
    if (c->heartbeat > 0) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_HB_REQUIRES_PUSH);
    }
    if (c->flow_control) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_FC_REQUIRES_PUSH);
    }
    if (c->max_expires != 0 && c->max_expires < CLOCK_MS) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_MAX_REQUEST_EXPIRES_TOO_SMALL);
    }
    if (k->caps->max_request_batch > 0 && c->max_batch > k->caps->max_request_batch) {
        return js_fail_num(k->f, JS_ERR_CONSUMER_MAX_REQUEST_BATCH_EXCEEDED,
                           (unsigned long long)k->caps->max_request_batch);
    }
    return JS_OK;
}

static enum js_error
check_limits(const struct check *k)
{
    const struct consumer_config *c = k->c;
    const int64_t most[] = {k->caps->max_ack_pending, k->limits->max_ack_pending,
                            k->stream->limit_max_ack_pending};
    for (size_t i = 0; i < sizeof most / sizeof most[0]; i++) {
        if (most[i] > 0 && c->max_ack_pending > most[i]) {
            return js_fail_num(k->f, JS_ERR_CONSUMER_MAX_PENDING_ACK_EXCESS,
                               (unsigned long long)most[i]);
        }
    }
    int64_t idle = k->stream->limit_inactive_threshold;
    if (idle > 0 && c->inactive_threshold > idle) {
        char text[DURATION_TEXT];
        return js_fail_text(k->f, JS_ERR_CONSUMER_INACTIVE_THRESHOLD_EXCESS,
                            duration_text(idle, text));
    }
    if (c->direct && c->deliver_subject == NULL) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_DIRECT_REQUIRES_PUSH);
    }
    if (c->direct && c->durable != NULL) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_DIRECT_REQUIRES_EPHEMERAL);
    }
    return JS_OK;
}

static enum js_error
check_filters(const struct check *k)
{
    const struct consumer_config *c = k->c;
    if (c->filter_subject != NULL && c->n_filter_subjects > 0) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_DUPLICATE_FILTER_SUBJECTS);
    }
    if (c->filter_subject != NULL &&
        !subject_is_valid(c->filter_subject, strlen(c->filter_subject))) {
        return bad_config(k->f, "invalid subject");
    }
    for (size_t i = 0; i < c->n_filter_subjects; i++) {
        if (c->filter_subjects[i][0] == '\0') {
            return js_fail_plain(k->f, JS_ERR_CONSUMER_EMPTY_FILTER);
        }
    }
    for (size_t i = 0; i < c->n_filter_subjects; i++) {
        const char *s = c->filter_subjects[i];
        if (!subject_is_valid(s, strlen(s))) {
            return bad_config(k->f, "invalid subject");
        }
        for (size_t j = 0; j < c->n_filter_subjects; j++) {
            const char *o = c->filter_subjects[j];
            if (i != j && subject_is_inside(s, strlen(s), o, strlen(o))) {
                return js_fail_plain(k->f, JS_ERR_CONSUMER_OVERLAPPING_SUBJECT_FILTERS);
            }
        }
    }
    return JS_OK;
}

/* What a policy has to do with the two optional starts. */
struct start_rule {
    const char *name;
    bool seq, time; /* must be set; else must not be */
    const char *seq_name, *time_name;
};

static const struct start_rule start_rules[] = {
    [DELIVER_ALL] = {"all", false, false, "sequence", "time"},
    [DELIVER_LAST] = {"last", false, false, "sequence", "time"},
    [DELIVER_NEW] = {"new", false, false, "sequence", "time"},
    [DELIVER_BY_START_SEQUENCE] = {"by start sequence", true, false, "start sequence", "time"},
    [DELIVER_BY_START_TIME] = {"by start time", false, true, "start sequence", "start time"},
    [DELIVER_LAST_PER_SUBJECT] = {"last per subject", false, false, "sequence", "time"}};

static enum js_error
bad_policy(const struct check *k, const char *policy, const char *what, bool is_set)
{
    char text[200];
    snprintf(text, sizeof text,
             is_set ? "consumer delivery policy is deliver %s, but optional start %s is also set"
                    : "consumer delivery policy is deliver %s, but optional %s is not set",
             policy, what);
    return js_fail_text(k->f, JS_ERR_CONSUMER_INVALID_POLICY, text);
}

static enum js_error
check_start(const struct check *k)
{
    const struct consumer_config *c = k->c;
    const struct start_rule *r = &start_rules[c->deliver];
    if (r->time && !c->has_start_time) {
        return bad_policy(k, r->name, r->time_name, false);
    }
    if (r->seq != (c->opt_start_seq > 0)) {
        return bad_policy(k, r->name, r->seq_name, !r->seq);
    }
    if (!r->time && c->has_start_time) {
        return bad_policy(k, r->name, r->time_name, true);
    }
    if (c->deliver == DELIVER_LAST_PER_SUBJECT && c->filter_subject == NULL &&
        c->n_filter_subjects == 0) {
        return bad_policy(k, r->name, "filter subject", false);
    }
    return JS_OK;
}

static enum js_error
check_sampling(const struct check *k)
{
    const char *s = k->c->sample_freq;
    if (s == NULL) {
        return JS_OK;
    }
    size_t n = strlen(s);
    n -= n > 0 && s[n - 1] == '%';
    size_t i = n > 0 && (s[0] == '-' || s[0] == '+') ? 1 : 0;
    bool ok = i < n && n < 18;
    for (size_t j = i; j < n; j++) {
        ok = ok && s[j] >= '0' && s[j] <= '9';
    }
    if (!ok) {
        char text[200];
        snprintf(text, sizeof text, "strconv.Atoi: parsing \"%.*s\": invalid syntax",
                 (int)(n < 100 ? n : 100), s);
        return js_fail_text(k->f, JS_ERR_CONSUMER_INVALID_SAMPLING, text);
    }
    if (s[0] == '-' && strspn(s + 1, "0") != n - 1) {
        return js_fail_text(k->f, JS_ERR_CONSUMER_INVALID_SAMPLING, "<nil>");
    }
    return JS_OK;
}

static enum js_error
check_texts(const struct check *k)
{
    const struct consumer_config *c = k->c;
    if (c->flow_control && c->heartbeat == 0) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_WITH_FLOW_CONTROL_NEEDS_HEARTBEATS);
    }
    if (c->durable != NULL && c->name != NULL && strcmp(c->durable, c->name) != 0) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_CREATE_DURABLE_AND_NAME_MISMATCH);
    }
    size_t n = 0;
    const char *key;
    json_t *v;
    json_object_foreach(c->metadata, key, v)
    {
        n += strlen(key) + json_string_length(v);
    }
    if (n > METADATA_MAX) {
        return js_fail_text(k->f, JS_ERR_CONSUMER_METADATA_LENGTH, "128KB");
    }
    return JS_OK;
}

static bool
is_group_name(const char *s)
{
    size_t n = strlen(s);
    return n <= GROUP_NAME_MAX && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789/_=-") == n;
}

static enum js_error
check_groups(const struct check *k)
{
    const struct consumer_config *c = k->c;
    if (c->priority == PRIORITY_NONE) {
        if (c->n_priority_groups > 0) {
            return js_fail_plain(k->f, JS_ERR_CONSUMER_PRIORITY_GROUP_WITH_POLICY_NONE);
        }
        return c->pinned_ttl > 0
                   ? js_fail_plain(k->f, JS_ERR_CONSUMER_PINNED_TTL_WITHOUT_PRIORITY_POLICY_NONE)
                   : JS_OK;
    }
    if (c->deliver_subject != NULL) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_PUSH_WITH_PRIORITY_GROUP);
    }
    if (c->n_priority_groups == 0) {
        return js_fail_plain(k->f, JS_ERR_CONSUMER_PRIORITY_POLICY_WITHOUT_GROUP);
    }
    for (size_t i = 0; i < c->n_priority_groups; i++) {
        if (c->priority_groups[i][0] == '\0') {
            return js_fail_plain(k->f, JS_ERR_CONSUMER_EMPTY_GROUP_NAME);
        }
        if (!is_group_name(c->priority_groups[i])) {
            return js_fail_plain(k->f, JS_ERR_CONSUMER_INVALID_GROUP_NAME);
        }
    }
    return JS_OK;
}

static enum js_error
check_mode(const struct check *k)
{
    return k->c->deliver_subject != NULL ? check_push(k) : check_pull(k);
}

enum js_error
consumer_config_check(struct consumer_config *c, const struct stream_config *stream,
                      const struct js_caps *caps, const struct js_limits *limits, bool pedantic,
                      struct js_fail *f)
{
    static enum js_error (*const checks[])(const struct check *) = {
        check_names, check_acks,     check_mode,  check_limits, check_filters,
        check_start, check_sampling, check_texts, check_groups};
    struct check k = {.c = c, .stream = stream, .caps = caps, .limits = limits, .f = f};
    enum js_error e = set_defaults(&k, pedantic);
    for (size_t i = 0; e == JS_OK && i < sizeof checks / sizeof checks[0]; i++) {
        e = checks[i](&k);
    }
    return e;
}

static bool
same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

enum js_error
consumer_config_check_update(const struct consumer_config *old, const struct consumer_config *c,
                             struct js_fail *f)
{
    bool moves = !same_text(old->deliver_subject, c->deliver_subject);
    const struct {
        bool refused;
        const char *what;
    } rules[] = {
        {old->deliver != c->deliver, "deliver policy can not be updated"},
        {old->mem_storage != c->mem_storage, "storage type can not be updated"},
        {old->direct != c->direct, "direct can not be updated"},
        {old->sourcing != c->sourcing, "sourcing can not be updated"},
        {old->opt_start_seq != c->opt_start_seq, "start sequence can not be updated"},
        {old->has_start_time != c->has_start_time ||
             (c->has_start_time && old->opt_start_time != c->opt_start_time),
         "start time can not be updated"},
        {old->ack != c->ack, "ack policy can not be updated"},
        {old->replay != c->replay, "replay policy can not be updated"},
        {old->heartbeat != c->heartbeat, "heart beats can not be updated"},
        {old->flow_control != c->flow_control, "flow control can not be updated"},
        {moves && old->deliver_subject == NULL, "can not update pull consumer to push based"},
        {moves && c->deliver_subject == NULL, "can not update push consumer to pull based"},
        {old->max_waiting != c->max_waiting, "max waiting can not be updated"}};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].refused) {
            return js_fail_text(f, JS_ERR_CONSUMER_CREATE, rules[i].what);
        }
    }
    if (c->n_backoff > 0 && c->max_deliver != -1 && (int64_t)c->n_backoff > c->max_deliver) {
        return js_fail_plain(f, JS_ERR_CONSUMER_MAX_DELIVER_BACKOFF);
    }
    return JS_OK;
}
