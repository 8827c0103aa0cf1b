# SPDX-License-Identifier: Apache-2.0
"""What a large store costs: the time until a restarted server serves, the memory of five million
messages, and the longest that a publisher waits while the store cleans up."""

import signal
import threading
import time

from core import Metric
from js_api import SETTLE_S
from js_conf import DEFAULTS, DEFERRED
from servers import BenchError, Client, Server, loadgen

MESSAGES = 5000000
STREAMS = 100
PURGED = 2000000
STEADY = 2000
STEADY_S = 60
PURGE_AT_S = 20


def fill(server, streams, messages):
    """Each stream S<i> has the one subject x.<i>."""
    with Client(server.port) as c:
        c.all_must((f"$JS.API.STREAM.CREATE.S{i}",
                    f'{{"name":"S{i}","subjects":["x.{i}"],"storage":"file"}}')
                   for i in range(streams))
    loadgen("jspub", server, subject="x" if streams > 1 else "x.0", subjects=streams,
            count=messages, window=8192, seconds=300)


def time_to_serve(server, streams, messages, how):
    """Seconds from the start of the process until each stream says how much it holds."""
    server.halt(how)
    began = time.monotonic()
    server.start()
    with Client(server.port, 120) as c:
        replies = list(c.requests((f"$JS.API.STREAM.INFO.S{i}", "") for i in range(streams)))
    took = time.monotonic() - began
    want = b'"messages":%d,' % (messages // streams)
    wrong = sum(want not in r for r in replies)
    if wrong:
        raise BenchError(f"after the restart {wrong} streams lack messages: {replies[0][:300]!r}")
    return took


def restart(binary, quick):
    messages = MESSAGES // 50 if quick else MESSAGES
    got = {}
    with Server(binary, DEFERRED) as s:
        fill(s, STREAMS, messages)
        time.sleep(SETTLE_S)
        got["filled_mib"] = s.status_kib("VmRSS") / 1024
        # In the middle of three: the first of them also writes back what the filling left.
        got["clean_s"] = sorted(time_to_serve(s, STREAMS, messages, signal.SIGTERM)
                                for _ in range(3))[1]
        time.sleep(SETTLE_S)
        got["mib"] = s.status_kib("VmRSS") / 1024
        got["killed_s"] = time_to_serve(s, STREAMS, messages, signal.SIGKILL)
    return {**got, "raw": dict(got), "server": s}


def steady(config):
    """Acknowledgements of an open loop of publishes into a stream that is purged meanwhile."""
    def run(binary, quick):
        seconds, purge_at = (6, 2) if quick else (STEADY_S, PURGE_AT_S)
        took = []

        def purge(port):
            time.sleep(purge_at)
            with Client(port, 60) as c:
                began = time.monotonic()
                c.must("$JS.API.STREAM.PURGE.S0")
                took.append(time.monotonic() - began)

        with Server(binary, config) as s:
            fill(s, 1, PURGED // 20 if quick else PURGED)
            purger = threading.Thread(target=purge, args=(s.port,))
            purger.start()
            out = loadgen("overload", s, subject="x.0", payload="p" * 128, rate=STEADY,
                          seconds=seconds, patience=30, late_wait=0)
            purger.join()
        if out["ok"] != out["calls"] or not took:
            raise BenchError(f"of {out['calls']} publishes {out['ok']} were acknowledged; "
                             f"purged: {bool(took)}")
        return {"worst": out["latency"]["max_ms"], "p99": out["latency"]["p99_ms"],
                "purge": took[0] * 1e3, "cpu": out["server_cpu_s_per_million"], "raw": out,
                "server": s}
    return run


WORST = [Metric("worst", "worst", "ms", 1.0, 0.3), Metric("p99", "p99", "ms"),
         Metric("purge", "the purge", "ms"), Metric("cpu", "CPU", "CPU s/M")]
CASES = {
    "js-restart": (f"{MESSAGES // 1000000} million messages in {STREAMS} streams", restart,
                   [Metric("clean_s", "time to serve after a stop", "s", 0.8, 0.1),
                    Metric("killed_s", "time to serve after a kill", "s"),
                    Metric("mib", "memory after a start", "MiB", 0.5, 0.2),
                    Metric("filled_mib", "memory after filling", "MiB", 0.5, 0.2)]),
    "js-worst": (f"acknowledgement at {STEADY:,}/s, {STEADY_S} s, purge of "
                 f"{PURGED // 1000000} million, deferred", steady(DEFERRED), WORST),
    "js-worst-default": ("the same, durable default / deferred default", steady(DEFAULTS),
                         [Metric(m.key, m.label, m.unit) for m in WORST]),
}
# They prepare large stores or take a minute each.
# The worst of one run says as much of the machine as of the server.
ONCE = ("js-restart", "js-worst-default")
