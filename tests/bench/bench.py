#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Sluice and nats-server in turn and prints the table; see tests/bench/README.md."""

import argparse
import json
import os
import platform
import subprocess
import sys
import time

import core
import js
import overload
import planecost
import plots
import report
import storm
from servers import ROOT, BenchError, find_nats_server

OUT = os.path.join(ROOT, "build/bench")
COSTS = {"S13": planecost.paired_limits, "cheap": planecost.cheap_calls,
         "sockets": planecost.backlog}
SPECIAL = (*COSTS, "curve", "peers")
PAIRED = {"core": core, "js": js, "storm": storm}


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--sluice", default=os.path.join(ROOT, "build/sluice"))
    p.add_argument("--testing", default=os.path.join(ROOT, "build/release/sluice-testing"))
    p.add_argument("--rounds", type=int, default=0, help="3, or 1 with --quick")
    p.add_argument("--quick", action="store_true", help="short runs, to see that all works")
    p.add_argument("--list", action="store_true", help="print the names of the cases")
    p.add_argument("cases", nargs="*",
                   help="core, js, storm, overload, or names of cases; default: all")
    args = p.parse_args()
    groups = {g: list(m.CASES) for g, m in PAIRED.items()}
    groups["overload"] = list(overload.CASES) + list(SPECIAL)
    everything = [n for names in groups.values() for n in names]
    chosen = []
    for name in args.cases or groups:
        if name not in groups and name not in everything:
            p.error(f"there is no case {name}; --list prints them")
        chosen += groups.get(name, [name])
    args.cases = [n for n in everything if n in chosen]
    args.rounds = args.rounds or (1 if args.quick else 3)
    return args


def say(text):
    print(text, flush=True)


