#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The overload lab: the protocol against Sluice and nats-server in turn; see tests/overload/README.md."""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import time

import parked
import planes
import policy
import product
import reconnect
import table
import tenants
from bench import jsonable, machine, version
from planes import BenchError, overload
import planecost
import plots
import report
from servers import ROOT, find_nats_server

OUT = os.path.join(ROOT, "build/overload")
ORDER = ("policy", "product", "tenants", "parked", "cost", "storm")
PARTS = ("curve", *ORDER)
QUICK = ("policy", "curve", "product", "tenants", "parked")


def parse(argv=None):
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--sluice", default=os.path.join(ROOT, "build/sluice"))
    p.add_argument("--testing", default=os.path.join(ROOT, "build/release/sluice-testing"))
    p.add_argument("--rounds", type=int, default=0, help="3, or 1 with --quick")
    p.add_argument("--quick", action="store_true", help="short runs, to see that all works")
    p.add_argument("--out", default=OUT, help="where the JSON, the table and the plots go")
    p.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; default: all")
    args = p.parse_args(argv)
    for name in args.parts:
        if name not in PARTS:
            p.error(f"there is no part {name}: {', '.join(PARTS)}")
    args.parts = args.parts or list(QUICK if args.quick else PARTS)
    args.rounds = args.rounds or (1 if args.quick else 3)
    args.nats = find_nats_server()
    return args


