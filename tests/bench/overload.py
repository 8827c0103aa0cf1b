# SPDX-License-Identifier: Apache-2.0
"""The overload protocol: policy runs against a handler with a set cost, and what nats-server's own
API plane and an ordinary NATS service do under the same load. Each rate is a multiple of the
capacity C that was measured first, for each of them for itself."""

import concurrent.futures
import contextlib
import os
import statistics
import subprocess

from servers import ROOT, BenchError, Client, Server, loadgen

WORKERS = 16
SLEEP_MS = 55
STREAMS = 5000
NEVER = 1e9  # a value that did not come about within the run
# Handlers that sleep cost next to no CPU, so their runs go side by side, and their C is steady;
# that of a handler that computes drifts with the machine and is measured again before each run.
SIDE_BY_SIDE = 8


def adds_up(counters):
    """received = all ends + what waits and runs, in one reading of the books."""
    return counters["received"] == sum(counters.get(k, 0) for k in (
        "answered", "refused", "evicted", "expired", "cancelled", "parked", "queued", "running"))


class SluicePlane:
    """The set-cost endpoint of the test binary, behind Sluice's API plane."""

    name = "Sluice, set-cost endpoint"
    sleeps = True
    subject = "$SYS.REQ.TEST.SLEEP"
    payload = '{"us":%d}' % (SLEEP_MS * 1000)

    def __init__(self, binary, _quick=False):
        self.binary = binary

    @contextlib.contextmanager
    def serve(self, limit, _seconds):
        with Server(self.binary, f"api {{ workers: {WORKERS}, request_queue_limit: {limit}, "
                                 f"info_queue_limit: {limit} }}\n", monitor=True) as s:
            yield s

    def books(self, server):
        return server.view("apiz")["counters"]


def make_streams(server, count, user=None, password=""):
    """Memory streams S0, S1, …, each with one subject of its own."""
    left = range(count)
    with Client(server.port, user=user, password=password) as c:
        for _ in range(20):
            # A refusal says that nothing was done: once more.
            replies = c.requests(
                [(f"$JS.API.STREAM.CREATE.S{i}",
                  f'{{"name":"S{i}","subjects":["s{i}.x"],"storage":"memory"}}') for i in left],
                ahead=16)
            left = [i for i, r in zip(left, replies) if b'"err_code":10008' in r]
            bad = [r for r in replies if b'"error"' in r and b'"err_code":10008' not in r]
            if bad:
                raise BenchError(f"a stream cannot be made: {bad[0][:200]!r}")
            if not left:
                return
    raise BenchError(f"{len(left)} streams could not be made")


class NatsPlane:
    """nats-server's own API plane: STREAM.NAMES over many memory streams (milliseconds of CPU)."""

    name = "nats-server, its API (STREAM.NAMES)"
    sleeps = False
    subject = "$JS.API.STREAM.NAMES"
    payload = '{"subject":"zz.none"}'

    def __init__(self, binary, quick=False):
        self.binary = binary
        self.streams = STREAMS // 5 if quick else STREAMS

    @contextlib.contextmanager
    def serve(self, limit, _seconds):
        with Server(self.binary, "jetstream { store_dir: '@DIR@/js', max_memory_store: 1GB, "
                                 f"request_queue_limit: {limit}, info_queue_limit: {limit} }}\n"
                    ) as s:
            make_streams(s, self.streams)
            yield s


@contextlib.contextmanager
def service(server, subject, slots, seconds):
    """Our responder behind that server, until the end of the block or so many seconds."""
    side = subprocess.Popen(
        [os.path.join(ROOT, "build/bench/loadgen"), "responder", "--server", server.address,
         "--seconds", str(min(600, seconds)), "--subject", subject, "--slots", str(slots),
         "--sleep-ms", str(SLEEP_MS)], stdout=subprocess.DEVNULL)
    try:
        with Client(server.port) as c:
            while not c.request(subject, "{}"):
                if side.poll() is not None:
                    raise BenchError("the responder does not run")
        yield
    finally:
        side.terminate()
        side.wait()


