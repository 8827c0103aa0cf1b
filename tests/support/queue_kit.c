/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/queue_kit.h"

#include "server/base/mem.h"
#include "tests/support/cmk.h"

void
kit_open(struct kit *k, unsigned slots)
{
    struct apiq_conf conf;
    k->fake = (struct clock_fake){1000 * CLOCK_S};
    k->clk = clock_fake_of(&k->fake);
    k->made = 0;
    k->items = mem_alloc_array(KIT_ITEMS, sizeof(*k->items));
    assert_non_null(k->items);
    assert_int_equal(apiq_new(&k->q, &k->clk, slots), ST_OK);
    kit_get(k, &conf);
    conf.order = APIQ_FIFO;
    conf.deadline_ns = 0;
    kit_set(k, &conf);
}

void
kit_open_adaptive(struct kit *k)
{
    struct apiq_conf conf;
    kit_open(k, 0);
    apiq_conf_default(APIQ_NORMAL, &conf);
    kit_set(k, &conf);
}

void
kit_close(struct kit *k)
{
    struct apiq_item *it;
    apiq_close(k->q);
    while (apiq_pull(k->q, APIQ_LANE_ANY, &it) == ST_CANCELLED) {
        assert_int_equal(it->state, APIQ_ENDED);
    }
    kit_check_sums(k);
    apiq_free(k->q);
    mem_free(k->items);
}

struct apiq_item *
kit_item(struct kit *k)
{
    assert_true(k->made < KIT_ITEMS);
    struct apiq_item *it = &k->items[k->made++];
    apiq_item_init(it);
    it->level = APIQ_NORMAL;
    it->flow = 1;
    it->id = k->made;
    return it;
}

struct apiq_item *
kit_of(struct kit *k, uint64_t id)
{
    assert_true(id >= 1 && id <= k->made);
    return &k->items[id - 1];
}

uint64_t
kit_push(struct kit *k, struct apiq_item *it)
{
    struct list_node fallen;
    list_init(&fallen);
    assert_int_equal(apiq_push(k->q, it, &fallen), ST_OK);
    assert_true(list_is_empty(&fallen));
    return it->id;
}

uint64_t
kit_add(struct kit *k)
{
    return kit_push(k, kit_item(k));
}

uint64_t
kit_add_flow(struct kit *k, uint64_t flow)
{
    struct apiq_item *it = kit_item(k);
    it->flow = flow;
    return kit_push(k, it);
}

uint64_t
kit_add_key(struct kit *k, uint64_t order_key)
{
    struct apiq_item *it = kit_item(k);
    it->order_key = order_key;
    return kit_push(k, it);
}

uint64_t
kit_add_level(struct kit *k, enum apiq_level level)
{
    struct apiq_item *it = kit_item(k);
    it->level = level;
    return kit_push(k, it);
}

uint64_t
kit_add_evicts(struct kit *k, uint64_t flow)
{
    struct list_node fallen;
    struct apiq_item *it = kit_item(k);
    list_init(&fallen);
    it->flow = flow;
    assert_int_equal(apiq_push(k->q, it, &fallen), ST_OK);
    struct apiq_item *out = apiq_fallen_pop(&fallen);
    assert_non_null(out);
    assert_true(list_is_empty(&fallen));
    assert_ptr_not_equal(out, it);
    assert_int_equal(out->state, APIQ_ENDED);
    return out->id;
}

uint64_t
kit_pull(struct kit *k)
{
    struct apiq_item *it;
    enum status st = apiq_pull(k->q, APIQ_LANE_ANY, &it);
    if (st == ST_AGAIN) {
        assert_null(it);
        return 0;
    }
    assert_int_equal(st, ST_OK);
    assert_int_equal(it->state, APIQ_RUNNING);
    return it->id;
}

uint64_t
kit_expired(struct kit *k)
{
    struct apiq_item *it;
    assert_int_equal(apiq_pull(k->q, APIQ_LANE_ANY, &it), ST_EXPIRED);
    assert_int_equal(it->state, APIQ_ENDED);
    return it->id;
}

void
kit_done(struct kit *k, uint64_t id)
{
    apiq_done(k->q, kit_of(k, id));
}

uint64_t
kit_serve(struct kit *k)
{
    uint64_t id = kit_pull(k);
    if (id != 0) {
        kit_done(k, id);
    }
    return id;
}

void
kit_get(struct kit *k, struct apiq_conf *conf)
{
    apiq_get_conf(k->q, APIQ_NORMAL, conf);
}

void
kit_set(struct kit *k, const struct apiq_conf *conf)
{
    struct list_node fallen;
    list_init(&fallen);
    assert_int_equal(apiq_configure(k->q, APIQ_NORMAL, conf, &fallen), ST_OK);
    assert_true(list_is_empty(&fallen));
}

struct apiq_level_stats
kit_stats(struct kit *k, enum apiq_level level)
{
    struct apiq_stats st;
    apiq_stats(k->q, &st);
    return st.level[level];
}

void
kit_check_sums(struct kit *k)
{
    struct apiq_stats all;
    apiq_stats(k->q, &all);
    for (int i = 0; i < APIQ_LEVELS; i++) {
        const struct apiq_level_stats *st = &all.level[i];
        assert_int_equal(st->pushed, st->pulled + st->evicted + st->expired + st->cancelled +
                                         st->leftover + st->depth);
        assert_int_equal(st->pulled, st->done + st->running + st->pending);
    }
}

void
kit_advance(struct kit *k, int64_t ns)
{
    clock_fake_advance(&k->fake, ns);
}
