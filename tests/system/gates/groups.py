#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workload groups in front of gates, over the real server: groups.py --server BIN. Each test with one and with three I/O loops.

Prints PASS name | FAIL name reason. After each test the counters of gate and group add up, every permit is back, and the
backstop has found nothing."""
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import plane as common  # noqa: E402
from plane import TIMEOUT, Load, expect  # noqa: E402
from rig import CONF, Requester, Rig, Service  # noqa: E402

GROUP = 'workload_groups { tenants { match { subject: "svc.>" }, throttling { limit: %d, attribute: user }, queue { size: %d } } }\n'
GATE = 'gates { g { account: APP, subject: "svc.>", limit: %d, request_queue_limit: 10000, group: tenants } }\n'


class Grouped(Rig):
    def stats(self):
        s = self.ask(b"STATS.tenants")["group"]["stats"]
        expect(s["total_queued"] == s["queue_wait_count"] + s["total_queue_cancelled"] + s["total_queue_displaced"] + s["queued_current"], s)
        return s

    def set(self, limit, size, slots=100):
        self.reload(GROUP % (limit, size) + GATE % slots)

    def idle(self):
        """Everything has ended, and every permit is back."""
        self.wait(parked=0, queued=0, running=0)
        self.until(lambda: self.stats()["running"] == 0, "every permit is back")
        expect(self.stats()["queued_current"] == 0)
        self.swept_nothing()


class Echo(threading.Thread):
    """A service that answers everything at once, in the order of arrival."""

    def __init__(self, rig, user="app"):
        super().__init__(daemon=True)
        self.peer = rig.peer(user).ready()
        self.peer.send(b"SUB svc.> q 1\r\n")
        self.peer.fence()
        self.start()

    def run(self):
        try:
            while True:
                line = self.peer.line()
                if line == b"PING":
                    self.peer.send(b"PONG\r\n")
                elif line.startswith((b"MSG ", b"HMSG ")):
                    words = line.split()
                    self.peer.take(int(words[-1]))
                    self.peer.send(b"PUB %s 2\r\nok\r\n" % words[3])
        except OSError:
            pass


def test_a_tenant_over_its_share_waits_and_another_gets_in(rig):
    rig.set(2, 100)
    service, many, few = Service(rig), Requester(rig, "m"), Requester(rig, "f", "narrow")
    many.send(50)
    rig.wait(parked=48, running=2)
    few.send(2)
    rig.wait(parked=48, running=4)
    service.take(4)
    service.nothing()
    for _ in range(2):
        service.answer()
        service.take(1)
    service.answer()
    service.answer()
    service.nothing()
    for _ in range(46):
        service.answer()
        service.take(1)
    service.answer()
    service.answer()
    expect([n for n, _ in many.read(50)] == list(range(50)), "not first come first served")
    expect(sorted(n for n, _ in few.read(2)) == [0, 1])
    expect(rig.stats()["total_throttled"] == 48)
    rig.idle()


def test_burst_of_three_thousand_is_answered_in_order(rig):
    """Limit 8, size 3,000: nothing is lost, and a bucket is served in the order of arrival."""
    rig.set(8, 3000)
    Echo(rig)
    load = Load(rig.peer("narrow"), "b", subject=b"svc.a")
    load.send(3000)
    load.wait_all()
    expect(load.kinds == {"ok": 3000}, load.kinds)
    expect(load.order == list(range(3000)), "out of order")
    s = rig.stats()
    expect(s["total_admitted"] == 3000 and s["total_queue_rejections"] == 0, s)
    rig.idle()


def test_burst_into_a_size_of_500_refuses_exactly_the_rest(rig):
    """8 have a permit, 500 park, 2,492 are refused with 429; nobody answers before all have come."""
    rig.set(8, 500)
    service = Service(rig)
    load = Load(rig.peer("narrow"), "b", subject=b"svc.a")
    load.send(3000)
    rig.wait(running=8, parked=500, parking_full=2492)
    for _ in range(508):
        service.take(1)
        service.answer()
    load.wait_all()
    expect(load.kinds == {"ok": 508, 429: 2492}, load.kinds)
    expect(load.order == list(range(508)), "others than the last were refused")
    s = rig.stats()
    expect(s["queue_peak"] == 500 and s["total_queue_rejections"] == 2492, s)
    rig.idle()


def test_refusals_have_the_form_of_services(rig):
    rig.set(1, 0)
    service, client = Service(rig), Requester(rig, "c")
    client.send(2)
    n, payload = client.read(1)[0]
    expect(n == 1 and payload.startswith(b"NATS/1.0\r\nNats-Service-Error: over the limit of the workload group: the request was not executed\r\n"
                                         b"Nats-Service-Error-Code: 429\r\nNats-Retry-After: ") and b"\r\n\r\n429 over the limit of the workload group: the request was not executed, retry after " in payload, payload)
    service.take(1)
    service.answer()
    client.read(1)
    rig.wait(throttled=1, replied=1)
    rig.idle()


def test_permits_come_back_however_a_request_ends(rig):
    """A reply, a responder that closes, reply_timeout, a deadline, a requester that leaves: each time the next one comes in."""
    rig.set(1, 100)
    client = Requester(rig, "c")
    first, second = Service(rig, queue=b"q"), None
    client.send(1)
    first.take(1)
    client.send(5)
    rig.wait(parked=5)
    second = Service(rig, queue=b"q")
    first.peer.reset()
    rig.wait(responder_gone=1, parked=4)
    second.take(1)
    second.answer()
    rig.wait(replied=1, parked=3)
    second.take(1)
    rig.gate(b"UPDATE.g", {"reply_timeout": "30ms"})
    rig.wait(reply_timeout=4, parked=0)
    rig.gate(b"UPDATE.g", {"reply_timeout": "0s", "limit": 1})
    second.take(3)
    other = Requester(rig, "o", "narrow")
    other.send(1)
    second.take(1)
    client.send(1, header=b"Nats-Request-Timeout: 50ms")  # queued with a permit
    client.send(1)
    rig.wait(expired=1)
    goes = client
    rig.wait(queued=1, parked=0)
    goes.peer.sock.shutdown(2)
    rig.wait(disconnect=1, queued=0)
    for _ in range(len(second.replies)):
        second.answer()
    rig.idle()


def test_requests_are_listed_and_cancelled_wherever_they_wait(rig):
    rig.set(3, 100, 1)
    Service(rig)
    a, b = Requester(rig, "a"), Requester(rig, "b", "narrow")
    a.send(10)
    rig.wait(running=1, queued=2, parked=7)
    b.send(4)
    rig.wait(running=1, queued=5, parked=8)
    everything = rig.ask(b"REQUEST.LIST")
    expect(everything["total"] == 13 and len(everything["requests"]) == 13, everything)
    expect(all(r["gate"] == "g" and r["account"] == "APP" and r["subject"] == "svc.a" and "level" not in r for r in everything["requests"]), everything)
    expect(sum(r.get("group") == "tenants" for r in everything["requests"]) == 8, everything)
    pages = [rig.ask(b"REQUEST.LIST", {"gate": "g", "offset": i, "limit": 3})["requests"] for i in range(0, 15, 3)]
    expect([r["id"] for page in pages for r in page] == [r["id"] for r in everything["requests"]], pages)
    for body, total in (({"gate": "x"}, 0), ({"group": "tenants"}, 8), ({"group": "tenants", "gate": "g"}, 8), ({"account": "APP"}, 13),
                        ({"account": "SYS"}, 0), ({"level": "normal"}, 0), ({"gate": "g"}, 13)):
        expect(rig.ask(b"REQUEST.LIST", body)["total"] == total, body)
    parked = [r for r in everything["requests"] if "group" in r][0]
    queued = [r for r in everything["requests"] if "group" not in r][0]
    for one in (parked, queued):
        expect(rig.ask(b"REQUEST.CANCEL", {"id": one["id"]})["cancelled"] == 1, one)
        expect(rig.ask(b"REQUEST.CANCEL", {"id": one["id"]})["error"]["code"] == 404)
    cid = [r for r in everything["requests"] if r["cid"] != parked["cid"]][0]["cid"]
    left = rig.ask(b"REQUEST.LIST", {"cid": cid})["total"]
    expect(rig.ask(b"REQUEST.CANCEL", {"cid": cid})["cancelled"] == left)
    expect(rig.ask(b"REQUEST.CANCEL", {"group": "tenants"})["cancelled"] > 0)
    expect(rig.ask(b"REQUEST.CANCEL", {"gate": "nope"})["cancelled"] == 0)
    expect(rig.ask(b"REQUEST.CANCEL", {"gate": "g"})["cancelled"] > 0)
    rig.wait(operator=13, queued=0, parked=0, running=1)
    told = a.read(9) + b.read(4)
    expect(all(b"Nats-Service-Error: cancelled by an operator: the request was not executed" in p for _, p in told), told)


def test_a_group_that_is_not_there_is_refused_by_name(rig):
    answer = rig.gate(b"CREATE.new", {"account": "APP", "subject": "x.y", "limit": 1, "group": "nope"})
    expect(answer["error"] == {"code": 400, "err_code": answer["error"]["err_code"],
                               "description": 'group: there is no workload group "nope"'}, answer)
    answer = rig.gate(b"UPDATE.g", {"group": "nope"})
    expect('group: there is no workload group "nope"' in answer["error"]["description"], answer)
    bad = GROUP % (1, 1) + GATE.replace("group: tenants", "group: nope") % 1
    why = 'server.conf:%d:%s gate "g": group: there is no workload group "nope" in this file' % ((CONF + bad).count("\n"), r"\d+:")
    expect(rig.reload(bad, said=why) is not None, "no such line in the log: " + why)
    expect(rig.gate(b"INFO.g")["gate"]["group"] == "tenants")
    out = subprocess.run([rig.binary, "-c", rig.path, "-t"], capture_output=True, timeout=TIMEOUT, check=False)
    expect(out.returncode != 0 and b'group: there is no workload group "nope" in this file' in out.stdout + out.stderr, out)


def test_a_group_goes_while_a_gate_names_it(rig):
    """Over the API that is refused; a reload may do it to a gate made over the API, which says so and limits no more."""
    expect(rig.ask(b"GROUP.CREATE.mine", {"throttling": {"limit": 1}, "queue": {"size": 100}})["group"]["name"] == "mine")
    rig.reload(GROUP % (1, 100))
    expect(rig.gate(b"CREATE.g", {"account": "APP", "subject": "svc.>", "limit": 100, "group": "tenants"})["gate"]["group"] == "tenants")
    expect(rig.gate(b"CREATE.h", {"account": "APP", "subject": "other", "limit": 100, "group": "mine"})["gate"]["group"] == "mine")
    error = rig.ask(b"GROUP.DELETE.mine")["error"]
    expect(error["code"] == 409 and 'gate "h"' in error["description"], error)
    expect("error" not in rig.gate(b"UPDATE.h", {"group": ""}))
    expect("error" not in rig.ask(b"GROUP.DELETE.mine"))
    service, client = Service(rig), Requester(rig, "c")
    client.send(10)
    rig.wait(running=1, parked=9)
    expect(rig.reload("", said='Gate "g" has no limit of a group now: group: there is no workload group "tenants"') is not None)
    expect(rig.server.wait_log("Reloaded server configuration") is not None)
    rig.wait(running=10, parked=0)
    expect(rig.gate(b"INFO.g")["gate"]["group_missing"] is True)
    expect("error" not in rig.gate(b"UPDATE.g", {"limit": 99}), "the rest cannot be changed")
    client.send(5)
    rig.wait(running=15)
    rig.reload(GROUP % (1, 100))
    client.send(5)
    rig.wait(running=16, parked=4)
    service.take(16)
    for _ in range(15):
        service.answer()
    service.nothing()
    for _ in range(4):
        service.answer()
        service.take(1)
    service.answer()
    client.read(20)
    rig.idle()


def test_limits_change_with_requests_parked(rig):
    """Shrunk, grown, another attribute, monitor: what waits is neither lost nor run twice, growth lets in at once."""
    rig.set(1, 1000)
    service, client = Service(rig), Requester(rig, "c")
    client.send(100)
    rig.wait(running=1, parked=99)
    rig.set(10, 1000)
    rig.wait(running=10, parked=90)
    rig.set(2, 10)  # those that are parked stay
    client.send(1)
    rig.wait(running=10, parked=90, parking_full=1)
    expect(b"429" in client.read(1)[0][1])
    answer = rig.ask(b"GROUP.UPDATE.tenants", {"throttling": {"limit": 1, "mode": "monitor"}})
    expect("error" not in answer, answer)
    rig.wait(running=100, parked=0)
    service.take(100)
    for _ in range(100):
        service.answer()
    expect(sorted(n for n, _ in client.read(100)) == list(range(100)))
    rig.idle()


def test_load_with_departures_and_changes(rig):
    """Tenants, requesters and services that come and go, limits that change: all are told once but for those whose service died
    with them, and the books add up."""
    rig.set(4, 50, 8)
    for _ in range(2):
        Echo(rig)
    loads = [Load(rig.peer(u), "l%d" % i, subject=b"svc.a") for i, u in enumerate(("app", "narrow", "narrow"))]
    end = time.monotonic() + 2
    i = 0
    while time.monotonic() < end:
        for load in loads:
            load.send(30)
        goes = Requester(rig, "g%d" % i, "narrow")
        goes.send(30)
        goes.peer.sock.close()
        dies = Service(rig, queue=b"q")
        rig.ask(b"GROUP.UPDATE.tenants", {"throttling": {"limit": 1 + i % 5, "attribute": ("user", "client", "account", "group")[i % 4]},
                                          "queue": {"size": i * 7 % 60}})
        rig.gate(b"UPDATE.g", {"limit": 1 + i % 7, "request_queue_limit": 5 + i % 50, "group": ("tenants", "")[i % 5 == 4]})
        rig.counters()
        rig.stats()
        dies.peer.reset()
        i += 1
    rig.idle()
    died = rig.counters()["reasons"]["responder_gone"]
    rig.until(lambda: sum(sum(load.kinds.values()) for load in loads) + died >= sum(load.sent for load in loads), "all are told")
    for load in loads:
        expect(set(load.kinds) <= {"ok", 429, 503} and max(load.answers.values()) == 1, load.kinds)


def start(binary, directory, _name):
    return Grouped(binary, directory, GROUP % (2, 100) + GATE % 100)


if __name__ == "__main__":
    common.main("gate-groups", "workload groups in front of gates", globals(), start, "build/release/sluice", threads=(1, 3))
