/* SPDX-License-Identifier: Apache-2.0 */
#include "api/js_consumer.h"

#include <stdlib.h>
#include <string.h>

#include "api/jobj.h"
#include "api/js_req.h"
#include "api/js_stream.h"
#include "stream/consumer.h"
#include "stream/stream.h"

json_t *
js_consumer_answer(struct js_req *q, struct consumer *c)
{
    return js_stream_merge(js_req_object(q), consumer_info_json(c));
}

const struct jfield js_consumer_page_fields[] = {JS_REQ_OFFSET, {0}};

static int
by_name(const void *a, const void *b)
{
    const struct consumer *const *x = a;
    const struct consumer *const *y = b;
    return strcmp(consumer_name(*x), consumer_name(*y));
}

static void
answer_page(struct js_req *q, const struct js_consumer_page *p, struct consumer **v, size_t n)
{
    size_t from = p->offset > 0 ? (size_t)p->offset : 0;
    from = from > n ? n : from;
    size_t to = n - from > p->limit ? from + p->limit : n;
    json_t *list = json_array();
    for (size_t i = from; i < to; i++) {
        json_t *one = p->detail ? js_stream_plain(consumer_info_json(v[i]))
                                : json_string(consumer_name(v[i]));
        jarr_add(&list, one);
    }
    json_t *o = js_req_object(q);
    jobj_int(&o, "total", n);
    jobj_int(&o, "offset", from);
    jobj_int(&o, "limit", p->limit);
    jobj_put(&o, "consumers", list);
    js_req_answer(q, o);
}

void
js_consumer_page_answer(struct js_req *q, const struct js_consumer_page *p)
{
    struct consumer **v;
    size_t n;
    struct stream *s = js_req_stream(q, 5);
    if (s == NULL) {
        return;
    }
    if (consumers_of(s, &v, &n) != ST_OK) {
        js_req_nomem(q);
    } else {
        qsort(v, n, sizeof(struct consumer *), by_name);
        answer_page(q, p, v, n);
        consumers_free(v, n);
    }
    stream_unref(s);
}
