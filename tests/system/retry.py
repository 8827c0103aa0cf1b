#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The example of docs/retry.md, written with nats.c, against refusals: retry.py --server BIN, a build with the endpoint of a set cost.

It waits at least as long as it is asked to, succeeds where that is possible, and leaves alone what must not be asked again."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import plane as common  # noqa: E402
from plane import SLEEP, TIMEOUT, expect  # noqa: E402

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "build", "examples")
CONF = """
accounts {
  SYS { users: [ { user: admin, password: s } ] }
  APP { users: [ { user: app, password: app }, { user: flood, password: app } ] }
}
system_account: SYS
api { workers: 3 }
workload_groups {
  gated { match { subject: "svc.>" }, throttling { limit: 1 } }
  sleep { match { subject: "$SYS.REQ.TEST.>" }, throttling { limit: 1 }, queue { size: 2 } }
}
gates {
  g { account: APP, subject: "svc.>", limit: 1, group: gated }
  q { account: APP, subject: "hello.>", limit: 1, request_queue_limit: 1 }
}
"""


class Client:
    """The example as a process; what it said, line by line."""

    def __init__(self, plane, subject, payload="", count=1):
        self.process = subprocess.Popen([os.path.join(EXAMPLES, "retry"), plane.url(), subject, payload, str(count)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def end(self):
        out = self.process.communicate(timeout=TIMEOUT * 2)[0]
        return self.process.returncode, out.splitlines()


class Scripted:
    """A responder that gives these answers, one after the other, and knows when each request came."""

    def __init__(self, plane, subject, answers):
        self.peer, self.answers, self.came, self.headers = plane.peer().ready(), answers, [], []
        self.peer.send(b"SUB %s 1\r\n" % subject)
        self.peer.fence()

    def run(self):
        for headers, body in self.answers:
            line = self.peer.line()
            while not line.startswith(b"HMSG "):
                expect(not line.startswith(b"MSG "), "a request without Nats-Request-Timeout")
                if line == b"PING":
                    self.peer.send(b"PONG\r\n")
                line = self.peer.line()
            words = line.split()
            self.came.append(time.monotonic())
            self.headers.append(self.peer.take(int(words[-1])))
            block = b"NATS/1.0\r\n" + b"".join(h + b"\r\n" for h in headers) + b"\r\n"
            self.peer.send(b"HPUB %s %d %d\r\n%s%s\r\n" % (words[3], len(block), len(block) + len(body), block, body))


def refusal(code, after):
    return [b"Nats-Service-Error: busy: the request was not executed", b"Nats-Service-Error-Code: %d" % code, b"Nats-Retry-After: %s" % after], b""


def test_each_hint_is_obeyed_in_both_forms(plane):
    """429, 503 and 408 of a service, 429 of the API: the next try never comes before the time that was asked for."""
    json = b'{"type":"x","error":{"code":429,"err_code":10008,"description":"the workload group is full: the request was not executed"}}'
    responder = Scripted(plane, b"scripted", [refusal(429, b"0.300"), refusal(503, b"0.100"), refusal(408, b"0.500"),
                                              ([b"Nats-Retry-After: 0.250"], json), ([b"X: y"], b"done")])
    client = Client(plane, "scripted", "x")
    responder.run()
    code, lines = client.end()
    expect(code == 0 and lines[-1] == "answered at try 5: done", code, lines)
    gaps = [b - a for a, b in zip(responder.came, responder.came[1:])]
    expect(all(gap >= hint for gap, hint in zip(gaps, (0.3, 0.1, 0.5, 0.25))), gaps)
    expect(all(b"Nats-Request-Timeout: " in h for h in responder.headers), responder.headers)


def test_what_must_not_be_asked_again_is_not(plane):
    """An error of the service itself: no hint, so nobody says that nothing was done."""
    responder = Scripted(plane, b"scripted", [([b"Nats-Service-Error: no such order", b"Nats-Service-Error-Code: 404"], b"")])
    client = Client(plane, "scripted", "x")
    responder.run()
    code, lines = client.end()
    expect(code == 1 and lines == ["failed at try 1: 404 no such order"], code, lines)


def test_nobody_is_there_yet(plane):
    """Nobody says how long to wait: it waits longer each time, and finds the service that starts meanwhile."""
    client = Client(plane, "scripted", "x")
    line = [client.process.stdout.readline() for _ in range(3)][-1]
    expect(line.startswith("try 3: 503 "), line)
    responder = Scripted(plane, b"scripted", [([b"X: y"], b"here")])
    responder.run()
    code, lines = client.end()
    expect(code == 0 and lines[-1].endswith(": here"), code, lines)


def waits(lines):
    return [line for line in lines if line.startswith("try ")]


def test_it_gets_through_an_overloaded_gate(plane):
    """The group of the gate is held: it is refused with 429 until the holder is answered, and then it is served."""
    service = plane.peer().ready()
    service.send(b"SUB svc.> 1\r\n")
    service.fence()
    holder = plane.load("h", "flood", subject=b"svc.a")
    holder.send(1)
    held = service.message_with_reply()
    client = Client(plane, "svc.a", "x")
    lines = [client.process.stdout.readline() for _ in range(2)]
    expect(all("429 over the limit of the workload group: the request was not executed" in line for line in lines), lines)
    service.send(b"PUB %s 2\r\nok\r\n" % held)
    service.send(b"PUB %s 6\r\nserved\r\n" % service.message_with_reply())
    code, lines = client.end()
    expect(code == 0 and lines[-1].endswith(": served"), code, lines)
    c = plane.ask(b"GATE.INFO.g")["gate"]["counters"]
    expect(c["reasons"]["throttled"] == c["refused"] >= 2 and c["reasons"]["replied"] == 2, c)


def test_it_gets_through_an_overloaded_group(plane):
    """Others keep the group full for a while; every request of ours is served in the end, none before its hint."""
    flood = plane.load("f", "flood")
    flood.send(3, 700000)
    plane.until(lambda: plane.ask(b"STATS.sleep")["group"]["stats"]["queued_current"] == 2, "the parking is full")
    began = time.monotonic()
    code, lines = Client(plane, SLEEP.decode(), '{"us":1000}', 3).end()
    took = time.monotonic() - began
    expect(code == 0 and sum(line.startswith("answered") for line in lines) == 3, code, lines)
    expect(any("429" in line for line in waits(lines)), lines)
    asked = sum(int(line.rsplit(" ", 2)[1]) for line in waits(lines)) / 1000
    expect(took >= asked, "it said that it would wait for %.3f s, and took %.3f s" % (asked, took), lines)
    flood.wait_all()
    plane.books()


def test_a_service_of_nats_c_behind_a_gate(plane):
    """The other example: a service and its requester in one, which notice nothing."""
    out = subprocess.run([os.path.join(EXAMPLES, "hello"), plane.url()], capture_output=True, timeout=TIMEOUT * 2, check=False)
    expect(out.returncode == 0 and b'"Hello, world!"' in out.stdout, out)
    c = plane.ask(b"GATE.INFO.q")["gate"]["counters"]
    expect(c["received"] == c["reasons"]["replied"] == 1 and c["running"] == 0, c)


def start(binary, directory, _name):
    return common.Plane(binary, directory, CONF)


if __name__ == "__main__":
    common.main("retry", "a client that obeys refusals", globals(), start, "build/release/sluice-testing")
