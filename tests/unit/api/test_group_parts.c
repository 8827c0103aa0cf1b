/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of workload groups: patterns, who holds most, what is due, settings as JSON; and memory
 * that runs out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/catalog.h"
#include "api/fullest.h"
#include "api/group_admin.h"
#include "api/match.h"
#include "api/plane.h"
#include "api/weights.h"
#include "api/wheel.h"
#include "server/base/mem.h"
#include "tests/support/cmk.h"
#include "tests/support/group_kit.h"

static void
test_match_globs(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool is;
    } cases[] = {
        {"checkout-*", "checkout-1", true},
        {"checkout-*", "checkout-", true},
        {"checkout-*", "checkout", false},
        {"*", "", true},
        {"*b*", "abc", true},
        {"*b*d", "abcbd", true},
        {"*b*d", "abcbde", false},
        {"a", "a", true},
        {"a", "A", false},
        {"", "", true},
        {"a*a", "a", false},
        {"**x", "yyx", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(match_glob(cases[i].pattern, cases[i].text), cases[i].is);
    }
}

static void
test_match_subjects(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *subject;
        bool is;
    } cases[] = {
        {"a.b", "a.b", true},    {"a.*", "a.b", true},   {"a.*", "a.b.c", false},
        {"a.>", "a.b.c", true},  {"a.>", "a", false},    {">", "a", true},
        {"*.b", "a.b", true},    {"*", "a.b", false},    {"a.b.c", "a.b", false},
        {"a*.b", "ab.b", false}, {"a.>x", "a.b", false}, {"$JS.>", "$JS.API.X", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(match_subject(cases[i].pattern, cases[i].subject), cases[i].is);
    }
    const char *bad[] = {"", ".", "a.", ".a", "a..b", "a b", "a.>.b", "a\tb"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(match_is_subject(bad[i]));
    }
    assert_true(match_is_subject("a.*.>"));
}

#define HOLDERS 300

/* Against a walk over all of them. */
static void
test_fullest_is_exact_up_to_16_and_within_a_sixteenth_above(void **state)
{
    (void)state;
    static struct fullest f;
    static struct fullest_node n[HOLDERS];
    fullest_init(&f);
    memset(n, 0, sizeof(n));
    assert_null(fullest_top(&f));
    srand(7);
    for (int i = 0; i < 200000; i++) {
        uint64_t range = i < 100000 ? 17 : UINT64_C(1) << (rand() % 42);
        fullest_set(&f, &n[rand() % HOLDERS], (uint64_t)rand() % range);
        uint64_t most = 0;
        for (int k = 0; i % 64 == 0 && k < HOLDERS; k++) {
            most = n[k].value > most ? n[k].value : most;
        }
        const struct fullest_node *top = fullest_top(&f);
        if (i % 64 == 0) {
            assert_true(most == 0 ? top == NULL : top->value + most / 16 >= most);
            assert_true(most >= 16 || most == 0 || top->value == most);
        }
    }
    size_t listed = 0;
    size_t holding = 0;
    for (struct fullest_node *at = fullest_first(&f); at != NULL; at = fullest_after(&f, at)) {
        listed++;
    }
    for (int k = 0; k < HOLDERS; k++) {
        holding += n[k].value > 0 ? 1 : 0;
    }
    assert_int_equal(listed, holding);
}

#define DUE 500

/* Each comes out once, not before its time and not later than a tick after it, however the budget
 * cuts the work, and not at all once it was removed. */
static void
test_wheel_finds_what_is_due_within_a_tick(void **state)
{
    (void)state;
    static struct wheel w;
    static struct wheel_node n[DUE];
    static bool out[DUE];
    int64_t now = 1000 * CLOCK_S;
    memset(n, 0, sizeof(n));
    memset(out, 0, sizeof(out));
    wheel_init(&w, now);
    assert_int_equal(wheel_next(&w), INT64_MAX);
    srand(5);
    for (int i = 0; i < DUE; i++) {
        wheel_add(&w, &n[i], now + rand() % (30 * 1000) * CLOCK_MS);
    }
    for (int i = 0; i < DUE; i += 10) {
        wheel_remove(&w, &n[i]);
        wheel_remove(&w, &n[i]);
    }
    while (w.count > 0) {
        assert_true(wheel_next(&w) < INT64_MAX);
        now += rand() % 40 * CLOCK_MS;
        unsigned budget;
        do {
            struct wheel_node *at;
            budget = 1 + (unsigned)rand() % 8;
            while ((at = wheel_pop(&w, now, &budget)) != NULL) {
                int i = (int)(at - n);
                assert_false(out[i]);
                out[i] = true;
                assert_true(at->due <= now);
            }
        } while (budget == 0);
        for (int i = 0; i < DUE; i++) {
            assert_true(i % 10 == 0 || out[i] || n[i].due > now - WHEEL_TICK);
        }
    }
    for (int i = 0; i < DUE; i++) {
        assert_int_equal(out[i], i % 10 != 0);
    }
}