class PlainService:
    """An ordinary service (our responder, same slots and sleep) reached through nats-server."""

    name = "plain service through nats-server"
    sleeps = True
    subject = "bench.service"
    payload = "{}"
    # One slot less: Sluice keeps a worker free for the levels above.
    slots = WORKERS - 1

    def __init__(self, binary, _quick=False):
        self.binary = binary

    @contextlib.contextmanager
    def serve(self, _limit, seconds):
        with Server(self.binary) as s, service(s, self.subject, self.slots, seconds):
            yield s


class Case:
    """One S row. check: (value name, text, comparison, bound)."""

    def __init__(self, label, times, seconds, checks, limit=10000, **options):
        self.label, self.times, self.seconds, self.checks = label, times, seconds, checks
        self.limit, self.options = limit, options


def at_most(key, text, bound):
    return key, text, "<=", bound


def at_least(key, text, bound):
    return key, text, ">=", bound


WASTED = at_most("wasted", "S12 wasted work", 0.01)
CASES = {
    "S1": Case("0.75 C, 4 s pause", 0.75, 22, [at_most("recovery_s", "recovery, s", 1.0)],
               pause_at=6, pause_for=4),
    "S2": Case("S1 with 2 retries, 60 s", 0.75, 60, [at_least("success", "logical success", 0.94)],
               pause_at=6, pause_for=4, retry="timeout", retries=2),
    "S3": Case("1.3 C, limit 10,000", 1.3, 45,
               [at_least("goodput_c", "goodput / C", 0.95), WASTED]),
    "S3-1000": Case("1.3 C, limit 1,000", 1.3, 45,
                    [at_least("goodput_c", "goodput / C", 0.95), WASTED], limit=1000),
    "S4": Case("3 C", 3, 20, [at_least("goodput_c", "goodput / C", 0.90)]),
    "S4-10": Case("10 C", 10, 20, [at_least("goodput_c", "goodput / C", 0.90)]),
    "S5": Case("0.93 C, 120 s", 0.93, 120,
               [at_least("success", "success", 0.995),
                at_most("oldest_served_s", "oldest served, s", 0.6)]),
    "S5-97": Case("0.97 C, 120 s", 0.97, 120,
                  [at_least("success", "success", 0.995),
                   at_most("oldest_served_s", "oldest served, s", 0.6)]),
    "S6": Case("3 C, limit 200", 3, 20,
               [at_least("told", "losers told", 1.0), at_most("per_hit", "lost per hit", 1.0),
                at_most("told_p99_ms", "p99 to be told, ms", 50)], limit=200, held=True),
    "S7": Case("0.75 C, 4 s pause, limit 500", 0.75, 25, [at_least("success", "success", 0.85)],
               limit=500, pause_at=6, pause_for=4),
    "S4-hint": Case("3 C, clients obey the hint", 3, 20,
                    [at_least("goodput_c", "goodput / C", 0.90)], retry="hint", retries=5),
    "S4-worst": Case("3 C, clients retry at once", 3, 20,
                     [at_least("goodput_c", "goodput / C", 0.90)], limit=1000, retry="error",
                     retries=10),
}
VARIANTS = {"header": "1s", "stock": None}
# What nats-server's own plane is asked; the others say nothing new about it.
PEER_CASES = ("S1", "S2", "S3", "S3-1000", "S4", "S6")
CURVE = (0.5, 0.75, 0.9, 1.0, 1.1, 1.3, 1.6, 2, 3, 5, 10)
CURVE_COMPUTING = (0.5, 0.9, 1.1, 1.3, 2, 3)


def capacity(plane, quick):
    """C: completions a second with the queue never empty; median and all runs."""
    runs = []
    seconds = 2 if quick else 4
    for _ in range(1 if quick else 3):
        with plane.serve(10000, seconds + 20) as s:
            runs.append(closed_loop(plane, s, seconds))
    return statistics.median(runs), runs


def closed_loop(plane, server, seconds):
    out = loadgen("closed", server, subject=plane.subject, payload=plane.payload, conns=8,
                  inflight=8, rate="max", seconds=seconds)
    if out["errors"] or out["units"] == 0:
        raise BenchError(f"{plane.subject} answers with errors or not at all")
    return out["rate"]


