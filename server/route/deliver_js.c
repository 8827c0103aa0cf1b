/* SPDX-License-Identifier: Apache-2.0 */
#include "server/route/deliver_js.h"

#include <string.h>

#include "server/net/conn.h"
#include "server/net/loop.h"
#include "server/route/deliver.h"
#include "server/route/sub.h"
#include "stream/js_host.h"
#include "stream/js_out.h"

enum { TEXT_MAX = 4096 };

_Static_assert(sizeof(struct loop_msg) <= JS_OUT_HOST_SPACE, "a message of the loop fits");
_Static_assert(offsetof(struct js_out, host) == 0, "the host's place is in front");

bool
deliver_js_receive(const struct inbound *in, const struct sub_service *service)
{
    const char *subject = in->route != NULL ? in->route : in->subject;
    size_t subject_len = in->route != NULL ? in->route_len : in->subject_len;
    char texts[2 * TEXT_MAX];
    if (subject_len >= TEXT_MAX || in->reply_len >= TEXT_MAX) {
        return false;
    }
    memcpy(texts, subject, subject_len);
    texts[subject_len] = '\0';
    char *reply = texts + subject_len + 1;
    if (in->reply_len > 0) {
        memcpy(reply, in->reply, in->reply_len);
    }
    reply[in->reply_len] = '\0';
    struct js_in m = {.account = in->account,
                      .loop = in->loop->index,
                      .in_turn = true,
                      .cid = in->from_cid,
                      .subject = texts,
                      .subject_len = subject_len,
                      .reply = reply,
                      .hdr = in->hdr_len > 0 ? in->data : NULL,
                      .hdr_len = in->hdr_len,
                      .data = in->data + in->hdr_len,
                      .data_len = in->size - in->hdr_len};
    loop_js_turn(in->loop);
    service->fn(service->arg, &m);
    return true;
}

static struct js_out *
out_of(struct loop_msg *msg)
{
    return (struct js_out *)(void *)msg;
}

static void
arrive(struct loop *l, struct loop_msg *msg)
{
    struct js_out *o = out_of(msg);
    struct inbound in = {.loop = l,
                         .account = o->account,
                         .subject = o->subject,
                         .subject_len = strlen(o->subject),
                         .reply = o->reply,
                         .reply_len = o->reply != NULL ? strlen(o->reply) : 0,
                         .data = o->body,
                         .size = o->size,
                         .hdr_len = o->hdr_len};
    if (o->to != o->subject) {
        in.route = o->to;
        in.route_len = strlen(o->to);
    }
    deliver(&in);
    js_out_free(o);
}

static struct loop_msg *
msg_of(struct js_out *o)
{
    struct loop_msg *msg = (struct loop_msg *)(void *)o->host;
    *msg = (struct loop_msg){.run = arrive, .bytes = sizeof *o + o->size};
    return msg;
}

void
deliver_js_send(struct loop *l, struct js_out *o)
{
    loop_post(l, msg_of(o));
}

void
deliver_js_send_list(struct loop *const *loops, unsigned n_loops, struct list_node *list)
{
    struct list_node *it, *next;
    struct list_node run;
    size_t bytes = 0;
    unsigned to = 0;
    list_init(&run);
    LIST_FOREACH_SAFE(it, next, list)
    {
        struct js_out *o = LIST_ENTRY(it, struct js_out, node);
        if (o->loop % n_loops != to) {
            loop_post_list(loops[to], &run, bytes);
            bytes = 0;
        }
        to = o->loop % n_loops;
        struct loop_msg *msg = msg_of(o);
        list_push_back(&run, &msg->node);
        bytes += msg->bytes;
    }
    list_init(list);
    loop_post_list(loops[to], &run, bytes);
}
