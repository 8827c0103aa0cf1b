# SPDX-License-Identifier: Apache-2.0
"""Policy runs: S1 to S7 and S12 on handlers of a set time, in all retry modes."""

import statistics

import planes
from planes import BenchError, overload

MODES = {"timeout": {"retry": "timeout", "retries": 2}, "hint": {"retry": "hint", "retries": 5},
         "error": {"retry": "error", "retries": 10}}
TEXTS = {"timeout": "2 retries on timeout", "hint": "retries by the hint",
         "error": "retries at once when refused"}
# S2 is S1 with timeouts tried again. In S5 nobody is refused; S6 counts what one eviction costs.
AGAIN = {"S1": ("hint", "error"), "S3": MODES, "S3-1000": MODES, "S4": MODES, "S7": MODES}
PLAIN = ("S1", "S2", "S3", "S3-1000", "S4", "S4-10", "S5", "S5-97", "S6", "S7")
QUICK = ("S1", "S3-1000", "S4/hint", "S4/error", "S6")
AGAIN_S = 25  # a row in another retry mode lasts at most
# A sleeping handler takes next to no CPU.
SIDE_BY_SIDE = 20
C_SECONDS = 4


def cases(quick):
    all_cases = {name: overload.CASES[name] for name in PLAIN}
    for name, modes in AGAIN.items():
        base = overload.CASES[name]
        for mode in modes:
            # With less room than patience a refusal comes in time to be acted on.
            limit = 200 if mode != "timeout" and name == "S4" else base.limit
            all_cases[f"{name}/{mode}"] = overload.Case(
                base.label + f"{', limit 200' if limit != base.limit else ''}, {TEXTS[mode]}", base.times, min(AGAIN_S, base.seconds),
                base.checks, limit, **{**base.options, **MODES[mode]})
    names = QUICK if quick else sorted(all_cases)
    return {n: all_cases[n] for n in names}


def variants(plane):
    """Who refuses nothing and reads no header is asked as stock clients do."""
    return overload.VARIANTS if hasattr(plane, "books") else {"stock": None}


def concerns(plane, name):
    return hasattr(plane, "books") or not name.endswith(("/hint", "/error"))


def capacity(plane):
    """C in the company that the runs will have: as many side by side. The median and all."""
    bare = plane.bare or plane

    def one(_):
        with bare.serve(10000, C_SECONDS + 20) as s:
            return {"c": overload.closed_loop(bare, s, C_SECONDS)}

    lots = overload.spread(bare, list(range(SIDE_BY_SIDE)), one, SIDE_BY_SIDE)
    rates = [r["c"] for lot in lots.values() for r in lot if "c" in r]
    if not rates:
        raise BenchError(f"{plane.column}: {lots[0][0]['error']}")
    return statistics.median(rates), rates


def measure(plane, args, say):
    """{(case, variant): [result of each round]} and C."""
    if args.quick:
        # What the slots allow at most: a busy machine must not lead to a load below capacity.
        c, runs = 1000 * plane.slots / overload.SLEEP_MS, []
    else:
        c, runs = capacity(plane)
    say(f"{plane.column}: C = {c:.1f}/s")
    chosen = cases(args.quick)
    jobs = [(n, v) for _ in range(args.rounds) for n in chosen for v in variants(plane)
            if concerns(plane, n)]
    jobs.sort(key=lambda j: -chosen[j[0]].seconds)
    results = overload.spread(
        plane, jobs,
        lambda j: overload.run_case(plane, chosen[j[0]], c, variants(plane)[j[1]], args.quick),
        SIDE_BY_SIDE)
    return {"c": c, "c_runs": runs, "runs": results}


def curve(plane, c, quick):
    return overload.curve(plane, c, quick)


def all_planes(args):
    yield planes.Endpoint(args.testing)
    yield planes.Gate(args.sluice)
    if args.nats:
        yield planes.Service(args.nats)
