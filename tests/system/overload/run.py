#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The API plane under overload: run.py --server BIN, a build with the endpoint of a set cost ($SYS.REQ.TEST.SLEEP).

Prints PASS name | FAIL name reason. What every test asks: each request is told about exactly once, and the counters
of the server say what the clients saw."""
import collections
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from client import Diagnosis  # noqa: E402
import plane as common  # noqa: E402
from plane import expect  # noqa: E402

# One of the three workers is kept from a level below the operators': two run at once.
CONF = """
accounts {
  SYS { users: [ { user: admin, password: s } ] }
  APP { users: [ { user: app, password: app } ] }
  OTHER { users: [ { user: other, password: app } ] }
}
system_account: SYS
api { workers: 3, %s }
"""


class Plane(common.Plane):
    def info(self):
        return self.ask(b"QUEUE.INFO")

    def normal(self):
        """The counters of the level of our requests, which always add up."""
        return self.books()["levels"]["normal"]


def check_books(plane, loads):
    """The server counted what the clients saw."""
    c = plane.normal()
    expect(c["received"] == sum(load.sent for load in loads), c)
    kinds = collections.Counter()
    for load in loads:
        kinds.update(load.kinds)
    expect(c["answered"] == kinds["ok"], c, kinds)
    expect(c["expired"] == kinds[408], c, kinds)
    expect(c["evicted"] + c["refused"] + c["cancelled"] == kinds[503] + kinds[429], c, kinds)
    expect(c["queued"] == 0 and c["running"] == 0, c)


def test_the_backlog_stands_in_the_queue(plane):
    """At 10 times the capacity of a 1 ms endpoint the sockets stay empty, and those who look are answered at once."""
    loads = [plane.load("l%d" % i) for i in range(4)]
    diagnosis, port = Diagnosis(), plane.server.address()[1]
    unread, looks = [], []
    began = time.monotonic()
    n = 0
    while time.monotonic() < began + 2:
        for load in loads:
            load.send(50, 1000)
        n += 1
        unread.append(sum(diagnosis.unread(port, load.peer.port) for load in loads))
        if n % 20 == 0:
            at = time.monotonic()
            plane.http("/apiz")
            plane.info()
            looks.append(time.monotonic() - at)
        threading.Event().wait(max(0.0, began + n * 0.01 - time.monotonic()))
    offered = sum(load.sent for load in loads) / (time.monotonic() - began)
    expect(offered > 5000, "the load is too small: %d/s" % offered)
    unread.sort()
    # Each look comes right after a batch of 19,600 bytes; a backlog that stood in the sockets would be 100 of them.
    expect(unread[len(unread) // 2] < 65536, "half of the looks find %d bytes and more unread" % unread[len(unread) // 2])
    expect(unread[len(unread) * 95 // 100] < 262144, "one look in twenty finds %d bytes and more unread" % unread[len(unread) * 95 // 100])
    looks.sort()
    expect(looks[len(looks) // 2] < 0.5, "a look takes %.3f s" % looks[len(looks) // 2])
    for load in loads:
        load.wait_all()
    check_books(plane, loads)


def test_each_one_over_the_limit_is_told_once(plane):
    """With room for 50, what falls out is answered at once, one for each that came too much."""
    load = plane.load("a")
    load.send(500, 5000)
    load.wait_all()
    check_books(plane, [load])
    expect(load.kinds["ok"] >= 50 and load.kinds[503] >= 400, load.kinds)


def test_the_newest_is_never_evicted(plane):
    """With room for 50, the last fifty of a burst are among the served."""
    load = plane.load("a")
    plane.ask(b"QUEUE.UPDATE", {"discipline": "fifo"})
    load.send(300, 1000)
    load.wait_all()
    expect(load.kinds["ok"] >= 50, load.kinds)
    lost = set(range(250, 300)) - load.served
    expect(not lost, "not served: %s" % sorted(lost))


def test_a_deadline_that_passes_is_told(plane):
    load = plane.load("a")
    load.send(4, 200000)
    load.send(100, 1000, b"Nats-Request-Timeout: 100ms")
    load.wait_all()
    check_books(plane, [load])
    expect(load.kinds[408] == 100, load.kinds)


def test_settings_change_with_a_full_queue(plane):
    """Limit and order, smaller, larger, to and fro, while requests wait: none is lost and none runs twice."""
    load = plane.load("a")
    load.send(2, 300000)
    load.send(400, 500)
    plane.until(lambda: plane.info()["levels"]["normal"]["waiting"] == 400, "400 wait")
    for change in ({"discipline": "lifo"}, {"request_queue_limit": 300}, {"discipline": {"normal": "fifo"}}, {"workers": 1},
                   {"request_queue_limit": 1000}, {"discipline": "adaptive"}, {"workers": 4}):
        answer = plane.ask(b"QUEUE.UPDATE", change)
        expect("error" not in answer, answer)
    load.send(100, 500)
    load.wait_all()
    check_books(plane, [load])
    expect(load.kinds == {"ok": 402, 503: 100}, load.kinds)


def test_wrong_settings_change_nothing(plane):
    before = plane.info()["settings"]
    for change, name in (({"nope": 1}, "nope"), ({"workers": 0}, "workers"), ({"workers": "2"}, "workers"), ({"discipline": "random"}, "discipline"),
                         ({"discipline": {"upper": "fifo"}}, "upper"), ({"request_deadline": "soon"}, "request_deadline"),
                         ({"adaptive_age": 0}, "adaptive_age"), ({"request_queue_limit": -1}, "request_queue_limit"),
                         ({"request_queue_limit": 7, "nope": 1}, "nope"), ([1], "object")):
        answer = plane.ask(b"QUEUE.UPDATE", change)
        expect(answer["error"]["code"] == 400 and name in answer["error"]["description"], change, answer)
    expect(plane.info()["settings"] == before)


def test_who_leaves_takes_its_requests_along(plane):
    """The waiting requests of a connection that closes are cancelled, and counted."""
    stays, goes = plane.load("s"), plane.load("g")
    stays.send(2, 300000)
    plane.until(lambda: plane.normal()["running"] == 2, "two run")
    goes.send(200, 1000)
    plane.until(lambda: plane.normal()["queued"] == 200, "200 wait")
    goes.peer.sock.shutdown(2)
    plane.until(lambda: plane.normal()["cancelled"] == 200, "200 are cancelled")
    stays.wait_all()
    expect(stays.kinds == {"ok": 2}, stays.kinds)


def test_an_operator_lists_and_cancels(plane):
    load = plane.load("a")
    load.send(2, 400000)
    plane.until(lambda: plane.normal()["running"] == 2, "two run")
    load.send(50, 1000)
    plane.until(lambda: plane.normal()["queued"] == 50, "50 wait")
    listed = plane.ask(b"REQUEST.LIST", {"account": "APP", "limit": 10})
    expect(listed["total"] == 50 and len(listed["requests"]) == 10, listed)
    first = listed["requests"][0]
    expect(first["subject"] == "$SYS.REQ.TEST.SLEEP" and first["account"] == "APP", first)
    expect(plane.ask(b"REQUEST.CANCEL", {"id": first["id"]})["cancelled"] == 1)
    expect(plane.ask(b"REQUEST.CANCEL", {"id": first["id"]})["error"]["code"] == 404)
    expect(plane.ask(b"REQUEST.CANCEL", {})["error"]["code"] == 400)
    expect(plane.ask(b"REQUEST.CANCEL", {"account": "OTHER"})["cancelled"] == 0)
    expect(plane.ask(b"REQUEST.CANCEL", {"account": "APP"})["cancelled"] == 49)
    load.wait_all()
    expect(load.kinds == {"ok": 2, 503: 50}, load.kinds)
    check_books(plane, [load])


def test_the_operator_gets_in_when_the_workers_are_held(plane):
    load = plane.load("a")
    load.send(2, 1500000)
    plane.until(lambda: plane.normal()["running"] == 2, "two run")
    at = time.monotonic()
    holders = plane.http("/apiz")["holders"]
    plane.info()
    expect(time.monotonic() - at < 1, "the operator waited %.2f s" % (time.monotonic() - at))
    expect(sum(h["busy"] for h in holders if h["worker"] != "api-op") == 2, holders)
    load.wait_all()


def test_only_the_system_account_may_look(plane):
    app = plane.peer().ready()
    app.send(b"SUB _INBOX.x 1\r\n")
    for subject in (b"QUEUE.INFO", b"QUEUE.UPDATE", b"REQUEST.LIST", b"REQUEST.CANCEL"):
        app.send(b"PUB $WLM.API.%s _INBOX.x 2\r\n{}\r\n" % subject)
        expect(b"503" in app.message()[1], subject)


def test_one_account_does_not_starve_another(plane):
    """One floods, the other asks now and then and is answered quickly."""
    many, few = plane.load("m"), plane.load("f", "other")
    many.send(3000, 1000)
    plane.until(lambda: plane.normal()["queued"] > 1000, "many wait")
    at = time.monotonic()
    few.send(20, 1000)
    few.wait_all()
    expect(few.kinds == {"ok": 20}, few.kinds)
    expect(time.monotonic() - at < 0.6, "it took %.2f s" % (time.monotonic() - at))
    many.wait_all()
    check_books(plane, [many, few])


def test_it_recovers_from_a_pause(plane):
    """After two seconds in which the process did not run, new requests are answered at once."""
    load = plane.load("a")
    plane.server.signal("STOP")
    load.send(4000, 1000)
    threading.Event().wait(1.5)
    plane.server.signal("CONT")
    at = time.monotonic()
    fresh = plane.load("b", "other")
    fresh.send(50, 1000)
    fresh.wait_all()
    expect(fresh.kinds == {"ok": 50}, fresh.kinds)
    expect(time.monotonic() - at < 1.5, "it took %.2f s" % (time.monotonic() - at))
    load.wait_all()
    check_books(plane, [load, fresh])


def stopped(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "T"


def test_what_lay_unread_over_a_pause_has_waited(plane):
    """Requests that came while the process did not run count from then: the first of these are past their deadline of
    2 s when they are read, though workers are free, and the last ones are not."""
    load = plane.load("a")
    plane.server.signal("STOP")
    plane.until(lambda: stopped(plane.server.pid), "the process is stopped")
    load.send(40, 0, b"Nats-Request-Timeout: 2s")
    threading.Event().wait(3)
    plane.server.signal("CONT")
    load.wait_all()
    expect(load.kinds[408] >= 8 and load.kinds["ok"] >= 4, load.kinds)
    expect(min(load.served) >= 8, load.served)
    check_books(plane, [load])


def test_waiting_requests_are_told_when_the_server_stops(plane):
    load = plane.load("a")
    load.send(2, 200000)
    plane.until(lambda: plane.normal()["running"] == 2, "two run")
    load.send(100, 1000)
    plane.until(lambda: plane.normal()["queued"] == 100, "100 wait")
    plane.server.signal("TERM")
    load.wait_all()
    expect(load.kinds["ok"] + load.kinds[503] == 102 and load.kinds[503] >= 100, load.kinds)
    expect(plane.server.wait_exit() == 0)


# Settings other than the usual ones.
SETTINGS = {
    "each_one_over_the_limit_is_told_once": "request_queue_limit: 50",
    "the_newest_is_never_evicted": "request_queue_limit: 50",
}


def start(binary, directory, name):
    return Plane(binary, directory, CONF % SETTINGS.get(name, "request_deadline: 10s"))


if __name__ == "__main__":
    common.main("overload", "the API plane under overload", globals(), start, "build/release/sluice-testing")
