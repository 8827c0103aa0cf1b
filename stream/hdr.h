/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing header blocks ("NATS/1.0\r\nName: value\r\n\r\n"). Names are compared as
 * nats-server does for JetStream's: in their exact case. Pure; any thread. */
#ifndef STREAM_HDR_H
#define STREAM_HDR_H

#include <stdbool.h>
#include <stddef.h>

#include "server/base/buf.h"
#include "server/base/status.h"

/* The value of the first field of that name, without the blanks before it; those behind it are
 * part of it, as in nats-server. False: none. hdr may be NULL. */
bool hdr_find(const char *hdr, size_t len, const char *name, const char **value, size_t *vlen);
/* The same as a number. ST_NOTFOUND: none; ST_INVAL: not a number of 64 bits. */
enum status hdr_u64(const char *hdr, size_t len, const char *name, unsigned long long *out);

/* Appends to out the block without the fields of that name (or of that prefix). The result is
 * empty where no field is left. hdr NULL: nothing. */
void hdr_copy_without(struct buf *out, const char *hdr, size_t len, const char *name);
void hdr_copy_without_prefix(struct buf *out, const char *hdr, size_t len, const char *prefix);
/* Adds a field to the block in out (begins one where out is empty). */
void hdr_add(struct buf *out, const char *name, const char *value);
void hdr_add_n(struct buf *out, const char *name, const char *value, size_t vlen);
/* Appends the block to out (empty) with that value in its field's place, or with the field added.
 * hdr NULL: the field alone. */
void hdr_put(struct buf *out, const char *hdr, size_t len, const char *name, const char *value);

#endif
