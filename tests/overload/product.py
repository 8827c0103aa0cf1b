# SPDX-License-Identifier: Apache-2.0
"""Product runs: what a JetStream server is asked in an outage. C of a handler that computes drifts
with the machine, so it is measured right before and right after each run."""

import planes
from planes import Product, loadgen, overload

RATES = (20000, 40000)
# The bar at a set rate. The others have none and are shown.
IN_TIME = {"STREAM.INFO": 0.98}
CHEAP_US = 1000
# S3, S4 and S6 bind for handlers of a millisecond and more; what is cheaper is asked at set rates.
CASES = {
    "S1": overload.Case("0.75 C, 4 s pause", 0.75, 10,
                        [overload.at_most("recovery_s", "recovery, s", 1.0)], pause_at=1,
                        pause_for=4),
    "S3": overload.Case("1.3 C", 1.3, 8, [overload.at_least("goodput_c", "goodput / C", 0.95),
                                           overload.WASTED]),
    "S4": overload.Case("3 C", 3, 7, [overload.at_least("goodput_c", "goodput / C", 0.90)]),
    "S6": overload.Case("3 C, limit 200", 3, 6,
                        [overload.at_least("told", "losers told", 1.0)], limit=200),
}
BINDS = {"STREAM.NAMES": ("S1", "S3", "S4", "S6"), "STREAM.INFO": ("S1",),
         "CONSUMER.CREATE": ("S1",)}
FAST = ("STREAM.INFO", "CONSUMER.CREATE")
QUICK = {"STREAM.INFO": ("S1",), "CONSUMER.CREATE": ("S4",)}


def mean_c(plane, before, after):
    """Who answers all that was asked is idle again after a run; else the queue is full for long."""
    return (before + after()) / 2 if plane.ours else before


def one(plane, server, case, header, quick):
    """A run between two measurements of C."""
    warm = 0.3 if quick else 1
    before = plane.capacity(server, warm)
    options = dict(case.options)
    seconds = case.seconds
    if quick:
        seconds = 2.5
        if "pause_at" in options:
            seconds = 4
            options.update(pause_at=0.5, pause_for=1)
    out = loadgen("overload", server, subject=plane.subject, payload=plane.payload, patience=1,
                  rate=round(case.times * before, 1), seconds=seconds, timeout_header=header,
                  late_wait=20 if plane.ours else 3, **options)
    c = mean_c(plane, before, lambda: plane.capacity(server, warm))
    # The rate was a multiple of C before; the machine may have had another since.
    return {"c": c, "values": overload.derive(out, c, False), "raw": out}


def fast(plane, server, rate, quick):
    """Stock requests at a set rate, patience 2 s; and what a refusal costs."""
    seconds = 1 if quick else 6
    warm = 0.5 if quick else 1.5

    def full():
        return loadgen("closed", server, subject=plane.subject, payload=plane.payload, conns=8,
                       inflight=16, rate="max", seconds=warm)

    before = full()
    out = loadgen("overload", server, subject=plane.subject, payload=plane.payload, patience=2,
                  rate=rate, seconds=seconds, late_wait=20 if plane.ours else 3)
    after = full() if plane.ours else before
    c = (before["rate"] + after["rate"]) / 2
    each = (before["server_cpu_s_per_million"] + after["server_cpu_s_per_million"]) / 2
    refused = sum(n for k, n in out["answers"].items() if k != "ok")
    spent = out["server_cpu_s"] * 1e6 - out["units"] * each
    in_time = out["goodput"] / min(rate, c)
    return {"c": c, "raw": out, "values": {
        "in_time": in_time, "goodput": out["goodput"], "never": out["never"],
        "us_per_refusal": spent / refused if refused else 0, "us_per_call": each}}


def measure(name, binary, ours, args):
    """{(case, variant): result} of one round on one server."""
    plane = Product(name, binary, ours, args.quick)
    results = {}
    cheap = name in FAST or (ours and is_cheap(plane))
    # What a run leaves behind in nats-server would stand before the next: each has a fresh one.
    lots = by_limit(runs_of(name, ours, cheap, args.quick))
    for limit, lot in lots if ours else [(li, [r]) for li, lot in lots for r in lot]:
        with plane.serve(limit) as s:
            for key, run in lot:
                results[key] = run(plane, s)
            if ours:
                books = s.view("apiz")["counters"]
                results["books", str(limit)] = {
                    "raw": {"books": books, "adds_up": overload.adds_up(books)}}
    return results


def is_cheap(plane):
    """Whether a call takes less than a millisecond."""
    with plane.serve(10000) as s:
        out = loadgen("closed", s, subject=plane.subject, payload=plane.payload, conns=8,
                      inflight=8, rate="max", seconds=1)
    return out["server_cpu_s_per_million"] < CHEAP_US


def runs_of(name, ours, cheap, quick):
    """(limit, (key, what runs it)) of a product."""
    variants = overload.VARIANTS if ours and not quick else {"stock": None}
    for c in (QUICK if quick else BINDS)[name]:
        # 0.75 C of what costs next to nothing is a load for the sockets, not for the queue.
        if cheap and name not in FAST:
            break
        for v, header in variants.items():
            yield CASES[c].limit, ((c, v), lambda p, s, c=CASES[c], h=header: one(p, s, c, h, quick))
    if cheap:
        for rate in RATES[:1] if quick else RATES:
            yield 10000, ((f"{rate:,}/s", "stock"), lambda p, s, r=rate: fast(p, s, r, quick))


def by_limit(runs):
    lots = {}
    for limit, run in runs:
        lots.setdefault(limit, []).append(run)
    return list(lots.items())


def names(quick):
    return list(QUICK if quick else planes.PRODUCTS)
