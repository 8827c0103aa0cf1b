# SPDX-License-Identifier: Apache-2.0
"""Management requests of JetStream per second, by the load generator's closed loop, and the memory
of streams and consumers that nobody uses."""

import time

from core import Metric, cpu, rate
from js_conf import DEFERRED
from servers import BenchError, Client, Server, loadgen

STREAMS = 5000
IDLE = 1000
SETTLE_S = 3


def create_streams(client, n, storage="memory"):
    client.all_must((f"$JS.API.STREAM.CREATE.S{i}",
                     f'{{"name":"S{i}","subjects":["s{i}.x"],"storage":"{storage}"}}')
                    for i in range(n))


def create_consumers(client, n):
    client.all_must((f"$JS.API.CONSUMER.CREATE.S{i}.c",
                     f'{{"stream_name":"S{i}","action":"create","config":{{"durable_name":"c",'
                     '"ack_policy":"explicit"}}') for i in range(n))


def asked(subject, payload="", then=None, streams=1, storage="file"):
    """The first of `streams` has a thousand messages and a consumer."""
    def run(binary, quick):
        n = max(1, streams // 5) if quick else streams
        with Server(binary, DEFERRED) as s:
            with Client(s.port) as c:
                create_streams(c, n, storage)
                create_consumers(c, 1)
            loadgen("jspub", s, subject="s0.x", subjects=1, count=1000, window=500, seconds=20)
            out = loadgen("closed", s, subject=subject, payload=payload, then=then, conns=8,
                          inflight=8, rate="max", seconds=0.7 if quick else 3)
        if out["errors"] or out["units"] == 0:
            raise BenchError(f"{subject}: {out['errors']} errors, {out['units']} answers")
        return {"rate": out["rate"], "cpu": out["server_cpu_s_per_million"],
                "p99": out["latency"]["p99_ms"], "raw": out, "server": s}
    return run


def idle(binary, quick):
    n = IDLE // 5 if quick else IDLE
    with Server(binary, DEFERRED) as s:
        with Client(s.port) as c:
            create_streams(c, n, "file")
            create_consumers(c, n)
        time.sleep(SETTLE_S)
        rss = s.status_kib("VmRSS")
    return {"mib": rss / 1024, "raw": {"rss_kib": rss}, "server": s}


ROWS = [rate("throughput", 3, 10, "req/s"), cpu("CPU per request"), Metric("p99", "p99", "ms")]
CREATE = ('{"stream_name":"S0","action":"create","config":{"name":"e@","ack_policy":"explicit",'
          '"mem_storage":true,"inactive_threshold":60000000000}}')
CASES = {
    "js-stream-info": ("STREAM.INFO", asked("$JS.API.STREAM.INFO.S0"), ROWS),
    "js-consumer-info": ("CONSUMER.INFO", asked("$JS.API.CONSUMER.INFO.S0.c"), ROWS),
    "js-consumer-create": ("CONSUMER.CREATE and DELETE in turns, memory",
                           asked("$JS.API.CONSUMER.CREATE.S0.e@", CREATE,
                                 "$JS.API.CONSUMER.DELETE.S0.e@", storage="memory"), ROWS),
    "js-names": (f"STREAM.NAMES by subject over {STREAMS:,} streams",
                 asked("$JS.API.STREAM.NAMES", '{"subject":"s42.x"}', streams=STREAMS,
                       storage="memory"), ROWS),
    "js-idle": (f"{IDLE:,} streams with a consumer each, idle", idle,
                [Metric("mib", "resident memory", "MiB", 0.5, 0.2)]),
}
