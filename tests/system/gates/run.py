#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gates in front of user services, over the real server: run.py --server BIN. Each test with one and with three I/O loops.

Prints PASS name | FAIL name reason | SKIP name reason. After each test the counters of the gate add up."""
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import plane as common  # noqa: E402
from peer import Peer  # noqa: E402
from plane import TIMEOUT, Skip, expect  # noqa: E402
from rig import GATE, Requester, Rig, Service  # noqa: E402


def test_request_and_reply_pass_unchanged(rig):
    """Subject, reply subject, headers, payload, both ways; also a large payload."""
    service, client = Service(rig), Requester(rig, "c")
    client.send(header=b"X-Colour: red", body=b"hello", subject=b"svc.deep.er")
    line = service.peer.line()
    expect(line == b"HMSG svc.deep.er 1 _INBOX.c.0 27 32", line)
    expect(service.peer.take(32) == b"NATS/1.0\r\nX-Colour: red\r\n\r\nhello")
    service.peer.send(b"HPUB _INBOX.c.0 17 19\r\nNATS/1.0\r\nA: \r\n\r\nhi\r\n")
    expect(client.peer.line() == b"HMSG _INBOX.c.0 1 17 19")
    expect(client.peer.take(19) == b"NATS/1.0\r\nA: \r\n\r\nhi")
    for size in (0, 4095, 4097, 200000):
        client.send(body=b"y" * size)
        expect(service.take() == [b"y" * size], size)
        service.answer(b"z" * size)
        expect(client.read(1)[0][1] == b"z" * size, size)
    rig.wait(replied=5, running=0)


def test_the_responder_never_holds_more_than_the_limit(rig):
    service, client = Service(rig), Requester(rig, "c")
    client.send(20)
    for _ in range(18):
        service.take(1 if service.replies else 2)
        service.nothing()
        service.answer()
    service.take(1)
    service.answer()
    service.answer()
    expect(sorted(n for n, _ in client.read(20)) == list(range(20)))
    rig.wait(replied=20, queued=0, running=0)


def test_several_messages_to_one_reply(rig):
    """All pass; the first one frees the slot."""
    service, client = Service(rig), Requester(rig, "c")
    client.send(3)
    service.take(2)
    service.nothing()
    service.answer(b"1", b"2", b"3")
    service.take(1)
    service.nothing()
    service.answer(b"1", b"2", b"3")
    service.answer(b"1", b"2", b"3")
    got = client.read(9)
    for n in range(3):
        expect([p for k, p in got if k == n] == [b"1", b"2", b"3"], got)
    rig.wait(replied=3, running=0)


def test_a_late_reply_still_arrives(rig):
    """reply_timeout gives the slot to the next one and takes nothing from the requester."""
    expect("error" not in rig.gate(b"UPDATE.g", {"limit": 1, "reply_timeout": "100ms"}))
    service, client = Service(rig), Requester(rig, "c")
    client.send(2)
    service.take(1)
    service.take(1)
    service.answer(b"late")
    expect(client.read(1) == [(0, b"late")])
    rig.wait(reply_timeout=2, running=0, queued=0)
    service.answer(b"later")
    expect(client.read(1) == [(1, b"later")])


def test_a_responder_that_goes_frees_its_slots(rig):
    first, second = Service(rig, queue=b"q"), None
    client = Requester(rig, "c")
    client.send(10)
    first.take(2)
    second = Service(rig, queue=b"q")
    second.nothing()
    first.peer.reset()
    for _ in range(4):
        second.take(2)
        second.answer()
        second.answer()
    expect(sorted(n for n, _ in client.read(8)) == list(range(2, 10)))
    rig.wait(responder_gone=2, replied=8, running=0)


def test_nobody_is_there(rig):
    """The requester hears the status 503 as without a gate, and no slot stays taken."""
    client = Requester(rig, "c")
    client.send(5, subject=b"svc.none")
    for n, payload in client.read(5):
        expect(payload == b"NATS/1.0 503\r\nNats-Subject: svc.none\r\n\r\n", payload)
    rig.wait(no_responders=5, running=0)


def test_a_requester_with_its_inbox_only(rig):
    """Permissions hold as without a gate: on both sides, also allow_responses."""
    service, client = Service(rig, "service"), Requester(rig, "c", "narrow")
    client.send(3)
    service.take(2)
    service.answer()
    service.take(1)
    service.answer()
    service.answer()
    expect(sorted(n for n, _ in client.read(3)) == [0, 1, 2])
    client.peer.send(b"PUB other _INBOX.c.9 1\r\nx\r\n")
    line = client.peer.line()
    expect(line == b"-ERR 'Permissions Violation for Publish to \"other\"'", line)


def test_a_queue_group_gets_each_request_once(rig):
    rig.gate(b"UPDATE.g", {"limit": 100})
    services = [Service(rig, queue=b"q") for _ in range(3)]
    plain = Service(rig)
    client = Requester(rig, "c")
    client.send(40)
    plain.take(40)
    seen = 0
    for s in services:
        s.peer.send(b"PING\r\n")
        line = s.peer.line()
        while line != b"PONG":
            s.peer.take(int(line.split()[-1]))
            seen += 1
            line = s.peer.line()
    expect(seen == 40, seen)


def test_echo_off_holds(rig):
    """A requester that is itself the only subscriber and wants no echo hears that nobody is there."""
    p = Peer(rig.server.address(), "app", "app", TIMEOUT).ready()
    rig.peers.append(p)
    p.send(b'CONNECT {"user":"app","pass":"app","echo":false,"verbose":false,"headers":true,"no_responders":true}\r\n')
    p.send(b"SUB svc.a 1\r\nSUB _INBOX.e 2\r\nPUB svc.a _INBOX.e 1\r\nx\r\n")
    subject, payload = p.message()
    expect(subject == b"_INBOX.e" and b"503" in payload, subject, payload)


def test_each_one_over_the_limit_is_told_once(rig):
    """A burst of 300 into 2 slots and 50 places: 248 are told, and the newest are served."""
    service, client = Service(rig), Requester(rig, "c")
    client.send(300)
    rig.wait(evicted=248, queued=50, running=2)
    refused = client.read(248)
    for n, payload in refused:
        expect(b"Nats-Service-Error: the queue is full: the request was not executed\r\n" in payload, payload)
        expect(b"Nats-Service-Error-Code: 503\r\n" in payload and b"\r\nNats-Retry-After: " in payload, payload)
        after = payload.split(b"Nats-Retry-After: ", 1)[1].split(b"\r\n", 1)[0]
        expect(payload.endswith(b"\r\n\r\n503 the queue is full: the request was not executed, retry after %s s" % after), payload)
    expect(sorted(n for n, _ in refused) == list(range(2, 250)), "others than the oldest were evicted")
    service.take(2)
    for _ in range(50):
        service.answer()
        service.take(1)
    service.answer()
    service.answer()
    expect(sorted(n for n, _ in client.read(52)) == [0, 1] + list(range(250, 300)))
    rig.wait(replied=52, queued=0, running=0)


def test_a_deadline_that_passes_is_told(rig):
    service, client = Service(rig), Requester(rig, "c")
    client.send(2)
    client.send(3, header=b"Nats-Request-Timeout: 100ms")
    for n, payload in client.read(3):
        expect(n >= 2 and b"Nats-Service-Error-Code: 408\r\n" in payload, n, payload)
    service.take(2)
    service.nothing()
    rig.wait(expired=3, running=2)


def test_refusals_may_be_no_responders(rig):
    rig.gate(b"UPDATE.g", {"refuse": "no_responders", "request_queue_limit": 1})
    Service(rig)
    client = Requester(rig, "c")
    client.send(4)
    expect(client.read(1) == [(2, b"NATS/1.0 503\r\nNats-Subject: svc.a\r\n\r\n")])


def test_clients_without_headers_or_no_responders_are_told_too(rig):
    """Who reads no headers reads it in the payload; the status 503 is for those that asked for it, the others get the error."""
    text = b"503 the queue is full: the request was not executed, retry after "
    for how in ("service_error", "no_responders"):
        rig.gate(b"UPDATE.g", {"refuse": how, "request_queue_limit": 1})
        service = Service(rig)
        for name, headers in (("plain", b"false"), ("quiet", b"true")):
            client = Requester(rig, name + how[:2])
            client.peer.send(b'CONNECT {"user":"app","pass":"app","verbose":false,"headers":%s,"no_responders":false}\r\n' % headers)
            client.peer.send(b"SUB _INBOX.%s.* 1\r\n" % client.tag)
            client.send(4)
            n, payload = client.read(1)[0]
            expect(n == 2, n)
            if headers == b"true":
                expect(payload.startswith(b"NATS/1.0\r\nNats-Service-Error: the queue is full"), payload)
                payload = payload.split(b"\r\n\r\n", 1)[1]
            expect(payload.startswith(text) and payload.endswith(b" s"), payload)
            service.take(2)
            service.answer()
            service.answer()
            service.take(1)
            service.answer()
            expect(sorted(n for n, _ in client.read(3)) == [0, 1, 3])
        service.peer.reset()


def test_without_a_reply_subject_it_passes_by(rig):
    service, client = Service(rig), Requester(rig, "c")
    client.peer.send(b"PUB svc.a 1\r\nx\r\n" * 100)
    service.take(100)
    expect(rig.counters()["received"] == 0)


def test_who_leaves_takes_its_requests_along(rig):
    service, client, goes = Service(rig), Requester(rig, "c"), Requester(rig, "g")
    client.send(2)
    rig.wait(running=2)
    goes.send(40)
    rig.wait(queued=40)
    goes.peer.sock.shutdown(2)
    rig.wait(disconnect=40, queued=0)
    service.take(2)
    service.nothing()


def test_settings_change_while_requests_wait(rig):
    service, client = Service(rig), Requester(rig, "c")
    client.send(40)
    rig.wait(queued=38)
    answer = rig.gate(b"UPDATE.g", {"limit": 10, "discipline": "lifo"})
    expect(answer["gate"]["limit"] == 10 and answer["evicted"] == 0, answer)
    service.take(10)
    service.nothing()
    answer = rig.gate(b"UPDATE.g", {"request_queue_limit": 5, "limit": 1})
    expect(answer["evicted"] == 25, answer)
    expect(all(b"503" in p for _, p in client.read(25)))
    for _ in range(10):
        service.answer()
    service.take(1)
    service.nothing()
    rig.gate(b"UPDATE.g", {"limit": 2})
    for _ in range(4):
        service.take(1)
        service.answer()
    service.answer()
    expect(len(client.read(15)) == 15)
    rig.wait(replied=15, evicted=25, queued=0, running=0)


def test_a_gate_that_is_deleted_lets_all_pass(rig):
    service, client = Service(rig), Requester(rig, "c")
    client.send(40)
    rig.wait(queued=38)
    answer = rig.gate(b"DELETE.g")
    expect(answer["success"] and answer["passed_on"] == 38, answer)
    service.take(40)
    client.send(40)
    service.take(40)
    for _ in range(80):
        service.answer()
    expect(sorted(n for n, _ in client.read(80)) == list(range(80)))
    expect(rig.gate(b"INFO.g")["error"]["code"] == 404)


def test_a_gate_made_at_run_time(rig):
    service, client = Service(rig, subject=b"orders.*"), Requester(rig, "c")
    client.send(3, subject=b"orders.new")
    service.take(3)
    answer = rig.gate(b"CREATE.orders", {"account": "APP", "subject": "orders.*", "limit": 1})
    expect(answer["gate"]["origin"] == "api", answer)
    client.send(3, subject=b"orders.new")
    service.take(1)
    service.nothing()
    expect(rig.gate(b"NAMES")["names"] == ["g", "orders"])
    expect([g["name"] for g in rig.gate(b"LIST")["gates"]] == ["g", "orders"])


def test_a_reload_changes_gates(rig):
    service, client = Service(rig), Requester(rig, "c")
    client.send(10)
    service.take(2)
    rig.reload(GATE.replace("limit: 2,", "limit: 4,"))
    service.take(2)
    service.nothing()
    rig.reload("")
    service.take(6)
    for _ in range(10):
        service.answer()
    expect(sorted(n for n, _ in client.read(10)) == list(range(10)))


def test_wrong_requests_are_told_which_field(rig):
    """And change nothing."""
    before = rig.gate(b"LIST")
    good = {"account": "APP", "subject": "x", "limit": 1}
    for change, name in (({"limit": 0}, "limit"), ({"limit": -1}, "limit"), ({"limit": "many"}, "limit"), ({"subject": "a..b"}, "subject"),
                         ({"subject": "svc.x"}, "subject"), ({"subject": "$JS.API.>"}, "subject"), ({"subject": "$SYS.REQ.>"}, "subject"),
                         ({"subject": "_INBOX.a"}, "subject"), ({"subject": ">"}, "subject"), ({"subject": "*.x"}, "subject"),
                         ({"subject": "$WLM.API.>"}, "subject"), ({"discipline": "random"}, "discipline"), ({"request_deadline": "soon"}, "request_deadline"),
                         ({"reply_timeout": "-1s"}, "reply_timeout"), ({"refuse": "maybe"}, "refuse"), ({"request_queue_limit": 0}, "request_queue_limit"),
                         ({"account": "NONE"}, "account"), ({"group": "x"}, "group"), ({"nope": 1}, "nope"), ({"queue": {}}, "queue")):
        answer = rig.gate(b"CREATE.new", dict(good, **change))
        expect(answer["error"]["code"] == 400 and name in answer["error"]["description"], change, answer)
    for missing in ("subject", "limit"):
        answer = rig.gate(b"CREATE.new", {k: v for k, v in good.items() if k != missing})
        expect(answer["error"]["description"] == missing + ": missing", answer)
    expect("name" in rig.gate(b"CREATE.g", good)["error"]["description"])
    expect("subject" in rig.gate(b"UPDATE.g", {"subject": "other"})["error"]["description"])
    expect("limit" in rig.gate(b"UPDATE.g", {"limit": 0})["error"]["description"])
    for what in (b"INFO.nope", b"DELETE.nope", b"UPDATE.nope"):
        expect(rig.gate(what)["error"]["code"] == 404, what)
    expect(rig.gate(b"LIST")["gates"] == before["gates"])


def test_only_the_system_account_may_look(rig):
    app = rig.peer().ready()
    app.send(b"SUB _INBOX.x 1\r\n")
    for subject in (b"INFO.g", b"NAMES", b"LIST", b"CREATE.x", b"UPDATE.g", b"DELETE.g"):
        app.send(b"PUB $WLM.API.GATE.%s _INBOX.x 2\r\n{}\r\n" % subject)
        expect(b"503" in app.message()[1], subject)


def test_the_monitor_shows_gates(rig):
    service, client = Service(rig), Requester(rig, "c")
    client.send(5)
    rig.wait(queued=3)
    gate = rig.http("/apiz")["gates"][0]
    expect(gate["name"] == "g" and gate["now"]["waiting"] == 3 and gate["now"]["running"] == 2, gate)
    metrics = rig.text("/metrics")
    for line in ('sluice_gate_received_total{gate="g"} 5', 'sluice_gate_queued{gate="g"} 3', 'sluice_gate_running{gate="g"} 2',
                 'sluice_gate_ended_total{gate="g",outcome="answered"} 0'):
        expect(line in metrics, line)
    subs = rig.http("/subsz")["num_subscriptions"]
    rig.gate(b"DELETE.g")
    expect(rig.http("/subsz")["num_subscriptions"] == subs, "a gate is counted as a subscription")
    service.take(5)


def test_waiting_requests_are_told_when_the_server_stops(rig):
    Service(rig)
    client = Requester(rig, "c")
    client.send(40)
    rig.wait(queued=38)
    rig.server.signal("TERM")
    got = client.read(38)
    expect(all(b"Nats-Service-Error-Code: 503" in p and b"shutting down" in p for _, p in got), got[:1])
    expect(rig.server.wait_exit() == 0)


class Tool:
    """The nats command line; a service of it in the background."""

    def __init__(self, rig, *service):
        self.nats = shutil.which("nats") or shutil.which(os.path.expanduser("~/go/bin/nats"))
        if self.nats is None:
            raise Skip("no nats command")
        self.rig = rig
        self.process = subprocess.Popen([self.nats, "-s", rig.url(), *service], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def run(self, *args, user=None):
        return subprocess.run([self.nats, "-s", self.rig.url(user), *args], capture_output=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT,
                              check=False)

    def until(self, wanted, *args, user=None):
        """Asks until the answer has that in it: the service needs a moment to come up."""
        for _ in range(int(TIMEOUT / 0.05)):
            out = self.run(*args, user=user)
            if wanted in out.stdout:
                return
            threading.Event().wait(0.05)
        raise AssertionError("no %r in %r" % (wanted, out))


def test_the_command_line_tools_notice_nothing(rig):
    """nats reply, nats request with several replies, a queue of both."""
    with Tool(rig, "reply", "svc.echo", "--echo") as tool:
        tool.until(b"hello", "request", "svc.echo", "hello", "--raw", "--timeout", "5s")
        out = tool.run("request", "svc.echo", "x", "--count", "50", user="narrow")
        expect(out.returncode == 0, out.stderr)
    rig.wait(running=0, queued=0)


def test_a_micro_service_notices_nothing(rig):
    """nats service serve (micro of nats.go): its endpoint behind the gate, its discovery beside it; requesters with their inbox only."""
    with Tool(rig, "service", "serve", "svc") as tool:
        tool.until(b"hello", "request", "svc.echo", "hello", "--raw", "--timeout", "5s", user="narrow")
        before = rig.counters()["reasons"]["replied"]
        out = tool.run("request", "svc.echo", "x", "--count", "50", user="narrow")
        expect(out.returncode == 0, out)
        rig.wait(replied=before + 50, running=0)
        tool.until(b"echo", "service", "info", "svc")
        tool.until(b"%d" % (before + 50), "service", "stats", "svc")
        out = tool.run("service", "request", "svc", "echo", "hello again")
        expect(out.returncode == 0 and b"hello again" in out.stdout, out)
        # What the tool asks for on $SRV passes by.
        rig.wait(replied=before + 51, running=0)


def test_the_service_benchmark_runs_behind_a_gate(rig):
    with Tool(rig, "bench", "service", "serve", "svc.bench", "--clients", "2", "--no-progress") as tool:
        for _ in range(int(TIMEOUT / 0.05)):
            if tool.run("request", "svc.bench", "x", "--timeout", "5s").returncode == 0 and rig.counters()["reasons"]["replied"] > 0:
                break
            threading.Event().wait(0.05)
        out = tool.run("bench", "service", "request", "svc.bench", "--clients", "4", "--msgs", "400", "--no-progress")
        expect(out.returncode == 0, out)
        expect(rig.counters()["reasons"]["replied"] >= 400)
    rig.wait(running=0, queued=0)


def test_load_from_many_with_changes_and_departures(rig):
    """Three services that come and go, requesters too, settings that change: all are told once, and the books add up."""
    stop = threading.Event()
    address = rig.server.address()

    def serve():
        while not stop.is_set():
            with Peer(address, "app", "app", TIMEOUT) as p:
                p.ready()
                p.send(b"SUB svc.> q 1\r\n")
                for _ in range(500):
                    try:
                        p.sock.settimeout(0.2)
                        line = p.line()
                    except (socket.timeout, OSError):
                        break
                    if line == b"PING":
                        p.send(b"PONG\r\n")
                    if not line.startswith(b"MSG "):
                        continue
                    words = line.split()
                    p.take(int(words[-1]))
                    p.send(b"PUB %s 2\r\nok\r\n" % words[3])

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(3)]
    for t in threads:
        t.start()
    clients = [Requester(rig, "c%d" % i) for i in range(4)]
    end = time.monotonic() + 2
    i = 0
    while time.monotonic() < end:
        for c in clients:
            c.send(20)
        goes = Requester(rig, "g%d" % i)
        goes.send(20)
        goes.peer.sock.close()
        rig.gate(b"UPDATE.g", {"limit": 1 + i % 7, "request_queue_limit": 20 + i % 50, "discipline": ("fifo", "lifo", "adaptive")[i % 3],
                              "reply_timeout": ("0s", "50ms")[i % 2]})
        rig.counters()
        i += 1
    rig.gate(b"UPDATE.g", {"limit": 8, "reply_timeout": "50ms", "request_deadline": "1s"})
    rig.wait(queued=0, running=0)
    stop.set()
    for t in threads:
        t.join()
    rig.wait(queued=0, running=0)


def start(binary, directory, _name):
    return Rig(binary, directory, GATE)


if __name__ == "__main__":
    common.main("gates", "gates in front of user services", globals(), start, "build/release/sluice", threads=(1, 3))
