/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/base/assert.h"

static void
test_assert_says_where_and_aborts(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        ASSERT(1 + 1 == 2);
        ASSERT(1 + 1 == 3);
        _exit(0);
    }
    close(ends[1]);
    char said[256] = {0};
    assert_true(read(ends[0], said, sizeof said - 1) > 0);
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(said, "test_assert.c"));
    assert_non_null(strstr(said, "1 + 1 == 3"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assert_says_where_and_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
