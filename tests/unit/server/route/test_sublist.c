/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/gate.h"
#include "api/gates.h"
#include "api/group.h"
#include "server/base/mem.h"
#include "server/base/subject.h"
#include "server/route/sub.h"
#include "server/route/sublist.h"
#include "tests/support/fakehost.h"

static struct sub *
make_sub(const char *subject, const char *queue)
{
    struct sub_spec spec = {subject, strlen(subject), queue, strlen(queue), "1", 1};
    struct sub *s = NULL;
    assert_int_equal(sub_new(&s, &spec, NULL), ST_OK);
    return s;
}

static struct sub *
insert(struct sublist *l, const char *subject, const char *queue)
{
    struct sub *s = make_sub(subject, queue);
    assert_int_equal(sublist_insert(l, s), ST_OK);
    return s;
}

static void
drop(struct sublist *l, struct sub *s)
{
    assert_true(sublist_remove(l, s));
    sub_unref(s);
}

static void
match(struct sublist *l, const char *subject, struct match *m)
{
    assert_int_equal(sublist_match(l, subject, strlen(subject), m), ST_OK);
    assert_int_equal(sublist_has_interest(l, subject, strlen(subject)), m->n_subs > 0);
}

static bool
has(const struct match *m, const struct sub *s)
{
    for (uint32_t i = 0; i < m->n_subs; i++) {
        if (m->subs[i] == s) {
            return true;
        }
    }
    return false;
}

static void
test_sub_keeps_its_parts_and_refuses_what_is_too_long(void **state)
{
    (void)state;
    struct sub *s = make_sub("a.b", "crew");
    assert_string_equal(sub_subject(s), "a.b");
    assert_string_equal(sub_queue(s), "crew");
    assert_string_equal(sub_sid(s), "1");
    sub_unref(sub_ref(s));
    sub_unref(s);
    char *big = calloc(1, 70000);
    struct sub_spec spec = {big, 70000, "", 0, "1", 1};
    assert_int_equal(sub_new(&s, &spec, NULL), ST_INVAL);
    free(big);
}

static void
test_sublist_finds_literals_and_wildcards(void **state)
{
    (void)state;
    struct sublist *l = NULL;
    struct match m = {0};
    assert_int_equal(sublist_new(&l), ST_OK);
    struct sub *subs[] = {insert(l, "a.b", ""), insert(l, "a.*", ""), insert(l, "a.>", ""),
                          insert(l, ">", ""),   insert(l, "*.b", ""), insert(l, "a.b.c", ""),
                          insert(l, "b", "")};
    match(l, "a.b", &m);
    assert_int_equal(m.n_plain, 5);
    for (int i = 0; i < 5; i++) {
        assert_true(has(&m, subs[i]));
    }
    match(l, "a", &m);
    assert_int_equal(m.n_subs, 1);
    assert_true(has(&m, subs[3]));
    match(l, "a.b.c", &m);
    assert_int_equal(m.n_subs, 3);
    for (size_t i = 0; i < sizeof subs / sizeof *subs; i++) {
        drop(l, subs[i]);
    }
    match(l, "a.b", &m);
    assert_int_equal(m.n_subs, 0);
    match_fini(&m);
    sublist_free(l);
}

static void
test_sublist_a_gate_is_found_but_is_no_receiver(void **state)
{
    (void)state;
    struct clock clk = clock_real;
    struct sublist *l = NULL;
    struct match m = {0};
    struct sublist_counts counts;
    struct gates *gates = NULL;
    _Atomic uint64_t last_id = 0;
    struct fakehost host;
    struct gate_conf conf;
    char err[GATE_ERR_LEN];
    struct gates_plane plane = {.last_id = &last_id};
    fakehost_init(&host);
    assert_int_equal(groups_new(&plane.groups, &clk), ST_OK);
    assert_int_equal(gates_new(&gates, &host.host, &clk, &plane, false), ST_OK);
    assert_int_equal(gate_conf_init(&conf, "g", err, sizeof err), ST_OK);
    snprintf(conf.account, sizeof conf.account, "A2");
    snprintf(conf.subject, sizeof conf.subject, "svc.*");
    conf.limit = 1;
    assert_int_equal(gates_create(gates, &conf, err), ST_OK);
    assert_int_equal(sublist_new(&l), ST_OK);
    struct sub *gate = make_sub("svc.*", " ");
    gate->gate = gate_ref(host.gate);
    assert_int_equal(sublist_insert(l, gate), ST_OK);
    assert_false(sublist_has_interest(l, "svc.a", 5));
    match(l, "svc.a", &m);
    assert_ptr_equal(m.gate, gate);
    assert_int_equal(m.n_subs + m.n_groups, 0);
    struct sub *other = insert(l, "svc.a", "q");
    match(l, "svc.a", &m);
    assert_ptr_equal(m.gate, gate);
    assert_int_equal(m.n_groups, 1);
    sublist_counts(l, &counts);
    assert_int_equal(counts.subs, 1);
    match(l, "svc.a.b", &m);
    assert_null(m.gate);
    assert_true(sublist_remove(l, gate));
    sub_unref(gate);
    match(l, "svc.a", &m);
    assert_null(m.gate);
    drop(l, other);
    match_fini(&m);
    sublist_free(l);
    gates_free(gates);
    groups_free(plane.groups);
    fakehost_fini(&host);
}

