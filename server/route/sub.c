/* SPDX-License-Identifier: Apache-2.0 */
#include "server/route/sub.h"

#include <stdatomic.h>
#include <string.h>

#include "api/gate.h"
#include "server/base/mem.h"
#include "server/net/peer.h"

static char *
put(char *at, const char *s, size_t n)
{
    if (n > 0) {
        memcpy(at, s, n);
    }
    at[n] = '\0';
    return at + n + 1;
}

enum status
sub_new(struct sub **out, const struct sub_spec *spec, struct peer *peer)
{
    if (spec->subject_len > UINT16_MAX || spec->queue_len > UINT16_MAX ||
        spec->sid_len > UINT16_MAX) {
        return ST_INVAL;
    }
    size_t bytes = spec->subject_len + spec->queue_len + spec->sid_len + 3;
    struct sub *s = mem_alloc(sizeof *s + bytes);
    if (s == NULL) {
        return ST_NOMEM;
    }
    atomic_init(&s->refs, 1);
    s->loop = SUB_LOOP_SERVICE;
    if (peer != NULL) {
        s->peer = peer_ref(peer);
        s->loop = peer->loop;
        s->cid = peer->cid;
    }
    s->subject_len = (uint16_t)spec->subject_len;
    s->queue_len = (uint16_t)spec->queue_len;
    s->sid_len = (uint16_t)spec->sid_len;
    char *at = put(s->bytes, spec->subject, spec->subject_len);
    at = put(at, spec->queue, spec->queue_len);
    put(at, spec->sid, spec->sid_len);
    *out = s;
    return ST_OK;
}

struct sub *
sub_ref(struct sub *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void
sub_unref(struct sub *s)
{
    if (s != NULL && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) {
        peer_unref(s->peer);
        gate_unref(s->gate);
        if (s->service != NULL && s->service->release != NULL) {
            s->service->release(s->service->arg);
        }
        mem_free(s->service);
        mem_free(s);
    }
}
