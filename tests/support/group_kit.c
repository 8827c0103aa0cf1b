/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/group_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plane.h"
#include "api/reply.h"
#include "api/request.h"
#include "tests/support/cmk.h"

#define CODES 600u

static unsigned told[CODES];

int
group_kit_set_up(void **state)
{
    memset(told, 0, sizeof(told));
    return rig_set_up(state);
}

int
group_kit_tear_down(void **state)
{
    struct groups_totals t;
    groups_totals(rig.api->groups, &t);
    assert_int_equal(t.swept_admitted + t.swept_cancelled, 0);
    rig_step_all();
    groups_totals(rig.api->groups, &t);
    assert_int_equal(t.parked + t.running, 0);
    return rig_tear_down(state);
}

void
group_kit_set(enum group_source source, const char *json)
{
    static struct group_conf conf[GROUPS_MAX + 1];
    char err[256] = "";
    const char *name;
    json_t *o;
    size_t n = 0;
    json_t *all = json_loads(json, 0, NULL);
    assert_non_null(all);
    json_object_foreach(all, name, o)
    {
        assert_int_equal(group_conf_init(&conf[n], name, err, sizeof(err)), ST_OK);
        if (group_conf_parse(&conf[n++], o, err, sizeof(err)) != ST_OK) {
            fail_msg("%s", err);
        }
    }
    json_decref(all);
    assert_int_equal(groups_set(rig.api->groups, source, conf, n), ST_OK);
    dispatch_pump(rig.api, 0);
    books_check(rig.api);
}

void
group_kit_one(int64_t limit, int64_t size, const char *attribute)
{
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "{\"g\":{\"throttling\":{\"limit\":%lld,\"attribute\":\"%s\"},\"queue\":{"
                   "\"size\":%lld}}}",
                   (long long)limit, attribute, (long long)size);
    group_kit_set(GROUP_FROM_CONFIG, text);
}

void
group_kit_send_hdr(unsigned n, uint64_t cid, const char *user, const char *data, const char *hdr)
{
    struct api_message m = fakehost_request(n, cid, rig_note.subjects[0], "_INBOX.r", data);
    m.origin.user = user;
    m.origin.client = user;
    m.now = rig.now.t;
    m.hdr = hdr;
    m.hdr_len = hdr == NULL ? 0 : strlen(hdr);
    api_receive(rig.api, &rig_note, &m);
    books_check(rig.api);
}

void
group_kit_send(unsigned n, uint64_t cid, const char *user, const char *data)
{
    group_kit_send_hdr(n, cid, user, data, NULL);
}

void
group_kit_check(const struct group_counts *n)
{
    assert_int_equal(n->total_admitted, n->total_released + n->running);
    assert_int_equal(n->total_queued, n->queue_wait_count + n->total_cancelled +
                                          n->total_displaced + n->queued_current);
    assert_int_equal(n->total_throttled,
                     n->total_queued + n->total_queue_rejections - n->total_displaced);
    assert_true(n->queued_current > 0 || n->queued_bytes == 0);
    assert_true(n->queue_peak >= n->queued_current);
}

struct group_counts
group_kit_counts(const char *group)
{
    struct group_info i;
    assert_int_equal(groups_find(rig.api->groups, group, &i), ST_OK);
    group_kit_check(&i.counts);
    return i.counts;
}

struct apiq_item *
group_kit_pull(void)
{
    struct apiq_item *it;
    dispatch_pump(rig.api, 0);
    assert_int_equal(apiq_pull(rig.api->queue, APIQ_LANE_ANY, &it), ST_OK);
    struct api_request *r = request_of(it);
    ledger_start(rig.api->ledger, &r->ticket, rig.now.t);
    dispatch_pump(rig.api, DISPATCH_ALL_LEVELS);
    assert_true(strlen(rig.ran) + r->data_len < sizeof(rig.ran));
    strcat(rig.ran, r->data);
    books_check(rig.api);
    return it;
}

void
group_kit_done(struct apiq_item *it)
{
    struct pool_ops ops = dispatch_pool_ops(rig.api);
    ledger_end(rig.api->ledger, &request_of(it)->ticket, END_ANSWERED);
    apiq_done(rig.api->queue, it);
    ops.end(it, ops.arg);
    books_check(rig.api);
}

unsigned
group_kit_told(int code)
{
    struct fake_msg *m;
    while ((m = fakehost_take(&rig.host)) != NULL) {
        const char *at = strstr(m->data, "\"code\":");
        int c = at == NULL ? 0 : atoi(at + 7);
        assert_in_range(c, 0, CODES - 1);
        told[c]++;
        /* Who is refused is told that it was not executed, and when to come again. */
        assert_true(c == 0 || strstr(m->data, "not executed") != NULL);
        assert_true(c == 0 || strstr(m->hdr, "Nats-Retry-After: ") != NULL);
        fakehost_free(m);
    }
    return told[code];
}
