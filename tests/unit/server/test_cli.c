/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/mem.h"
#include "server/cli.h"
#include "server/options.h"

#define MAX_ARGS 12

/* A command line of words between blanks. */
static enum status
parse(const char *line, struct cli **out, char **err)
{
    char copy[256] = "sluice ";
    char *argv[MAX_ARGS];
    int argc = 0;
    char *save = NULL;
    strncat(copy, line, sizeof(copy) - 8);
    for (char *w = strtok_r(copy, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
        assert_true(argc < MAX_ARGS);
        argv[argc++] = w;
    }
    return cli_parse(argc, argv, out, err);
}

static void
test_cli_commands(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum cli_command command;
    } cases[] = {
        {"", CLI_RUN},
        {"-c x", CLI_RUN},
        {"-h", CLI_HELP},
        {"--help", CLI_HELP},
        {"help", CLI_HELP},
        {"HELP", CLI_HELP},
        {"-v", CLI_VERSION},
        {"-version", CLI_VERSION},
        {"version", CLI_VERSION},
        {"-- version", CLI_VERSION},
        {"-v foo", CLI_VERSION},
        {"-v=false", CLI_RUN},
        {"-t -c x", CLI_TEST},
        {"--signal stop", CLI_SIGNAL},
        {"-sl=stop=1 -t", CLI_SIGNAL},
        {"-D -p 3 help", CLI_HELP},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cli *cli = NULL;
        char *err = NULL;
        if (parse(cases[i].line, &cli, &err) != ST_OK) {
            fail_msg("%s: %s", cases[i].line, err);
        }
        assert_int_equal(cli_command(cli), cases[i].command);
        cli_unref(cli);
    }
}

static void
test_cli_values_may_stand_alone_or_behind_an_equals_sign(void **state)
{
    (void)state;
    static const char *const lines[] = {"-c a=b",       "--c a=b",     "-c=a=b",
                                        "--config=a=b", "-config a=b", "-c x --config a=b"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct cli *cli = NULL;
        char *err = NULL;
        assert_int_equal(parse(lines[i], &cli, &err), ST_OK);
        assert_string_equal(cli_config_file(cli), "a=b");
        cli_unref(cli);
    }
}

static void
test_cli_wrong_words_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *err;
    } cases[] = {
        {"-zz", "flag provided but not defined: -zz"},
        {"--zz=3", "flag provided but not defined: -zz"},
        {"-p", "flag needs an argument: -p"},
        {"--port", "flag needs an argument: -port"},
        {"-p x", "invalid value \"x\" for flag -p: parse error"},
        {"-p=1k", "invalid value \"1k\" for flag -p: parse error"},
        {"-p 99999999999999999999",
         "invalid value \"99999999999999999999\" for flag -p: value out of range"},
        {"-D=maybe", "invalid boolean value \"maybe\" for -D: parse error"},
        {"---p 3", "bad flag syntax: ---p"},
        {"-=3", "bad flag syntax: -=3"},
        {"foo", "sluice: unrecognized command: \"foo\""},
        {"-D foo -p 3", "sluice: unrecognized command: \"foo\""},
        {"--cluster nats://a:1", "sluice: --cluster is not supported yet"},
        {"--tls", "sluice: --tls is not supported yet"},
        {"--tlscert x", "sluice: --tlscert is not supported yet"},
        {"-ms 8443", "sluice: --ms is not supported yet"},
        {"--profile 65432", "sluice: --profile is not supported yet"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cli *cli = NULL;
        char *err = NULL;
        assert_int_equal(parse(cases[i].line, &cli, &err), ST_SYNTAX);
        assert_string_equal(err, cases[i].err);
        assert_null(cli);
        mem_free(err);
    }
}

static void
test_cli_what_is_not_there_may_be_switched_off(void **state)
{
    (void)state;
    struct cli *cli = NULL;
    char *err = NULL;
    assert_int_equal(parse("--tls=false --profile 0 -js=false --cluster=", &cli, &err), ST_OK);
    cli_unref(cli);
}

