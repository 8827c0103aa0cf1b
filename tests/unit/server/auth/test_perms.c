/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdio.h>
#include <string.h>

#include "server/auth/perms.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "tests/support/conffile.h"
#include "tests/support/oom.h"

/* Permissions as the configuration file has them. */
static struct perms *
read_perms(const char *text)
{
    char conf[1024];
    struct perms *p;
    snprintf(conf, sizeof conf,
             "authorization { users: [ { user: u, password: p, permissions: { %s } } ] }", text);
    struct config *c = conffile_good(conf);
    assert_int_equal(perms_new(&p, c->users[0]->perms), ST_OK);
    config_unref(c);
    return p;
}

static void
check_publish(const char *text, const char *subject, bool want)
{
    struct perms *p = read_perms(text);
    if (perms_may_publish(p, subject, strlen(subject)) != want) {
        fail_msg("{%s}: publish to %s: wanted %d", text, subject, want);
    }
    perms_free(p);
}

static void
test_perms_for_publishing(void **state)
{
    (void)state;
    static const struct {
        const char *text, *subject;
        bool want;
    } cases[] = {
        {"publish: \"a.*\"", "a.b", true},
        {"publish: \"a.*\"", "a.b.c", false},
        {"publish: \"a.>\"", "a.b.c", true},
        {"publish: [\"a\", \"b.c\"]", "b.c", true},
        {"publish: [\"a\", \"b.c\"]", "b", false},
        {"publish: { deny: \"a.>\" }", "b", true},
        {"publish: { deny: \"a.>\" }", "a.x", false},
        {"publish: { allow: \"a.>\", deny: \"a.secret\" }", "a.open", true},
        {"publish: { allow: \"a.>\", deny: \"a.secret\" }", "a.secret", false},
        {"publish: { deny: \">\" }", "a", false},
        {"subscribe: \"a\"", "b", true},
        {"allow_responses: true", "b", false},
        {"publish: \"b\", allow_responses: true", "b", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_publish(cases[i].text, cases[i].subject, cases[i].want);
    }
    assert_true(perms_may_publish(NULL, "a", 1));
}

static void
check_subscribe(const char *text, const char *subject, const char *queue, bool want)
{
    struct perms *p = read_perms(text);
    size_t qn = queue != NULL ? strlen(queue) : 0;
    if (perms_may_subscribe(p, subject, strlen(subject), queue, qn) != want) {
        fail_msg("{%s}: subscribe to %s %s: wanted %d", text, subject, queue != NULL ? queue : "",
                 want);
    }
    perms_free(p);
}

static void
test_perms_for_subscribing(void **state)
{
    (void)state;
    static const struct {
        const char *text, *subject, *queue;
        bool want;
    } cases[] = {
        {"subscribe: \"a.>\"", "a.b", NULL, true},
        {"subscribe: \"a.>\"", "a.*", NULL, true},
        {"subscribe: \"a.>\"", ">", NULL, false},
        {"subscribe: \"a.>\"", "b", NULL, false},
        {"subscribe: \"a.*\"", "a.b", "q", true},
        {"subscribe: \"a.*\"", "a.>", NULL, true},
        {"subscribe: \"a.*\"", "a.b.>", NULL, false},
        {"subscribe: \"a.*\"", "a.b.c", NULL, false},
        {"subscribe: \"a.b*\"", "a.>", NULL, false},
        {"subscribe: \"*\"", ">", NULL, true},
        {"subscribe: \"a.*\"", ">", NULL, false},
        {"subscribe: { deny: \"a.*\" }", "a.>", NULL, false},
        {"subscribe: { deny: \"a.b\" }", "a.b", NULL, false},
        {"subscribe: { deny: \"a.b\" }", "a.*", NULL, true},
        {"subscribe: { deny: \"a.*\" }", "a.b", "q", false},
        {"subscribe: \"a q\"", "a", "q", true},
        {"subscribe: \"a q\"", "a", "r", false},
        {"subscribe: \"a q\"", "a", NULL, false},
        {"subscribe: [\"a\", \"a q.*\"]", "a", "q.1", true},
        {"subscribe: [\"a\", \"a q.*\"]", "a", "r", false},
        {"subscribe: [\"a\", \"a q.*\"]", "a", NULL, true},
        {"subscribe: { deny: \"a q\" }", "a", "q", false},
        {"subscribe: { deny: \"a q\" }", "a", "r", true},
        {"subscribe: { deny: \"a q\" }", "a", NULL, true},
        {"publish: \"a\"", "b", NULL, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_subscribe(cases[i].text, cases[i].subject, cases[i].queue, cases[i].want);
    }
    assert_true(perms_may_subscribe(NULL, "a", 1, NULL, 0));
}

static void
test_perms_of_a_wide_subscription_decide_each_message(void **state)
{
    (void)state;
    struct perms *p = read_perms("subscribe: { allow: \"a.>\", deny: [\"a.secret\", \"a.b q\"] }");
    assert_false(perms_is_wide(p, "a.>", 3));
    assert_true(perms_may_receive(p, "a.open", 6, NULL, 0));
    assert_false(perms_may_receive(p, "a.secret", 8, NULL, 0));
    assert_false(perms_may_receive(p, "a.secret", 8, "x", 1));
    assert_false(perms_may_receive(p, "a.b", 3, "q", 1));
    assert_true(perms_may_receive(p, "a.b", 3, "x", 1));
    perms_free(p);
    assert_true(perms_may_receive(NULL, "a", 1, NULL, 0));
    assert_false(perms_is_wide(NULL, "a.>", 3));
    p = read_perms("subscribe: [\"a.*\", \"b.>\"]");
    assert_true(perms_is_wide(p, "a.>", 3));
    assert_false(perms_is_wide(p, "a.*", 3));
    perms_free(p);
}

static void
test_perms_take_over_the_limits_of_responses(void **state)
{
    (void)state;
    struct perms *p = read_perms("allow_responses: { max: 5, expires: \"1m\" }");
    assert_true(p->responses);
    assert_int_equal(p->responses_max, 5);
    assert_int_equal(p->responses_expires, INT64_C(60000000000));
    perms_free(p);
}

struct making {
    const struct config_perms *cfg;
    struct perms *p;
};

static enum status
make(void *arg)
{
    struct making *m = arg;
    return perms_new(&m->p, m->cfg);
}

static void
unmake(void *arg)
{
    struct making *m = arg;
    perms_free(m->p);
}

static void
test_perms_that_cannot_be_made_leave_nothing(void **state)
{
    (void)state;
    struct config *c = conffile_good(
        "authorization { users: [ { user: u, password: p, permissions: { publish: { allow: "
        "[\"a\", \"b\"], deny: \"c\" }, subscribe: { allow: \"a q\", deny: \"d\" } } } ] }");
    struct making m = {.cfg = c->users[0]->perms};
    oom_sweep(make, unmake, &m);
    config_unref(c);
    perms_free(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_perms_for_publishing),
        cmocka_unit_test(test_perms_for_subscribing),
        cmocka_unit_test(test_perms_of_a_wide_subscription_decide_each_message),
        cmocka_unit_test(test_perms_take_over_the_limits_of_responses),
        cmocka_unit_test(test_perms_that_cannot_be_made_leave_nothing),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