def derive(out, c, held):
    """The values that the checks name."""
    # Who was answered late was not lost: the limit took nothing from it.
    lost = out["calls"] - out["ok"] - out["late"]
    told = sum(out["answers"][k] for k in out["answers"] if k != "ok")
    v = {"success": out["success"], "goodput_c": out["goodput"] / c, "wasted": out["wasted"],
         "oldest_served_s": out["oldest_served_s"], "p50_ms": out["latency"]["p50_ms"],
         "p99_ms": out["latency"]["p99_ms"], "recovery_s": out.get("recovery_s", 0),
         "send_lag_ms": out["send_lag"]["p99_ms"], "never": out["never"], "late": out["late"],
         "told": 1.0 if lost == 0 else min(1.0, (out["refused"] + out["told_late"]) / lost),
         "told_attempts": told, "duplicates": out["duplicates"]}
    if v["recovery_s"] < 0:
        v["recovery_s"] = NEVER
    if held:
        v["per_hit"] = out["answers"]["refused_503"] / max(1, out["evictions"])
        v["told_p99_ms"] = out["told_lag"]["p99_ms"]
        # No hit that was told is no success of telling.
        if out["told_lag"]["n"] == 0:
            v["told_p99_ms"], v["per_hit"] = NEVER, NEVER
    return v


def late_wait(plane, quick):
    """How long after the last send replies are awaited: where each request is answered, the run
    ends with the last answer, which a slow machine may make late."""
    if hasattr(plane, "books"):
        return 30
    return 2 if quick else 6


def run_case(plane, case, c, header, quick):
    seconds = max(6, case.seconds / 5) if quick else case.seconds
    options = dict(case.options)
    held = options.pop("held", False)
    if held:
        # In service at a time, by Little: what the queue's limit is counted on top of.
        options["held"] = case.limit + round(c * SLEEP_MS / 1000)
    if quick and "pause_at" in options:
        options.update(pause_at=1, pause_for=1)
    with plane.serve(case.limit, 3 * seconds + 60) as s:
        if not plane.sleeps:
            c = closed_loop(plane, s, 1 if quick else 2)
        out = loadgen("overload", s, subject=plane.subject, payload=plane.payload,
                      rate=round(case.times * c, 1), seconds=seconds, patience=1,
                      timeout_header=header, late_wait=late_wait(plane, quick), **options)
        if hasattr(plane, "books"):
            out["books"] = plane.books(s)
            out["adds_up"] = adds_up(out["books"])
    out["peak_mib"] = s.peak_kib / 1024
    return {"c": c, "values": derive(out, c, held), "raw": out}


def run_all(plane, c, names, rounds, quick):
    """{(case, variant): [result of each round]}; a failed run is {"error": …}."""
    variants = VARIANTS if isinstance(plane, SluicePlane) else {"stock": None}
    jobs = [(n, v) for _ in range(rounds) for n in names for v in variants]
    jobs.sort(key=lambda j: -CASES[j[0]].seconds)
    return spread(plane, jobs, lambda j: run_case(plane, CASES[j[0]], c, variants[j[1]], quick))


def spread(plane, jobs, run, width=SIDE_BY_SIDE):
    results = {}

    def one(job):
        try:
            return job, run(job)
        except (BenchError, subprocess.TimeoutExpired) as e:
            return job, {"error": str(e)}

    with concurrent.futures.ThreadPoolExecutor(width if plane.sleeps else 1) as pool:
        for job, result in pool.map(one, jobs):
            results.setdefault(job, []).append(result)
    return results


def curve(plane, c, quick):
    """Points of goodput against offered load, both in multiples of C."""
    times = CURVE if plane.sleeps else CURVE_COMPUTING
    times = times[::3] if quick else times
    got = spread(plane, list(times),
                 lambda t: run_case(plane, Case("", t, 12, []), c, None, quick))
    return [{"offered": t, "goodput": r[0]["values"]["goodput_c"], "raw": r[0]["raw"]}
            for t, r in sorted(got.items()) if "error" not in r[0]]
