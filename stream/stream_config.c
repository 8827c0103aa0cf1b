/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream_config.h"

#include <string.h>

#include "server/base/mem.h"
#include "stream/stream_config_priv.h"

static void
transforms_free(struct subject_transform *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mem_free(v[i].src);
        mem_free(v[i].dest);
    }
    mem_free(v);
}

void
stream_source_fini(struct stream_source *s)
{
    mem_free(s->name);
    mem_free(s->filter_subject);
    transforms_free(s->transforms, s->n_transforms);
    mem_free(s->api_prefix);
    mem_free(s->deliver_prefix);
    json_decref(s->consumer);
}

void
stream_config_free(struct stream_config *c)
{
    if (c == NULL) {
        return;
    }
    mem_free(c->name);
    mem_free(c->description);
    for (size_t i = 0; i < c->n_subjects; i++) {
        mem_free(c->subjects[i]);
    }
    mem_free(c->subjects);
    json_decref(c->placement);
    if (c->mirror != NULL) {
        stream_source_fini(c->mirror);
        mem_free(c->mirror);
    }
    for (size_t i = 0; i < c->n_sources; i++) {
        stream_source_fini(&c->sources[i]);
    }
    mem_free(c->sources);
    transforms_free(c->transform, c->transform != NULL);
    transforms_free(c->republish, c->republish != NULL);
    json_decref(c->metadata);
    mem_free(c);
}

/* By way of JSON: whatever is written is read back, and nothing else is kept in a record. */
enum status
stream_config_copy(const struct stream_config *c, struct stream_config **out)
{
    json_t *o = stream_config_to_json(c);
    if (o == NULL) {
        return ST_NOMEM;
    }
    enum js_error e = stream_config_from_json(o, false, out, NULL);
    json_decref(o);
    return e == JS_OK ? ST_OK : ST_NOMEM;
}

bool
stream_config_equal(const struct stream_config *a, const struct stream_config *b)
{
    json_t *ja = stream_config_to_json(a);
    json_t *jb = stream_config_to_json(b);
    bool same = ja != NULL && jb != NULL && json_equal(ja, jb) == 1;
    json_decref(ja);
    json_decref(jb);
    return same;
}

bool
js_name_is_valid(const char *name, size_t len)
{
    if (len == 0) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (strchr(" \t\r\n\f.*>/\\", name[i]) != NULL) {
            return false;
        }
    }
    return true;
}
