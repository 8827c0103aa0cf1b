# SPDX-License-Identifier: Apache-2.0
"""Tables: what was measured against the bars."""

import statistics

import overload

ROW = "{:<66} {:>13} {:>13} {:>7}  {:<15} {}"


def number(v):
    if v is None:
        return "-"
    if v == overload.NEVER:
        return "never"
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
    aim = "" if metric.aim is None else f" ({metric.aim:g})"
    bars = f"{sign} {metric.must:g}{aim}"
    if ratio is None:
        return bars, "not measured"
    if not metric.passes(ratio, metric.must):
        return bars, "MISS"
    met = metric.aim is not None and metric.passes(ratio, metric.aim)
    return bars, "pass, aim met" if met else "pass"


def paired_lines(results, cases):
    """results: {case: {"sluice": [runs], "nats": [runs]}}"""
    yield ROW.format("case", "Sluice", "nats-server", "ratio", "must (aim)", "")
    for name, both in results.items():
        label, _, metrics = cases[name]
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
    """results, peer: {(case, variant): [runs]}; the bars bind for Sluice, for the median."""
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


def pair_lines(paired, what="limits"):
    for us, p in paired.items():
        bar = ""
        if us > 0:
            bar = " (bar <= 1.02: " + ("pass" if p["cpu"] <= 1.02 else "MISS") + ")"
        low, high = p["cpu_quartiles"]
        yield (f"S13: a call of {us} us of CPU at 0.5 C (C = {number(p['c'])}/s), {p['pairs']} "
               f"pairs, {what} on / off: CPU per request {p['cpu']:.3f}{bar}, quartiles {low:.3f} "
               f"and {high:.3f}; p99 {p['p99']:.3f}; goodput {p['goodput']:.3f}; "
               f"{p['cpu_us']:.1f} us of CPU each")


def cheap_lines(cheap):
    yield (f"calls of 100 us of CPU: C = {number(cheap['c'])}/s, "
           f"{cheap['us_per_call']:.0f} us of CPU per call")
    for r in cheap["rows"]:
        each = r["us_per_refusal"]
        cost = "none" if each is None else f"{each:.1f} us of CPU each"
        yield (f"    {r['rate']:,}/s offered: {number(r['goodput'])}/s in time, "
               f"p99 {number(r['p99_ms'])} ms; {r['refused']:,} refused, {cost}; "
               f"{r['never']:,} never answered")


def backlog_lines(b):
    yield (f"10 C of a call of 1 ms of CPU (C = {number(b['c'])}/s): unread in each socket of the "
           f"server: median {number(b['median'])}, p99 {number(b['p99'])}, max {number(b['max'])} "
           f"bytes; goodput {b['goodput_c']:.2f} C; {b['told']:,} of {b['lost']:,} losers told")


def cost_lines(costs):
    lines = {"S13": pair_lines, "cheap": cheap_lines, "sockets": backlog_lines}
    for name, got in costs.items():
        if got is not None:
            yield from lines[name](got)
