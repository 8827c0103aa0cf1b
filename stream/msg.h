/* SPDX-License-Identifier: Apache-2.0 */
/* One stored message in memory. Reference-counted; immutable once it has its sequence (the log
 * sets seq and ts before anybody else can see it). Any thread. */
#ifndef STREAM_MSG_H
#define STREAM_MSG_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/status.h"

/* To be looked at when a stream starts. Kept with the message. */
enum msg_flags {
    MSG_HAS_HDR = 1, /* set by msg_new */
    MSG_MARKED = 2,  /* has a TTL or a schedule */
};

struct slab;

struct msg {
    struct slab *slab; /* what it is a part of (one thing of it); NULL: its own allocation */
    _Atomic uint32_t refs;
    uint32_t flags;
    uint32_t subject_len, hdr_len, data_len;
    uint64_t seq;
    int64_t ts;   /* wall ns */
    char bytes[]; /* subject, NUL, header block, payload */
};

struct msg_spec {
    const char *subject;
    size_t subject_len;
    const char *hdr; /* "NATS/1.0\r\n…\r\n\r\n" or NULL */
    size_t hdr_len;
    const char *data;
    size_t data_len;
    unsigned flags;
    struct slab **slab; /* NULL, or the open slab that it shall be a part of: it lives shortly */
};
/* Copies. One reference. */
enum status msg_new(struct msg **out, const struct msg_spec *spec) MUST_CHECK;
struct msg *msg_ref(struct msg *m);
void msg_unref(struct msg *m); /* NULL is allowed */

static inline const char *
msg_subject(const struct msg *m)
{
    return m->bytes;
}

/* Header block and payload follow each other. */
static inline const char *
msg_hdr(const struct msg *m)
{
    return m->bytes + m->subject_len + 1;
}

static inline const char *
msg_data(const struct msg *m)
{
    return m->bytes + m->subject_len + 1 + m->hdr_len;
}

#endif
