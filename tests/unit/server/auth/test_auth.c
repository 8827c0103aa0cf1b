/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <string.h>

#include "server/auth/account.h"
#include "server/auth/auth.h"
#include "server/auth/perms.h"
#include "server/base/mem.h"
#include "server/config.h"
#include "tests/support/conffile.h"
#include "tests/support/oom.h"

/* Of "secret", at the lowest cost. */
#define BCRYPT "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"

static struct account accounts[] = {{.name = "$G"}, {.name = "A"}, {.name = "B"}};

static struct account *
account_named(void *arg, const char *name)
{
    (void)arg;
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(accounts[i].name, name) == 0) {
            return &accounts[i];
        }
    }
    return NULL;
}

static struct auth *
make_auth(const char *conf)
{
    struct auth *a;
    struct config *c = conffile_good(conf);
    assert_int_equal(auth_new(&a, c, account_named, NULL), ST_OK);
    config_unref(c); /* the snapshot stands by itself */
    return a;
}

/* Whom these credentials connect, or NULL. */
static const struct auth_user *
connects(const struct auth *a, const char *user, const char *password, const char *token)
{
    struct auth_creds creds = {user, password, token};
    const struct auth_user *found;
    const char *stored;
    const char *given;
    if (!auth_find(a, &creds, &found, &stored, &given)) {
        return NULL;
    }
    return stored == NULL || auth_secret_matches(stored, given) ? found : NULL;
}

static void
test_auth_of_an_open_server_lets_everybody_in(void **state)
{
    (void)state;
    struct auth *a = make_auth("");
    assert_false(auth_is_required(a));
    assert_non_null(auth_anonymous(a));
    assert_ptr_equal(connects(a, NULL, NULL, NULL)->account, &accounts[0]);
    assert_non_null(connects(a, "x", "y", NULL));
    assert_non_null(connects(a, NULL, NULL, "t"));
    auth_unref(a);
}

static void
test_auth_by_one_user_and_password(void **state)
{
    (void)state;
    struct auth *a = make_auth("authorization { user: u, password: p }");
    assert_true(auth_is_required(a));
    assert_null(auth_anonymous(a));
    assert_string_equal(connects(a, "u", "p", NULL)->name, "u");
    assert_null(connects(a, "u", "q", NULL));
    assert_null(connects(a, "u", "pp", NULL));
    assert_null(connects(a, "u", NULL, NULL));
    assert_null(connects(a, "v", "p", NULL));
    assert_null(connects(a, NULL, NULL, NULL));
    assert_null(connects(a, NULL, NULL, "p"));
    auth_unref(a);
}

static void
test_auth_by_token(void **state)
{
    (void)state;
    struct auth *a = make_auth("authorization { token: t }");
    assert_string_equal(auth_token(a), "t");
    assert_non_null(connects(a, NULL, NULL, "t"));
    assert_null(connects(a, NULL, NULL, "x"));
    assert_null(connects(a, NULL, NULL, NULL));
    assert_null(connects(a, "t", NULL, NULL));
    auth_unref(a);
}

static void
test_auth_users_belong_to_their_accounts_with_their_permissions(void **state)
{
    (void)state;
    struct auth *a =
        make_auth("accounts {\n"
                  "  A { users: [ { user: a, password: p } ]\n"
                  "      default_permissions: { publish: \"dflt\" } }\n"
                  "  B { users: [ { user: b, password: p, permissions: { publish: \"own\" } }\n"
                  "               { user: c, password: p } ] } }\n"
                  "no_auth_user: c");
    const struct auth_user *u = connects(a, "a", "p", NULL);
    assert_ptr_equal(u->account, &accounts[1]);
    assert_true(perms_may_publish(u->perms, "dflt", 4));
    assert_false(perms_may_publish(u->perms, "own", 3));
    u = connects(a, "b", "p", NULL);
    assert_ptr_equal(u->account, &accounts[2]);
    assert_true(perms_may_publish(u->perms, "own", 3));
    assert_false(perms_may_publish(u->perms, "dflt", 4));
    assert_null(connects(a, "c", "p", NULL)->perms);
    assert_string_equal(connects(a, NULL, NULL, NULL)->name, "c");
    assert_null(connects(a, NULL, NULL, "t"));
    auth_unref(a);
}

static void
test_auth_marks_users_of_other_kinds_of_connections(void **state)
{
    (void)state;
    struct auth *a =
        make_auth("authorization { users: [\n"
                  "  { user: a, password: p, allowed_connection_types: [\"STANDARD\", \"MQTT\"] }\n"
                  "  { user: b, password: p, allowed_connection_types: [\"MQTT\"] } ] }");
    assert_false(connects(a, "a", "p", NULL)->no_standard);
    assert_true(connects(a, "b", "p", NULL)->no_standard);
    auth_unref(a);
}

static void
test_auth_compares_plain_and_hashed_secrets(void **state)
{
    (void)state;
    assert_true(auth_secret_matches("p", "p"));
    assert_false(auth_secret_matches("p", "P"));
    assert_false(auth_secret_matches("p", ""));
    assert_false(auth_is_bcrypt("p"));
    assert_false(auth_is_bcrypt("$2a$"));
    assert_true(auth_is_bcrypt(BCRYPT));
    assert_true(auth_secret_matches(BCRYPT, "secret"));
    assert_false(auth_secret_matches(BCRYPT, "Secret"));
    assert_false(auth_secret_matches(BCRYPT, BCRYPT)); /* the hash is not the password */
}

static void
test_auth_lives_until_its_last_reference(void **state)
{
    (void)state;
    long live = mem_live();
    struct auth *a = make_auth("authorization { user: u, password: p }");
    assert_ptr_equal(auth_ref(a), a);
    auth_unref(a);
    assert_non_null(connects(a, "u", "p", NULL));
    auth_unref(a);
    auth_unref(NULL);
    assert_int_equal(mem_live(), live);
}

struct making {
    const struct config *cfg;
    struct auth *auth;
};

static enum status
make(void *arg)
{
    struct making *m = arg;
    return auth_new(&m->auth, m->cfg, account_named, NULL);
}

static void
unmake(void *arg)
{
    struct making *m = arg;
    auth_unref(m->auth);
}

static void
sweep(const char *conf)
{
    struct config *c = conffile_good(conf);
    struct making m = {.cfg = c};
    oom_sweep(make, unmake, &m);
    config_unref(c);
}

static void
test_auth_that_cannot_be_made_leaves_nothing(void **state)
{
    (void)state;
    sweep("authorization { token: t }");
    sweep("authorization { user: u, password: p }");
    sweep("authorization { default_permissions: { publish: \"x\" }, users: [\n"
          "  { user: a, password: p }, { user: b, password: p, permissions: { publish: \"y\" } } ] "
          "}");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_auth_of_an_open_server_lets_everybody_in),
        cmocka_unit_test(test_auth_by_one_user_and_password),
        cmocka_unit_test(test_auth_by_token),
        cmocka_unit_test(test_auth_users_belong_to_their_accounts_with_their_permissions),
        cmocka_unit_test(test_auth_marks_users_of_other_kinds_of_connections),
        cmocka_unit_test(test_auth_compares_plain_and_hashed_secrets),
        cmocka_unit_test(test_auth_lives_until_its_last_reference),
        cmocka_unit_test(test_auth_that_cannot_be_made_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
