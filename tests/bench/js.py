# SPDX-License-Identifier: Apache-2.0
"""JetStream against nats-server by `nats bench`: publishing, reading, key-value; and the table of
all JetStream cases. Both sides keep the same promise in a row: DEFERRED syncs every two minutes,
ALWAYS before each acknowledgement. DEFAULTS is what each server does when nobody says anything,
which is ALWAYS for Sluice and DEFERRED for nats-server."""

import re
import subprocess

import core
import js_api
import js_store
from core import cpu, rate
from js_conf import ALWAYS, DEFAULTS, DEFERRED
from servers import BenchError, Client, Server, find_nats_cli, find_nats_server, loadgen

STREAM = "benchstream"
STATS = re.compile(r"stats: ([\d,]+) msgs/sec")


def cli(server, words, msgs, clients=1):
    """Runs `nats bench`; messages a second, and CPU seconds per million (by the kernel's ticks)."""
    nats = find_nats_cli()
    if nats is None:
        raise BenchError("no nats CLI")
    before = server.cpu_seconds()
    run = subprocess.run([nats, "--no-context", "-s", f"nats://{server.address}", "bench"] + words +
                         ["--no-progress", "--msgs", str(msgs), "--clients", str(clients)],
                         capture_output=True, text=True, timeout=120, check=False)
    used = server.cpu_seconds() - before
    found = STATS.findall(run.stdout)
    if run.returncode != 0 or not found:
        raise BenchError(f"nats bench {' '.join(words)}: "
                         f"{(run.stderr or run.stdout).strip()[-200:] or 'no rate'}")
    # With several clients the last line is that of all of them.
    return {"rate": float(found[-1].replace(",", "")), "cpu": used / msgs * 1e6,
            "raw": run.stdout, "server": server}


def count(msgs, binary, quick):
    """msgs may be a pair, Sluice's and the reference's, where one is slower by so much that the
    same number would be too few for one or too many for the other."""
    if isinstance(msgs, tuple):
        msgs = msgs[1] if binary == find_nats_server() else msgs[0]
    return max(100, msgs // 10) if quick else msgs


def publish(words, config, msgs, clients=1):
    def run(binary, quick):
        with Server(binary, config) as s:
            with Client(s.port) as c:
                c.must(f"$JS.API.STREAM.CREATE.{STREAM}",
                       f'{{"name":"{STREAM}","subjects":["bench"],"storage":"file"}}')
            return cli(s, words + ["bench"], count(msgs, binary, quick), clients)
    return run


def read(words, msgs):
    """A stream that was filled a moment ago is read once."""
    def run(binary, quick):
        n = count(msgs, binary, quick)
        with Server(binary, DEFERRED) as s:
            with Client(s.port) as c:
                c.must(f"$JS.API.STREAM.CREATE.{STREAM}",
                       f'{{"name":"{STREAM}","subjects":["bench"],"storage":"file"}}')
            loadgen("jspub", s, count=n, subjects=1, window=4096, seconds=60)
            return cli(s, words, n)
    return run


def kv_put(config, msgs):
    def run(binary, quick):
        with Server(binary, config) as s:
            return cli(s, ["kv", "put"], count(msgs, binary, quick))
    return run


def kv_get(msgs):
    def run(binary, quick):
        n = count(msgs, binary, quick)
        with Server(binary, DEFERRED) as s:
            cli(s, ["kv", "put"], n)
            return cli(s, ["kv", "get"], n)
    return run


ASYNC = ["js", "pub", "async"]
SYNC = ["js", "pub", "sync"]
DEFAULT_ROWS = "durable default / deferred default"
BENCH = {
    "js-async": ("js pub async, deferred", publish(ASYNC, DEFERRED, 300000),
                 [rate("throughput", 1.5, 4), cpu("CPU"), core.PEAK]),
    "js-async-always": ("js pub async, sync always", publish(ASYNC, ALWAYS, (100000, 4000)),
                        [rate("throughput", 3, 20), cpu("CPU")]),
    "js-sync1": ("js pub sync, 1 publisher, deferred", publish(SYNC, DEFERRED, 20000),
                 [rate("throughput", 1.2, 2), cpu("CPU")]),
    "js-sync16": ("js pub sync, 16 publishers, deferred", publish(SYNC, DEFERRED, 80000, 16),
                  [rate("throughput", 1.2, 2), cpu("CPU")]),
    "js-sync1-always": ("js pub sync, 1 publisher, sync always", publish(SYNC, ALWAYS, 2000),
                        [rate("throughput", 1.2, 3), cpu("CPU")]),
    "js-sync16-always": ("js pub sync, 16 publishers, sync always",
                         publish(SYNC, ALWAYS, (16000, 1600), 16),
                         [rate("throughput", 1.2, 3), cpu("CPU")]),
    "js-default-async": (f"js pub async, 16 publishers, {DEFAULT_ROWS}",
                         publish(ASYNC, DEFAULTS, 320000, 16),
                         [rate("throughput", 0.8, 1.5), cpu("CPU")]),
    "js-default-sync1": (f"js pub sync, 1 publisher, {DEFAULT_ROWS}",
                         publish(SYNC, DEFAULTS, (4000, 20000)), [rate("throughput"), cpu("CPU")]),
    "js-default-sync16": (f"js pub sync, 16 publishers, {DEFAULT_ROWS}",
                          publish(SYNC, DEFAULTS, (16000, 80000), 16),
                          [rate("throughput"), cpu("CPU")]),
    "js-default-kv": (f"kv put, {DEFAULT_ROWS}", kv_put(DEFAULTS, (4000, 20000)),
                      [rate("throughput"), cpu("CPU")]),
    "js-ordered": ("js ordered", read(["js", "ordered"], 500000),
                   [rate("throughput", 1.2, 3), cpu("CPU", 0.6, 0.3), core.PEAK]),
    "js-consume": ("js consume", read(["js", "consume"], 300000),
                   [rate("throughput", 1.2, 3), cpu("CPU", 0.6, 0.3), core.PEAK]),
    "js-fetch": ("js fetch", read(["js", "fetch"], 300000),
                 [rate("throughput", 1.2, 3), cpu("CPU", 0.6, 0.3), core.PEAK]),
    "js-kv-put": ("kv put, deferred", kv_put(DEFERRED, 20000),
                  [rate("throughput", 1.2, 3), cpu("CPU")]),
    "js-kv-get": ("kv get", kv_get(20000), [rate("throughput", 1.2, 3), cpu("CPU")]),
}
CASES = {**BENCH, **js_api.CASES, **js_store.CASES}
ONCE = js_store.ONCE


def measure(name, binary, quick):
    return core.measure_case(CASES[name], binary, quick)
