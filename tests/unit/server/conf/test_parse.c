/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/mem.h"
#include "server/conf/digest.h"
#include "server/conf/parse.h"
#include "tests/support/conffile.h"

struct parsed {
    struct arena a;
    struct conf_map *m; /* NULL: an error */
    const char *err;
};

static void
parse(struct parsed *p, const char *text)
{
    memset(p, 0, sizeof(*p));
    arena_init(&p->a);
    enum status st = conf_parse_text(&p->a, text, strlen(text), "a.conf", &p->m, &p->err);
    assert_true(st == ST_OK || st == ST_SYNTAX);
    if (st != ST_OK) {
        p->m = NULL;
        assert_non_null(p->err);
    }
}

static void
good(struct parsed *p, const char *text)
{
    parse(p, text);
    if (p->m == NULL) {
        fail_msg("%s: %s", text, p->err);
    }
}

static const struct conf_value *
get(const struct parsed *p, const char *key)
{
    const struct conf_value *v = conf_map_get(p->m, key);
    if (v == NULL) {
        fail_msg("no key %s", key);
    }
    return v;
}

static void
check_string(const struct parsed *p, const char *key, const char *want)
{
    const struct conf_value *v = get(p, key);
    assert_int_equal(v->type, CONF_STRING);
    assert_string_equal(v->str, want);
}

static void
check_int(const struct parsed *p, const char *key, int64_t want)
{
    const struct conf_value *v = get(p, key);
    assert_int_equal(v->type, CONF_INT);
    assert_int_equal(v->i, want);
}

static void
check_bool(const struct parsed *p, const char *key, bool want)
{
    const struct conf_value *v = get(p, key);
    assert_int_equal(v->type, CONF_BOOL);
    assert_int_equal(v->b, want);
}

static void
test_parse_takes_every_separator_and_comment(void **state)
{
    (void)state;
    struct parsed p;
    good(&p, "a = 1 # one\nb: 2; c 3, // three\n\n  d\t=\t4\n'e f'=5\n\"g\" : 6\n");
    check_int(&p, "a", 1);
    check_int(&p, "b", 2);
    check_int(&p, "c", 3);
    check_int(&p, "d", 4);
    check_int(&p, "e f", 5);
    check_int(&p, "g", 6);
    assert_int_equal(conf_map_len(p.m), 6);
    arena_fini(&p.a);
}

static void
test_parse_tells_the_types_of_values_apart(void **state)
{
    (void)state;
    struct parsed p;
    good(&p, "i: -3\nf: 1.5\nt: yes\nu: OFF\ns: word\nq: '$x y'\ne: \"a\\tb\\x41\\\"\"\n"
             "n: 2MB\nd: 2020-02-29T10:11:12Z\nip: 127.0.0.1:4222\nh: 10h\nk: 5e7x\n"
             "b: (\n many\n lines )\n)\nhash: $2a$11$abc\n");
    check_int(&p, "i", -3);
    assert_int_equal(get(&p, "f")->type, CONF_FLOAT);
    assert_true(get(&p, "f")->f == 1.5);
    check_bool(&p, "t", true);
    check_bool(&p, "u", false);
    check_string(&p, "s", "word");
    check_string(&p, "q", "$x y");
    check_string(&p, "e", "a\tbA\"");
    check_int(&p, "n", 2097152);
    assert_int_equal(get(&p, "d")->type, CONF_DATETIME);
    check_string(&p, "ip", "127.0.0.1:4222");
    check_string(&p, "h", "10h");
    check_string(&p, "k", "5e7x");
    check_string(&p, "b", "\n many\n lines )\n");
    check_string(&p, "hash", "$2a$11$abc");
    arena_fini(&p.a);
}

static void
test_parse_nests_lists_and_blocks(void **state)
{
    (void)state;
    struct parsed p;
    good(&p, "a { b { c: [1, {d: x}, [y, z]\n 2 ] }, e = 1; f { } }");
    const struct conf_value *b = conf_map_get(get(&p, "a")->map, "b");
    const struct conf_value *c = conf_map_get(b->map, "c");
    assert_int_equal(c->type, CONF_ARRAY);
    assert_int_equal(conf_array_len(c->array), 4);
    assert_string_equal(conf_map_get(conf_array_at(c->array, 1)->map, "d")->str, "x");
    assert_int_equal(conf_map_len(get(&p, "a")->map), 3);
    assert_int_equal(conf_map_len(conf_map_get(get(&p, "a")->map, "f")->map), 0);
    arena_fini(&p.a);
}

