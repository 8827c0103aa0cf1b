/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/params.h"

#include <stdlib.h>

#include "server/base/mem.h"
#include "tests/support/cmk.h"

static const struct param params[] = {
    {"auth", "auth", PARAM_BOOL},    {"subs", "subscriptions", PARAM_SUBS},
    {"limit", "limit", PARAM_INT},   {"cid", "cid", PARAM_UINT},
    {"state", "state", PARAM_STATE}, {"acc", "account", PARAM_STR},
};

static enum status
parse(const char *query, json_t **out, char **err)
{
    return params_parse(query, params, sizeof params / sizeof params[0], out, err);
}

static void
assert_options(const char *query, const char *expected)
{
    json_t *o;
    char *err;
    assert_int_equal(parse(query, &o, &err), ST_OK);
    char *text = json_dumps(o, JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
    json_decref(o);
}

static void
assert_refused(const char *query, const char *expected)
{
    json_t *o;
    char *err;
    assert_int_equal(parse(query, &o, &err), ST_INVAL);
    assert_string_equal(err, expected);
    mem_free(err);
}

static void
test_params_become_options_of_the_view(void **state)
{
    (void)state;
    assert_options(NULL, "{}");
    assert_options("", "{}");
    assert_options("auth=1&subs=detail&limit=7&cid=9&state=CLOSED&acc=A%2Fb+c",
                   "{\"auth\":true,\"subscriptions_detail\":true,\"limit\":7,\"cid\":9,\"state\":1,"
                   "\"account\":\"A/b c\"}");
    assert_options("state=any&subs=true", "{\"subscriptions\":true,\"state\":2}");
}

static void
test_params_empty_unknown_and_malformed_pairs_are_ignored(void **state)
{
    (void)state;
    assert_options("auth=&limit&nope=1&&=&acc=%zz&acc=ok", "{\"account\":\"ok\"}");
    assert_options("limit=1&limit=2", "{\"limit\":1}");
    assert_options("acc=%", "{}");
    assert_options("acc=%ff", "{\"account\":\"\xEF\xBF\xBD\"}");
}

static void
test_params_bad_values_are_refused_in_nats_words(void **state)
{
    (void)state;
    assert_refused("auth=maybe", "Error decoding boolean for 'auth': strconv.ParseBool: parsing "
                                 "\"maybe\": invalid syntax");
    assert_refused("subs=x", "Error decoding boolean for 'subs': strconv.ParseBool: parsing "
                             "\"x\": invalid syntax");
    assert_refused("limit=zz",
                   "Error decoding int for 'limit': strconv.Atoi: parsing \"zz\": invalid syntax");
    assert_refused("cid=-1", "Error decoding uint64 for 'cid': strconv.ParseUint: parsing "
                             "\"-1\": invalid syntax");
    assert_refused("state=zz", "Error decoding state for zz");
    assert_refused("state=zz&auth=q", "Error decoding boolean for 'auth': strconv.ParseBool: "
                                      "parsing \"q\": invalid syntax");
}

/* Runs until a call ends as `last`; every one before it is short of memory and leaks nothing. */
static void
sweep(const char *query, enum status last)
{
    long before = mem_live();
    enum status st = ST_NOMEM;
    for (long n = 0; st == ST_NOMEM; n++) {
        json_t *o = NULL;
        char *err = NULL;
        mem_fail_at(n);
        st = parse(query, &o, &err);
        mem_fail_at(-1);
        assert_true(st == last || (st == ST_NOMEM && o == NULL && err == NULL));
        json_decref(o);
        mem_free(err);
        assert_int_equal(mem_live(), before);
    }
}

static void
test_params_survive_running_out_of_memory(void **state)
{
    (void)state;
    json_set_alloc_funcs(mem_alloc, mem_free);
    sweep("auth=1&subs=detail&acc=x&cid=4", ST_OK);
    sweep("auth=1&limit=zz", ST_INVAL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_params_become_options_of_the_view),
        cmocka_unit_test(test_params_empty_unknown_and_malformed_pairs_are_ignored),
        cmocka_unit_test(test_params_bad_values_are_refused_in_nats_words),
        cmocka_unit_test(test_params_survive_running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
