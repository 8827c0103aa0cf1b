/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include "server/base/list.h"

struct item {
    int value;
    struct list_node link;
};

static void
assert_values(struct list_node *head, const int *want, size_t n)
{
    struct list_node *it;
    struct list_node *tmp;
    size_t i = 0;
    LIST_FOREACH_SAFE(it, tmp, head)
    {
        assert_true(i < n);
        assert_int_equal(LIST_ENTRY(it, struct item, link)->value, want[i]);
        assert_ptr_equal(it->next->prev, it);
        i++;
    }
    assert_int_equal(i, n);
}

static void
test_list_keeps_order_at_both_ends(void **state)
{
    (void)state;
    struct list_node head;
    struct item items[] = {{.value = 0}, {.value = 1}, {.value = 2}, {.value = 3}};
    list_init(&head);
    assert_true(list_is_empty(&head));
    assert_null(list_pop_front(&head));
    assert_null(list_pop_back(&head));
    list_push_back(&head, &items[1].link);
    list_push_back(&head, &items[2].link);
    list_push_front(&head, &items[0].link);
    list_insert_after(&items[2].link, &items[3].link);
    assert_values(&head, (int[]){0, 1, 2, 3}, 4);
    assert_ptr_equal(list_pop_back(&head), &items[3].link);
    assert_ptr_equal(list_pop_front(&head), &items[0].link);
    assert_values(&head, (int[]){1, 2}, 2);
}

static void
test_list_a_removed_node_is_in_no_list(void **state)
{
    (void)state;
    struct list_node head;
    struct item a = {.value = 1};
    list_init(&head);
    assert_false(list_is_linked(&a.link));
    list_push_back(&head, &a.link);
    assert_true(list_is_linked(&a.link));
    list_remove(&a.link);
    assert_false(list_is_linked(&a.link));
    assert_true(list_is_empty(&head));
}

static void
test_list_the_body_of_a_loop_may_remove_its_node(void **state)
{
    (void)state;
    struct list_node head;
    struct item items[] = {{.value = 0}, {.value = 1}, {.value = 2}};
    struct list_node *it;
    struct list_node *tmp;
    list_init(&head);
    for (int i = 0; i < 3; i++) {
        list_push_back(&head, &items[i].link);
    }
    LIST_FOREACH_SAFE(it, tmp, &head)
    {
        if (LIST_ENTRY(it, struct item, link)->value != 1) {
            list_remove(it);
        }
    }
    assert_values(&head, (int[]){1}, 1);
}

static void
test_list_splice_moves_all(void **state)
{
    (void)state;
    struct list_node to;
    struct list_node from;
    struct item items[] = {{.value = 0}, {.value = 1}, {.value = 2}};
    list_init(&to);
    list_init(&from);
    list_splice_back(&to, &from);
    assert_true(list_is_empty(&to));
    list_push_back(&to, &items[0].link);
    list_push_back(&from, &items[1].link);
    list_push_back(&from, &items[2].link);
    list_splice_back(&to, &from);
    assert_values(&to, (int[]){0, 1, 2}, 3);
    assert_true(list_is_empty(&from));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_keeps_order_at_both_ends),
        cmocka_unit_test(test_list_a_removed_node_is_in_no_list),
        cmocka_unit_test(test_list_the_body_of_a_loop_may_remove_its_node),
        cmocka_unit_test(test_list_splice_moves_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
