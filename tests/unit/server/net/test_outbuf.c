/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/cmk.h"

#include <stdatomic.h>
#include <string.h>

#include "server/base/mem.h"
#include "server/net/block.h"
#include "server/net/outbuf.h"

static void
assert_content(const struct outbuf *o, const char *want)
{
    struct iovec iov[16];
    char got[256];
    size_t n = 0;
    int pieces = outbuf_iov(o, iov, 16);
    for (int i = 0; i < pieces; i++) {
        memcpy(got + n, iov[i].iov_base, iov[i].iov_len);
        n += iov[i].iov_len;
    }
    assert_int_equal(n, strlen(want));
    assert_memory_equal(got, want, n);
    assert_int_equal(o->pending, n);
}

static void
append(struct outbuf *o, struct outpool *p, const char *text)
{
    assert_int_equal(outbuf_append(o, p, text, strlen(text)), ST_OK);
}

static void
test_outbuf_keeps_the_order_of_copies_and_references(void **state)
{
    (void)state;
    struct outpool p;
    struct outbuf o = {0};
    struct block *b;
    outpool_init(&p, 1);
    assert_int_equal(block_new(&b, 6), ST_OK);
    memcpy(b->data, "shared", 6);
    append(&o, &p, "one ");
    assert_int_equal(outbuf_append_block(&o, &p, b, b->data, 6), ST_OK);
    block_unref(b); /* the buffer has its own reference */
    append(&o, &p, " two");
    assert_content(&o, "one shared two");
    outbuf_consume(&o, &p, 2);
    assert_content(&o, "e shared two");
    outbuf_consume(&o, &p, 4);
    assert_content(&o, "ared two");
    append(&o, &p, "!");
    outbuf_consume(&o, &p, 5);
    assert_content(&o, "two!");
    outbuf_consume(&o, &p, 4);
    assert_content(&o, "");
    outpool_fini(&p);
    assert_int_equal(mem_live(), 0);
}

static void
test_outbuf_reserved_bytes_count_once_they_are_committed(void **state)
{
    (void)state;
    struct outpool p;
    struct outbuf o = {0};
    outpool_init(&p, 1);
    char *at = outbuf_reserve(&o, &p, OUTBUF_CHUNK);
    assert_non_null(at);
    assert_int_equal(o.pending, 0);
    memcpy(at, "abc", 3);
    outbuf_commit(&o, 3);
    assert_content(&o, "abc");
    /* What is left of the chunk does not hold this, so it begins another. */
    at = outbuf_reserve(&o, &p, OUTBUF_CHUNK - 2);
    memcpy(at, "d", 1);
    outbuf_commit(&o, 1);
    assert_content(&o, "abcd");
    outbuf_clear(&o, &p);
    assert_content(&o, "");
    outpool_fini(&p);
    assert_int_equal(mem_live(), 0);
}

static void
test_outbuf_of_many_chunks_gives_back_all_but_those_the_pool_keeps(void **state)
{
    (void)state;
    static char data[5 * OUTBUF_CHUNK];
    struct outpool p;
    struct outbuf o = {0};
    struct iovec iov[16];
    outpool_init(&p, 2);
    assert_int_equal(outbuf_append(&o, &p, data, sizeof data), ST_OK);
    assert_int_equal(o.pending, sizeof data);
    assert_int_equal(outbuf_iov(&o, iov, 3), 3);
    assert_int_equal(outbuf_iov(&o, iov, 16), 5);
    outbuf_consume(&o, &p, sizeof data);
    assert_int_equal(p.n, 2);
    assert_int_equal(mem_live(), 2);
    outpool_fini(&p);
    assert_int_equal(mem_live(), 0);
}

static void
test_outbuf_without_memory_says_so_and_stays_whole(void **state)
{
    (void)state;
    struct outpool p;
    struct outbuf o = {0};
    struct block *b;
    outpool_init(&p, 0);
    mem_fail_at(0);
    assert_null(outbuf_reserve(&o, &p, 1));
    append(&o, &p, "abc");
    assert_int_equal(block_new(&b, 1), ST_OK);
    mem_fail_at(0);
    assert_int_equal(outbuf_append_block(&o, &p, b, b->data, 1), ST_NOMEM);
    assert_content(&o, "abc");
    block_unref(b);
    mem_fail_at(0);
    assert_int_equal(block_new(&b, 1), ST_NOMEM);
    outbuf_clear(&o, &p);
    outpool_fini(&p);
    assert_int_equal(mem_live(), 0);
}

static void
test_block_lives_until_its_last_reference(void **state)
{
    (void)state;
    struct block *b;
    assert_int_equal(block_new(&b, 100), ST_OK);
    assert_int_equal(b->size, 100);
    assert_ptr_equal(block_ref(b), b);
    block_unref(b);
    assert_int_equal(mem_live(), 1);
    block_unref(b);
    assert_int_equal(mem_live(), 0);
    block_unref(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outbuf_keeps_the_order_of_copies_and_references),
        cmocka_unit_test(test_outbuf_reserved_bytes_count_once_they_are_committed),
        cmocka_unit_test(test_outbuf_of_many_chunks_gives_back_all_but_those_the_pool_keeps),
        cmocka_unit_test(test_outbuf_without_memory_says_so_and_stays_whole),
        cmocka_unit_test(test_block_lives_until_its_last_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