static void
test_group_conf_is_the_same_after_its_json(void **state)
{
    (void)state;
    struct group_conf a;
    struct group_conf b;
    char err[256];
    json_t *o = json_loads(
        "{\"match\":{\"account\":\"A\",\"user\":\"u*\",\"client\":\"c\",\"subject\":\"x.>\"},"
        "\"throttling\":{\"limit\":5,\"attribute\":\"client\",\"mode\":\"monitor\"},"
        "\"queue\":{\"size\":3,\"max_bytes\":77},\"cancel_after\":\"1500ms\"}",
        0, NULL);
    assert_int_equal(group_conf_init(&a, "g", err, sizeof(err)), ST_OK);
    assert_int_equal(group_conf_parse(&a, o, err, sizeof(err)), ST_OK);
    json_t *back = group_conf_json(&a);
    assert_true(json_equal(o, back));
    assert_int_equal(group_conf_init(&b, "g", err, sizeof(err)), ST_OK);
    assert_false(group_conf_equal(&a, &b));
    assert_int_equal(group_conf_parse(&b, back, err, sizeof(err)), ST_OK);
    assert_true(group_conf_equal(&a, &b));
    /* A wrong one changes nothing. */
    json_decref(o);
    o = json_loads("{\"queue\":{\"size\":9},\"throttling\":{\"limit\":0}}", 0, NULL);
    assert_int_equal(group_conf_parse(&b, o, err, sizeof(err)), ST_INVAL);
    assert_true(group_conf_equal(&a, &b));
    json_decref(o);
    json_decref(back);
}

static void
test_groups_catalog_and_weights_without_memory(void **state)
{
    (void)state;
    struct groups *gs = NULL;
    struct catalog *c = NULL;
    struct weights *w = NULL;
    struct group_conf conf[3];
    struct api_weight list[] = {{"A", 2}, {"B", 3}};
    char err[128];
    for (int i = 0; i < 3; i++) {
        char name[] = {(char)('a' + i), '\0'};
        assert_int_equal(group_conf_init(&conf[i], name, err, sizeof(err)), ST_OK);
    }
    long live = mem_live();
    enum status st = ST_NOMEM;
    for (long n = 0; st != ST_OK; n++) {
        struct catalog_result result;
        mem_fail_at(n);
        st = groups_new(&gs, &clock_real);
        enum status made = st == ST_OK ? catalog_new(&c, gs) : ST_OK;
        st = st == ST_OK ? made : st;
        st = st == ST_OK ? catalog_configure(c, conf, 2) : st;
        st = st == ST_OK ? catalog_create(c, &conf[2], &result) : st;
        st = st == ST_OK ? weights_new(&w) : st;
        st = st == ST_OK ? weights_set(w, list, 2) : st;
        mem_fail_at(-1);
        assert_true(st == ST_OK || st == ST_NOMEM);
        if (st == ST_OK) {
            assert_int_equal(weights_of(w, "B"), 3);
            assert_int_equal(weights_of(w, "C"), 1);
        }
        weights_free(w);
        catalog_free(c);
        groups_free(gs);
        w = NULL;
        c = NULL;
        gs = NULL;
        assert_int_equal(mem_live(), live);
    }
}

/* Whatever allocation fails, the request ends once, told, and holds nothing. */
static void
test_group_arrival_without_memory_ends_and_holds_nothing(void **state)
{
    (void)state;
    for (long n = 0; n < 12; n++) {
        assert_int_equal(group_kit_set_up(state), 0);
        group_kit_one(1, 10, "user");
        group_kit_send(2, 1, "bob", "a");
        mem_fail_at(n);
        struct api_message m = fakehost_request(2, 7, rig_note.subjects[0], "_INBOX.r", "b");
        m.origin.user = "bob";
        m.now = rig.now.t;
        api_receive(rig.api, &rig_note, &m);
        mem_fail_at(-1);
        rig_step_all();
        assert_int_equal(group_kit_told(0) + group_kit_told(503), 2);
        assert_int_equal(group_kit_counts("g").running, 0);
        assert_int_equal(group_kit_tear_down(state), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match_globs),
        cmocka_unit_test(test_match_subjects),
        cmocka_unit_test(test_fullest_is_exact_up_to_16_and_within_a_sixteenth_above),
        cmocka_unit_test(test_wheel_finds_what_is_due_within_a_tick),
        cmocka_unit_test(test_group_conf_is_the_same_after_its_json),
        cmocka_unit_test(test_groups_catalog_and_weights_without_memory),
        cmocka_unit_test(test_group_arrival_without_memory_ends_and_holds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
