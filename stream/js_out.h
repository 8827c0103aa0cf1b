/* SPDX-License-Identifier: Apache-2.0 */
/* One message on its way out of the engine. Made under a stream's lock, handed to the host after
 * it (stream_emit, stream_unlock), consumed by the host. The payload of a stored message is not
 * copied: the reference goes along. Owned by one at a time. */
#ifndef STREAM_JS_OUT_H
#define STREAM_JS_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "server/base/list.h"
#include "server/base/status.h"
#include "stream/msg.h"

struct account;
struct slab;

#define JS_OUT_HOST_SPACE 96 /* bytes for the host's own use while it has it */

struct js_out {
    _Alignas(16) char host[JS_OUT_HOST_SPACE];
    struct list_node node;   /* of the engine until it is sent */
    struct account *account; /* borrowed: accounts outlive the engine */
    uint32_t loop;           /* by way of which I/O loop (modulo their number) */
    const char *to;          /* the subject it is routed by; texts end with NUL */
    const char *subject;     /* the subject that the receiver sees */
    const char *reply;       /* NULL: none */
    const char *body;        /* header block and payload in one, in msg or in bytes */
    size_t hdr_len, size;    /* of the header block; of both */
    struct msg *msg;         /* ref or NULL */
    struct slab *slab;       /* what it is a part of; NULL: its own allocation */
    char bytes[];
};

/* All borrowed for the call. */
struct js_out_spec {
    struct account *account;
    uint32_t loop;
    const char *to;
    const char *subject; /* NULL: as `to` */
    const char *reply;   /* NULL or "": none */
    /* Either a stored message: its subject, headers and payload, by reference; */
    struct msg *msg;
    /* or these, copied. With msg and hdr: the payload of msg behind that header block, copied. */
    const char *hdr;
    size_t hdr_len;
    const char *data;
    size_t data_len;
    struct slab **slab; /* NULL, or the open slab that it shall be a part of */
};
enum status js_out_new(struct js_out **out, const struct js_out_spec *spec) MUST_CHECK;
void js_out_free(struct js_out *o);

#endif
