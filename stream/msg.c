/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/msg.h"

#include <stdatomic.h>
#include <string.h>

#include "stream/slab.h"

enum status
msg_new(struct msg **out, const struct msg_spec *spec)
{
    *out = NULL;
    if (spec->subject_len >= UINT32_MAX || spec->hdr_len >= UINT32_MAX ||
        spec->data_len >= UINT32_MAX) {
        return ST_INVAL;
    }
    size_t n = sizeof(struct msg) + spec->subject_len + 1 + spec->hdr_len + spec->data_len + 1;
    struct slab *slab;
    struct msg *m = slab_take(spec->slab, n, &slab);
    if (m == NULL) {
        return ST_NOMEM;
    }
    *m = (struct msg){.slab = slab,
                      .flags = spec->flags | (spec->hdr_len > 0 ? MSG_HAS_HDR : 0),
                      .subject_len = (uint32_t)spec->subject_len,
                      .hdr_len = (uint32_t)spec->hdr_len,
                      .data_len = (uint32_t)spec->data_len};
    atomic_init(&m->refs, 1);
    char *at = m->bytes;
    memcpy(at, spec->subject, spec->subject_len);
    at += spec->subject_len;
    *at++ = '\0';
    if (spec->hdr_len > 0) {
        memcpy(at, spec->hdr, spec->hdr_len);
        at += spec->hdr_len;
    }
    if (spec->data_len > 0) {
        memcpy(at, spec->data, spec->data_len);
        at += spec->data_len;
    }
    *at = '\0';
    *out = m;
    return ST_OK;
}

struct msg *
msg_ref(struct msg *m)
{
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void
msg_unref(struct msg *m)
{
    if (m != NULL && atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1) {
        slab_drop(m->slab, m);
    }
}
