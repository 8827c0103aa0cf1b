/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "server/base/mem.h"
#include "stream/jfield.h"
#include "stream/stream_config_priv.h"

#define AT(member)  offsetof(struct stream_config, member)
#define SRC(member) offsetof(struct stream_source, member)
#define TR(member)  offsetof(struct subject_transform, member)

static const char *const retentions[] = {"limits", "interest", "workqueue", NULL};
static const char *const discards[] = {"old", "new", NULL};
static const char *const storages[] = {"file", "memory", NULL};
static const char *const compressions[] = {"none", "s2", NULL};
static const char *const persists[] = {"default", "async", NULL};

static const struct jfield transform_fields[] = {
    {.key = "src", .kind = JF_STR, .off = TR(src), .always = true},
    {.key = "dest", .kind = JF_STR, .off = TR(dest), .always = true},
    {.key = NULL}};

/* Reads the struct `into` by `fields`, below what r reads. */
static enum status
read_nested(struct jread *r, const json_t *v, const struct jread *how, void *into)
{
    struct jread sub = *how;
    char path[128];
    snprintf(path, sizeof path, "%s%s", r->path, how->path);
    sub.path = path;
    sub.strict = r->strict;
    enum status st = jfield_read(&sub, v, into);
    if (sub.failed) {
        r->failed = true;
        memcpy(r->err, sub.err, sizeof r->err);
    }
    return st;
}