static void
test_sublist_queue_groups_of_one_name_are_one(void **state)
{
    (void)state;
    struct sublist *l = NULL;
    struct match m = {0};
    assert_int_equal(sublist_new(&l), ST_OK);
    struct sub *subs[] = {insert(l, "w.1", "crew"), insert(l, "w.1", "crew"),
                          insert(l, "w.*", "crew"), insert(l, "w.>", "other"),
                          insert(l, "w.1", "")};
    match(l, "w.1", &m);
    assert_int_equal(m.n_plain, 1);
    assert_int_equal(m.n_subs, 5);
    assert_int_equal(m.n_groups, 2);
    for (uint32_t g = 0; g < m.n_groups; g++) {
        const char *queue = sub_queue(m.subs[m.groups[g].begin]);
        assert_int_equal(m.groups[g].n, strcmp(queue, "crew") == 0 ? 3 : 1);
        for (uint32_t i = 0; i < m.groups[g].n; i++) {
            assert_string_equal(sub_queue(m.subs[m.groups[g].begin + i]), queue);
        }
    }
    for (size_t i = 0; i < sizeof subs / sizeof *subs; i++) {
        drop(l, subs[i]);
    }
    match_fini(&m);
    sublist_free(l);
}

static void
test_sublist_remove_tells_of_what_is_not_there(void **state)
{
    (void)state;
    struct sublist *l = NULL;
    assert_int_equal(sublist_new(&l), ST_OK);
    struct sub *in = insert(l, "a", "");
    struct sub *out = make_sub("a", "");
    assert_false(sublist_remove(l, out));
    drop(l, in);
    sub_unref(out);
    struct sublist_counts c;
    sublist_counts(l, &c);
    assert_int_equal(c.subs, 0);
    assert_int_equal(c.inserts, 1);
    assert_int_equal(c.removes, 1);
    sublist_free(l);
}

/* Does the stamp of `subject` change when `other` is subscribed and when it goes? */
static bool
is_disturbed(struct sublist *l, const char *subject, const char *other)
{
    size_t n = strlen(subject);
    struct sublist_watch watch = sublist_watch(l, subject, n);
    struct match m = {0};
    assert_int_equal(sublist_match(l, subject, n, &m), ST_OK);
    struct sublist_stamp before = m.stamp;
    assert_true(sublist_is_current(&watch, &before));
    struct sub *s = insert(l, other, "");
    bool disturbed = !sublist_is_current(&watch, &before);
    assert_int_equal(sublist_match(l, subject, n, &m), ST_OK);
    struct sublist_stamp with = m.stamp;
    match_fini(&m);
    drop(l, s);
    assert_int_equal(!sublist_is_current(&watch, &with), disturbed);
    return disturbed;
}

static void
test_sublist_stamps_change_where_a_match_may(void **state)
{
    (void)state;
    struct sublist *l = NULL;
    assert_int_equal(sublist_new(&l), ST_OK);
    assert_true(is_disturbed(l, "a.b", "a.b"));
    assert_true(is_disturbed(l, "a.b", "a.*"));
    assert_true(is_disturbed(l, "a.b", "a.>"));
    assert_true(is_disturbed(l, "a.b", "*.b"));
    assert_true(is_disturbed(l, "a.b", ">"));
    /* Inboxes come and go without it: but for a collision of hashes, so of many few. */
    int disturbed = 0;
    for (int i = 0; i < 200; i++) {
        char inbox[32];
        snprintf(inbox, sizeof inbox, "_INBOX.%d", i);
        disturbed += is_disturbed(l, "orders.new", inbox);
    }
    assert_in_range(disturbed, 0, 10);
    sublist_free(l);
}

static void
test_sublist_survives_any_failed_allocation(void **state)
{
    (void)state;
    long live = mem_live();
    enum status st = ST_NOMEM;
    struct sublist *l = NULL;
    for (long n = 0; st != ST_OK; n++) {
        mem_fail_at(n);
        st = sublist_new(&l);
        mem_fail_at(-1);
        assert_true(st == ST_OK || (st == ST_NOMEM && mem_live() == live));
    }
    const char *const subjects[] = {"a.b", "a.*.c", ">", "a.b"};
    const char *const queues[] = {"", "q", "", "q2"};
    for (size_t i = 0; i < 4; i++) {
        struct sub *s = make_sub(subjects[i], queues[i]);
        st = ST_NOMEM;
        for (long n = 0; st != ST_OK; n++) {
            mem_fail_at(n);
            st = sublist_insert(l, s);
            mem_fail_at(-1);
            assert_true(st == ST_OK || (st == ST_NOMEM && s->set == NULL));
            assert_int_equal(sublist_has_interest(l, "a.b.c", 5), st == ST_OK && i != 0 && i != 3);
        }
        struct match m = {0};
        st = ST_NOMEM;
        for (long n = 0; st != ST_OK; n++) {
            mem_fail_at(n);
            st = sublist_match(l, "a.b", 3, &m);
            mem_fail_at(-1);
            assert_true(st == ST_OK || m.n_subs == 0);
        }
        match_fini(&m);
        drop(l, s);
    }
    sublist_free(l);
    assert_int_equal(mem_live(), live);
}

