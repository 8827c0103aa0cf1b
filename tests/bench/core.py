# SPDX-License-Identifier: Apache-2.0
"""The cases that compare Sluice with nats-server on ordinary traffic, and their bars."""

import re
import statistics
import subprocess
import time

from servers import BenchError, Client, Server, find_nats_cli, free_port, loadgen


class Metric:
    """One row of the table. must and aim are for Sluice / nats-server."""

    def __init__(self, key, label, unit, must=None, aim=None, lower=True):
        self.key, self.label, self.unit = key, label, unit
        self.must, self.aim, self.lower = must, aim, lower

    def passes(self, ratio, bar):
        return ratio <= bar if self.lower else ratio >= bar


def rate(label, must=None, aim=None, unit="msg/s"):
    return Metric("rate", label, unit, must, aim, lower=False)


def cpu(label, must=None, aim=None):
    return Metric("cpu", label, "CPU s/M", must, aim)


PEAK = Metric("peak_mib", "peak memory", "MiB")


def flat(out, server):
    """What the rows read, from the load generator's JSON."""
    return {"rate": out["rate"], "cpu": out["server_cpu_s_per_million"],
            "loadgen_cpu": out["loadgen_cpu_s"] / out["units"] * 1e6 if out["units"] else 0,
            "raw": out, "server": server}


def load(mode, **options):
    """A case that is one run of the load generator against a fresh server."""
    def run(binary, quick):
        opts = dict(options)
        opts.setdefault("rate", "max")
        opts["seconds"] = 0.7 if quick else opts.get("seconds", 3)
        with Server(binary) as s:
            got = flat(loadgen(mode, s, **opts), s)
        if got["raw"].get("lost"):
            raise BenchError(f"{got['raw']['lost']} messages were lost")
        return got
    return run


def reqrep(binary, quick):
    got = load("reqrep", conns=10)(binary, quick)
    got["p99"] = got["raw"]["latency"]["p99_ms"]
    return got


def churn_paced(binary, quick):
    with Server(binary) as s:
        return flat(loadgen("churn", s, rate="max", churn_rate=20000, warmup=0.5, seconds=60,
                            count=14000 if quick else 100000), s)


def churn_fast(binary, quick):
    with Server(binary) as s:
        got = flat(loadgen("churn", s, rate=100000, churn_rate="max", warmup=0.5, seconds=60,
                           count=20000 if quick else 100000), s)
    got["pairs"] = got["raw"]["churn_rate"]
    return got


def idle(binary, quick):
    count = 1000 if quick else 10000
    with Server(binary) as s:
        out = loadgen("idle", s, seconds=1 if quick else 2, count=count)
    return {"kib": out["kib_per_connection"], "accepts": out["rate"], "raw": out, "server": s}


def wild(binary, quick):
    count = 10000 if quick else 100000
    with Server(binary) as s:
        got = flat(loadgen("wild", s, rate="max", seconds=0.7 if quick else 3, size=16, subs=10,
                           count=count), s)
    got["mib"] = got["raw"]["subscriptions_kib"] / 1024
    return got


def start(binary, quick):
    port = free_port()
    s = Server(binary)
    out = loadgen("start", None, server=f"127.0.0.1:{port}", seconds=0.5,
                  count=2 if quick else 5, rest=s.command(port))
    s.peak_kib = max(out["rss_kib"])
    return {"accept": statistics.median(out["accept_ms"]),
            "rss": statistics.median(out["rss_kib"]) / 1024, "raw": out, "server": s}


STATS = re.compile(r"stats: ([\d,]+) msgs/sec")


