/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/books.h"

#include "api/plane.h"
#include "tests/support/cmk.h"

static uint64_t
total(const struct ledger_counts *c)
{
    uint64_t n = c->parked + c->queued + c->running;
    for (int k = 0; k < LEDGER_OUTCOMES; k++) {
        n += c->ended[k];
    }
    return n;
}

void
books_check(struct api *a)
{
    struct ledger_snapshot s;
    struct ledger_account_info v[64];
    ledger_read(a->ledger, &s);
    uint64_t ends = 0;
    uint64_t outcomes = 0;
    for (int i = 0; i < APIQ_LEVELS; i++) {
        assert_int_equal(s.level[i].received, total(&s.level[i]));
        for (int k = 0; k < LEDGER_OUTCOMES; k++) {
            outcomes += s.level[i].ended[k];
        }
    }
    for (int e = 0; e < LEDGER_END_COUNT; e++) {
        ends += s.by_end[e];
    }
    assert_int_equal(ends, outcomes);
    size_t n = ledger_accounts(a->ledger, true, v, 64);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(v[i].counts.received, total(&v[i].counts));
    }
}

struct ledger_counts
books_level(struct api *a, enum apiq_level level)
{
    struct ledger_snapshot s;
    ledger_read(a->ledger, &s);
    return s.level[level];
}

struct ledger_counts
books_sum(struct api *a)
{
    struct ledger_snapshot s;
    struct ledger_counts sum = {0};
    ledger_read(a->ledger, &s);
    for (int i = 0; i < APIQ_LEVELS; i++) {
        sum.received += s.level[i].received;
        sum.parked += s.level[i].parked;
        sum.queued += s.level[i].queued;
        sum.running += s.level[i].running;
        for (int k = 0; k < LEDGER_OUTCOMES; k++) {
            sum.ended[k] += s.level[i].ended[k];
        }
    }
    return sum;
}

uint64_t
books_ended(struct api *a, enum ledger_outcome o)
{
    return books_sum(a).ended[o];
}

uint64_t
books_queued(struct api *a)
{
    return books_sum(a).queued;
}

uint64_t
books_parked(struct api *a)
{
    return books_sum(a).parked;
}

uint64_t
books_running(struct api *a)
{
    return books_sum(a).running;
}

uint64_t
books_open(struct api *a)
{
    struct ledger_counts c = books_sum(a);
    return c.parked + c.queued + c.running;
}