static enum status
read_transforms(struct jread *r, const json_t *v, void *base)
{
    struct stream_source *s = base;
    if (!json_is_array(v)) {
        return jfield_mismatch(r, v, "subject_transforms", "[]server.SubjectTransformConfig");
    }
    size_t n = json_array_size(v);
    if (s->transforms == NULL) {
        s->transforms = mem_alloc_array(n, sizeof *s->transforms);
    }
    if (s->transforms == NULL) {
        return ST_NOMEM;
    }
    static const struct jread how = {.fields = transform_fields,
                                     .type = "SubjectTransformConfig",
                                     .path = "subject_transforms."};
    for (s->n_transforms = 0; s->n_transforms < n;) {
        const json_t *e = json_array_get(v, s->n_transforms);
        if (!json_is_object(e)) {
            return jfield_mismatch(r, e, "subject_transforms", "server.SubjectTransformConfig");
        }
        enum status st = read_nested(r, e, &how, &s->transforms[s->n_transforms++]);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

static json_t *
write_transforms(const void *base, bool *failed)
{
    const struct stream_source *s = base;
    if (s->n_transforms == 0) {
        return NULL;
    }
    json_t *a = json_array();
    for (size_t i = 0; a != NULL && i < s->n_transforms; i++) {
        if (json_array_append_new(a, jfield_write(transform_fields, &s->transforms[i])) != 0) {
            json_decref(a);
            a = NULL;
        }
    }
    *failed = a == NULL;
    return a;
}

static const struct jfield external_fields[] = {
    {.key = "api", .kind = JF_STR, .off = SRC(api_prefix), .always = true},
    {.key = "deliver", .kind = JF_STR, .off = SRC(deliver_prefix), .always = true},
    {.key = NULL}};

static enum status
read_external(struct jread *r, const json_t *v, void *base)
{
    struct stream_source *s = base;
    if (!json_is_object(v)) {
        return jfield_mismatch(r, v, "external", "server.ExternalStream");
    }
    s->external = true;
    static const struct jread how = {
        .fields = external_fields, .type = "ExternalStream", .path = "external."};
    return read_nested(r, v, &how, base);
}

static json_t *
write_external(const void *base, bool *failed)
{
    if (!((const struct stream_source *)base)->external) {
        return NULL;
    }
    json_t *o = jfield_write(external_fields, base);
    *failed = o == NULL;
    return o;
}

static const struct jfield source_fields[] = {
    {.key = "name", .kind = JF_STR, .off = SRC(name), .always = true},
    {.key = "opt_start_seq", .kind = JF_UINT, .off = SRC(opt_start_seq)},
    {.key = "opt_start_time",
     .kind = JF_TIME,
     .off = SRC(opt_start_time),
     .off2 = SRC(has_start_time)},
    {.key = "filter_subject", .kind = JF_STR, .off = SRC(filter_subject)},
    {.key = "subject_transforms",
     .kind = JF_CUSTOM,
     .read = read_transforms,
     .write = write_transforms},
    {.key = "external", .kind = JF_CUSTOM, .read = read_external, .write = write_external},
    {.key = "consumer",
     .kind = JF_OBJECT,
     .off = SRC(consumer),
     .type = "server.StreamConsumerSource"},
    {.key = NULL}};

static enum status
read_source(struct jread *r, const json_t *v, const char *path, struct stream_source *s)
{
    struct jread how = {.fields = source_fields, .type = "StreamSource", .path = path};
    return read_nested(r, v, &how, s);
}

static enum status
read_mirror(struct jread *r, const json_t *v, void *base)
{
    struct stream_config *c = base;
    if (!json_is_object(v)) {
        return jfield_mismatch(r, v, "mirror", "server.StreamSource");
    }
    if (c->mirror == NULL) {
        c->mirror = mem_alloc(sizeof *c->mirror);
    }
    return c->mirror != NULL ? read_source(r, v, "mirror.", c->mirror) : ST_NOMEM;
}

static json_t *
write_mirror(const void *base, bool *failed)
{
    const struct stream_config *c = base;
    if (c->mirror == NULL) {
        return NULL;
    }
    json_t *o = jfield_write(source_fields, c->mirror);
    *failed = o == NULL;
    return o;
}

static enum status
read_sources(struct jread *r, const json_t *v, void *base)
{
    struct stream_config *c = base;
    if (!json_is_array(v)) {
        return jfield_mismatch(r, v, "sources", "[]*server.StreamSource");
    }
    size_t n = json_array_size(v);
    if (c->sources == NULL) {
        c->sources = mem_alloc_array(n, sizeof *c->sources);
    }
    if (c->sources == NULL) {
        return ST_NOMEM;
    }
    for (c->n_sources = 0; c->n_sources < n;) {
        const json_t *e = json_array_get(v, c->n_sources);
        struct stream_source *s = &c->sources[c->n_sources++];
        if (json_is_null(e)) {
            continue;
        }
        if (!json_is_object(e)) {
            return jfield_mismatch(r, e, "sources", "server.StreamSource");
        }
        enum status st = read_source(r, e, "sources.", s);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

static json_t *
write_sources(const void *base, bool *failed)
{
    const struct stream_config *c = base;
    if (c->n_sources == 0) {
        return NULL;
    }
    json_t *a = json_array();
    for (size_t i = 0; a != NULL && i < c->n_sources; i++) {
        if (json_array_append_new(a, jfield_write(source_fields, &c->sources[i])) != 0) {
            json_decref(a);
            a = NULL;
        }
    }
    *failed = a == NULL;
    return a;
}

static enum status
read_pair(struct jread *r, const json_t *v, const struct jread *how, struct subject_transform **out)
{
    if (*out == NULL) {
        *out = mem_alloc(sizeof **out);
    }
    return *out != NULL ? read_nested(r, v, how, *out) : ST_NOMEM;
}

static enum status
read_transform(struct jread *r, const json_t *v, void *base)
{
    if (!json_is_object(v)) {
        return jfield_mismatch(r, v, "subject_transform", "server.SubjectTransformConfig");
    }
    static const struct jread how = {
        .fields = transform_fields, .type = "SubjectTransformConfig", .path = "subject_transform."};
    return read_pair(r, v, &how, &((struct stream_config *)base)->transform);
}

static json_t *
write_transform(const void *base, bool *failed)
{
    const struct stream_config *c = base;
    if (c->transform == NULL) {
        return NULL;
    }
    json_t *o = jfield_write(transform_fields, c->transform);
    *failed = o == NULL;
    return o;
}

static const struct jfield republish_fields[] = {
    {.key = "src", .kind = JF_STR, .off = TR(src)},
    {.key = "dest", .kind = JF_STR, .off = TR(dest), .always = true},
    {.key = "headers_only", .kind = JF_IGNORED},
    {.key = NULL}};

static enum status
read_republish(struct jread *r, const json_t *v, void *base)
{
    struct stream_config *c = base;
    if (!json_is_object(v)) {
        return jfield_mismatch(r, v, "republish", "server.RePublish");
    }
    const json_t *only = json_object_get(v, "headers_only");
    if (only != NULL && !json_is_boolean(only) && !json_is_null(only)) {
        struct jread sub = {.type = "RePublish", .path = "StreamConfig.republish."};
        enum status st = jfield_mismatch(&sub, only, "headers_only", "bool");
        r->failed = true;
        memcpy(r->err, sub.err, sizeof r->err);
        return st;
    }
    c->republish_headers_only = json_is_true(only);
    static const struct jread how = {
        .fields = republish_fields, .type = "RePublish", .path = "republish."};
    return read_pair(r, v, &how, &c->republish);
}

static json_t *
write_republish(const void *base, bool *failed)
{
    const struct stream_config *c = base;
    if (c->republish == NULL) {
        return NULL;
    }
    json_t *o = jfield_write(republish_fields, c->republish);
    if (o != NULL && c->republish_headers_only &&
        json_object_set_new(o, "headers_only", json_true()) != 0) {
        json_decref(o);
        o = NULL;
    }
    *failed = o == NULL;
    return o;
}

struct placement {
    char *cluster, *preferred; /* owned */
    char **tags;               /* owned */
    size_t n_tags;
};

#define PL(m) offsetof(struct placement, m)
static const struct jfield placement_fields[] = {
    {.key = "cluster", .kind = JF_STR, .off = PL(cluster)},
    {.key = "tags", .kind = JF_STRS, .off = PL(tags), .off2 = PL(n_tags)},
    {.key = "preferred", .kind = JF_STR, .off = PL(preferred)},
    {.key = NULL}};

static enum status
read_placement(struct jread *r, const json_t *v, void *base)
{
    struct stream_config *c = base;
    struct placement p = {0};
    if (!json_is_object(v)) {
        return jfield_mismatch(r, v, "placement", "server.Placement");
    }
    static const struct jread how = {
        .fields = placement_fields, .type = "Placement", .path = "placement."};
    enum status st = read_nested(r, v, &how, &p);
    if (st == ST_OK) {
        json_decref(c->placement);
        c->placement = jfield_write(placement_fields, &p);
        st = c->placement != NULL ? ST_OK : ST_NOMEM;
    }
    for (size_t i = 0; i < p.n_tags; i++) {
        mem_free(p.tags[i]);
    }
    mem_free(p.tags);
    mem_free(p.cluster);
    mem_free(p.preferred);
    return st;
}

static json_t *
write_placement(const void *base, bool *failed)
{
    *failed = false;
    return json_incref(((const struct stream_config *)base)->placement);
}

static const struct jfield limit_fields[] = {
    {.key = "inactive_threshold", .kind = JF_DURATION, .off = AT(limit_inactive_threshold)},
    {.key = "max_ack_pending", .kind = JF_INT, .type = "int", .off = AT(limit_max_ack_pending)},
    {.key = NULL}};

static enum status
read_limits(struct jread *r, const json_t *v, void *base)
{
    if (!json_is_object(v)) {
        return jfield_mismatch(r, v, "consumer_limits", "server.StreamConsumerLimits");
    }
    static const struct jread how = {
        .fields = limit_fields, .type = "StreamConsumerLimits", .path = "consumer_limits."};
    return read_nested(r, v, &how, base);
}

static json_t *
write_limits(const void *base, bool *failed)
{
    json_t *o = jfield_write(limit_fields, base);
    *failed = o == NULL;
    return o;
}

static enum status
read_persist(struct jread *r, const json_t *v, void *base)
{
    static const struct jfield f[] = {
        {.key = "persist_mode", .kind = JF_ENUM, .off = AT(persist), .names = persists},
        {.key = NULL}};
    if (json_is_string(v) && json_string_length(v) == 0) {
        return ST_OK;
    }
    json_t *o = json_pack("{s:O}", "persist_mode", (json_t *)(uintptr_t)v);
    if (o == NULL) {
        return ST_NOMEM;
    }
    struct jread how = {.fields = f, .type = "", .path = ""};
    enum status st = read_nested(r, o, &how, base);
    json_decref(o);
    return st;
}

static json_t *
write_persist(const void *base, bool *failed)
{
    const struct stream_config *c = base;
    if (c->persist == PERSIST_DEFAULT) {
        return NULL;
    }
    json_t *o = json_string(persists[c->persist]);
    *failed = o == NULL;
    return o;
}

/* In nats-server's order. */
static const struct jfield fields[] = {
    {.key = "name", .kind = JF_STR, .off = AT(name), .always = true},
    {.key = "description", .kind = JF_STR, .off = AT(description)},
    {.key = "subjects", .kind = JF_STRS, .off = AT(subjects), .off2 = AT(n_subjects)},
    {.key = "retention",
     .kind = JF_ENUM,
     .off = AT(retention),
     .names = retentions,
     .always = true},
    {.key = "max_consumers",
     .kind = JF_INT,
     .type = "int",
     .off = AT(max_consumers),
     .always = true},
    {.key = "max_msgs", .kind = JF_INT, .off = AT(max_msgs), .always = true},
    {.key = "max_bytes", .kind = JF_INT, .off = AT(max_bytes), .always = true},
    {.key = "max_age", .kind = JF_DURATION, .off = AT(max_age), .always = true},
    {.key = "max_msgs_per_subject", .kind = JF_INT, .off = AT(max_msgs_per), .always = true},
    {.key = "max_msg_size", .kind = JF_INT32, .off = AT(max_msg_size)},
    {.key = "discard", .kind = JF_ENUM, .off = AT(discard), .names = discards, .always = true},
    {.key = "storage", .kind = JF_ENUM, .off = AT(storage), .names = storages, .always = true},
    {.key = "num_replicas", .kind = JF_INT, .type = "int", .off = AT(replicas), .always = true},
    {.key = "no_ack", .kind = JF_BOOL, .off = AT(no_ack)},
    {.key = "duplicate_window", .kind = JF_DURATION, .off = AT(duplicates)},
    {.key = "placement", .kind = JF_CUSTOM, .read = read_placement, .write = write_placement},
    {.key = "mirror", .kind = JF_CUSTOM, .read = read_mirror, .write = write_mirror},
    {.key = "sources", .kind = JF_CUSTOM, .read = read_sources, .write = write_sources},
    {.key = "compression",
     .kind = JF_ENUM,
     .off = AT(compression),
     .names = compressions,
     .type = "unknown compression algorithm",
     .always = true},
    {.key = "first_seq", .kind = JF_UINT, .off = AT(first_seq)},
    {.key = "subject_transform",
     .kind = JF_CUSTOM,
     .read = read_transform,
     .write = write_transform},
    {.key = "republish", .kind = JF_CUSTOM, .read = read_republish, .write = write_republish},
    {.key = "allow_direct", .kind = JF_BOOL, .off = AT(allow_direct), .always = true},
    {.key = "mirror_direct", .kind = JF_BOOL, .off = AT(mirror_direct), .always = true},
    {.key = "discard_new_per_subject", .kind = JF_BOOL, .off = AT(discard_new_per)},
    {.key = "sealed", .kind = JF_BOOL, .off = AT(sealed), .always = true},
    {.key = "deny_delete", .kind = JF_BOOL, .off = AT(deny_delete), .always = true},
    {.key = "deny_purge", .kind = JF_BOOL, .off = AT(deny_purge), .always = true},
    {.key = "allow_rollup_hdrs", .kind = JF_BOOL, .off = AT(allow_rollup), .always = true},
    {.key = "consumer_limits", .kind = JF_CUSTOM, .read = read_limits, .write = write_limits},
    {.key = "allow_msg_ttl", .kind = JF_BOOL, .off = AT(allow_msg_ttl), .always = true},
    {.key = "subject_delete_marker_ttl", .kind = JF_DURATION, .off = AT(subject_delete_marker_ttl)},
    {.key = "allow_msg_counter", .kind = JF_BOOL, .off = AT(allow_msg_counter)},
    {.key = "allow_atomic", .kind = JF_BOOL, .off = AT(allow_atomic)},
    {.key = "allow_msg_schedules", .kind = JF_BOOL, .off = AT(allow_msg_schedules)},
    {.key = "persist_mode",
     .kind = JF_CUSTOM,
     .nulls = true,
     .read = read_persist,
     .write = write_persist},
    {.key = "allow_batched", .kind = JF_BOOL, .off = AT(allow_batched)},
    {.key = "metadata", .kind = JF_TEXTS, .off = AT(metadata)},
    {.key = "pedantic", .kind = JF_IGNORED},
    {.key = NULL}};

enum js_error
stream_config_from_json(const json_t *o, bool strict, struct stream_config **out, struct js_fail *f)
{
    struct jread r = {
        .fields = fields, .type = "StreamConfigRequest", .path = "StreamConfig.", .strict = strict};
    if (!json_is_object(o)) {
        const char *what = json_is_array(o)     ? "array"
                           : json_is_string(o)  ? "string"
                           : json_is_boolean(o) ? "bool"
                                                : "number";
        snprintf(r.err, sizeof r.err,
                 "json: cannot unmarshal %s into Go value of type server.StreamConfigRequest",
                 what);
        return js_fail_text(f, JS_ERR_INVALID_JSON, r.err);
    }
    const json_t *pedantic = json_object_get(o, "pedantic");
    if (pedantic != NULL && !json_is_boolean(pedantic) && !json_is_null(pedantic)) {
        r.path = "";
        (void)!jfield_mismatch(&r, pedantic, "pedantic", "bool");
        return js_fail_text(f, JS_ERR_INVALID_JSON, r.err);
    }
    struct stream_config *c = mem_alloc(sizeof *c);
    if (c == NULL) {
        return js_fail_status(f, ST_NOMEM);
    }
    enum status st = jfield_read(&r, o, c);
    if (st != ST_OK) {
        stream_config_free(c);
        return st == ST_SYNTAX ? js_fail_text(f, JS_ERR_INVALID_JSON, r.err)
                               : js_fail_status(f, st);
    }
    *out = c;
    return JS_OK;
}

json_t *
stream_config_to_json(const struct stream_config *c)
{
    return jfield_write(fields, c);
}