def progress(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def attempt(run):
    try:
        return run()
    except (BenchError, subprocess.TimeoutExpired, OSError) as e:
        progress(f"  {e}")
        return {"error": str(e)}


def run_paired(args, nats, module):
    """Cases that are the same run against either server, in turns."""
    names = [n for n in args.cases if n in module.CASES]
    results = {n: {"sluice": [], "nats": []} for n in names}
    for r in range(args.rounds):
        for name in names:
            if r > 0 and name in module.ONCE:
                continue
            progress(f"round {r + 1}/{args.rounds}: {module.CASES[name][0]}")
            sides = [("sluice", args.sluice)] + ([("nats", nats)] if nats else [])
            # Who goes first changes, so that neither always has the warmer machine.
            for side, binary in sides if r % 2 == 0 else sides[::-1]:
                results[name][side].append(
                    attempt(lambda b=binary, n=name: module.measure(n, b, args.quick)))
    return results


def guarded(result, what, run):
    """The result of run(), or None with the reason among the result's notes."""
    got = attempt(run)
    if isinstance(got, dict) and "error" in got:
        result["notes"].append(f"{what}: {got['error']}")
        return None
    return got


def run_overload(args, nats, result):
    """Fills result with everything about the overload protocol."""
    names = [n for n in args.cases if n in overload.CASES]
    peers = [n for n in overload.PEER_CASES if n in names and "peers" in args.cases]
    ours = overload.SluicePlane(args.testing)
    want_curve = "curve" in args.cases
    if names or want_curve:
        progress("capacity of the set-cost endpoint")
        got = guarded(result, "set-cost endpoint", lambda: overload.capacity(ours, args.quick))
        if got:
            result["c"], result["c_runs"] = got
            progress(f"C = {got[0]:.1f}/s; {len(names)} overload cases, twice, "
                     f"{args.rounds} rounds, {overload.SIDE_BY_SIDE} side by side")
            result["overload"] = overload.run_all(ours, got[0], names, args.rounds, args.quick)
            if want_curve:
                progress("goodput against offered load")
                result["curves"][ours.name] = overload.curve(ours, got[0], args.quick)
    for name, run in COSTS.items():
        if name in args.cases:
            progress(f"cost of the plane: {name}")
            result["costs"][name] = guarded(result, name,
                                            lambda r=run: r(args.testing, args.quick))
    if nats and (peers or want_curve):
        run_peers(args, nats, peers, result)


def run_peers(args, nats, names, result):
    want_curve = "curve" in args.cases
    for plane in (overload.PlainService(nats), overload.NatsPlane(nats, args.quick)):
        progress(f"capacity of: {plane.name}")
        got = guarded(result, plane.name, lambda p=plane: overload.capacity(p, True))
        if not got:
            continue
        progress(f"C = {got[0]:.1f}/s; overload")
        chosen = names if isinstance(plane, overload.NatsPlane) else [n for n in names if n == "S1"]
        runs = overload.run_all(plane, got[0], chosen, 1, args.quick)
        result["peers"][plane.name] = {"c": got[0], "runs": runs}
        if want_curve:
            result["curves"][plane.name] = overload.curve(plane, got[0], args.quick)


def draw(result):
    if not plots.have_gnuplot():
        result["notes"].append("no gnuplot here: no plots (apt-get install gnuplot-nox)")
        return
    if len(result["curves"]) > 0:
        plots.goodput(os.path.join(OUT, "goodput.svg"), result["curves"])
    s1 = {}
    first = (result["overload"].get(("S1", "stock")) or [{}])[0]
    if "raw" in first:
        s1["Sluice, set-cost endpoint"] = first["raw"]["series"]
    for name, peer in result["peers"].items():
        run = (peer["runs"].get(("S1", "stock")) or [{}])[0]
        if "raw" in run:
            s1[name] = run["raw"]["series"]
    if s1:
        stop, cont = (1, 2) if result["quick"] else (6, 10)
        plots.pause(os.path.join(OUT, "pause.svg"), s1, stop, cont)
    rows = ratios(result["core"])
    if rows:
        plots.bars(os.path.join(OUT, "core.svg"), rows)


def ratios(results):
    """The rows with a bar, as how many times better Sluice is."""
    rows = []
    for name, both in results.items():
        for m in core.CASES[name][2]:
            ours, theirs = (report.median(both[k], m.key) for k in ("sluice", "nats"))
            if m.must is not None and ours and theirs:
                rows.append((f"{name} {m.label}", theirs / ours if m.lower else ours / theirs))
    return rows


def tables(result):
    for group, module in PAIRED.items():
        if result[group]:
            yield from report.paired_lines(result[group], module.CASES)
            yield ""
    if result["overload"]:
        nats = overload.NatsPlane.name
        peer = result["peers"].get(nats, {}).get("runs", {})
        yield from report.overload_lines(result["overload"], peer, result["c"])
        yield ""
    yield from report.cost_lines(result["costs"])
    for note in result["notes"]:
        yield f"note: {note}"


def version(binary):
    try:
        return subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10,
                              check=False).stdout.strip()
    except OSError as e:
        return str(e)


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        models = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    return {"cpu": models[0] if models else platform.machine(), "cores": os.cpu_count(),
            "kernel": platform.release(), "load": os.getloadavg()}


def jsonable(value):
    if isinstance(value, dict):
        return {"/".join(k) if isinstance(k, tuple) else str(k): jsonable(v)
                for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(v) for v in value]
    return value


def main():
    args = parse()
    if args.list:
        for name in [*core.CASES, *js.CASES, *storm.CASES, *overload.CASES, *SPECIAL]:
            print(name)
        return 0
    os.makedirs(OUT, exist_ok=True)
    nats = find_nats_server()
    result = {**{g: {} for g in PAIRED}, "overload": {}, "curves": {}, "peers": {}, "costs": {},
              "c": 0, "notes": [], "quick": args.quick, "rounds": args.rounds,
              "machine": machine(),
              "sluice": version(args.sluice), "nats_server": version(nats) if nats else None}
    if nats is None:
        result["notes"].append("no nats-server and no Go 1.24 to build it: its columns are empty")
    began = time.monotonic()
    for group, module in PAIRED.items():
        result[group] = run_paired(args, nats, module)
    run_overload(args, nats, result)
    draw(result)
    result["minutes"] = (time.monotonic() - began) / 60
    text = "\n".join(tables(result))
    say(text)
    say(f"{result['minutes']:.1f} minutes, {args.rounds} round(s), "
        f"{result['machine']['cores']} cores; build/bench/ has the JSON and the plots")
    with open(os.path.join(OUT, "results.json"), "w", encoding="utf-8") as f:
        json.dump(jsonable(result), f, indent=1)
    with open(os.path.join(OUT, "table.txt"), "w", encoding="utf-8") as f:
        f.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
