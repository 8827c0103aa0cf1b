/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/base/mem.h"
#include "server/runfiles.h"
#include "tests/support/conffile.h"

static void
read_text(const char *path, char out[CONFFILE_TEXT])
{
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        fail_msg("no file %s", path);
    }
    out[fread(out, 1, CONFFILE_TEXT - 1, f)] = '\0';
    fclose(f);
}

static void
test_runfiles_pid_is_digits_alone(void **state)
{
    (void)state;
    char text[CONFFILE_TEXT];
    char want[32];
    snprintf(want, sizeof(want), "%ld", (long)getpid());
    conffile_write("p.pid", "a longer text that was there");
    assert_int_equal(runfiles_write_pid("p.pid"), ST_OK);
    read_text("p.pid", text);
    assert_string_equal(text, want);
    runfiles_remove_pid("p.pid");
    assert_int_not_equal(access("p.pid", F_OK), 0);
}

static void
test_runfiles_leaves_the_pid_of_another(void **state)
{
    (void)state;
    conffile_write("q.pid", "1");
    runfiles_remove_pid("q.pid");
    assert_int_equal(access("q.pid", F_OK), 0);
    runfiles_remove_pid("missing.pid");
}

static void
test_runfiles_tells_why_a_file_cannot_be_written(void **state)
{
    (void)state;
    const struct runfiles_ports ports = {.host = "127.0.0.1", .port = 4222};
    assert_int_equal(runfiles_write_pid("no/such/dir"), ST_IO);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(runfiles_write_ports("no/such/dir", "sluice", &ports), ST_IO);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(runfiles_remove_ports(".", "sluice"), ST_IO);
    assert_int_equal(errno, ENOENT);
}

static void
test_runfiles_ports_are_named_by_program_and_pid(void **state)
{
    (void)state;
    char path[64];
    char text[CONFFILE_TEXT];
    snprintf(path, sizeof(path), "./nats-server_%ld.ports", (long)getpid());
    struct runfiles_ports ports = {.host = "127.0.0.1", .port = 4222};
    assert_int_equal(runfiles_write_ports(".", "/usr/bin/nats-server", &ports), ST_OK);
    read_text(path, text);
    assert_string_equal(text, "{\"nats\":[\"nats://127.0.0.1:4222\"]}");
    ports.monitor_host = "::1";
    ports.monitor_port = 8222;
    assert_int_equal(runfiles_write_ports(".", "/usr/bin/nats-server", &ports), ST_OK);
    read_text(path, text);
    assert_string_equal(text, "{\"nats\":[\"nats://127.0.0.1:4222\"],"
                              "\"monitoring\":[\"http://[::1]:8222\"]}");
    assert_int_equal(runfiles_remove_ports(".", "nats-server"), ST_OK);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void
test_runfiles_all_addresses_are_those_of_the_machine(void **state)
{
    (void)state;
    char path[64];
    char text[CONFFILE_TEXT];
    const struct runfiles_ports ports = {.host = "0.0.0.0", .port = 4222};
    snprintf(path, sizeof(path), "sluice_%ld.ports", (long)getpid());
    assert_int_equal(runfiles_write_ports(".", "sluice", &ports), ST_OK);
    read_text(path, text);
    assert_non_null(strstr(text, "\"nats://127.0.0.1:4222\""));
    assert_null(strstr(text, "0.0.0.0"));
    assert_int_equal(runfiles_remove_ports(".", "sluice"), ST_OK);
}

static void
test_runfiles_survives_every_failed_allocation(void **state)
{
    (void)state;
    const struct runfiles_ports ports = {.host = "0.0.0.0", .port = 4222};
    long before = mem_live();
    for (long n = 0;; n++) {
        mem_fail_at(n);
        enum status st = runfiles_write_ports(".", "sluice", &ports);
        bool fired = mem_fail_fired() != 0;
        mem_fail_at(-1);
        assert_int_equal(st, fired ? ST_NOMEM : ST_OK);
        assert_int_equal(mem_live(), before);
        if (!fired) {
            break;
        }
    }
    assert_int_equal(runfiles_remove_ports(".", "sluice"), ST_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runfiles_pid_is_digits_alone),
        cmocka_unit_test(test_runfiles_leaves_the_pid_of_another),
        cmocka_unit_test(test_runfiles_tells_why_a_file_cannot_be_written),
        cmocka_unit_test(test_runfiles_ports_are_named_by_program_and_pid),
        cmocka_unit_test(test_runfiles_all_addresses_are_those_of_the_machine),
        cmocka_unit_test(test_runfiles_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
