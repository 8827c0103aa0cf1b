/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/transforms.h"

#include "tests/support/cmk.h"

#include <string.h>

#include "server/base/mem.h"

static void
maps(const char *src, const char *dest, const char *subject, const char *want)
{
    char err[TRANSFORM_ERR_LEN] = "";
    struct transform *t;
    struct buf out;
    assert_int_equal(transform_new(&t, src, dest, err), ST_OK);
    buf_init(&out);
    if (want == NULL) {
        assert_false(transform_matches(t, subject, strlen(subject)));
    } else {
        assert_true(transform_matches(t, subject, strlen(subject)));
        transform_apply(t, subject, strlen(subject), &out);
        assert_string_equal(out.data, want);
    }
    buf_fini(&out);
    transform_free(t);
}

static void
test_transform_puts_wildcards_where_they_are_wanted(void **state)
{
    (void)state;
    maps("a.*.*", "b.$2.$1", "a.x.y", "b.y.x");
    maps("a.*.*", "b.{{wildcard(2)}}.{{ Wildcard( 1 ) }}", "a.x.y", "b.y.x");
    maps("a.>", "b.c.>", "a.x.y", "b.c.x.y");
    maps(">", "all.>", "x", "all.x");
    maps("", "all.>", "x.y", "all.x.y");
    maps(">", ">", "x.y", "x.y");
    maps("a", "b", "a", "b");
    maps("a.*", "b.$1", "b.x", NULL);
    maps("a.*", "b.$x", "a.1", "b.$x");
}

static void
test_transform_functions_cut_and_join(void **state)
{
    (void)state;
    maps("*", "{{splitfromleft(1,3)}}", "12345", "123.45");
    maps("*", "{{SplitFromRight(1,3)}}", "12345", "12.345");
    maps("*", "{{slicefromleft(1,3)}}", "1234567890", "123.456.789.0");
    maps("*", "{{slicefromright(1,3)}}", "1234567890", "1.234.567.890");
    maps("*", "{{slicefromright(1,3)}}", "123456", "123.456");
    maps("*", "{{slicefromleft(1,30)}}", "123", "123");
    maps("*", "{{split(1,-)}}", "-abc-def--ghi-", "abc.def.ghi");
    maps("*", "{{left(1,2)}}", "abcd", "ab");
    maps("*", "{{right(1,2)}}", "abcd", "cd");
    maps("*", "{{left(1,9)}}", "abcd", "abcd");
}

static void
test_transform_partitions_are_nats_servers(void **state)
{
    (void)state;
    maps("*", "x.{{partition(10,1)}}.{{wildcard(1)}}", "foo", "x.3.foo");
    maps("*", "x.{{partition(10,1)}}.{{wildcard(1)}}", "baz", "x.0.baz");
    maps("*", "x.{{partition(10,1)}}.{{wildcard(1)}}", "qux", "x.9.qux");
}

static void
refused(const char *src, const char *dest, const char *why)
{
    char err[TRANSFORM_ERR_LEN] = "";
    assert_int_equal(transform_check(src, dest, err), ST_SYNTAX);
    assert_string_equal(err, why);
}

static void
test_transform_check_says_what_is_wrong(void **state)
{
    char err[TRANSFORM_ERR_LEN] = "";
    (void)state;
#define BAD "invalid mapping destination"
    refused("a.*", "b.{{wildcard(2)}}",
            BAD ": wildcard index out of range in {{wildcard(2)}}: [2]");
    refused("a.*", "b.{{foo(1)}}", BAD ": unknown function in {{foo(1)}}");
    refused("a.*", "b.{{wildcard()}}",
            BAD ": not enough arguments passed to the function in {{wildcard()}}");
    refused("a.*", "b.{{wildcard(1,2)}}",
            BAD ": too many arguments passed to the function in {{wildcard(1,2)}}");
    refused("a.*", "b.{{left(1,x)}}",
            BAD ": function argument is invalid or in the wrong format in {{left(1,x)}}");
    refused("a.*", "b..c", BAD ": invalid transform");
    refused("a.*", "b.*", "invalid subject");
    refused("a.*", "b.>", "invalid subject");
    assert_int_equal(transform_check("a.*", "", err), ST_OK);
    assert_int_equal(transform_check("a", "b.{{partition(5)}}", err), ST_OK);
}

static void
test_transform_survives_lack_of_memory(void **state)
{
    char err[TRANSFORM_ERR_LEN];
    (void)state;
    long live = mem_live();
    struct transform *t;
    enum status st = ST_NOMEM;
    for (long n = 0; st != ST_OK; n++) {
        mem_fail_at(n);
        st = transform_new(&t, "a.*", "b.$1.{{split(1,-)}}", err);
        mem_fail_at(-1);
        assert_true(st == ST_OK || st == ST_NOMEM);
        if (st != ST_OK) {
            assert_int_equal(mem_live(), live);
        }
    }
    transform_free(t);
    assert_int_equal(mem_live(), live);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transform_puts_wildcards_where_they_are_wanted),
        cmocka_unit_test(test_transform_functions_cut_and_join),
        cmocka_unit_test(test_transform_partitions_are_nats_servers),
        cmocka_unit_test(test_transform_check_says_what_is_wrong),
        cmocka_unit_test(test_transform_survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
