/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdio.h>
#include <string.h>

#include "server/base/mem.h"
#include "stream/ntab.h"

enum { MANY = 500 };

static void
test_ntab_finds_what_is_in_and_nothing_else(void **state)
{
    (void)state;
    struct ntab t = {0};
    char names[MANY][24];
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "name-%d", i);
        assert_int_equal(ntab_put(&t, names[i], strlen(names[i]), names[i]), ST_OK);
        assert_int_equal(ntab_put(&t, names[i], strlen(names[i]), names[i]), ST_EXISTS);
    }
    for (int i = 0; i < MANY; i += 2) {
        assert_ptr_equal(ntab_remove(&t, names[i], strlen(names[i])), names[i]);
        assert_null(ntab_remove(&t, names[i], strlen(names[i])));
    }
    for (int i = 0; i < MANY; i++) {
        assert_ptr_equal(ntab_get(&t, names[i], strlen(names[i])), i % 2 == 0 ? NULL : names[i]);
    }
    size_t at = 0;
    size_t n = 0;
    while (ntab_next(&t, &at) != NULL) {
        n++;
    }
    assert_int_equal(n, MANY / 2);
    assert_null(ntab_get(&t, "name-", 5));
    ntab_fini(&t);
}

static void
test_ntab_without_memory_keeps_what_it_has(void **state)
{
    (void)state;
    struct ntab t = {0};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
    mem_fail_at(0);
    assert_int_equal(ntab_put(&t, "a", 1, &t), ST_NOMEM);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(ntab_put(&t, names[i], 1, &t), ST_OK);
    }
    mem_fail_at(0);
    assert_int_equal(ntab_put(&t, names[6], 1, &t), ST_NOMEM);
    for (size_t i = 0; i < 6; i++) {
        assert_ptr_equal(ntab_get(&t, names[i], 1), &t);
    }
    mem_fail_at(-1);
    ntab_fini(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ntab_finds_what_is_in_and_nothing_else),
        cmocka_unit_test(test_ntab_without_memory_keeps_what_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
