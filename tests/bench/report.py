# SPDX-License-Identifier: Apache-2.0
"""Tables: what was measured against the bars."""

import statistics

import core
import overload

ROW = "{:<66} {:>13} {:>13} {:>7}  {:<15} {}"


def number(v):
    if v is None:
        return "-"
    if abs(v) >= 1000:
        return f"{v:,.0f}"
    return f"{v:.3g}" if abs(v) < 100 else f"{v:.0f}"


def median(runs, key):
    """Of the rounds that could be measured; None without any."""
    values = [r["values"][key] for r in runs if "values" in r]
    return statistics.median(values) if values else None


def verdict(metric, ratio):
    if metric.must is None and metric.aim is None:
        return "", ""
    sign = "<=" if metric.lower else ">="
    bars = f"{sign} {metric.must:g} ({metric.aim:g})"
    if ratio is None:
        return bars, "not measured"
    if not metric.passes(ratio, metric.must):
        return bars, "MISS"
    return bars, "pass, aim met" if metric.passes(ratio, metric.aim) else "pass"


def core_lines(results):
    """results: {case: {"sluice": [runs], "nats": [runs]}}"""
    yield ROW.format("case", "Sluice", "nats-server", "ratio", "must (aim)", "")
    for name, both in results.items():
        label, _, metrics = core.CASES[name]
        for m in metrics:
            ours, theirs = median(both["sluice"], m.key), median(both["nats"], m.key)
            ratio = ours / theirs if ours is not None and theirs else None
            bars, text = verdict(m, ratio)
            yield ROW.format(f"{label}: {m.label}, {m.unit}", number(ours), number(theirs),
                             "-" if ratio is None else f"{ratio:.2f}", bars, text)
        for who, runs in both.items():
            for error in sorted({r["error"] for r in runs if "error" in r}):
                yield f"    {who}: {error}"


def spread(runs, key):
    values = sorted(r["values"][key] for r in runs if "values" in r)
    if not values:
        return "-"
    low, mid, high = values[0], statistics.median(values), values[-1]
    if len(values) == 1 or low == high:
        return number(mid)
    return f"{number(mid)} ({number(low)}-{number(high)})"


def holds(value, sign, bound):
    # A count of many is not exact to the last bit: 1.0 means what rounds to 1.00.
    return value <= bound + 0.005 * (bound == 1.0) if sign == "<=" else value >= bound - 1e-9


OROW = "{:<38} {:<8} {:<18} {:>24} {:>8}  {:<6} {:>22}"


def overload_lines(results, peer, c):
    """results, peer: {(case, variant): [runs]}; the bars bind for Sluice, in every round's median."""
    yield (f"Capacity C of the set-cost endpoint ({overload.WORKERS} workers, "
           f"{overload.SLEEP_MS} ms): {number(c)}/s. header: requests carry Nats-Request-Timeout; "
           "stock: they do not.")
    yield OROW.format("case", "clients", "value", "Sluice (spread)", "bar", "",
                      "nats-server's API")
    for name, case in overload.CASES.items():
        for variant in overload.VARIANTS:
            runs = results.get((name, variant))
            if runs is None:
                continue
            for key, text, sign, bound in case.checks:
                mid = median(runs, key)
                ok = "-" if mid is None else "pass" if holds(mid, sign, bound) else "MISS"
                theirs = median(peer.get((name, "stock"), []), key) if variant == "stock" else None
                yield OROW.format(f"{name}: {case.label}", variant, text, spread(runs, key),
                                  f"{sign} {bound:g}", ok, number(theirs))
            for error in sorted({r["error"] for r in runs if "error" in r}):
                yield f"    {error}"


def pair_lines(pair):
    yield (f"S13: paired, {pair['pairs']} pairs at 0.5 C of a call that costs nothing "
           f"(C = {number(pair['c'])}/s), limits on / off: CPU per request {pair['cpu']:.3f} "
           f"(bar <= 1.02: {'pass' if pair['cpu'] <= 1.02 else 'MISS'}), p99 {pair['p99']:.3f}, "
           f"goodput {pair['goodput']:.3f}; {pair['cpu_us']:.2f} us of CPU per request")
