/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/rig.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/reply.h"
#include "api/request.h"
#include "tests/support/cmk.h"

struct rig rig;

enum status
rig_run_note(struct api *a, struct api_request *r, struct reply *out)
{
    (void)a;
    assert_true(strlen(rig.ran) + r->data_len < sizeof(rig.ran));
    strcat(rig.ran, r->data);
    buf_puts(&out->body, r->data);
    return buf_status(&out->body);
}

const struct api_endpoint rig_note = {.name = "note",
                                      .subjects = {"$JS.API.NOTE"},
                                      .level = APIQ_NORMAL,
                                      .run = rig_run_note,
                                      .type = "io.nats.note"};
const struct api_endpoint rig_sys_note = {.name = "sys_note",
                                          .subjects = {"$SYS.REQ.NOTE"},
                                          .level = APIQ_INFO,
                                          .flags = API_EP_LIFT,
                                          .run = rig_run_note};

int
rig_set_up(void **state)
{
    struct clock c = clock_fake_of(&rig.now);
    struct api_opts opts = fakehost_opts(0);
    (void)state;
    rig.now.t = 1000 * CLOCK_S;
    rig.ran[0] = '\0';
    fakehost_init(&rig.host);
    assert_int_equal(api_new(&rig.api, &rig.host.host, &opts, &c), ST_OK);
    return 0;
}

int
rig_tear_down(void **state)
{
    (void)state;
    books_check(rig.api);
    api_close(rig.api);
    books_check(rig.api);
    assert_int_equal(books_open(rig.api), 0);
    api_free(rig.api);
    fakehost_fini(&rig.host);
    return 0;
}

void
rig_update(void (*change)(struct api_opts *o))
{
    struct api_opts opts = fakehost_opts(0);
    change(&opts);
    assert_int_equal(api_update(rig.api, &opts), ST_OK);
}

void
rig_limit_0(struct api_opts *o)
{
    o->request_queue_limit = 0;
}

void
rig_limit_2(struct api_opts *o)
{
    o->request_queue_limit = 2;
}

void
rig_lifo(struct api_opts *o)
{
    o->discipline = API_LIFO;
}

void
rig_send_hdr(const struct api_endpoint *ep, unsigned acc, uint64_t cid, const char *reply,
             const char *data, const char *hdr)
{
    struct api_message m = fakehost_request(acc, cid, ep->subjects[0], reply, data);
    m.now = rig.now.t;
    m.hdr = hdr;
    m.hdr_len = hdr == NULL ? 0 : strlen(hdr);
    api_receive(rig.api, ep, &m);
    books_check(rig.api);
}

void
rig_send(const struct api_endpoint *ep, unsigned acc, uint64_t cid, const char *data)
{
    rig_send_hdr(ep, acc, cid, "_INBOX.r", data, NULL);
}

void
rig_step_all(void)
{
    while (dispatch_step(rig.api, APIQ_LANE_ANY)) {
        books_check(rig.api);
    }
}

int64_t
rig_expect_error(int code, int err_code, const char *in_text)
{
    struct fake_msg *m = fakehost_take(&rig.host);
    assert_non_null(m);
    json_t *o = json_loads(m->data, 0, NULL);
    assert_non_null(o);
    json_t *e = json_object_get(o, "error");
    assert_int_equal(json_object_size(e), 3);
    assert_int_equal(json_integer_value(json_object_get(e, "code")), code);
    assert_int_equal(json_integer_value(json_object_get(e, "err_code")), err_code);
    assert_non_null(strstr(json_string_value(json_object_get(e, "description")), in_text));
    json_decref(o);
    double s = 0;
    if (*m->hdr != '\0') {
        const char *name = "NATS/1.0\r\nNats-Retry-After: ";
        assert_memory_equal(m->hdr, name, strlen(name));
        char *end;
        s = strtod(m->hdr + strlen(name), &end);
        assert_string_equal(end, "\r\n\r\n");
    }
    fakehost_free(m);
    return (int64_t)(s * 1e9);
}

void
rig_expect_data(const char *data)
{
    struct fake_msg *m = fakehost_take(&rig.host);
    assert_non_null(m);
    assert_string_equal(m->data, data);
    fakehost_free(m);
}

void
rig_expect_silence(void)
{
    assert_null(fakehost_take(&rig.host));
}
