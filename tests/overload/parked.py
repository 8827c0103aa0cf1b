# SPDX-License-Identifier: Apache-2.0
"""S11: 5,000 requests are parked in a workload group, and their clients all leave at once."""

import json
import socket
import time

from planes import BenchError, Client, Server, overload

PARKED = 5000
LIMIT = 4
BAR_MS = 100
GIVE_UP_S = 60
HOLD_S = (2, 8, 30)
SUBJECT = overload.SluicePlane.subject
CONF = """
accounts {
  SYS { users: [ { user: admin, password: s } ] }
  APP { users: [ { user: app, password: app } ] }
}
system_account: SYS
api { workers: 16, request_deadline: "60s" }
store_dir: "@DIR@/store"
workload_groups { all { match { subject: "$SYS.REQ.TEST.>" }, throttling { limit: %d }, queue { size: %d } } }
""" % (LIMIT, PARKED)


class Parked:
    """A client whose requests wait."""

    def __init__(self, server, name, count, us):
        body = b'{"us":%d}' % us
        self.sock = socket.create_connection(("127.0.0.1", server.port), 20)
        self.sock.sendall(
            b'CONNECT {"user":"app","pass":"app","verbose":false}\r\nSUB _INBOX.%s.* 1\r\n' % name
            + b"".join(b"PUB %s _INBOX.%s.%d %d\r\n%s\r\n" % (
                SUBJECT.encode(), name, i, len(body), body) for i in range(count)))

    def leave(self):
        self.sock.close()


class Watch:
    """The group's counters, asked for in the operator's lane."""

    def __init__(self, server):
        self.client = Client(server.port, user="admin", password="s")

    def totals(self):
        return json.loads(self.client.request("$WLM.API.STATS"))["totals"]

    def stats(self):
        return json.loads(self.client.request("$WLM.API.STATS.all"))["group"]["stats"]

    def until(self, what, condition):
        end = time.monotonic() + GIVE_UP_S
        while not condition(self.stats()):
            if time.monotonic() > end:
                raise BenchError(f"S11: {what} did not come about: {self.stats()}")
        return time.monotonic()


def park_all(server, with_us, conns):
    """Takes all permits, and then parks 5,000. Who holds the permits lets go after a while: on a
    slow machine that may be too early, then once more, with more time."""
    for hold_s in HOLD_S:
        stays = Parked(server, b"stay", LIMIT, hold_s * 1000000)
        with_us.until("all permits taken", lambda s: s["running"] == LIMIT)
        clients = [Parked(server, b"c%d" % i, PARKED // conns, 0) for i in range(conns)]
        with_us.until(f"{PARKED} parked",
                      lambda s: s["queued_current"] == PARKED or s["running"] < LIMIT)
        now = with_us.stats()
        if now["queued_current"] == PARKED and now["running"] == LIMIT:
            return stays, clients
        for c in [stays, *clients]:
            c.leave()
        with_us.until("an idle group", lambda s: s["running"] == 0 and s["queued_current"] == 0)
    raise BenchError(f"S11: {PARKED} requests are not parked within {HOLD_S[-1]} s")


def leave_all(server, conns):
    """Milliseconds from the first to leave until nobody is parked, and what the counters say."""
    with_us = Watch(server)
    stays, clients = park_all(server, with_us, conns)
    before = with_us.stats()["total_queue_cancelled"]
    began = time.monotonic()
    for c in clients:
        c.leave()
    left = time.monotonic()
    gone = with_us.until("an empty parking", lambda s: s["queued_current"] == 0)
    after = with_us.stats()
    with_us.until("an idle group", lambda s: s["running"] == 0)
    stays.leave()
    # No permit was lost: what comes now is let in, all of it, and then none is held.
    again = Parked(server, b"again", 5 * LIMIT, 1000)
    with_us.until("all of the next answered", lambda s: s["running"] == 0
                  and s["total_admitted"] == after["total_admitted"] + 5 * LIMIT)
    again.leave()
    return {"ms": 1000 * (gone - began), "closing_ms": 1000 * (left - began),
            "cancelled": after["total_queue_cancelled"] - before,
            "swept": with_us.totals()["swept_cancelled"] + with_us.totals()["swept_admitted"]}


def measure(binary, _quick):
    with Server(binary, CONF, monitor=True) as s:
        got = {conns: leave_all(s, conns) for conns in (1, 100)}
        books = s.view("apiz")["counters"]
    return {"values": {"ms": got[1]["ms"], "ms_100": got[100]["ms"],
                       "lost": sum(PARKED - g["cancelled"] for g in got.values())},
            "raw": {"left": got, "books": books, "adds_up": overload.adds_up(books)}}


CHECKS = [overload.at_most("ms", "one client: ms to depth 0", BAR_MS),
          overload.at_most("ms_100", "100 clients: ms to depth 0", BAR_MS),
          overload.at_most("lost", "permits or requests lost", 0)]
