/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/oom.h"

#include "server/base/mem.h"
#include "tests/support/cmk.h"

void
oom_sweep(enum status (*make)(void *arg), void (*unmake)(void *arg), void *arg)
{
    long live = mem_live();
    enum status st = ST_NOMEM;
    long n = 0;
    while (st != ST_OK) {
        mem_fail_at(n++);
        st = make(arg);
        mem_fail_at(-1);
        if (st != ST_OK) {
            assert_int_equal(st, ST_NOMEM);
            assert_int_equal(mem_live(), live);
        }
    }
    assert_true(n > 1);
    unmake(arg);
    assert_int_equal(mem_live(), live);
}
