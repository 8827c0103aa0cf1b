# SPDX-License-Identifier: Apache-2.0
"""gate.py [--seconds N] [--rounds N]: an ordinary service under overload, with and without a gate in front of it.

The service is our responder: 16 requests at a time, 55 ms each, what comes too much waits in its memory. The capacity C is measured
first, in each round: replies a second with more offered than can be served and no patience. Goodput is in parts of C."""

import argparse
import os
import statistics
import sys

from overload import SLEEP_MS, service
from servers import ROOT, BenchError, Server, loadgen

SLOTS = 16
SUBJECT = "bench.service"
GATE = f'gates {{ service {{ subject: "{SUBJECT}", limit: {SLOTS} }} }}\n'
BAR = 0.95


def run(binary, config, rate, seconds, patience=1):
    with Server(binary, config) as s, service(s, SUBJECT, SLOTS, seconds + 60):
        return loadgen("overload", s, subject=SUBJECT, payload="{}", seconds=seconds, rate=rate,
                       patience=patience)


def capacity(binary, seconds):
    """Without a gate, always something waiting, nobody loses patience."""
    return run(binary, "", 1.5 * SLOTS / SLEEP_MS * 1000, seconds, patience=60)["rate"]


def main():
    parser = argparse.ArgumentParser(description="a service with and without a gate")
    parser.add_argument("--binary", default=os.path.join(ROOT, "build/sluice"))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    short = False
    print(f"{'offered':10}{'':14}{'goodput / C':>14}  each round")
    seen = {}
    for _ in range(args.rounds):
        c = capacity(args.binary, args.seconds / 2)
        for times in (1.3, 3):
            for name, config in (("with a gate", GATE), ("without", "")):
                r = run(args.binary, config, times * c, args.seconds)
                seen.setdefault((times, name), []).append(r["goodput"] / c)
    for (times, name), values in seen.items():
        median = statistics.median(values)
        fell = name == "with a gate" and median < BAR
        short = short or fell
        print(f"{times:<4} C     {name:14}{median:>14.3f}  {' '.join('%.3f' % v for v in values)}"
              f"{'   SHORT of %.2f' % BAR if fell else ''}")
    return 1 if short else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as e:
        sys.exit(f"gate.py: {e}")
