/* SPDX-License-Identifier: Apache-2.0 */
/* The turns that a flow is owed when it comes back. */
#include "tests/support/cmk.h"
#include "tests/support/queue_kit.h"

/* Serves so many, all of that flow. */
static void
serve_flow(struct kit *k, int n, uint64_t flow)
{
    for (int i = 0; i < n; i++) {
        uint64_t id = kit_serve(k);
        assert_true(id > 0);
        assert_int_equal(kit_of(k, id)->flow, flow);
    }
}

static void
add_of_flow(struct kit *k, int n, uint64_t flow)
{
    for (int i = 0; i < n; i++) {
        (void)kit_add_flow(k, flow);
    }
}

/* Whoever asks for less than its share does not wait turn by turn when it asks in a bunch. */
static void
test_a_flow_that_comes_back_takes_the_turns_that_it_let_pass(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    add_of_flow(&k, 40, 1);
    add_of_flow(&k, 1, 2);
    serve_flow(&k, 1, 1); /* nothing is owed to who comes for the first time */
    serve_flow(&k, 1, 2);
    serve_flow(&k, 6, 1);
    add_of_flow(&k, 2, 2); /* three of these six turns would have been its own */
    serve_flow(&k, 2, 2);
    serve_flow(&k, 2, 1);
    add_of_flow(&k, 5, 2); /* one was left of them, and one more passed */
    serve_flow(&k, 3, 2);
    serve_flow(&k, 1, 1);
    serve_flow(&k, 1, 2);
    serve_flow(&k, 1, 1);
    serve_flow(&k, 1, 2);
    kit_check_sums(&k);
    kit_close(&k);
}

static void
test_a_flow_that_was_long_away_takes_a_bounded_number_of_turns(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    add_of_flow(&k, 500, 1);
    add_of_flow(&k, 1, 2);
    serve_flow(&k, 1, 1);
    serve_flow(&k, 1, 2);
    serve_flow(&k, 400, 1);
    add_of_flow(&k, 40, 2);
    serve_flow(&k, 17, 2);
    for (int i = 0; i < 20; i++) {
        serve_flow(&k, 1, 1);
        serve_flow(&k, 1, 2);
    }
    kit_close(&k);
}

static void
test_what_is_owed_goes_by_the_weights(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, 0);
    for (int i = 0; i < 100; i++) {
        struct apiq_item *it = kit_item(&k);
        it->weight = 3;
        (void)kit_push(&k, it);
    }
    add_of_flow(&k, 1, 2);
    serve_flow(&k, 3, 1);
    serve_flow(&k, 1, 2);
    serve_flow(&k, 24, 1); /* 8 turns; of the 24 pulls a quarter would have been its own */
    add_of_flow(&k, 10, 2);
    serve_flow(&k, 7, 2);
    serve_flow(&k, 3, 1);
    serve_flow(&k, 1, 2);
    kit_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_flow_that_comes_back_takes_the_turns_that_it_let_pass),
        cmocka_unit_test(test_a_flow_that_was_long_away_takes_a_bounded_number_of_turns),
        cmocka_unit_test(test_what_is_owed_goes_by_the_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