static void
test_cli_covers_secrets_in_the_arguments(void **state)
{
    (void)state;
    char a[] = "sluice";
    char b[] = "--pass=hunter2";
    char c[] = "-auth";
    char d[] = "tok";
    char e[] = "-n";
    char f[] = "pass";
    char g[] = "--user";
    char *argv[] = {a, b, c, d, e, f, g};
    cli_redact(7, argv);
    assert_string_equal(b, "--pass=*******");
    assert_string_equal(c, "-auth");
    assert_string_equal(d, "***");
    assert_string_equal(f, "pass");
    assert_string_equal(g, "--user");
}

static void
test_cli_help_tells_of_every_flag(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    cli_print_help(f);
    fclose(f);
    assert_non_null(strstr(text, "Usage: sluice [options]\n"));
    assert_non_null(strstr(text, "    -p, --port <port> "));
    assert_non_null(strstr(text, "(default: 4222)\n"));
    for (size_t i = 0; i < options_count; i++) {
        for (const char *p = options[i].flags; p != NULL && *p != '\0';) {
            size_t n = strcspn(p, " ");
            char flag[64];
            snprintf(flag, sizeof(flag), "-%.*s", (int)n, p);
            assert_non_null(strstr(text, flag));
            p += n + strspn(p + n, " ");
        }
    }
    free(text);
}

static void
test_options_have_one_row_for_each_key_and_flag(void **state)
{
    (void)state;
    for (size_t i = 0; i < options_count; i++) {
        const struct option *o = &options[i];
        assert_true(o->doc != NULL && o->doc[0] != '\0' && o->doc[strlen(o->doc) - 1] != '.');
        assert_true(o->name != NULL || o->flags != NULL);
        assert_true(o->flags == NULL || o->group != GROUP_NONE);
        assert_true(o->type != OPT_BLOCK || o->parse != NULL);
        if (o->name != NULL) {
            const char *dot = strchr(o->name, '.');
            char block[64] = "";
            snprintf(block, sizeof(block), "%.*s", dot != NULL ? (int)(dot - o->name) : 0, o->name);
            assert_ptr_equal(
                option_by_key(dot != NULL ? block : NULL, dot != NULL ? dot + 1 : o->name), o);
        }
    }
    assert_null(option_by_key(NULL, "workers"));
    assert_null(option_by_key("api", "port"));
    assert_null(option_by_key(NULL, "nope"));
    assert_null(option_by_flag("nope"));
    assert_null(option_by_flag("d"));
    assert_ptr_equal(option_by_key(NULL, "Max_Conn"), option_by_key(NULL, "max_connections"));
}

static void
test_cli_survives_every_failed_allocation(void **state)
{
    (void)state;
    long before = mem_live();
    for (long n = 0;; n++) {
        struct cli *cli = NULL;
        char *err = NULL;
        mem_fail_at(n);
        enum status st = parse("-D --port=3 -c x -sl reload", &cli, &err);
        bool fired = mem_fail_fired() != 0;
        mem_fail_at(-1);
        assert_int_equal(st, fired ? ST_NOMEM : ST_OK);
        cli_unref(cli);
        mem_free(err);
        assert_int_equal(mem_live(), before);
        if (!fired) {
            assert_true(n > 5);
            break;
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_commands),
        cmocka_unit_test(test_cli_values_may_stand_alone_or_behind_an_equals_sign),
        cmocka_unit_test(test_cli_wrong_words_are_told),
        cmocka_unit_test(test_cli_what_is_not_there_may_be_switched_off),
        cmocka_unit_test(test_cli_covers_secrets_in_the_arguments),
        cmocka_unit_test(test_cli_help_tells_of_every_flag),
        cmocka_unit_test(test_options_have_one_row_for_each_key_and_flag),
        cmocka_unit_test(test_cli_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
