#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The API plane under overload: run.py --server BIN, a build with the endpoint of a set cost ($SYS.REQ.TEST.SLEEP).

Prints PASS name | FAIL name reason. What every test asks: each request is told about exactly once, and the counters
of the server say what the clients saw."""
import argparse
import collections
import json
import os
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from client import Diagnosis  # noqa: E402
from peer import Peer  # noqa: E402
from server import Server, find_binary  # noqa: E402

TIMEOUT = float(os.environ.get("STEP_TIMEOUT", "20"))
# One of the three workers is kept from a level below the operators': two run at once.
ENDINGS = ("answered", "refused", "evicted", "expired", "cancelled")
CONF = """
accounts {
  SYS { users: [ { user: admin, password: s } ] }
  APP { users: [ { user: app, password: app } ] }
  OTHER { users: [ { user: other, password: app } ] }
}
system_account: SYS
api { workers: 3, %s }
"""


def expect(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what)[:600])


class Load(threading.Thread):
    """One connection with requests in flight: reads what comes back and counts it by its kind."""

    def __init__(self, peer, name):
        super().__init__(daemon=True)
        self.peer, self.tag = peer, name.encode()
        self.sent = 0
        self.kinds = collections.Counter()
        self.answers = collections.Counter()
        self.wait = threading.Condition()
        self.served = set()
        peer.ready()
        peer.send(b"SUB _INBOX.%s.* 1\r\n" % self.tag)
        peer.fence()
        self.start()

    def run(self):
        try:
            while True:
                subject, payload = self.peer.message()
                number = int(subject.rsplit(b".", 1)[1])
                kind = "ok"
                if b'"error"' in payload:
                    kind = json.loads(payload[payload.index(b"{"):])["error"]["code"]
                with self.wait:
                    self.kinds[kind] += 1
                    self.answers[number] += 1
                    if kind == "ok":
                        self.served.add(number)
                    self.wait.notify_all()
        except OSError:
            pass

    def send(self, count, us, header=b""):
        """Requests of so many microseconds each, in one write."""
        body = b'{"us":%d}' % us
        lines = []
        for i in range(self.sent, self.sent + count):
            if header:
                block = b"NATS/1.0\r\n" + header + b"\r\n\r\n"
                lines.append(b"HPUB $SYS.REQ.TEST.SLEEP _INBOX.%s.%d %d %d\r\n%s%s\r\n" % (
                    self.tag, i, len(block), len(block) + len(body), block, body))
            else:
                lines.append(b"PUB $SYS.REQ.TEST.SLEEP _INBOX.%s.%d %d\r\n%s\r\n" % (self.tag, i, len(body), body))
        self.sent += count
        self.peer.send(b"".join(lines))

    def wait_all(self):
        """Returns when each request has been told about, and once only."""
        deadline = time.monotonic() + TIMEOUT
        with self.wait:
            while sum(self.kinds.values()) < self.sent and time.monotonic() < deadline:
                self.wait.wait(0.5)
            expect(sum(self.kinds.values()) == self.sent, "told about %d of %d: %s" % (
                sum(self.kinds.values()), self.sent, dict(self.kinds)))
            expect(max(self.answers.values()) == 1, "told twice")


class Plane:
    """The server of one test and its connections."""

    def __init__(self, binary, directory, settings):
        path = os.path.join(directory, "server.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write(CONF % settings)
        self.server = Server(binary, directory, ["-c", path, "-m", "-1"], TIMEOUT)
        self.server.wait_ready()
        self.peers = []
        self.admin = self.peer("admin", "s").ready()

    def peer(self, user="app", secret="app"):
        p = Peer(self.server.address(), user, secret, TIMEOUT)
        self.peers.append(p)
        return p

    def load(self, name, user="app"):
        return Load(self.peer(user), name)

    def ask(self, subject, body=None):
        answer = json.loads(self.admin.ask(b"$WLM.API." + subject, json.dumps(body).encode() if body is not None else b""))
        return answer

    def info(self):
        return self.ask(b"QUEUE.INFO")

    def http(self, path):
        with urllib.request.urlopen("http://%s:%d%s" % (self.server.address("monitoring") + (path,)), timeout=TIMEOUT) as answer:
            return json.loads(answer.read())

    def normal(self):
        """The counters of the level of our requests, which always add up."""
        c = self.info()["counters"]
        for counts in [c] + list(c["levels"].values()):
            expect(counts["received"] == sum(counts[k] for k in ENDINGS) + counts["queued"] + counts["running"], counts)
        return c["levels"]["normal"]

    def until(self, condition, what):
        for _ in range(int(TIMEOUT / 0.02)):
            if condition():
                return
            threading.Event().wait(0.02)
        raise AssertionError("not in time: " + what)

    def close(self):
        for p in self.peers:
            p.sock.close()
        return self.server.stop()


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
    expect(unread[len(unread) // 2] < 16384, "half of the looks find %d bytes and more unread" % unread[len(unread) // 2])
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


def main():
    parser = argparse.ArgumentParser(description="the API plane under overload")
    parser.add_argument("--server", default="build/release/sluice-testing")
    parser.add_argument("names", nargs="*", help="only tests whose name has one of these")
    args = parser.parse_args()
    binary = find_binary(args.server)
    if binary is None:
        sys.exit("no such server: %s" % args.server)
    failed = 0
    for key, test in list(globals().items()):
        name = key[5:]
        if not key.startswith("test_") or (args.names and not any(n in name for n in args.names)):
            continue
        with tempfile.TemporaryDirectory(prefix="overload-") as directory:
            plane, why = None, None
            try:
                plane = Plane(binary, directory, SETTINGS.get(name, "request_deadline: 10s"))
                test(plane)
            except (AssertionError, RuntimeError, OSError, ValueError, KeyError, IndexError) as e:
                why = "%s: %s" % (type(e).__name__, e)
            end = plane.close() if plane else None
            why = "; ".join(filter(None, [why, end]))
            print("FAIL overload/%s %s" % (name, why.replace("\n", " ")) if why else "PASS overload/" + name, flush=True)
            if why and plane:
                print("\n".join("    log: " + line for line in plane.server.log[-6:]))
            failed += bool(why)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