def nats_bench(serve, drive, msgs):
    """A row by `nats bench`: `drive` is timed; `serve` (or None) runs beside it."""
    def run(binary, quick):
        nats = find_nats_cli()
        if nats is None:
            raise BenchError("no nats CLI")
        count = msgs // 10 if quick else msgs
        with Server(binary) as s:
            base = [nats, "--no-context", "-s", f"nats://{s.address}", "bench"]
            tail = ["--no-progress", "--msgs", str(count), "--size", "128"]
            side = None
            if serve is not None:
                side = subprocess.Popen(base + serve + tail, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
                wait_subscribed(s, side)
            try:
                before = s.cpu_seconds()
                text = subprocess.run(base + drive + tail, capture_output=True, text=True,
                                      timeout=120, check=False).stdout
                if side is not None and serve[0] == "sub":
                    side.wait(30)
                used = s.cpu_seconds() - before
            finally:
                if side is not None and side.poll() is None:
                    side.terminate()
                    side.wait()
        found = STATS.findall(text)
        if not found:
            raise BenchError("nats bench printed no rate")
        return {"rate": float(found[-1].replace(",", "")), "cpu": used / count * 1e6, "raw": text,
                "server": s}
    return run


def wait_subscribed(server, side):
    """nats bench does not say when it has subscribed: ask on its subject until somebody is there,
    who answers (service) or keeps silent (sub)."""
    end = time.monotonic() + 10
    while time.monotonic() < end and side.poll() is None:
        with Client(server.port, timeout=0.3) as c:
            try:
                if c.request("bench", "x"):
                    return
            except TimeoutError:
                return
        time.sleep(0.02)
    raise BenchError("nats bench did not subscribe")


CASES = {
    "pub128": ("publish only, 128 B", load("pub", size=128),
               [cpu("CPU", 0.5, 0.25), rate("throughput"), PEAK]),
    "pub1k": ("publish only, 1 KiB", load("pub", size=1024),
              [cpu("CPU", 0.5, 0.25), rate("throughput"), PEAK]),
    "p2p": ("1 -> 1, 128 B", load("pubsub"),
            [rate("throughput", 1.5, 3), cpu("CPU", 0.5, 0.25), PEAK]),
    "fanout": ("fan-out 1 -> 100, 128 B", load("pubsub", subs=100, window=1000),
               [rate("deliveries", 1.5, 3), cpu("CPU", 0.5, 0.25), PEAK]),
    "many": ("10 -> 10, 1,000 subjects, wildcards", load("many", pubs=10, subs=10, subjects=1000),
             [rate("throughput", 1.5, 3), cpu("CPU"), PEAK]),
    "reqrep": ("request/reply, 10 clients", reqrep,
               [cpu("CPU per request", 0.5, 0.3), Metric("p99", "p99", "ms", 1.0, 0.7),
                rate("throughput", unit="req/s"), PEAK]),
    "churn": ("1 -> 1 while 20,000 inboxes/s come and go", churn_paced,
              [rate("throughput", 1.5, 3), cpu("CPU"), PEAK]),
    "churn-fast": ("100,000 inboxes while 1 -> 1 runs at 100,000/s", churn_fast,
                   [Metric("pairs", "SUB+UNSUB", "pairs/s", 1.5, 3, lower=False), PEAK]),
    "idle": ("10,000 idle connections", idle,
             [Metric("kib", "memory each", "KiB", 0.4, 0.2),
              Metric("accepts", "connects", "1/s", lower=False), PEAK]),
    "start": ("start", start,
              [Metric("rss", "resident memory", "MiB", 0.3, 0.15),
               Metric("accept", "exec to accepting", "ms", 0.5, 0.2)]),
    "wild": ("100,000 wildcard subscriptions", wild,
             [Metric("mib", "memory", "MiB", 0.7, 0.4), rate("match rate", 2, 5),
              cpu("CPU"), PEAK]),
    "nb-pub": ("nats bench pub, 128 B", nats_bench(None, ["pub", "bench"], 2000000),
               [cpu("CPU"), rate("throughput")]),
    "nb-p2p": ("nats bench pub -> sub, 128 B",
               nats_bench(["sub", "bench"], ["pub", "bench"], 1000000),
               [cpu("CPU"), rate("throughput")]),
    "nb-reqrep": ("nats bench service, 10 clients",
                  nats_bench(["service", "serve", "bench"],
                             ["service", "request", "bench", "--clients", "10"], 50000),
                  [cpu("CPU per request"), rate("throughput", unit="req/s")]),
}
# Cases that run in the first round only.
ONCE = ()


def measure(name, binary, quick):
    return measure_case(CASES[name], binary, quick)


def measure_case(case, binary, quick):
    _, run, metrics = case
    got = run(binary, quick)
    server = got.pop("server")
    got["peak_mib"] = server.peak_kib / 1024
    return {"values": {m.key: got[m.key] for m in metrics}, "raw": got["raw"],
            "loadgen_cpu": got.get("loadgen_cpu")}
