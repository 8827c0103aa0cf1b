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

static enum status
outcome(const void *data, size_t len)
{
    struct snapshot_in in = {0};
    struct snapshot_entry e;
    enum status st;
    assert_int_equal(snapshot_feed(&in, data, len), ST_OK);
    while ((st = snapshot_next(&in, &e)) == ST_OK) {
    }
    snapshot_in_fini(&in);
    return st;
}

static void
test_snapshot_damage_is_seen(void **state)
{
    struct snapshot_out o;
    (void)state;
    write_all(&o);
    assert_int_equal(outcome(o.framed.data, o.framed.len), ST_AGAIN);
    o.framed.data[o.framed.len / 2] ^= 1;
    assert_int_equal(outcome(o.framed.data, o.framed.len), ST_SYNTAX);
    assert_int_equal(outcome("\x01\x05\0\0aaaab", 9), ST_SYNTAX);
    snapshot_out_fini(&o);
}

/* What nats-server 2.15.2 wrote of a stream with five messages of 100 times "abc" (compressed). */
static const char compressed[] =
    "\377\006\000\000\123\062\163\124\167\117\000\372\000\000\364\315\044\335\375\015\304\116"
    "\101\124\123\101\122\103\061\012\272\311\230\255\374\305\326\354\061\000\000\261\001\163"
    "\164\141\164\145\056\152\163\157\156\173\042\155\145\163\163\141\147\145\163\042\072\065"
    "\054\042\142\171\164\001\012\104\061\066\065\065\054\042\146\151\162\163\164\137\163\145"
    "\161\042\072\061\021\016\234\164\163\042\072\042\062\060\062\066\055\061\061\055\063\060"
    "\124\060\061\072\060\064\072\062\071\056\065\061\064\060\071\063\064\065\067\132\042\054"
    "\042\154\141\021\071\000\065\015\015\156\070\000\020\065\065\070\067\064\005\000\044\156"
    "\165\155\137\163\165\142\152\145\143\001\060\144\061\054\042\143\157\156\163\165\155\145"
    "\162\137\143\157\165\156\164\042\072\060\175\001\242\316\202\254\005\311\034\001\000\254"
    "\002\166\141\142\143\021\003\031\000\035\000\014\001\214\212\232\051\073\000\002\031\000"
    "\055\000\010\210\247\244\011\000\000\003\031\000\055\000\010\202\336\257\011\000\000\004"
    "\031\000\055\000\010\266\264\273\011\000\000\005\031\000\054\000\020\000\000\000\000\000";

static void
test_snapshot_reads_compressed_frames(void **state)
{
    struct snapshot_in in = {0};
    struct snapshot_entry e;
    int n = 0;
    (void)state;
    assert_int_equal(snapshot_feed(&in, compressed, sizeof compressed - 1), ST_OK);
    assert_int_equal(snapshot_next(&in, &e), ST_OK);
    assert_memory_equal(e.name, "state.json", 10);
    while (snapshot_next(&in, &e) == ST_OK && e.name_len > 0) {
        n++;
        assert_int_equal(e.seq, n);
        assert_int_equal(e.data_len, 300);
        assert_memory_equal(e.data + 297, "abc", 3);
    }
    assert_int_equal(n, 5);
    snapshot_in_fini(&in);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snapshot_comes_back_however_it_is_cut),
        cmocka_unit_test(test_snapshot_damage_is_seen),
        cmocka_unit_test(test_snapshot_reads_compressed_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