static void
test_parse_reads_json(void **state)
{
    (void)state;
    struct parsed p;
    good(&p, "{ \"port\": 4222, \"users\": [ {\"user\": \"a\"}, {\"user\": \"b\"} ] }\n");
    check_int(&p, "port", 4222);
    assert_int_equal(conf_array_len(get(&p, "users")->array), 2);
    arena_fini(&p.a);
}

static void
test_parse_the_last_of_equal_keys_wins(void **state)
{
    (void)state;
    struct parsed p;
    good(&p, "a: 1\nb: 2\na: 3\n");
    check_int(&p, "a", 3);
    assert_int_equal(get(&p, "a")->line, 3);
    assert_int_equal(conf_map_len(p.m), 2);
    arena_fini(&p.a);
}

static void
test_parse_positions_are_those_of_the_keys(void **state)
{
    (void)state;
    struct parsed p;
    good(&p, "a: 1\n  b {\n   c: 2 }\n");
    assert_int_equal(get(&p, "a")->line, 1);
    assert_int_equal(get(&p, "a")->pos, 0);
    assert_int_equal(get(&p, "b")->line, 2);
    assert_int_equal(get(&p, "b")->pos, 3);
    const struct conf_value *c = conf_map_get(get(&p, "b")->map, "c");
    assert_int_equal(c->line, 3);
    assert_int_equal(c->pos, 4);
    assert_string_equal(c->file, "a.conf");
    arena_fini(&p.a);
}

static void
test_parse_variables_come_from_the_blocks_around(void **state)
{
    (void)state;
    struct parsed p;
    good(&p, "X: 1\nY: { deep: [a, b] }\nb { X: 2\n c: $X, d { e: $X } }\nf: $X\ng: $Y\n");
    check_int(&p, "f", 1);
    const struct conf_value *b = get(&p, "b");
    assert_int_equal(conf_map_get(b->map, "c")->i, 2);
    assert_int_equal(conf_map_get(conf_map_get(b->map, "d")->map, "e")->i, 2);
    assert_true(get(&p, "X")->used_variable);
    assert_true(get(&p, "Y")->used_variable);
    assert_false(get(&p, "f")->used_variable);
    assert_int_equal(get(&p, "g")->line, 6);
    assert_non_null(conf_map_get(get(&p, "g")->map, "deep"));
    arena_fini(&p.a);
}

static void
test_parse_variables_of_the_environment_are_read_as_values(void **state)
{
    (void)state;
    struct parsed p;
    setenv("SLUICE_T1", "4KB", 1);
    setenv("SLUICE_T2", "[a, {b: $SLUICE_T1}]", 1);
    setenv("SLUICE_T3", "$SLUICE_T4", 1);
    setenv("SLUICE_T4", "$SLUICE_T3", 1);
    setenv("SLUICE_T5", "[a", 1);
    good(&p, "a: $SLUICE_T1\nb: $SLUICE_T2\nc: 'x$SLUICE_T1'\n");
    check_int(&p, "a", 4096);
    check_string(&p, "c", "x$SLUICE_T1");
    const struct conf_value *b = get(&p, "b");
    assert_int_equal(b->type, CONF_ARRAY);
    assert_int_equal(conf_map_get(conf_array_at(b->array, 1)->map, "b")->i, 4096);
    arena_fini(&p.a);

    parse(&p, "a: $SLUICE_T3\n");
    assert_null(p.m);
    assert_non_null(strstr(p.err, "variable reference cycle for 'SLUICE_T3'"));
    arena_fini(&p.a);
    parse(&p, "\na: $SLUICE_T5\n");
    assert_null(p.m);
    assert_non_null(strstr(p.err, "variable reference for 'SLUICE_T5' on line 2 could not be "
                                  "parsed: Parse error on line 1"));
    arena_fini(&p.a);
    parse(&p, "a: $SLUICE_T9\n");
    assert_null(p.m);
    assert_string_equal(p.err, "variable reference for 'SLUICE_T9' on line 1 can not be found");
    arena_fini(&p.a);
}

