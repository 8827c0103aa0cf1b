/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/republish.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/base/buf.h"
#include "server/base/subject.h"
#include "stream/hdr.h"
#include "stream/rfc3339.h"
#include "stream/stream_priv.h"
#include "stream/transforms.h"

static void
add_u64(struct buf *b, const char *name, uint64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, v);
    hdr_add(b, name, text);
}

void
republish_one(struct stream *s, struct msg *m, uint64_t prev)
{
    if (!transform_matches(s->republish, msg_subject(m), m->subject_len)) {
        return;
    }
    struct buf to, hdr;
    char ts[40];
    buf_init(&to);
    buf_init(&hdr);
    transform_apply(s->republish, msg_subject(m), m->subject_len, &to);
    buf_append(&hdr, msg_hdr(m), m->hdr_len);
    hdr_add(&hdr, "Nats-Stream", s->name);
    hdr_add_n(&hdr, "Nats-Subject", msg_subject(m), m->subject_len);
    add_u64(&hdr, "Nats-Sequence", m->seq);
    hdr_add(&hdr, "Nats-Time-Stamp", rfc3339_format(m->ts, ts));
    add_u64(&hdr, "Nats-Last-Sequence", prev);
    bool only = s->cfg->republish_headers_only;
    if (only) {
        add_u64(&hdr, "Nats-Msg-Size", m->data_len);
    }
    struct js_out_spec spec = {.account = s->acc->acc,
                               .to = to.data,
                               .hdr = hdr.data,
                               .hdr_len = hdr.len,
                               .data = only ? NULL : msg_data(m),
                               .data_len = only ? 0 : m->data_len};
    struct js_out *o;
    if (buf_status(&to) == ST_OK && buf_status(&hdr) == ST_OK &&
        subject_is_literal(to.data, to.len) && js_out_new(&o, &spec) == ST_OK) {
        stream_emit(s, o);
    }
    buf_fini(&to);
    buf_fini(&hdr);
}
