/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdlib.h>
#include <string.h>

#include "server/proto/parser.h"

static const struct parser usual = {
    .max_control_line = 4096, .max_payload = 1048576, .headers = true};

static enum parse_result
parse(const struct parser *p, const char *text, size_t *used, struct op *op)
{
    return parser_next(p, text, strlen(text), used, op);
}

static void
assert_part(const char *part, size_t len, const char *want)
{
    if (want == NULL) {
        assert_null(part);
        return;
    }
    assert_int_equal(len, strlen(want));
    assert_memory_equal(part, want, len);
}

static void
test_parser_knows_verbs_in_any_case(void **state)
{
    (void)state;
    const struct {
        const char *text;
        enum op_kind kind;
    } cases[] = {
        {"PING\r\n", OP_PING},           {"ping\n", OP_PING},
        {"PoNg\r\n", OP_PONG},           {"CONNECT {}\r\n", OP_CONNECT},
        {"connect\t{}\r\n", OP_CONNECT}, {"sUb a 1\r\n", OP_SUB},
        {"unsub 1\r\n", OP_UNSUB},       {"pub a 0\r\n\r\n", OP_PUB},
        {"hpub a 0 0\r\n\r\n", OP_HPUB}, {"+ok\r\n", OP_PLUS_OK},
        {"-err 'x'\r\n", OP_MINUS_ERR},  {"info {}\r\n", OP_INFO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct op op;
        size_t used = 0;
        assert_int_equal(parse(&usual, cases[i].text, &used, &op), PARSE_OP);
        assert_int_equal(op.kind, cases[i].kind);
        assert_int_equal(used, strlen(cases[i].text));
    }
}

static void
test_parser_takes_a_publication_apart(void **state)
{
    (void)state;
    struct op op;
    size_t used = 0;
    assert_int_equal(parse(&usual, "PUB a.b 5\r\nhello\r\nPING\r\n", &used, &op), PARSE_OP);
    assert_part(op.subject, op.subject_len, "a.b");
    assert_part(op.reply, op.reply_len, NULL);
    assert_part(op.data, op.size, "hello");
    assert_int_equal(used, 18);
    assert_int_equal(parse(&usual, "PUB \t a.b   _INBOX.1\t2 \r\nhi\r\n", &used, &op), PARSE_OP);
    assert_part(op.reply, op.reply_len, "_INBOX.1");
    assert_part(op.data, op.size, "hi");
}

static void
test_parser_a_carriage_return_parts_arguments_of_subscriptions_only(void **state)
{
    (void)state;
    struct op op;
    size_t used = 0;
    assert_int_equal(parse(&usual, "SUB a 1\r\r\n", &used, &op), PARSE_OP);
    assert_part(op.sid, op.sid_len, "1");
    assert_int_equal(parse(&usual, "PUB a 2\r\r\nhi\r\n", &used, &op), PARSE_ERR_ARGS);
    assert_int_equal(parse(&usual, "UNSUB \r\r\n", &used, &op), PARSE_ERR_ARGS);
}

static void
test_parser_a_payload_may_hold_anything(void **state)
{
    (void)state;
    struct op op;
    size_t used = 0;
    const char text[] = "PUB a 8\r\n\r\n\0PUB\r\r\r\n";
    assert_int_equal(parser_next(&usual, text, sizeof text - 1, &used, &op), PARSE_OP);
    assert_int_equal(op.size, 8);
    assert_memory_equal(op.data, "\r\n\0PUB\r\r", 8);
}

static void
test_parser_takes_a_publication_with_headers_apart(void **state)
{
    (void)state;
    struct op op;
    size_t used = 0;
    assert_int_equal(parse(&usual, "HPUB a r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", &used, &op),
                     PARSE_OP);
    assert_part(op.subject, op.subject_len, "a");
    assert_part(op.reply, op.reply_len, "r");
    assert_int_equal(op.hdr_len, 12);
    assert_part(op.data, op.size, "NATS/1.0\r\n\r\nhi");
}

static void
test_parser_takes_subscriptions_apart(void **state)
{
    (void)state;
    struct op op;
    size_t used = 0;
    assert_int_equal(parse(&usual, "SUB a.* 17\r\n", &used, &op), PARSE_OP);
    assert_part(op.subject, op.subject_len, "a.*");
    assert_part(op.reply, op.reply_len, NULL);
    assert_part(op.sid, op.sid_len, "17");
    assert_int_equal(parse(&usual, "SUB a.* crew 18\r\n", &used, &op), PARSE_OP);
    assert_part(op.reply, op.reply_len, "crew");
    assert_part(op.sid, op.sid_len, "18");
    assert_int_equal(parse(&usual, "UNSUB 18\r\n", &used, &op), PARSE_OP);
    assert_part(op.sid, op.sid_len, "18");
    assert_int_equal(op.max, -1);
    assert_int_equal(parse(&usual, "UNSUB 18 5\r\n", &used, &op), PARSE_OP);
    assert_int_equal(op.max, 5);
}

static void
test_parser_waits_for_the_rest_wherever_it_is_cut(void **state)
{
    (void)state;
    const char *const texts[] = {
        "CONNECT {\"verbose\":false}\r\n",
        "PING\r\n",
        "SUB a q 1\r\n",
        "UNSUB 1 2\r\n",
        "PUB a.b r 5\r\nhello\r\n",
        "HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t len = strlen(texts[i]);
        for (size_t cut = 0; cut < len; cut++) {
            struct op op;
            size_t used = 0;
            /* In memory of its own: a read behind the cut is seen by the sanitizers. */
            char *part = malloc(cut + 1);
            memcpy(part, texts[i], cut);
            assert_int_equal(parser_next(&usual, part, cut, &used, &op), PARSE_MORE);
            assert_true(used == 0 || used == len);
            free(part);
        }
    }
}

static void
test_parser_says_what_is_wrong(void **state)
{
    (void)state;
    const struct {
        const char *text;
        enum parse_result want;
    } cases[] = {
        {"GET / HTTP/1.1\r\n", PARSE_ERR_UNKNOWN},
        {"\r\n", PARSE_ERR_UNKNOWN},
        {"PUBX", PARSE_ERR_UNKNOWN},
        {"PUB a 1\r\nxyz", PARSE_ERR_UNKNOWN},
        {"PUB a 1\r\nx\ry", PARSE_ERR_UNKNOWN},
        {"PUB a\r\n", PARSE_ERR_ARGS},
        {"PUB a b c 1\r\n", PARSE_ERR_ARGS},
        {"PUB a x\r\n", PARSE_ERR_ARGS},
        {"PUB a -1\r\n", PARSE_ERR_ARGS},
        {"PUB a 99999999999\r\n", PARSE_ERR_ARGS},
        {"HPUB a 5 4\r\n", PARSE_ERR_ARGS},
        {"HPUB a 4\r\n", PARSE_ERR_ARGS},
        {"SUB a\r\n", PARSE_ERR_ARGS},
        {"SUB a b c d\r\n", PARSE_ERR_ARGS},
        {"UNSUB \r\n", PARSE_ERR_ARGS},
        {"UNSUB 1 2 3\r\n", PARSE_ERR_ARGS},
        {"PUB a 1048577\r\n", PARSE_ERR_PAYLOAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct op op;
        size_t used = 0;
        assert_int_equal(parse(&usual, cases[i].text, &used, &op), cases[i].want);
    }
}

static void
test_parser_holds_the_limits(void **state)
{
    (void)state;
    struct parser p = {.max_control_line = 10, .max_payload = 4};
    struct op op;
    size_t used = 0;
    assert_int_equal(parse(&p, "SUB 12345678 1\r\n", &used, &op), PARSE_OP);
    assert_int_equal(parse(&p, "SUB 123456789 1\r\n", &used, &op), PARSE_ERR_CONTROL_LINE);
    assert_int_equal(parse(&p, "SUB 123456789012345", &used, &op), PARSE_ERR_CONTROL_LINE);
    assert_int_equal(parse(&p, "PING 123456789012345\r\n", &used, &op), PARSE_OP);
    assert_int_equal(op.kind, OP_PING);
    assert_int_equal(parse(&p, "PONG 123456789012345", &used, &op), PARSE_CUT);
    assert_int_equal(used, 4);
    assert_int_equal(parse(&p, "PUB a 4\r\nabcd\r\n", &used, &op), PARSE_OP);
    assert_int_equal(parse(&p, "PUB a 5\r\n", &used, &op), PARSE_ERR_PAYLOAD);
    assert_int_equal(op.size, 5);
    assert_int_equal(parse(&p, "HPUB a 0 0\r\n\r\n", &used, &op), PARSE_ERR_HEADERS);
    p = (struct parser){.max_control_line = 4096, .max_payload = -1};
    assert_int_equal(parse(&p, "PUB a 999999999\r\n", &used, &op), PARSE_MORE);
    assert_int_equal(used, 17 + 999999999 + 2);
}

static void
test_parser_names_operations(void **state)
{
    (void)state;
    assert_string_equal(op_name(OP_HPUB), "HPUB");
    assert_string_equal(op_name(OP_MINUS_ERR), "-ERR");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parser_knows_verbs_in_any_case),
        cmocka_unit_test(test_parser_takes_a_publication_apart),
        cmocka_unit_test(test_parser_a_carriage_return_parts_arguments_of_subscriptions_only),
        cmocka_unit_test(test_parser_a_payload_may_hold_anything),
        cmocka_unit_test(test_parser_takes_a_publication_with_headers_apart),
        cmocka_unit_test(test_parser_takes_subscriptions_apart),
        cmocka_unit_test(test_parser_waits_for_the_rest_wherever_it_is_cut),
        cmocka_unit_test(test_parser_says_what_is_wrong),
        cmocka_unit_test(test_parser_holds_the_limits),
        cmocka_unit_test(test_parser_names_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
