/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/jwrite.h"
#include "server/base/mem.h"

static void
is_as_jansson(json_t *v)
{
    struct buf b;
    buf_init(&b);
    assert_non_null(v);
    char *want = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(16));
    jwrite(&b, v);
    assert_int_equal(buf_status(&b), ST_OK);
    assert_string_equal(b.data, want);
    free(want);
    buf_fini(&b);
    json_decref(v);
}

static void
test_jwrite_writes_as_jansson_does(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "null",
        "true",
        "false",
        "{}",
        "[]",
        "\"\"",
        "0",
        "-1",
        "[1,2,[3,{}],{\"a\":[]}]",
        "9223372036854775807",
        "-9223372036854775808",
        "1.5",
        "-0.1",
        "1e300",
        "123456.789",
        "{\"z\":1,\"a\":{\"b\":\"c\"},\"\":null}",
        "\"quote \\\" back \\\\ slash /\"",
        "\"tab \\t nl \\n cr \\r bs \\b ff \\f other \\u0001 \\u001f\"",
        "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \x7f\"",
        "{\"k\\n\\u20ac\":\"v\"}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        is_as_jansson(json_loads(texts[i], JSON_DECODE_ANY, NULL));
    }
    is_as_jansson(json_stringn("a\0b", 3));
}

static void
test_jwrite_replaces_what_is_no_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"a\xff"
         "b",
         "\"a\\ufffdb\""},
        {"\xc3", "\"\\ufffd\""},
        {"\xc0\x80", "\"\\ufffd\\ufffd\""},
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
        {"\xe2\x82", "\"\\ufffd\\ufffd\""},
        {"\xe2\x82\xac\x80", "\"\xe2\x82\xac\\ufffd\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf b;
        json_t *v = json_string_nocheck(cases[i].text);
        buf_init(&b);
        jwrite(&b, v);
        assert_string_equal(b.data, cases[i].want);
        buf_fini(&b);
        json_decref(v);
    }
}

static void
test_jwrite_without_memory_is_seen_in_the_buffer(void **state)
{
    (void)state;
    json_t *v = json_pack("{s:s,s:[i,i]}", "name",
                          "a text that is longer than what a buffer has at its beginning, by far",
                          "list", 1, 2);
    enum status st = ST_NOMEM;
    for (long n = 0; st != ST_OK; n++) {
        struct buf b;
        buf_init(&b);
        mem_fail_at(n);
        jwrite(&b, v);
        mem_fail_at(-1);
        st = buf_status(&b);
        assert_true(st == ST_OK || st == ST_NOMEM);
        buf_fini(&b);
    }
    json_decref(v);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jwrite_writes_as_jansson_does),
        cmocka_unit_test(test_jwrite_replaces_what_is_no_utf8),
        cmocka_unit_test(test_jwrite_without_memory_is_seen_in_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
