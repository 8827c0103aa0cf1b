# SPDX-License-Identifier: Apache-2.0
"""S8: two tenants, A asks for ten times its share and B for 0.8 of its own. Tenants of the API plane are accounts; those of a gate,
which is one account's, are users of it. Driven by the program that anybody can aim at a server of theirs."""

import contextlib
import json
import os
import subprocess

from planes import INSIDE_S, PRODUCTS, SLOTS, BenchError, Endpoint, Server, Service, loadgen, overload
from servers import ROOT

TOOL = os.path.join(ROOT, "build/bench/overload")
STREAMS = 5000  # in each account
ACCOUNTS = """
accounts {
  A { %(js)s users: [ { user: a, password: a } ] }
  B { %(js)s users: [ { user: b, password: b } ] }
  SYS { users: [ { user: admin, password: s } ] }
}
system_account: SYS
"""
USERS = """
accounts {
  T { users: [ { user: a, password: a }, { user: b, password: b } ] }
  SYS { users: [ { user: admin, password: s } ] }
}
system_account: SYS
no_auth_user: a
"""
# Far above what a tenant within its share has waiting; the buckets take turns in the gate's queue.
GATE = (f'workload_groups {{ tenants {{ throttling {{ limit: 200, attribute: user }} }} }}\n'
        f'gates {{ service {{ account: T, subject: "{Service.subject}", limit: {SLOTS}, group: tenants }} }}\n')
CHECKS = [overload.at_least("success", "S8 success of B", 0.99),
          overload.at_least("jain", "S8 Jain's index", 0.95),
          overload.at_most("p99", "S8 p99 of B / alone", 3.0)]


class SetCost:
    """The endpoint of a set cost."""

    column, subject, payload, ours = "Sluice: endpoint", Endpoint.subject, Endpoint.payload, True

    def __init__(self, binary):
        self.binary = binary

    @contextlib.contextmanager
    def serve(self):
        conf = ACCOUNTS % {"js": ""} + f"api {{ workers: {overload.WORKERS} }}\n"
        with Server(self.binary, conf, monitor=True) as s:
            yield s

    def books(self, server):
        return server.view("apiz")["counters"]


class UsersService:
    """A service that two users of an account ask, through a server that has nothing to put in front of it."""

    subject, payload, ours = Service.subject, Service.payload, False
    column, gate = Service.column, ""

    def __init__(self, binary):
        self.binary = binary

    @contextlib.contextmanager
    def serve(self):
        with Server(self.binary, USERS + self.gate, monitor=self.ours) as s, \
                overload.service(s, self.subject, SLOTS, INSIDE_S):
            yield s


class UsersGate(UsersService):
    """The same behind a gate with a workload group that has a bucket for each user."""

    column, gate, ours = "Sluice: gate", GATE, True

    def books(self, server):
        return server.view("apiz")["gates"][0]["counters"]


class Names:
    """STREAM.NAMES over the streams of each account of nats-server, which takes a millisecond
    there (in Sluice microseconds: that would be a load for its sockets)."""

    subject, payload, _ = PRODUCTS["STREAM.NAMES"]
    column, ours = "nats-server: STREAM.NAMES", False

    def __init__(self, binary):
        self.binary = binary

    @contextlib.contextmanager
    def serve(self):
        conf = ("jetstream { store_dir: '@DIR@/js', max_memory_store: 1GB }\n"
                + ACCOUNTS % {"js": "jetstream: enabled,"})
        with Server(self.binary, conf, monitor=False) as s:
            for user in "ab":
                overload.make_streams(s, STREAMS, user, user)
            yield s


def tool(server, *options):
    """The program's JSON."""
    cmd = [TOOL, "--server", f"nats://{server.address}", "--pid", str(server.pid), "--json",
           "--quiet", *options]
    run = subprocess.run(cmd, capture_output=True, text=True, timeout=300, check=False)
    if run.returncode != 0:
        raise BenchError(f"overload: {run.stderr.strip()}")
    return json.loads(run.stdout)


def measure(plane, quick):
    seconds = 3 if quick else 10
    ask = ["--subject", plane.subject, "--payload", plane.payload, "--patience", "1", "--seconds",
           str(seconds), "--late-wait", "20" if plane.ours else "3"]
    with plane.serve() as s:
        c = loadgen("closed", s, subject=plane.subject, payload=plane.payload, user="a",
                    **{"pass": "a"}, conns=8, inflight=8, rate="max",
                    seconds=1 if quick else 3)["rate"]
        # Two tenants: a share is half of C.
        rates = {"a": 10 * c / 2, "b": 0.8 * c / 2}
        alone = tool(s, *ask, "--tenant", f"b:b@{rates['b']:.1f}")["tenants"][0]
        out = tool(s, *ask, *(x for u, r in rates.items() for x in ("--tenant", f"{u}:{u}@{r:.1f}")))
        books = plane.books(s) if plane.ours else None
    a, b = out["tenants"]
    values = {"success": b["success"], "jain": out["jain"],
              "p99": b["latency"]["p99_ms"] / max(0.001, alone["latency"]["p99_ms"]),
              "alone_ms": alone["latency"]["p99_ms"], "b_ms": b["latency"]["p99_ms"],
              "a_share": a["goodput"] / (0.6 * c), "b_share": b["goodput"] / (0.4 * c)}
    if books:
        out.update(books=books, adds_up=overload.adds_up(books))
    return {"c": c, "values": values, "raw": out}


def all_planes(args, first):
    """nats-server is looked at in the first round only."""
    yield SetCost(args.testing)
    yield UsersGate(args.sluice)
    if args.quick or not first:
        return
    if args.nats:
        yield Names(args.nats)
        yield UsersService(args.nats)
