# SPDX-License-Identifier: Apache-2.0
"""S14, the reconnect storm: 2,000 clients of nats.go, each with a KV watch and a pull consumer, lose
their server and come back when it does (tests/bench/storm/, in Go)."""

import json
import os
import subprocess

from core import Metric
from servers import ROOT, BenchError

PROGRAM = os.path.join(ROOT, "build/bench/storm")
CLIENTS, QUICK_CLIENTS, SECONDS = 2000, 50, 150
# Times from the start of the new server.
METRICS = [Metric("all_s", "until all watch and fetch", "s", 0.5, 0.2),
           Metric("watch_s", "until half of the watches do", "s"),
           Metric("fetch_s", "until half of the consumers do", "s"),
           Metric("cpu_s", "server CPU until all do", "s"),
           Metric("stop_s", "stop of the old server", "s"),
           Metric("errors", "told to clients", "errors")]


def build():
    """The program is built where Go is; its modules come from Go's proxy the first time."""
    env = dict(os.environ, GOWORK="off", GOFLAGS="-buildvcs=false", CGO_ENABLED="0")
    try:
        run = subprocess.run(["go", "build", "-o", PROGRAM, "."], env=env, text=True, timeout=600,
                             cwd=os.path.join(ROOT, "tests/bench/storm"), capture_output=True,
                             check=False)
    except FileNotFoundError:
        raise BenchError("no Go to build the storm with") from None
    if run.returncode != 0:
        raise BenchError(f"the storm does not build: {run.stderr.strip()[-300:]}")


def storm(*options):
    def run(binary, quick):
        build()
        cmd = [PROGRAM, "-server", binary, "-clients", str(QUICK_CLIENTS if quick else CLIENTS),
               "-seconds", str(SECONDS), *options]
        done = subprocess.run(cmd, capture_output=True, text=True, timeout=SECONDS + 120,
                              check=False)
        try:
            out = json.loads(done.stdout)
        except ValueError:
            raise BenchError(f"storm: {done.stderr.strip()[-300:] or 'no result'}") from None
        if "error" in out:
            raise BenchError(f"storm: {out['error']}")
        if out["never"] > 0:
            raise BenchError(f"{out['never']} of {out['clients']} clients did not come back")
        return {"all_s": out["all_s"], "watch_s": out["watch_s"]["p50"],
                "fetch_s": out["fetch_s"]["p50"], "cpu_s": out["server_cpu_s"],
                "stop_s": out["stop_s"], "errors": sum(out["errors"].values()), "raw": out}
    return run


CASES = {
    "storm_default": ("storm, defaults", storm(), METRICS),
    "storm_always": ("storm, sync always", storm("-sync", "always"), METRICS),
    "storm_deferred": ("storm, deferred sync", storm("-sync", "2m"), METRICS),
    # An orderly stop is what S14 asks for. After a crash the consumers in memory are gone with
    # either server, and a watch waits for its client to miss two heartbeats.
    "storm_kill": ("storm after SIGKILL", storm("-kill"),
                   [Metric(m.key, m.label, m.unit) for m in METRICS]),
}
ONCE = ("storm_always", "storm_deferred", "storm_kill")


def measure(name, binary, quick):
    _, run, metrics = CASES[name]
    got = run(os.path.abspath(binary), quick)
    return {"values": {m.key: got[m.key] for m in metrics}, "raw": got["raw"], "loadgen_cpu": None}