def say(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


class Lab:
    """One run of the lab: what was asked for, and what was found."""

    def __init__(self, args):
        self.args = args
        self.policy, self.curves, self.product, self.tenants = {}, {}, {}, {}
        self.parked, self.costs, self.storm = [], {}, {}
        self.notes = []
        self.began = time.monotonic()
        if args.nats is None:
            self.notes.append("no nats-server and no Go 1.24 to build it: its columns are empty")

    def attempt(self, what, run):
        """The result of run(), or {"error": …}; what fails is said at the end too."""
        try:
            return run()
        except (BenchError, subprocess.SubprocessError, OSError) as e:
            say(f"{what}: {e}")
            self.notes.append(f"{what}: {e}")
            return {"error": str(e)}

    def rounds(self):
        for r in range(self.args.rounds):
            say(f"round {r + 1} of {self.args.rounds}")
            yield r

    def run_policy(self):
        for plane in policy.all_planes(self.args):
            self.one_policy(plane)

    def one_policy(self, plane):
        say(f"policy runs: {plane.column}, {policy.SIDE_BY_SIDE} side by side")
        got = self.attempt(plane.column, lambda: policy.measure(plane, self.args, say))
        if "error" in got:
            return
        self.policy[plane.column] = got
        if "curve" in self.args.parts:
            self.curves[plane.column] = policy.curve(plane, got["c"], self.args.quick)

    def run_product(self):
        for r in self.rounds():
            for name in product.names(self.args.quick):
                sides = [(self.args.sluice, True)]
                if self.args.nats:
                    sides.append((self.args.nats, False))
                # Who goes first changes, so that neither always has the warmer machine.
                for binary, ours in sides if r % 2 == 0 else sides[::-1]:
                    self.one_product(name, binary, ours)

    def one_product(self, name, binary, ours):
        side = "Sluice" if ours else "nats-server"
        say(f"product runs: {name}, {side}")
        got = self.attempt(f"{name}, {side}",
                           lambda: product.measure(name, binary, ours, self.args))
        for (case, variant), run in got.items() if "error" not in got else ():
            runs = self.product.setdefault((name, case, variant), {})
            runs.setdefault(side, []).append(run)

    def run_tenants(self):
        for r in self.rounds():
            for plane in tenants.all_planes(self.args, r == 0):
                say(f"two tenants: {plane.column}")
                got = self.attempt(f"S8, {plane.column}",
                                   lambda p=plane: tenants.measure(p, self.args.quick))
                self.tenants.setdefault(plane.column, []).append(got)

    def run_parked(self):
        for _ in self.rounds():
            say("5,000 parked requests whose clients leave")
            self.parked.append(self.attempt(
                "S11", lambda: parked.measure(self.args.testing, self.args.quick)))

    def run_cost(self):
        for what, run in (("limits", planecost.paired_limits), ("groups", planecost.paired_groups)):
            say(f"cost of the plane: {what}")
            got = self.attempt(f"S13, {what}",
                               lambda r=run: r(self.args.testing, self.args.quick))
            if "error" not in got:
                self.costs[what] = got

    def run_storm(self):
        why = reconnect.missing()
        if why:
            self.notes.append(f"S14, the reconnect storm, was not run: {why}")
            return
        for _ in self.rounds():
            for side, binary in (("Sluice", self.args.sluice), ("nats-server", self.args.nats)):
                if binary:
                    say(f"the reconnect storm: {side}")
                    got = self.attempt(f"S14, {side}",
                                       lambda b=binary: reconnect.measure(b, self.args.quick))
                    self.storm.setdefault(side, []).append(got)
        reconnect.compare(self.storm.get("Sluice", []), self.storm.get("nats-server", []))

    def run(self):
        parts = [p for p in ORDER if p in self.args.parts]
        if self.args.quick:
            self.run_together(parts)
            return
        for part in parts:
            getattr(self, f"run_{part}")()
            save(self)  # what is there so far, for who does not wait for the end

    def run_together(self, parts):
        """Quick runs show that all works, not how fast: what does not compute goes side by side."""
        jobs = []
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            if "policy" in parts:
                jobs += [pool.submit(self.one_policy, p) for p in policy.all_planes(self.args)]
            jobs += [pool.submit(getattr(self, f"run_{p}")) for p in parts
                     if p in ("tenants", "parked")]
        for job in jobs:
            job.result()
        for part in parts:
            if part not in ("policy", "tenants", "parked"):
                getattr(self, f"run_{part}")()

    # ---- rows

    def policy_rows(self):
        for name, case in policy.cases(self.args.quick).items():
            for variant in overload.VARIANTS:
                for check in case.checks:
                    row = table.Row(f"{name}: {case.label}", variant, check)
                    for column, got in self.policy.items():
                        row.add(column, got["runs"].get((name, variant), []))
                    yield row

    def product_rows(self):
        for (name, case, variant), sides in self.product.items():
            if case in product.CASES:
                label, checks = product.CASES[case].label, product.CASES[case].checks
            elif case != "books":
                label = "offered, patience 2 s"
                checks = [overload.at_least("in_time", "in time / min(offered, C)",
                                            product.IN_TIME.get(name))]
            else:
                continue
            for check in checks:
                row = table.Row(f"{name} {case}: {label}", variant, check)
                for side, runs in sides.items():
                    row.add(side, runs)
                yield row

    def tenant_rows(self):
        for check in tenants.CHECKS:
            row = table.Row("S8: A at 10 times its share, B at 0.8", "stock", check)
            for column, runs in self.tenants.items():
                row.add(column, runs)
            yield row

    def parked_rows(self):
        for check in parked.CHECKS:
            row = table.Row("S11: 5,000 parked, their clients leave", "stock", check)
            row.add("Sluice", self.parked)
            yield row

    def storm_rows(self):
        for check in reconnect.CHECKS:
            row = table.Row("S14: " + reconnect.LABEL, "nats.go", check)
            for side, runs in self.storm.items():
                row.add(side, runs)
            yield row

    def sections(self):
        both = ["Sluice", "nats-server"]
        yield ("Policy: 16 slots of 55 ms, "
               + "; ".join(f"{c} C = {g['c']:.0f}/s" for c, g in self.policy.items()),
               list(self.policy), list(self.policy_rows()))
        yield "Product: $JS.API, C measured before and after each run", both, list(
            self.product_rows())
        yield ("Tenants: two accounts of the endpoint, two users of the gate", list(self.tenants),
               list(self.tenant_rows()))
        yield "Workload groups", ["Sluice"], list(self.parked_rows())
        yield "The reconnect storm", both, list(self.storm_rows())


def cheap_lines(lab):
    """What was asked at set rates: goodput and the cost of a refusal."""
    for (name, case, _), sides in lab.product.items():
        for side, runs in sides.items():
            good = [r for r in runs if "us_per_refusal" in r.get("values", {})]
            if good:
                v = [table.cell([r["values"][k] for r in good])
                     for k in ("goodput", "us_per_refusal", "us_per_call", "never")]
                c = table.cell([r["c"] for r in good])
                yield (f"{name} at {case}, {side}: {v[0]}/s in time (C = {c}/s); CPU "
                       f"{v[2]} us a call, {v[1]} us a refusal; {v[3]} never answered")


def text_of(lab):
    fell = []
    yield ("header: requests carry Nats-Request-Timeout; stock: they do not. Medians, in brackets "
           "the spread over the rounds; bars bind for Sluice.")
    for title, columns, rows in lab.sections():
        yield from table.lines(title, columns, rows)
        if any(r.cells for r in rows):
            yield ""
        fell += [(r, f) for r in rows if (f := r.fell())]
    yield from cheap_lines(lab)
    for what, got in lab.costs.items():
        for line in report.pair_lines(got, what):
            yield line
            if "MISS" in line:
                fell.append((line.split(":")[0] + ", " + what, None))
    yield ""
    yield f"{len(fell)} bars were missed" + (":" if fell else ".")
    for row, columns in fell:
        yield ("  " + row if columns is None else
               f"  {row.label}, {row.clients}: {row.text} "
               + ", ".join(f"{table.cell(row.cells[c])} ({c})" for c in columns)
               + f", bar {row.sign} {row.bound:g}")
    for got in lab.policy.values():
        for line in table.errors(got["runs"]):
            yield f"note: {line}"
    for note in lab.notes:
        yield f"note: {note}"


# ---- plots

def series_of(lab, name, variant="stock"):
    """{column: the series of the first good run of a case}"""
    found = {}
    for column, got in lab.policy.items():
        for run in got["runs"].get((name, variant), []):
            if "raw" in run and column not in found:
                found[column] = run["raw"]["series"]
    return found


def draw(lab, out):
    if not plots.have_gnuplot():
        why = "no gnuplot here: no plots (apt-get install gnuplot-nox)"
        lab.notes += [why] if why not in lab.notes else []
        return
    if any(lab.curves.values()):
        plots.goodput(os.path.join(out, "overload-goodput.svg"), lab.curves)
    s1 = series_of(lab, "S1")
    if s1:
        stop, cont = (1, 2) if lab.args.quick else (6, 10)
        plots.pause(os.path.join(out, "overload-pause.svg"), s1, stop, cont)
    s3 = series_of(lab, "S3-1000" if lab.args.quick else "S3")
    if s3:
        plots.age(os.path.join(out, "overload-age.svg"), s3)
    shares = {column: runs[0]["values"] for column, runs in lab.tenants.items()
              if "values" in runs[0]}
    if shares:
        plots.shares(os.path.join(out, "overload-tenants.svg"),
                     {c: (v["a_share"], v["b_share"]) for c, v in shares.items()})


def save(lab):
    """Table, JSON and plots; returns the table."""
    os.makedirs(lab.args.out, exist_ok=True)
    draw(lab, lab.args.out)
    text = "\n".join(text_of(lab))
    minutes = (time.monotonic() - lab.began) / 60
    tail = f"{minutes:.1f} minutes, {lab.args.rounds} round(s), {os.cpu_count()} cores."
    rows = [r.json() for _, _, rows in lab.sections() for r in rows if r.cells]
    with open(os.path.join(lab.args.out, "results.json"), "w", encoding="utf-8") as f:
        json.dump(jsonable({
            "machine": machine(), "sluice": version(lab.args.sluice),
            "nats_server": version(lab.args.nats) if lab.args.nats else None,
            "quick": lab.args.quick, "rounds": lab.args.rounds, "minutes": minutes, "rows": rows,
            "policy": lab.policy, "curves": lab.curves, "product": lab.product,
            "tenants": lab.tenants, "parked": lab.parked, "costs": lab.costs, "storm": lab.storm,
            "notes": lab.notes}), f, indent=1)
    with open(os.path.join(lab.args.out, "table.txt"), "w", encoding="utf-8") as f:
        f.write(text + "\n" + tail + "\n")
    return text + "\n" + tail


def main():
    lab = Lab(parse())
    lab.run()
    print(save(lab), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
