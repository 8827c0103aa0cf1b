/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/base/mem.h"
#include "server/signals_cli.h"
#include "tests/support/conffile.h"

/* A process that waits to be killed. */
static pid_t
victim(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        for (;;) {
            pause();
        }
    }
    return pid;
}

static void
send_ok(const char *spec)
{
    char *err = NULL;
    if (signals_cli_send(spec, &err) != ST_OK) {
        fail_msg("%s: %s", spec, err);
    }
}

static void
test_signals_each_command_has_its_number(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        int number;
    } cases[] = {{"stop", SIGKILL},  {"quit", SIGINT},    {"term", SIGTERM},
                 {"reload", SIGHUP}, {"reopen", SIGUSR1}, {"ldm", SIGUSR2}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char spec[64];
        int how = 0;
        pid_t pid = victim();
        snprintf(spec, sizeof(spec), "%s=%d", cases[i].command, (int)pid);
        send_ok(spec);
        assert_int_equal(waitpid(pid, &how, 0), pid);
        assert_true(WIFSIGNALED(how));
        assert_int_equal(WTERMSIG(how), cases[i].number);
    }
}

static void
test_signals_pid_may_come_from_a_file(void **state)
{
    (void)state;
    char text[32];
    int how = 0;
    pid_t pid = victim();
    snprintf(text, sizeof(text), "%d\n", (int)pid);
    conffile_write("the.pid", text);
    send_ok("term=the.pid");
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_int_equal(WTERMSIG(how), SIGTERM);
}

static void
test_signals_that_cannot_be_sent_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        const char *err;
    } cases[] = {
        {"foo=1", "unknown signal \"foo\""},
        {"stop=nofile", "invalid pid: nofile"},
        {"stop=-1", "invalid pid: -1"},
        {"stop=0", "invalid pid: 0"},
        {"stop=1=2", "invalid signal parameters: [2]"},
        {"reload=4999999", "signal \"reload\" 4999999: no such process"},
        {"reload=99999999999", "invalid pid: 99999999999"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *err = NULL;
        assert_int_equal(signals_cli_send(cases[i].spec, &err), ST_INVAL);
        assert_string_equal(err, cases[i].err);
        mem_free(err);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signals_each_command_has_its_number),
        cmocka_unit_test(test_signals_pid_may_come_from_a_file),
        cmocka_unit_test(test_signals_that_cannot_be_sent_are_told),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