static void
test_parse_errors_have_line_and_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *err;
    } cases[] = {
        {"a = {\n", "Parse error on line 2: 'Unexpected EOF processing map.'"},
        {"a: b c\n", "Parse error on line 1: 'Expected a top-level value to end with a new line, "
                     "comment or EOF, but got 'c' instead.'"},
        {"= 1", "Parse error on line 1: 'Unexpected key separator '=''"},
        {"a { : 1 }", "Parse error on line 1: 'Unexpected key separator ':'.'"},
        {"a [\nb", "Parse error on line 2: 'Expected an array value terminator \",\" or an array "
                   "terminator \"]\", but got 'EOF' instead.'"},
        {"a [,]", "Parse error on line 1: 'Unexpected array value terminator ','.'"},
        {"a { b: , }", "Parse error on line 1: 'Unexpected map value terminator \",\".'"},
        {"a { b: 1 c }", "Parse error on line 1: 'Expected a map value terminator \",\" or a map "
                         "terminator \"}\", but got 'c' instead.'"},
        {"a: \"\\q\"", "Parse error on line 1: 'Invalid escape character 'q'. Only the following "
                       "escape characters are allowed: \\xXX, \\t, \\n, \\r, \\\", \\\\.'"},
        {"a: \"\\xg0\"", "Parse error on line 1: 'Expected two hexadecimal digits after '\\x', "
                         "but got 'g0''"},
        {"a: \"b", "Parse error on line 1: 'Unexpected EOF.'"},
        {"a: (\nb", "Parse error on line 2: 'Unexpected EOF processing block.'"},
        {"a: .5", "Parse error on line 1: 'Floats must start with a digit'"},
        {"a: 1.x", "Parse error on line 1: 'Floats must have a digit after the '.', but got 'x' "
                   "instead.'"},
        {"a: -x", "Parse error on line 1: 'Expected a digit but got 'x'.'"},
        {"a: 20-1", "Parse error on line 1: 'All ISO8601 dates must be in full Zulu form.'"},
        {"a: 2020-1x", "Parse error on line 1: 'Expected digit in ISO8601 datetime, but found 'x' "
                       "instead.'"},
        {"a: 2020-13-01T00:00:00Z",
         "expected Zulu formatted DateTime, but got '2020-13-01T00:00:00Z'"},
        {"a: 99999999999999999999", "integer '99999999999999999999' is out of the range"},
        {"a: 1kbb", "expected integer, but got '1kbb'"},
        {"a:\nb", "Parse error on line 2: 'Expected value but found new line'"},
        {"a", "config is invalid (a.conf:1:1)"},
        {"include [x]", "Parse error on line 1: 'Expected include value but found start of an "
                        "array'"},
        {"a: \"\\x00\"", "Parse error on line 1: 'a string holds a NUL byte'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct parsed p;
        parse(&p, cases[i].text);
        if (p.m != NULL) {
            fail_msg("no error: %s", cases[i].text);
        }
        assert_string_equal(p.err, cases[i].err);
        arena_fini(&p.a);
    }
}

static void
test_parse_deep_nesting_is_an_error_and_no_crash(void **state)
{
    (void)state;
    char text[20001];
    struct parsed p;
    memset(text, '[', 20000);
    memcpy(text, "a ", 2);
    text[20000] = '\0';
    parse(&p, text);
    assert_null(p.m);
    assert_string_equal(p.err, "Parse error on line 1: 'blocks are nested too deeply'");
    arena_fini(&p.a);
}

static void
test_parse_includes_are_relative_to_their_file(void **state)
{
    (void)state;
    struct arena a;
    struct conf_map *m = NULL;
    const char *err = NULL;
    arena_init(&a);
    assert_int_equal(system("mkdir sub"), 0);
    conffile_write("top.conf", "a: 1\ninclude 'sub/one.conf'\nblock { include sub/two.conf }\n");
    conffile_write("sub/one.conf", "a: 2\ninclude ./two.conf\n");
    conffile_write("sub/two.conf", "two: $b\nb: 3\n");
    assert_int_equal(conf_parse_file(&a, "top.conf", &m, &err), ST_SYNTAX);
    assert_string_equal(err,
                        "error parsing include file 'sub/one.conf', error parsing include file "
                        "'./two.conf', variable reference for 'b' on line 1 can not be found");
    conffile_write("sub/two.conf", "b: 3\ntwo: $b\n");
    assert_int_equal(conf_parse_file(&a, "top.conf", &m, &err), ST_OK);
    assert_int_equal(conf_map_get(m, "a")->i, 2);
    assert_string_equal(conf_map_get(m, "a")->file, "sub/one.conf");
    assert_int_equal(conf_map_get(m, "two")->i, 3);
    assert_string_equal(conf_map_get(m, "two")->file, "sub/two.conf");
    assert_int_equal(conf_map_get(conf_map_get(m, "block")->map, "b")->i, 3);
    arena_fini(&a);
}

