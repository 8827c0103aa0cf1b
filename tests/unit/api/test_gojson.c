/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gojson.h"

#include <stdlib.h>
#include <string.h>

#include "server/base/mem.h"
#include "tests/support/cmk.h"

static void
test_gojson_malformed_text_is_named_as_go_does(void **state)
{
    (void)state;
    /* What nats-server answers to each. */
    static const struct {
        const char *text, *error;
    } v[] = {
        {"{bad", "invalid character 'b' looking for beginning of object key string"},
        {"", "unexpected end of JSON input"},
        {"{", "unexpected end of JSON input"},
        {"{\"a\"", "unexpected end of JSON input"},
        {"{\"a\":", "unexpected end of JSON input"},
        {"{\"a\":1", "unexpected end of JSON input"},
        {"{\"a\":1,}", "invalid character '}' looking for beginning of object key string"},
        {"{\"a\" 1}", "invalid character '1' after object key"},
        {"{\"a\":1 \"b\":2}", "invalid character '\"' after object key:value pair"},
        {"[1 2]", "invalid character '2' after array element"},
        {"[1,]", "invalid character ']' looking for beginning of value"},
        {"[\"x", "unexpected end of JSON input"},
        {"tru", "invalid character ' ' in literal true (expecting 'e')"},
        {"nul1", "invalid character '1' in literal null (expecting 'l')"},
        {"falsy", "invalid character 'y' in literal false (expecting 'e')"},
        {"-x", "invalid character 'x' in numeric literal"},
        {"01", "invalid character '1' after top-level value"},
        {"1.x", "invalid character 'x' after decimal point in numeric literal"},
        {"1ex", "invalid character 'x' in exponent of numeric literal"},
        {"1e+", "invalid character ' ' in exponent of numeric literal"},
        {"-", "invalid character ' ' in numeric literal"},
        {"1.5.2", "invalid character '.' after top-level value"},
        {"{}x", "invalid character 'x' after top-level value"},
        {"'a'", "invalid character '\\'' looking for beginning of value"},
        {"{\"a\":\"b\x01\"}", "invalid character '\\x01' in string literal"},
        {"\xc3\xa9", "invalid character '\xc3\x83' looking for beginning of value"},
        {"\x80", "invalid character '\\u0080' looking for beginning of value"},
        {"[[[", "unexpected end of JSON input"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        char err[256];
        json_t *o;
        assert_int_equal(gojson_load(v[i].text, strlen(v[i].text), 0, &o, err, sizeof(err)),
                         ST_SYNTAX);
        assert_null(o);
        assert_string_equal(err, v[i].error);
    }
}

static void
test_gojson_takes_every_value(void **state)
{
    (void)state;
    static const struct {
        const char *text, *type;
    } v[] = {{"{\"a\":[1,2.5e-3]}", "object"},
             {"[]", "array"},
             {"\"\\u00e9\"", "string"},
             {"-0.5", "number"},
             {"true", "bool"},
             {" 7 ", "number"}};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        char err[256];
        json_t *o;
        assert_int_equal(gojson_load(v[i].text, strlen(v[i].text), 0, &o, err, sizeof(err)), ST_OK);
        assert_string_equal(gojson_type(o), v[i].type);
        json_decref(o);
    }
}

static void
test_gojson_what_only_jansson_refuses_is_malformed_too(void **state)
{
    (void)state;
    static const char *const v[] = {"{\"a\":\"\xff\"}", "99999999999999999999999", "1e999",
                                    "{\"a\\u0000\":1}"};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        char err[256] = "";
        json_t *o;
        assert_int_equal(gojson_load(v[i], strlen(v[i]), 0, &o, err, sizeof(err)), ST_SYNTAX);
        assert_true(err[0] != '\0');
    }
    char err[256];
    json_t *o;
    char *deep = malloc(100000);
    memset(deep, '[', 100000);
    assert_int_equal(gojson_load(deep, 100000, 0, &o, err, sizeof(err)), ST_SYNTAX);
    free(deep);
}

static void
test_gojson_reads_no_byte_behind_any_cut(void **state)
{
    (void)state;
    const char *text = "{\"a\\u00e9\\n\":[1.5e-3,true,false,null,\"x\"],\"b\":{}}";
    for (size_t n = 0; n < strlen(text); n++) {
        char *cut = malloc(n + 1);
        memcpy(cut, text, n);
        char err[256];
        json_t *o;
        assert_int_equal(gojson_load(cut, n, 0, &o, err, sizeof(err)), ST_SYNTAX);
        free(cut);
    }
}

/* Leaves such bytes where the next call has its variables. */
static void __attribute__((noinline)) dirty(int byte)
{
    unsigned char junk[16384];
    memset(junk, byte, sizeof(junk));
    __asm__ volatile("" : : "r"(junk) : "memory");
}

static void
test_gojson_without_memory_says_so_whatever_the_stack_holds(void **state)
{
    (void)state;
    static const char text[] = "{\"acc\":\"X\",\"list\":[1,2.5,\"y\"]}";
    json_set_alloc_funcs(mem_alloc_raw, mem_free);
    for (int byte = 0; byte < 32; byte++) {
        enum status st = ST_NOMEM;
        for (long n = 0; st != ST_OK; n++) {
            char err[256];
            json_t *o = NULL;
            mem_fail_at(n);
            dirty(byte);
            st = gojson_load(text, sizeof(text) - 1, 0, &o, err, sizeof(err));
            mem_fail_at(-1);
            assert_true(st == ST_OK || st == ST_NOMEM);
            json_decref(o);
        }
    }
    json_set_alloc_funcs(malloc, free);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gojson_malformed_text_is_named_as_go_does),
        cmocka_unit_test(test_gojson_takes_every_value),
        cmocka_unit_test(test_gojson_what_only_jansson_refuses_is_malformed_too),
        cmocka_unit_test(test_gojson_reads_no_byte_behind_any_cut),
        cmocka_unit_test(test_gojson_without_memory_says_so_whatever_the_stack_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
