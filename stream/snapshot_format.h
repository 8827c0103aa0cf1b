/* SPDX-License-Identifier: Apache-2.0 */
/* A stream as a sequence of bytes, as nats-server 2.15 has it: an archive of entries (NATSARC1) in
 * frames of S2, which we read compressed or not and write
 * uncompressed. Entries: "state.json", "consumers/NAME", messages (the
 * subject is their name), and an empty one at the end. Pure. */
#ifndef STREAM_SNAPSHOT_FORMAT_H
#define STREAM_SNAPSHOT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/buf.h"
#include "server/base/status.h"
#include "stream/msg.h"

/* Owned by one; zeroed is ready. */
struct snapshot_out {
    struct buf raw;    /* not framed yet */
    struct buf framed; /* to be sent */
    bool begun;
};
void snapshot_out_fini(struct snapshot_out *o);
void snapshot_put(struct snapshot_out *o, const char *name, size_t name_len, int64_t ts,
                  const void *data, size_t len);
void snapshot_put_msg(struct snapshot_out *o, const struct msg *m);
/* The last entry, and all that is not framed yet. */
void snapshot_put_end(struct snapshot_out *o);
enum status snapshot_out_status(const struct snapshot_out *o) MUST_CHECK;

struct snapshot_entry {
    const char *name; /* borrowed until the next call, as data; not ended by NUL */
    const char *data; /* hdr_len bytes of headers, then the payload */
    size_t name_len, hdr_len, data_len;
    int64_t ts;
    uint64_t seq;
};

/* Owned by one; zeroed is ready. */
struct snapshot_in {
    struct buf framed, raw;
    size_t taken, at; /* of framed and of raw: what is before it is done with */
    bool has_id, has_magic;
};
void snapshot_in_fini(struct snapshot_in *in);
/* ST_NOMEM. What it holds is unpacked by snapshot_next, a frame at a time. */
enum status snapshot_feed(struct snapshot_in *in, const void *data, size_t len) MUST_CHECK;
/* ST_OK: an entry; ST_AGAIN: none is whole. ST_SYNTAX: damaged. ST_UNSUPPORTED: frames of S2, but
 * no such archive in them. ST_NOMEM. */
enum status snapshot_next(struct snapshot_in *in, struct snapshot_entry *e) MUST_CHECK;

#endif