/* ---- against a list that is searched from end to end ---- */

enum { POOL = 300 };

static void
random_subject(unsigned *seed, bool wildcards, char *out, size_t cap)
{
    static const char *const tokens[] = {"a", "b", "c", "dd", "*", ">"};
    int depth = 1 + rand_r(seed) % 4;
    size_t n = 0;
    for (int i = 0; i < depth; i++) {
        const char *token = tokens[rand_r(seed) % (wildcards ? 6 : 4)];
        n += (size_t)snprintf(out + n, cap - n, "%s%s", i > 0 ? "." : "", token);
        if (token[0] == '>') {
            break;
        }
    }
}

static void
assert_matches_all(struct sublist *l, struct sub **pool, const char *subject, struct match *m)
{
    uint32_t want = 0;
    match(l, subject, m);
    for (size_t i = 0; i < POOL; i++) {
        if (pool[i] == NULL || !subject_is_inside(subject, strlen(subject), sub_subject(pool[i]),
                                                  pool[i]->subject_len)) {
            continue;
        }
        assert_true(has(m, pool[i]));
        want++;
    }
    assert_int_equal(m->n_subs, want);
    uint32_t grouped = 0;
    for (uint32_t g = 0; g < m->n_groups; g++) {
        grouped += m->groups[g].n;
    }
    assert_int_equal(m->n_plain + grouped, m->n_subs);
}

static void
test_sublist_agrees_with_a_plain_search(void **state)
{
    (void)state;
    long live = mem_live();
    struct sublist *l = NULL;
    struct sub *pool[POOL] = {0};
    struct match m = {0};
    unsigned seed = 20261129;
    assert_int_equal(sublist_new(&l), ST_OK);
    for (int step = 0; step < 20000; step++) {
        size_t i = (size_t)rand_r(&seed) % POOL;
        char subject[64];
        if (pool[i] != NULL) {
            drop(l, pool[i]);
            pool[i] = NULL;
        } else {
            random_subject(&seed, true, subject, sizeof subject);
            pool[i] = insert(l, subject, (const char *const[]){"", "q1", "q2"}[rand_r(&seed) % 3]);
        }
        if (step % 4 == 0) {
            random_subject(&seed, false, subject, sizeof subject);
            assert_matches_all(l, pool, subject, &m);
        }
    }
    for (size_t i = 0; i < POOL; i++) {
        if (pool[i] != NULL) {
            drop(l, pool[i]);
        }
    }
    match_fini(&m);
    sublist_free(l);
    assert_int_equal(mem_live(), live);
}

/* ---- threads ---- */

struct shared {
    struct sublist *list;
    _Atomic bool stop;
};

static void *
match_on(void *arg)
{
    struct shared *sh = arg;
    struct match m = {0};
    while (!atomic_load(&sh->stop)) {
        /* Two that stay, and those of the churn that are there just now. */
        assert_int_equal(sublist_match(sh->list, "keep.it", 7, &m), ST_OK);
        assert_true(m.n_subs >= 2);
    }
    match_fini(&m);
    return NULL;
}

static void
test_sublist_readers_see_what_stays_while_others_change(void **state)
{
    (void)state;
    struct shared sh = {0};
    pthread_t threads[2];
    assert_int_equal(sublist_new(&sh.list), ST_OK);
    struct sub *stay[] = {insert(sh.list, "keep.it", ""), insert(sh.list, "keep.>", "q")};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, match_on, &sh), 0);
    }
    for (int i = 0; i < 2000; i++) {
        char subject[32];
        snprintf(subject, sizeof subject, i % 2 == 0 ? "keep.it" : "_INBOX.%d", i);
        drop(sh.list, insert(sh.list, subject, ""));
    }
    atomic_store(&sh.stop, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    drop(sh.list, stay[0]);
    drop(sh.list, stay[1]);
    sublist_free(sh.list);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sub_keeps_its_parts_and_refuses_what_is_too_long),
        cmocka_unit_test(test_sublist_finds_literals_and_wildcards),
        cmocka_unit_test(test_sublist_queue_groups_of_one_name_are_one),
        cmocka_unit_test(test_sublist_a_gate_is_found_but_is_no_receiver),
        cmocka_unit_test(test_sublist_remove_tells_of_what_is_not_there),
        cmocka_unit_test(test_sublist_stamps_change_where_a_match_may),
        cmocka_unit_test(test_sublist_survives_any_failed_allocation),
        cmocka_unit_test(test_sublist_agrees_with_a_plain_search),
        cmocka_unit_test(test_sublist_readers_see_what_stays_while_others_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