static void
test_parse_include_cycles_and_missing_files_are_errors(void **state)
{
    (void)state;
    struct arena a;
    struct conf_map *m = NULL;
    const char *err = NULL;
    arena_init(&a);
    conffile_write("x.conf", "include y.conf\n");
    conffile_write("y.conf", "include 'x.conf'\n");
    assert_int_equal(conf_parse_file(&a, "x.conf", &m, &err), ST_SYNTAX);
    assert_non_null(strstr(err, "include cycle: x.conf includes itself"));
    conffile_write("y.conf", "include no.conf\n");
    assert_int_equal(conf_parse_file(&a, "x.conf", &m, &err), ST_SYNTAX);
    assert_string_equal(err, "error parsing include file 'y.conf', error parsing include file "
                             "'no.conf', open no.conf: no such file or directory");
    assert_int_equal(conf_parse_file(&a, ".", &m, &err), ST_SYNTAX);
    assert_string_equal(err, "read .: is a directory");
    arena_fini(&a);
}

/* The digests are what nats-server 2.15.2 prints for these files. */
static void
test_digest_is_that_of_nats_server(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *digest;
    } cases[] = {
        {"port: 4222\n", "sha256:797533ebd0dfba7d34a0f9337ecf147e442871f48ddfd07ed751575a5737267e"},
        {"a = (\nfoo\n)\n",
         "sha256:085bf5372a9f0e1426a98e28abe44b23c58ef257a4f69af3176c339d83de4e0d"},
        {"{ \"a\": 1, \"b\": [ {x:1, y:2e}, \"z\" ] }\n",
         "sha256:be913f5dc2bf34e2e3822eac45fe12c3b5b20050daf541cffca9275552b906d5"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct parsed p;
        char digest[CONF_DIGEST_LEN];
        good(&p, cases[i].text);
        assert_int_equal(conf_digest(p.m, digest), ST_OK);
        assert_string_equal(digest, cases[i].digest);
        arena_fini(&p.a);
    }
}

static void
test_digest_refuses_what_variables_make_too_big(void **state)
{
    (void)state;
    struct parsed p;
    char text[4096];
    size_t n = (size_t)snprintf(text, sizeof(text), "v0: [x]\n");
    for (int i = 1; i < 40; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "v%d: [$v%d , $v%d ]\n", i, i - 1, i - 1);
    }
    char digest[CONF_DIGEST_LEN];
    good(&p, text);
    assert_int_equal(conf_digest(p.m, digest), ST_LIMIT);
    arena_fini(&p.a);
}

static void
test_parse_survives_every_failed_allocation(void **state)
{
    (void)state;
    static const char text[] = "a: \"x\\ty\"\nb { c: [1, 2 ], d: $2a$1, e: $a }\n# c\nf 1.5\n"
                               "g { h { i { j: yes } } }\ninclude 'inc.conf'\nk: $SLUICE_T1\n";
    conffile_write("inc.conf", "inc: [ {a: 1}, {b: 2020-01-01T00:00:00Z} ]\n");
    setenv("SLUICE_T1", "4KB", 1);
    long before = mem_live();
    for (long n = 0;; n++) {
        struct arena a;
        struct conf_map *m = NULL;
        const char *err = NULL;
        char digest[CONF_DIGEST_LEN];
        arena_init(&a);
        mem_fail_at(n);
        enum status st = conf_parse_text(&a, text, sizeof(text) - 1, "a.conf", &m, &err);
        if (st == ST_OK) {
            st = conf_digest(m, digest);
        }
        bool fired = mem_fail_fired() != 0;
        mem_fail_at(-1);
        arena_fini(&a);
        assert_int_equal(mem_live(), before);
        assert_int_equal(st, fired ? ST_NOMEM : ST_OK);
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
        cmocka_unit_test(test_parse_takes_every_separator_and_comment),
        cmocka_unit_test(test_parse_tells_the_types_of_values_apart),
        cmocka_unit_test(test_parse_nests_lists_and_blocks),
        cmocka_unit_test(test_parse_reads_json),
        cmocka_unit_test(test_parse_the_last_of_equal_keys_wins),
        cmocka_unit_test(test_parse_positions_are_those_of_the_keys),
        cmocka_unit_test(test_parse_variables_come_from_the_blocks_around),
        cmocka_unit_test(test_parse_variables_of_the_environment_are_read_as_values),
        cmocka_unit_test(test_parse_errors_have_line_and_text),
        cmocka_unit_test(test_parse_deep_nesting_is_an_error_and_no_crash),
        cmocka_unit_test(test_parse_includes_are_relative_to_their_file),
        cmocka_unit_test(test_parse_include_cycles_and_missing_files_are_errors),
        cmocka_unit_test(test_digest_is_that_of_nats_server),
        cmocka_unit_test(test_digest_refuses_what_variables_make_too_big),
        cmocka_unit_test(test_parse_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
