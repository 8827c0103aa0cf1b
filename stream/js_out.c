/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/js_out.h"

#include <stdbool.h>
#include <string.h>

#include "stream/slab.h"

static const char *
put(char **at, const void *from, size_t n)
{
    char *to = *at;
    if (n > 0) {
        memcpy(to, from, n);
    }
    *at = to + n;
    return to;
}

static const char *
put_text(char **at, const char *text, size_t n)
{
    const char *to = put(at, text, n);
    *(*at)++ = '\0';
    return to;
}

static size_t
len_of(const char *text)
{
    return text != NULL ? strlen(text) : 0;
}

enum status
js_out_new(struct js_out **out, const struct js_out_spec *spec)
{
    bool by_ref = spec->msg != NULL && spec->hdr == NULL;
    const char *hdr = spec->hdr;
    const char *data = spec->msg != NULL ? msg_data(spec->msg) : spec->data;
    size_t hdr_len = by_ref ? spec->msg->hdr_len : spec->hdr_len;
    size_t data_len = spec->msg != NULL ? spec->msg->data_len : spec->data_len;
    size_t to_len = strlen(spec->to);
    size_t subject_len = len_of(spec->subject);
    size_t reply_len = len_of(spec->reply);
    size_t body = by_ref ? 0 : hdr_len + data_len;
    *out = NULL;
    size_t n = sizeof(struct js_out) + to_len + subject_len + reply_len + 3 + body;
    struct slab *slab;
    struct js_out *o = slab_take(spec->slab, n, &slab);
    if (o == NULL) {
        return ST_NOMEM;
    }
    char *at = o->bytes;
    o->node = (struct list_node){0};
    o->slab = slab;
    o->account = spec->account;
    o->loop = spec->loop;
    o->msg = spec->msg != NULL ? msg_ref(spec->msg) : NULL;
    o->to = put_text(&at, spec->to, to_len);
    o->subject = o->to;
    if (spec->subject != NULL) {
        o->subject = put_text(&at, spec->subject, subject_len);
    } else if (spec->msg != NULL) {
        o->subject = msg_subject(spec->msg);
    }
    o->reply = reply_len > 0 ? put_text(&at, spec->reply, reply_len) : NULL;
    o->hdr_len = hdr_len;
    o->size = hdr_len + data_len;
    if (by_ref) {
        o->body = msg_hdr(spec->msg);
    } else {
        o->body = put(&at, hdr, hdr_len);
        (void)put(&at, data, data_len);
    }
    *out = o;
    return ST_OK;
}

void
js_out_free(struct js_out *o)
{
    if (o != NULL) {
        msg_unref(o->msg);
        slab_drop(o->slab, o);
    }
}
