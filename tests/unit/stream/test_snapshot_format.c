/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/snapshot_format.h"

#include "tests/support/cmk.h"

#include <string.h>

#include "server/base/mem.h"

static struct msg *
message(const char *subject, const char *hdr, const char *data, size_t len)
{
    struct msg *m;
    struct msg_spec spec = {.subject = subject,
                            .subject_len = strlen(subject),
                            .hdr = hdr,
                            .hdr_len = hdr != NULL ? strlen(hdr) : 0,
                            .data = data,
                            .data_len = len};
    assert_int_equal(msg_new(&m, &spec), ST_OK);
    m->seq = 300;
    m->ts = 1795993561251141848;
    return m;
}

static char big[200000];

static void
write_all(struct snapshot_out *o)
{
    struct msg *m = message("a.b", "NATS/1.0\r\nX: 1\r\n\r\n", big, sizeof big);
    memset(o, 0, sizeof *o);
    snapshot_put(o, "state.json", 10, -5, "{}", 2);
    snapshot_put_msg(o, m);
    snapshot_put_end(o);
    assert_int_equal(snapshot_out_status(o), ST_OK);
    msg_unref(m);
}

static void
read_next(struct snapshot_in *in, const struct snapshot_out *o, size_t *fed, size_t step,
          struct snapshot_entry *e)
{
    enum status st;
    while ((st = snapshot_next(in, e)) == ST_AGAIN) {
        size_t left = o->framed.len - *fed, n = left < step ? left : step;
        assert_true(n > 0);
        assert_int_equal(snapshot_feed(in, o->framed.data + *fed, n), ST_OK);
        *fed += n;
    }
    assert_int_equal(st, ST_OK);
}

static void
test_snapshot_comes_back_however_it_is_cut(void **state)
{
    static const size_t steps[] = {1, 7, 1024, 1 << 20};
    struct snapshot_out o;
    (void)state;
    write_all(&o);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct snapshot_in in = {0};
        struct snapshot_entry e;
        size_t fed = 0;
        read_next(&in, &o, &fed, steps[i], &e);
        assert_int_equal(e.name_len, 10);
        assert_int_equal(e.ts, -5);
        assert_memory_equal(e.data, "{}", 2);
        read_next(&in, &o, &fed, steps[i], &e);
        assert_memory_equal(e.name, "a.b", 3);
        assert_int_equal(e.seq, 300);
        assert_int_equal(e.ts, 1795993561251141848);
        assert_int_equal(e.hdr_len, 18);
        assert_int_equal(e.data_len, sizeof big);
        read_next(&in, &o, &fed, steps[i], &e);
        assert_int_equal(e.name_len, 0);
        assert_int_equal(fed, o.framed.len);
        snapshot_in_fini(&in);
    }
    snapshot_out_fini(&o);
}

static void
test_snapshot_damage_is_seen(void **state)
{
    struct snapshot_out o;
    (void)state;
    write_all(&o);
    o.framed.data[o.framed.len / 2] ^= 1;
    struct snapshot_in in = {0};
    assert_int_equal(snapshot_feed(&in, o.framed.data, o.framed.len), ST_SYNTAX);
    snapshot_in_fini(&in);
    in = (struct snapshot_in){0};
    assert_int_equal(snapshot_feed(&in, "\x01\x05\0\0aaaab", 9), ST_SYNTAX);
    snapshot_in_fini(&in);
    snapshot_out_fini(&o);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snapshot_comes_back_however_it_is_cut),
        cmocka_unit_test(test_snapshot_damage_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
