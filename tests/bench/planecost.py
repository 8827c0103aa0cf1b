# SPDX-License-Identifier: Apache-2.0
"""What the API plane itself costs: S13, calls cheaper than a millisecond, and where a backlog
stands when I/O threads and workers want the same cores."""

import statistics
import threading

from overload import SluicePlane
from servers import Server, loadgen

SUBJECT = SluicePlane.subject


def paired_limits(binary, quick):
    """S13: two servers, one with the limits, levels and deadlines of the plane and one without,
    take the same load at half of capacity in short turns; medians over the pairs. The bar is for a
    call that computes for 100 us; what costs nothing shows the plane alone."""
    return {us: pairs_of(binary, '{"spin_us":%d}' % us, quick) for us in (100, 0)}


ON = "api { workers: 2 }\n"
OFF = "api { workers: 2, limits: false }\n"
GROUPS = ON + """workload_groups {
  all { match { subject: "$SYS.REQ.TEST.>" }, throttling { limit: 100000, attribute: user }, queue { size: 1000 } }
}
"""


def paired_groups(binary, quick):
    """The same with a workload group that takes in every request and holds none back, against none."""
    return {us: pairs_of(binary, '{"spin_us":%d}' % us, quick, GROUPS, ON) for us in (100, 0)}


def pairs_of(binary, payload, quick, on=ON, off=OFF):
    pairs = []
    with Server(binary, on) as a, Server(binary, off) as b:
        c = min(loadgen("closed", s, subject=SUBJECT, payload=payload, conns=8, inflight=16,
                        rate="max", seconds=1)["rate"] for s in (a, b))
        for i in range(3 if quick else 20):
            got = {}
            for name, s in ((("on", a), ("off", b)) if i % 2 else (("off", b), ("on", a))):
                got[name] = loadgen("overload", s, subject=SUBJECT, payload=payload,
                                    rate=round(c / 2), seconds=0.5 if quick else 1, patience=1,
                                    late_wait=0.2)
            pairs.append(got)

    def ratios(f):
        return sorted(f(p["on"]) / f(p["off"]) for p in pairs)

    cpu = ratios(lambda o: o["server_cpu_s_per_million"])
    return {"c": c, "pairs": len(pairs), "cpu": statistics.median(cpu),
            "cpu_quartiles": [cpu[len(cpu) // 4], cpu[(3 * len(cpu)) // 4]],
            "p99": statistics.median(ratios(lambda o: o["latency"]["p99_ms"])),
            "goodput": statistics.median(ratios(lambda o: o["goodput"])),
            "cpu_us": statistics.median(p["on"]["server_cpu_s_per_million"] for p in pairs)}


def cheap_calls(binary, quick):
    """Calls that compute for 100 us: goodput at fixed rates, and the CPU that a refusal takes."""
    payload = '{"spin_us":100}'
    rows = []
    with Server(binary) as s:
        full = loadgen("closed", s, subject=SUBJECT, payload=payload, conns=8, inflight=16,
                       rate="max", seconds=1 if quick else 3)
    for rate in (20000, 40000):
        with Server(binary) as s:
            out = loadgen("overload", s, subject=SUBJECT, payload=payload, rate=rate,
                          seconds=3 if quick else 10, patience=1, late_wait=6)
        refused = sum(out["answers"][k] for k in out["answers"] if k != "ok")
        spent = out["server_cpu_s"] * 1e6 - out["units"] * full["server_cpu_s_per_million"]
        rows.append({"rate": rate, "goodput": out["goodput"], "refused": refused,
                     "never": out["never"], "p99_ms": out["latency"]["p99_ms"],
                     "us_per_refusal": spent / refused if refused else None, "raw": out})
    return {"c": full["rate"], "us_per_call": full["server_cpu_s_per_million"], "rows": rows}


def receive_queues(port):
    """Bytes that wait unread in the server's sockets, one number a connection."""
    sizes = []
    with open("/proc/net/tcp", encoding="ascii") as f:
        next(f)
        for line in f:
            words = line.split()
            # 01: established; tx_queue:rx_queue in hexadecimal.
            if words[3] == "01" and int(words[1].split(":")[1], 16) == port:
                sizes.append(int(words[4].split(":")[1], 16))
    return sizes


def backlog(binary, quick):
    """10 C of a call that computes for 1 ms, default workers: what waits in the sockets, looked at
    every 20 ms from the second second on."""
    payload = '{"spin_us":1000}'
    seen = []
    done = threading.Event()

    def look(port):
        done.wait(1)
        while not done.wait(0.02):
            seen.extend(receive_queues(port))

    with Server(binary) as s:
        c = loadgen("closed", s, subject=SUBJECT, payload=payload, conns=8, inflight=8, rate="max",
                    seconds=1 if quick else 3)["rate"]
        watcher = threading.Thread(target=look, args=(s.port,))
        watcher.start()
        try:
            out = loadgen("overload", s, subject=SUBJECT, payload=payload, rate=round(10 * c),
                          seconds=4 if quick else 10, patience=1, late_wait=6)
        finally:
            done.set()
            watcher.join()
    seen.sort()
    return {"c": c, "samples": len(seen), "median": statistics.median(seen),
            "p99": seen[int(len(seen) * 0.99)], "max": seen[-1],
            "goodput_c": out["goodput"] / c, "told": out["refused"] + out["told_late"],
            "lost": out["calls"] - out["ok"], "raw": out}
