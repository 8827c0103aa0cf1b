/* SPDX-License-Identifier: Apache-2.0 */
/* Random operations, each checked against a plain array that is searched from end to end. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmk.h"
#include "tests/support/queue_kit.h"

#define FLOWS 6
#define KEYS  5

/* In the order of pushes; the queue must agree with what a look through all of it says. */
struct model {
    struct kit kit;
    struct apiq_conf conf;
    bool waits[KIT_ITEMS + 1];
    bool runs[KIT_ITEMS + 1];
    uint64_t first; /* no smaller id waits */
    unsigned random;
};

static unsigned
pick(struct model *m, unsigned n)
{
    m->random = m->random * 1103515245u + 12345u;
    return (m->random >> 16) % n;
}

static bool
is_runnable(struct model *m, uint64_t id)
{
    uint64_t key = kit_of(&m->kit, id)->order_key;
    if (!m->waits[id] || key == 0) {
        return m->waits[id];
    }
    for (uint64_t i = 1; i < id; i++) {
        if ((m->waits[i] || m->runs[i]) && kit_of(&m->kit, i)->order_key == key) {
            return false;
        }
    }
    return true;
}

static bool
is_expired(struct model *m, uint64_t id)
{
    const struct apiq_item *it = kit_of(&m->kit, id);
    int64_t span = it->deadline_ns == 0 ? m->conf.deadline_ns : it->deadline_ns;
    return span > 0 && it->pushed_ns + span <= clock_now(&m->kit.clk);
}

static size_t
depth_of(struct model *m, uint64_t flow)
{
    size_t n = 0;
    for (uint64_t i = 1; i <= m->kit.made; i++) {
        n += m->waits[i] && kit_of(&m->kit, i)->flow == flow ? 1 : 0;
    }
    return n;
}

static void
check_fallen(struct model *m, uint64_t id)
{
    uint64_t flow = kit_of(&m->kit, id)->flow;
    assert_true(m->waits[id]);
    for (uint64_t f = 0; f < FLOWS; f++) {
        assert_true(depth_of(m, f) <= depth_of(m, flow));
    }
    for (uint64_t i = 1; i < id; i++) {
        assert_false(m->waits[i] && kit_of(&m->kit, i)->flow == flow);
    }
    m->waits[id] = false;
}

static void
do_push(struct model *m)
{
    struct list_node fallen;
    struct apiq_item *it = kit_item(&m->kit);
    list_init(&fallen);
    it->flow = pick(m, FLOWS);
    it->order_key = pick(m, 2) == 0 ? 1 + pick(m, KEYS) : 0;
    it->owner = pick(m, 4);
    it->deadline_ns = pick(m, 3) == 0 ? (int64_t)(1 + pick(m, 200)) * CLOCK_MS : 0;
    assert_int_equal(apiq_push(m->kit.q, it, &fallen), ST_OK);
    m->waits[it->id] = true;
    size_t n = 0;
    const struct apiq_item *out;
    while ((out = apiq_fallen_pop(&fallen)) != NULL) {
        check_fallen(m, out->id);
        n++;
    }
    assert_true(n <= 1);
}

/* No other runnable one of its flow should have gone first. */
static void
check_turn(struct model *m, uint64_t id)
{
    uint64_t flow = kit_of(&m->kit, id)->flow;
    for (uint64_t i = 1; i <= m->kit.made; i++) {
        bool earlier = m->conf.order == APIQ_FIFO ? i < id : i > id;
        if (earlier && kit_of(&m->kit, i)->flow == flow) {
            assert_false(is_runnable(m, i));
        }
    }
}

static void
do_pull(struct model *m)
{
    struct apiq_item *it;
    enum status st = apiq_pull(m->kit.q, APIQ_LANE_ANY, &it);
    if (st == ST_AGAIN) {
        for (uint64_t i = 1; i <= m->kit.made; i++) {
            assert_false(is_runnable(m, i));
        }
        return;
    }
    assert_true(m->waits[it->id]);
    if (st == ST_EXPIRED) {
        assert_true(is_expired(m, it->id));
    } else {
        assert_int_equal(st, ST_OK);
        assert_false(is_expired(m, it->id));
        assert_true(is_runnable(m, it->id));
        check_turn(m, it->id);
        m->runs[it->id] = true;
    }
    m->waits[it->id] = false;
}

static void
do_done(struct model *m)
{
    for (uint64_t i = 1 + pick(m, (unsigned)m->kit.made); i <= m->kit.made; i++) {
        if (m->runs[i]) {
            if (pick(m, 3) == 0 && kit_of(&m->kit, i)->state == APIQ_RUNNING) {
                apiq_defer(m->kit.q, kit_of(&m->kit, i));
                return;
            }
            m->runs[i] = false;
            kit_done(&m->kit, i);
            return;
        }
    }
}

static void
do_cancel(struct model *m)
{
    uint64_t id = 1 + pick(m, (unsigned)m->kit.made);
    enum status st = apiq_cancel(m->kit.q, kit_of(&m->kit, id));
    assert_int_equal(st, m->waits[id] ? ST_OK : ST_NOTFOUND);
    m->waits[id] = false;
    if (pick(m, 40) == 0) {
        struct list_node out;
        uint64_t owner = 1 + pick(m, 3);
        list_init(&out);
        (void)apiq_cancel_owner(m->kit.q, owner, &out);
        const struct apiq_item *it;
        while ((it = apiq_fallen_pop(&out)) != NULL) {
            assert_true(m->waits[it->id]);
            m->waits[it->id] = false;
        }
        for (uint64_t i = 1; i <= m->kit.made; i++) {
            assert_false(m->waits[i] && kit_of(&m->kit, i)->owner == owner);
        }
    }
}

static void
do_configure(struct model *m)
{
    struct list_node fallen;
    list_init(&fallen);
    m->conf.order = pick(m, 2) == 0 ? APIQ_FIFO : APIQ_LIFO;
    m->conf.max_entries = 5 + pick(m, 40);
    m->conf.deadline_ns = (int64_t)pick(m, 300) * CLOCK_MS;
    assert_int_equal(apiq_configure(m->kit.q, APIQ_NORMAL, &m->conf, &fallen), ST_OK);
    const struct apiq_item *it;
    while ((it = apiq_fallen_pop(&fallen)) != NULL) {
        check_fallen(m, it->id);
    }
}

static void
run_model(unsigned seed)
{
    static struct model m;
    memset(&m, 0, sizeof(m));
    m.random = seed;
    kit_open(&m.kit, 0);
    kit_get(&m.kit, &m.conf);
    m.conf.aged_share = 0;
    do_configure(&m);
    do_push(&m);
    for (int step = 0; step < 2500; step++) {
        switch (pick(&m, 8)) {
        case 0:
        case 1:
        case 2:
            do_push(&m);
            break;
        case 3:
        case 4:
            do_pull(&m);
            break;
        case 5:
            do_done(&m);
            break;
        case 6:
            do_cancel(&m);
            break;
        default:
            kit_advance(&m.kit, (int64_t)pick(&m, 20) * CLOCK_MS);
            if (pick(&m, 20) == 0) {
                do_configure(&m);
            }
            break;
        }
        kit_check_sums(&m.kit);
    }
    for (uint64_t i = 1; i <= m.kit.made; i++) {
        if (m.runs[i]) {
            kit_done(&m.kit, i);
        }
    }
    kit_close(&m.kit);
}

static void
test_apiq_agrees_with_a_plain_search_on_random_operations(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        run_model(seed);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apiq_agrees_with_a_plain_search_on_random_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
