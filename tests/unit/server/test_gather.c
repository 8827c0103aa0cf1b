/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "server/auth/account.h"
#include "server/base/clock.h"
#include "server/base/mem.h"
#include "server/gather.h"
#include "server/inspect.h"
#include "tests/support/conffile.h"
#include "tests/support/srv.h"

struct part {
    char *text; /* owned */
    uint32_t loop;
};

static _Atomic int dropped;

static void
ask(struct loop *l, void *part, void *query)
{
    struct part *p = part;
    assert_true(loop_is_own(l));
    p->loop = l->index;
    p->text = mem_strdup(query);
}

static void
finish(void *part, void *arg)
{
    struct part *p = part;
    int *seen = arg;
    assert_string_equal(p->text, "why");
    mem_free(p->text);
    *seen += 1 << p->loop;
}

static void
drop(void *part)
{
    struct part *p = part;
    mem_free(p->text);
    atomic_fetch_add(&dropped, 1);
}

static const struct gather_spec usual = {.part_size = sizeof(struct part),
                                         .ask = ask,
                                         .finish = finish,
                                         .drop = drop,
                                         .query = "why",
                                         .query_size = 4};

static void
test_gather_asks_every_loop_once(void **state)
{
    (void)state;
    struct srv v;
    int seen = 0;
    srv_start(&v, "", 3);
    assert_int_equal(gather_run(v.server, &usual, &seen), ST_OK);
    assert_int_equal(seen, 7);
    assert_int_equal(atomic_load(&dropped), 0);
    srv_stop_loops(&v);
    assert_int_equal(gather_run(v.server, &usual, &seen), ST_CLOSED);
    srv_free(&v);
}

static void
hold(struct loop *l, void *arg)
{
    (void)l;
    while (sem_wait(arg) != 0) {
    }
}

/* Also the answers of the loops that were in time: nobody takes them any more. */
static void
test_gather_gives_up_on_a_loop_that_does_not_answer_and_loses_nothing(void **state)
{
    (void)state;
    struct srv v;
    struct srv_errand e;
    sem_t go;
    int seen = 0;
    sem_init(&go, 0, 0);
    srv_start(&v, "", 3);
    srv_begin(&v, 1, &e, hold, &go);
    struct gather_spec spec = usual;
    spec.patience = 20 * CLOCK_MS;
    assert_int_equal(gather_run(v.server, &spec, &seen), ST_TIMEOUT);
    assert_int_equal(seen, 0);
    sem_post(&go);
    srv_finish(&e);
    srv_stop(&v);
    assert_int_equal(atomic_load(&dropped), 3);
    sem_destroy(&go);
}

static void
test_gather_without_memory_asks_nobody(void **state)
{
    (void)state;
    struct srv v;
    int seen = 0;
    srv_start(&v, "", 2);
    for (long n = 0; n < 4; n++) {
        long live = mem_live();
        mem_fail_at(n);
        assert_int_equal(gather_run(v.server, &usual, &seen), ST_NOMEM);
        mem_fail_at(-1);
        assert_int_equal(mem_live(), live);
    }
    assert_int_equal(seen, 0);
    srv_stop(&v);
}

static void
test_inspect_finds_connections_of_all_loops_by_account_user_and_id(void **state)
{
    (void)state;
    struct srv v;
    struct conn_info *info;
    size_t n;
    srv_start(&v,
              "accounts { A { users: [ { user: a, password: p } ] }\n"
              "           B { users: [ { user: b, password: p }, { user: c, password: p } ] } }",
              2);
    int fd[3] = {srv_login(&v, 0, "\"user\":\"a\",\"pass\":\"p\",\"name\":\"one\""),
                 srv_login(&v, 1, "\"user\":\"b\",\"pass\":\"p\""),
                 srv_login(&v, 0, "\"user\":\"c\",\"pass\":\"p\"")};
    srv_say(fd[1], "SUB x.* q 9\r\n");
    srv_sync(fd[1]);
    struct inspect_query q = {.state = CONN_STATE_OPEN};
    assert_int_equal(inspect_conns(v.server, &q, &info, &n), ST_OK);
    assert_int_equal(n, 3);
    inspect_free_conns(info, n);
    q.account = "B";
    assert_int_equal(inspect_conns(v.server, &q, &info, &n), ST_OK);
    assert_int_equal(n, 2);
    inspect_free_conns(info, n);
    q.user = "b";
    q.subs = true;
    assert_int_equal(inspect_conns(v.server, &q, &info, &n), ST_OK);
    assert_int_equal(n, 1);
    assert_int_equal(info[0].n_subs, 1);
    assert_string_equal(info[0].subs[0].subject, "x.*");
    assert_string_equal(info[0].subs[0].queue, "q");
    assert_string_equal(info[0].subs[0].sid, "9");
    uint64_t cid = info[0].cid;
    inspect_free_conns(info, n);
    close(fd[1]);
    q = (struct inspect_query){.state = CONN_STATE_CLOSED, .cid = cid, .subs = true};
    do {
        assert_int_equal(inspect_conns(v.server, &q, &info, &n), ST_OK);
        if (n == 0) {
            inspect_free_conns(info, n);
        }
    } while (n == 0); /* its end is seen a turn later */
    assert_string_equal(info[0].reason, "Client Closed");
    assert_int_equal(info[0].n_subs, 1);
    inspect_free_conns(info, n);
    close(fd[0]);
    close(fd[2]);
    srv_stop(&v);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather_asks_every_loop_once),
        cmocka_unit_test(test_gather_gives_up_on_a_loop_that_does_not_answer_and_loses_nothing),
        cmocka_unit_test(test_gather_without_memory_asks_nobody),
        cmocka_unit_test(test_inspect_finds_connections_of_all_loops_by_account_user_and_id),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
