/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "server/auth/hasher.h"
#include "server/base/clock.h"
#include "server/base/mem.h"
#include "tests/support/conffile.h"
#include "tests/support/oom.h"
#include "tests/support/srv.h"

/* Of "secret", at the lowest cost. */
#define BCRYPT "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"

/* Of something else, at a cost of milliseconds. */
#define SLOW "$2b$08$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"

struct outcome {
    struct hasher_job job;
    sem_t done;
    bool on_loop, checked, matched;
    int before; /* jobs that were done before this one */
};
static int n_done; /* the loop's, as long as jobs are out */

static void
on_done(struct loop *l, struct hasher_job *job)
{
    struct outcome *o = LIST_ENTRY(job, struct outcome, job);
    o->on_loop = loop_is_own(l) && l == job->loop;
    o->checked = job->checked;
    o->matched = job->matches;
    o->before = n_done++;
    sem_post(&o->done);
}

static void
begin(struct outcome *o, struct srv *v, const char *stored, const char *given)
{
    assert_int_equal(hasher_job_init(&o->job, v->server->loops[0], 7, stored, given), ST_OK);
    o->job.done = on_done;
    sem_init(&o->done, 0, 0);
}

static void
end(struct outcome *o)
{
    while (sem_wait(&o->done) != 0) {
    }
    sem_destroy(&o->done);
    hasher_job_fini(&o->job);
}

static void
test_hasher_answers_each_job_on_its_loop(void **state)
{
    (void)state;
    struct srv v;
    struct outcome o[20];
    srv_start(&v, "", 1);
    for (int i = 0; i < 20; i++) {
        begin(&o[i], &v, BCRYPT, i % 2 == 0 ? "secret" : "guess");
        assert_int_equal(hasher_submit(v.server->hasher, &o[i].job), ST_OK);
    }
    for (int i = 0; i < 20; i++) {
        end(&o[i]);
        assert_true(o[i].on_loop);
        assert_int_equal(o[i].matched, i % 2 == 0);
    }
    srv_stop(&v);
}

static void
test_hasher_that_stops_gives_back_what_waits_and_takes_no_more(void **state)
{
    (void)state;
    struct srv v;
    enum { N = 50 };
    static struct outcome o[N];
    struct hasher *h;
    srv_start(&v, "", 1);
    assert_int_equal(hasher_new(&h, 1), ST_OK);
    for (int i = 0; i < N; i++) {
        begin(&o[i], &v, BCRYPT, "guess");
        assert_int_equal(hasher_submit(h, &o[i].job), ST_OK);
    }
    hasher_stop(h);
    for (int i = 0; i < N; i++) {
        end(&o[i]);
        assert_true(o[i].on_loop);
        assert_false(o[i].matched);
    }
    assert_false(o[N - 1].checked);
    begin(&o[0], &v, BCRYPT, "secret");
    assert_int_equal(hasher_submit(h, &o[0].job), ST_CLOSED);
    hasher_job_fini(&o[0].job);
    sem_destroy(&o[0].done);
    hasher_free(h);
    hasher_free(NULL);
    srv_stop(&v);
}

static void
test_hasher_does_not_check_for_who_has_waited_too_long(void **state)
{
    (void)state;
    struct srv v;
    struct outcome late;
    struct outcome patient;
    srv_start(&v, "", 1);
    begin(&late, &v, BCRYPT, "secret");
    late.job.item.deadline_ns = 1;
    assert_int_equal(hasher_submit(v.server->hasher, &late.job), ST_OK);
    begin(&patient, &v, BCRYPT, "secret");
    patient.job.item.deadline_ns = 3600 * CLOCK_S;
    assert_int_equal(hasher_submit(v.server->hasher, &patient.job), ST_OK);
    end(&late);
    end(&patient);
    assert_false(late.checked);
    assert_false(late.matched);
    assert_true(patient.checked);
    assert_true(patient.matched);
    srv_stop(&v);
}

static void
test_hasher_guesses_at_one_password_hold_up_no_other(void **state)
{
    (void)state;
    struct srv v;
    enum { N = 60 };
    static struct outcome guess[N];
    struct outcome other;
    struct hasher *h;
    srv_start(&v, "", 1);
    assert_int_equal(hasher_new(&h, 1), ST_OK);
    n_done = 0;
    for (int i = 0; i < N; i++) {
        begin(&guess[i], &v, SLOW, "guess");
        assert_int_equal(hasher_submit(h, &guess[i].job), ST_OK);
    }
    begin(&other, &v, BCRYPT, "secret");
    assert_int_equal(hasher_submit(h, &other.job), ST_OK);
    end(&other);
    assert_true(other.matched);
    assert_true(other.before < N / 2);
    for (int i = 0; i < N; i++) {
        end(&guess[i]);
    }
    hasher_stop(h);
    hasher_free(h);
    srv_stop(&v);
}

/* The whole way: a client whose password is checked off the loop, which serves others meanwhile. */
static void
test_hasher_lets_a_client_in_by_its_hashed_password_only(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "authorization { user: u, password: \"" BCRYPT "\" }", 1);
    int good = srv_login(&v, 0, "\"user\":\"u\",\"pass\":\"secret\"");
    int bad = srv_client_on(&v, 0);
    srv_say(bad, "CONNECT {\"user\":\"u\",\"pass\":\"guess\"}\r\nPING\r\n");
    srv_sync(good);
    srv_hear(bad, "-ERR 'Authorization Violation'\r\n");
    srv_hear_end(bad);
    close(good);
    srv_stop(&v);
}

/* What the client sent behind its CONNECT waits for the answer, in order. */
static void
test_hasher_keeps_what_follows_connect(void **state)
{
    (void)state;
    struct srv v;
    srv_start(&v, "authorization { user: u, password: \"" BCRYPT "\" }", 1);
    int fd = srv_client_on(&v, 0);
    srv_say(fd, "CONNECT {\"user\":\"u\",\"pass\":\"secret\",\"verbose\":false}\r\n"
                "SUB a 1\r\nPUB a 2\r\nhi\r\nPING\r\n");
    srv_hear(fd, "MSG a 1 2\r\nhi\r\nPONG\r\n");
    close(fd);
    srv_stop(&v);
}

static enum status
make(void *arg)
{
    struct hasher **h = arg;
    return hasher_new(h, 3);
}

static void
unmake(void *arg)
{
    struct hasher **h = arg;
    hasher_stop(*h);
    hasher_free(*h);
}

static enum status
make_job(void *arg)
{
    return hasher_job_init(arg, NULL, 1, "stored", "given");
}

static void
unmake_job(void *arg)
{
    hasher_job_fini(arg);
}

static void
test_hasher_that_cannot_be_made_leaves_nothing(void **state)
{
    (void)state;
    struct hasher *h;
    struct hasher_job job;
    oom_sweep(make, unmake, &h);
    oom_sweep(make_job, unmake_job, &job);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hasher_answers_each_job_on_its_loop),
        cmocka_unit_test(test_hasher_that_stops_gives_back_what_waits_and_takes_no_more),
        cmocka_unit_test(test_hasher_does_not_check_for_who_has_waited_too_long),
        cmocka_unit_test(test_hasher_guesses_at_one_password_hold_up_no_other),
        cmocka_unit_test(test_hasher_lets_a_client_in_by_its_hashed_password_only),
        cmocka_unit_test(test_hasher_keeps_what_follows_connect),
        cmocka_unit_test(test_hasher_that_cannot_be_made_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, conffile_setup, conffile_teardown);
}
