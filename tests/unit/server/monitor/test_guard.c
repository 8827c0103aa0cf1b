/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitor/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/mem.h"
#include "tests/support/cmk.h"

static struct event_base *base;
static struct evhttp *http;
static struct evconnlistener *listener;
static struct guard *guard;
static struct sockaddr_in address = {.sin_family = AF_INET};

static void
on_request(struct evhttp_request *req, void *arg)
{
    (void)arg;
    guard_touch(guard, req);
    evhttp_send_reply(req, 200, "OK", NULL);
}

static int
setup(void **state)
{
    (void)state;
    base = event_base_new();
    http = evhttp_new(base);
    evhttp_set_gencb(http, on_request, NULL);
    address.sin_port = 0;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = evconnlistener_new_bind(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE, 512,
                                       (struct sockaddr *)&address, sizeof address);
    evhttp_bind_listener(http, listener);
    socklen_t len = sizeof address;
    getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &len);
    return guard_new(&guard, base, http, listener) != ST_OK;
}

static int
teardown(void **state)
{
    (void)state;
    evhttp_free(http);
    guard_free(guard);
    event_base_free(base);
    return 0;
}

static int
dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* Turns of the loop until nothing is left to do. */
static void
turn(void)
{
    for (int i = 0; i < 20; i++) {
        event_base_loop(base, EVLOOP_NONBLOCK);
    }
}

static bool
is_closed(int fd)
{
    char c;
    ssize_t n = recv(fd, &c, 1, MSG_DONTWAIT | MSG_PEEK);
    return n == 0 || (n < 0 && errno != EAGAIN);
}

static int
is_of_listener(const struct event_base *b, const struct event *ev, void *arg)
{
    (void)b;
    (void)arg;
    return event_get_fd(ev) == evconnlistener_get_fd(listener) ? 1 : 0;
}

static bool
is_listening(void)
{
    return event_base_foreach_event(base, is_of_listener, NULL) == 1;
}

static void
test_guard_ends_a_connection_that_never_completes_a_request(void **state)
{
    (void)state;
    int fd = dial();
    assert_int_equal(send(fd, "GET / HT", 8, 0), 8);
    turn();
    guard_tick(guard, clock_mono_ns() + (GUARD_PATIENCE_S - 5) * CLOCK_S);
    turn();
    assert_false(is_closed(fd));
    guard_tick(guard, clock_mono_ns() + (GUARD_PATIENCE_S + 5) * CLOCK_S);
    turn();
    assert_true(is_closed(fd));
    close(fd);
}

static void
test_guard_rests_at_the_limit_and_goes_on_when_one_leaves(void **state)
{
    (void)state;
    int fds[GUARD_MAX];
    for (int i = 0; i < GUARD_MAX; i++) {
        fds[i] = dial();
    }
    turn();
    int late = dial();
    const char get[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_int_equal(send(late, get, sizeof get - 1, 0), sizeof get - 1);
    turn();
    guard_tick(guard, clock_mono_ns());
    turn();
    char c;
    assert_true(recv(late, &c, 1, MSG_DONTWAIT) < 0);
    close(fds[0]);
    turn();
    guard_tick(guard, clock_mono_ns());
    turn();
    assert_int_equal(recv(late, &c, 1, MSG_DONTWAIT), 1);
    for (int i = 1; i < GUARD_MAX; i++) {
        close(fds[i]);
    }
    close(late);
}

static void
test_guard_rests_while_nothing_can_be_accepted(void **state)
{
    (void)state;
    struct rlimit normal;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &normal), 0);
    int fd = dial();
    const char get[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_int_equal(send(fd, get, sizeof get - 1, 0), sizeof get - 1);
    const struct rlimit none = {.rlim_cur = 3, .rlim_max = normal.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_true(is_listening());
    turn();
    assert_false(is_listening());
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &normal), 0);
    guard_tick(guard, clock_mono_ns());
    turn();
    char c;
    assert_int_equal(recv(fd, &c, 1, MSG_DONTWAIT), 1);
    close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_guard_ends_a_connection_that_never_completes_a_request,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_guard_rests_at_the_limit_and_goes_on_when_one_leaves,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_guard_rests_while_nothing_can_be_accepted, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
