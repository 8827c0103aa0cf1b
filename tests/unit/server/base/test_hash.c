/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/base/hash.h"

static void
test_hash_depends_on_every_byte_and_on_the_length(void **state)
{
    (void)state;
    char key[64] = {0};
    uint64_t zero = hash_bytes(key, sizeof key);
    assert_true(hash_bytes(key, sizeof key) == zero);
    for (size_t i = 0; i < sizeof key; i++) {
        key[i] = 1;
        assert_true(hash_bytes(key, sizeof key) != zero);
        key[i] = 0;
        assert_true(hash_bytes(key, i) != zero);
    }
}

static void
test_hash_spreads_similar_keys(void **state)
{
    (void)state;
    unsigned count[16] = {0};
    for (int i = 0; i < 16000; i++) {
        char key[32];
        int n = snprintf(key, sizeof key, "_INBOX.%d", i);
        count[hash_bytes(key, (size_t)n) & 15]++;
    }
    for (int i = 0; i < 16; i++) {
        assert_in_range(count[i], 800, 1200);
    }
}

/* The hash of a fixed key in a process of its own. */
static uint64_t
hash_elsewhere(void)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        uint64_t h = hash_bytes("key", 3);
        _exit(write(ends[1], &h, sizeof h) == (ssize_t)sizeof h ? 0 : 1);
    }
    uint64_t h = 0;
    assert_int_equal(read(ends[0], &h, sizeof h), sizeof h);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ends[0]);
    close(ends[1]);
    return h;
}

/* NB: runs first, while this process has not drawn a seed that its children would inherit. */
static void
test_hash_has_another_seed_in_another_process(void **state)
{
    (void)state;
    assert_true(hash_elsewhere() != hash_elsewhere());
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_has_another_seed_in_another_process),
        cmocka_unit_test(test_hash_depends_on_every_byte_and_on_the_length),
        cmocka_unit_test(test_hash_spreads_similar_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
