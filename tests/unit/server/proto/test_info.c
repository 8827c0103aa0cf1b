/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/mem.h"
#include "server/proto/info.h"
#include "server/server.h"
#include "tests/support/conffile.h"
#include "tests/support/oom.h"
#include "tests/support/srv.h"

static json_t *
first_info(const char *conf)
{
    struct srv v;
    char line[4096];
    srv_start(&v, conf, 1);
    int fd = srv_client_raw(&v, 0);
    ssize_t n = recv(fd, line, sizeof line - 1, 0);
    assert_true(n > 5);
    line[n] = '\0';
    assert_memory_equal(line, "INFO ", 5);
    json_t *o = json_loads(line + 5, 0, NULL);
    assert_non_null(o);
    close(fd);
    srv_stop(&v);
    return o;
}

static void
assert_text(const json_t *o, const char *key, const char *want)
{
    assert_string_equal(json_string_value(json_object_get(o, key)), want);
}

static void
test_info_tells_what_the_server_is_and_takes(void **state)
{
    (void)state;
    json_t *o = first_info("max_payload: 12345");
    assert_text(o, "server_id", "NSERVER");
    assert_text(o, "server_name", "test");
    assert_text(o, "version", SERVER_VERSION);
    assert_text(json_object_get(o, "sluice"), "version", SLUICE_VERSION);
    assert_text(o, "host", "127.0.0.1");
    assert_int_equal(json_integer_value(json_object_get(o, "port")), 4222);
    assert_int_equal(json_integer_value(json_object_get(o, "max_payload")), 12345);
    assert_int_equal(json_integer_value(json_object_get(o, "proto")), 1);
    assert_true(json_is_true(json_object_get(o, "headers")));
    assert_true(json_integer_value(json_object_get(o, "client_id")) > 0);
    assert_null(json_object_get(o, "auth_required"));
    assert_null(json_object_get(o, "ldm"));
    assert_null(json_object_get(o, "connect_urls"));
    json_decref(o);
}

static void
test_info_says_when_users_are_required(void **state)
{
    (void)state;
    json_t *o = first_info("authorization { user: u, password: p }");
    assert_true(json_is_true(json_object_get(o, "auth_required")));
    json_decref(o);
    o = first_info("accounts { A { users: [ { user: u, password: p } ] } }\nno_auth_user: u");
    assert_null(json_object_get(o, "auth_required"));
    json_decref(o);
}

static void
test_info_names_the_advertised_address(void **state)
{
    (void)state;
    json_t *o = first_info("client_advertise: \"[::1]:7\"\nno_header_support: true");
    assert_text(o, "host", "::1");
    assert_int_equal(json_integer_value(json_object_get(o, "port")), 7);
    assert_false(json_is_true(json_object_get(o, "headers")));
    json_decref(o);
}

/* jansson allocates by itself, so only what is ours fails. */
static enum status
make(void *arg)
{
    struct info **i = arg;
    struct info_spec spec = {.server_id = "N", .server_name = "n", .host = "h", .xkey = "X"};
    return info_new(i, &spec);
}

static void
unmake(void *arg)
{
    struct info **i = arg;
    struct info *again = info_ref(*i);
    info_unref(*i);
    info_unref(again);
    info_unref(NULL);
}

static void
test_info_that_cannot_be_made_leaves_nothing(void **state)
{
    (void)state;
    struct info *i;
    oom_sweep(make, unmake, &i);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info_tells_what_the_server_is_and_takes),
        cmocka_unit_test(test_info_says_when_users_are_required),
        cmocka_unit_test(test_info_names_the_advertised_address),
        cmocka_unit_test(test_info_that_cannot_be_made_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
