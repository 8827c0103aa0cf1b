/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdatomic.h>

#include "server/base/mem.h"
#include "tests/support/conffile.h"
#include "tests/support/srv.h"

static pthread_t main_thread;
static _Atomic int runs;

static enum status
fail_with_text(struct server *s, char **err)
{
    (void)s;
    assert_true(pthread_equal(pthread_self(), main_thread));
    *err = mem_strdup("why");
    atomic_fetch_add(&runs, 1);
    return ST_INVAL;
}

struct caller {
    pthread_t thread;
    struct server *server;
    _Atomic bool done;
    enum status st;
    char *err;
};

static void *
call(void *arg)
{
    struct caller *c = arg;
    c->st = server_call(c->server, fail_with_text, &c->err);
    atomic_store(&c->done, true);
    return NULL;
}

static void
test_call_runs_on_the_main_thread_and_brings_its_answer(void **state)
{
    (void)state;
    struct srv v;
    struct caller c[8] = {0};
    srv_start(&v, "", 1);
    main_thread = pthread_self();
    for (int i = 0; i < 8; i++) {
        c[i].server = v.server;
        assert_int_equal(pthread_create(&c[i].thread, NULL, call, &c[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        while (!atomic_load(&c[i].done)) {
            event_base_loop(v.server->base, EVLOOP_NONBLOCK);
        }
        pthread_join(c[i].thread, NULL);
        assert_int_equal(c[i].st, ST_INVAL);
        assert_string_equal(c[i].err, "why");
        mem_free(c[i].err);
    }
    assert_int_equal(atomic_load(&runs), 8);
    srv_stop(&v);
}

static bool
is_waiting(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    bool any = !list_is_empty(&s->calls);
    pthread_mutex_unlock(&s->lock);
    return any;
}

static void
test_call_that_waits_when_the_server_stops_is_told_so(void **state)
{
    (void)state;
    struct srv v;
    struct caller c = {0};
    srv_start(&v, "", 1);
    c.server = v.server;
    atomic_store(&runs, 0);
    assert_int_equal(pthread_create(&c.thread, NULL, call, &c), 0);
    while (!is_waiting(v.server)) {
    }
    calls_close(v.server);
    pthread_join(c.thread, NULL);
    assert_int_equal(c.st, ST_CLOSED);
    c.st = ST_OK;
    call(&c);
    assert_int_equal(c.st, ST_CLOSED);
    assert_int_equal(atomic_load(&runs), 0);
    srv_stop(&v);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_runs_on_the_main_thread_and_brings_its_answer),
        cmocka_unit_test(test_call_that_waits_when_the_server_stops_is_told_so),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
