/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/usage.h"

#include <string.h>

#include "server/base/mem.h"
#include "tests/support/cmk.h"

enum { N = 20000, SIZE = 10000 };

static void
test_usage_trim_gives_back_what_a_peak_left_behind(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* their allocators are others */
#endif
    static char *blocks[N];
    int64_t before = usage_rss();
    for (int i = 0; i < N; i++) {
        blocks[i] = mem_alloc_raw(SIZE);
        assert_non_null(blocks[i]);
        memset(blocks[i], 'x', SIZE);
    }
    usage_trim();
    assert_true(usage_rss() > before + (int64_t)N * SIZE * 9 / 10);
    /* The last one lives on, so that free() alone cannot shorten the heap. */
    for (int i = 0; i < N - 1; i++) {
        mem_free(blocks[i]);
    }
    assert_true(usage_rss() > before + (int64_t)N * SIZE / 2);
    usage_trim();
    assert_true(usage_rss() < before + (int64_t)N * SIZE / 10);
    assert_int_equal(blocks[N - 1][SIZE - 1], 'x');
    mem_free(blocks[N - 1]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage_trim_gives_back_what_a_peak_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
