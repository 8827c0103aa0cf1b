#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workload groups over real connections: run.py --server BIN, a build with the endpoint of a set cost ($SYS.REQ.TEST.SLEEP).

Prints PASS name | FAIL name reason."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import plane as common  # noqa: E402
from plane import SLEEP, Load, expect  # noqa: E402

CONF = """
accounts {
  SYS { users: [ { user: admin, password: s },
                 { user: looker, password: s, permissions { publish: ["$WLM.API.GROUP.INFO.>"], subscribe: ">" } } ] }
  APP { users: [ { user: checkout-1, password: app }, { user: checkout-2, password: app }, { user: other, password: app } ] }
}
system_account: SYS
api { workers: 8, request_deadline: "10s" }
store_dir: "${dir}/store"
workload_groups { %s }
"""
CHECKOUT = """
  checkout {
    match { account: APP, user: "checkout-*", subject: "$SYS.REQ.TEST.>" }
    throttling { limit: %d, attribute: user }
    queue { size: %d }
  }"""


class Plane(common.Plane):
    """With workload groups."""

    user = "checkout-1"

    def stats(self, name=b"checkout"):
        return self.ask(b"STATS." + name)["group"]["stats"]

    def reload(self, groups, said="Reloaded server configuration"):
        return super().reload(CONF % groups, said)

    def check(self):
        """The counters add up, and the backstop found nothing."""
        self.books()
        self.swept_nothing()


def test_burst_runs_in_order_and_nothing_is_lost(plane):
    """3,000 at once, one at a time: all answered, in the order in which they came."""
    plane.reload(CHECKOUT % (1, 3000))
    peer = plane.peer().ready()
    peer.send(b"SUB _INBOX.o.* 1\r\n")
    peer.send(b"".join(b"PUB %s _INBOX.o.%d 0\r\n\r\n" % (SLEEP, i) for i in range(3000)))
    for i in range(3000):
        subject, payload = peer.message()
        expect(subject == b"_INBOX.o.%d" % i and b"error" not in payload, i, subject, payload)
    s = plane.stats()
    expect(s["running"] == 0 and s["queued_current"] == 0 and s["total_queue_rejections"] == 0, s)
    plane.check()


def test_burst_with_a_limit_of_eight_is_answered_whole(plane):
    """3,000 at once, eight at a time, room for all: none is lost, none is refused."""
    plane.reload(CHECKOUT % (8, 3000))
    load = plane.load("b")
    load.send(3000)
    load.wait_all()
    expect(load.kinds == {"ok": 3000}, load.kinds)
    s = plane.stats()
    expect(s["total_admitted"] == 3000 and s["total_queue_rejections"] == 0, s)
    plane.check()


def test_burst_into_a_size_of_500_refuses_exactly_the_rest(plane):
    """3,000 at once, of which the first eight take long: 8 run, 500 park, 2,492 are refused."""
    plane.reload(CHECKOUT % (8, 500))
    load = plane.load("b")
    load.send(8, 3000000)
    plane.until(lambda: plane.stats()["running"] == 8, "eight run")
    load.send(2992)
    plane.until(lambda: plane.stats()["total_throttled"] == 2992, "all have come")
    s = plane.stats()
    expect(s["running"] == 8 and s["queued_current"] == 500 and s["total_queue_rejections"] == 2492, s)
    load.wait_all()
    expect(load.kinds == {"ok": 508, 429: 2492}, load.kinds)
    expect(load.served == set(range(508)), "others than the last were refused")
    plane.check()


def test_each_user_has_a_limit_of_its_own(plane):
    loads = [Load(plane.peer(u), u) for u in ("checkout-1", "checkout-2", "other")]
    for load in loads:
        load.send(300, 1000)
    for load in loads:
        load.wait_all()
        expect(load.kinds["ok"] == 300, load.kinds)
    group = plane.ask(b"GROUP.INFO.checkout")["group"]
    expect(group["stats"]["total_admitted"] == 600, group)
    expect(sorted(b["user"] for b in group["buckets"]) == ["checkout-1", "checkout-2"], group)
    expect(group["stats"]["total_queued"] > 0, group)
    plane.check()


def test_over_the_size_exactly_so_many_are_refused(plane):
    plane.reload(CHECKOUT % (2, 50))
    load = Load(plane.peer(), "l")
    load.send(2, 500000)
    plane.until(lambda: plane.stats()["running"] == 2, "two run")
    load.send(100, 0)
    load.wait_all()
    expect(load.kinds == {"ok": 52, 429: 50}, load.kinds)
    s = plane.stats()
    expect(s["total_queue_rejections"] == 50 and s["queue_peak"] == 50 and s["total_throttled"] == 100, s)
    plane.check()


def test_client_that_leaves_with_ten_thousand_parked(plane):
    plane.reload(CHECKOUT % (1, 10000))
    Load(plane.peer(), "stays").send(1, 3000000)
    plane.until(lambda: plane.stats()["running"] == 1, "one runs")
    leaves = plane.peer()
    Load(leaves, "l").send(10000, 0)
    plane.until(lambda: plane.stats()["queued_current"] == 10000, "10000 are parked")
    leaves.sock.shutdown(2)
    began = time.monotonic()
    plane.until(lambda: plane.stats()["queued_current"] == 0, "none is parked")
    expect(time.monotonic() - began < 1, "it took %.3f s" % (time.monotonic() - began))
    s = plane.stats()
    expect(s["total_queue_cancelled"] == 10000 and s["running"] == 1, s)
    stays = plane.load("n")
    stays.send(1)
    stays.wait_all()  # the permit is not lost
    expect(stays.kinds == {"ok": 1}, stays.kinds)
    plane.check()


def test_own_deadline_ends_what_is_parked(plane):
    plane.reload(CHECKOUT % (1, 100))
    load = Load(plane.peer(), "l")
    load.send(1, 1500000)
    plane.until(lambda: plane.stats()["running"] == 1, "one runs")
    began = time.monotonic()
    load.send(20, 0, b"Nats-Request-Timeout: 200ms")
    plane.until(lambda: load.kinds[408] == 20, "20 have expired")
    expect(0.15 < time.monotonic() - began < 1.2, "they were told after %.3f s" % (time.monotonic() - began))
    load.wait_all()
    plane.check()


def test_groups_made_by_an_operator_survive_and_those_of_the_file_win(plane):
    made = plane.ask(b"GROUP.CREATE.mine", {"match": {"user": "other"}, "throttling": {"limit": 3}, "queue": {"size": 7}})
    expect(made["type"] == "io.sluice.wlm.v1.group_create_response" and made["stored"] is True, made)
    plane.restart()
    expect(plane.ask(b"GROUP.NAMES")["groups"] == ["checkout", "mine"])
    expect(plane.stats(b"mine")["size"] == 7)
    plane.reload(CHECKOUT % (2, 50) + "\n  mine { throttling { limit: 9 } }")
    expect(plane.stats(b"mine")["limit"] == 9)
    expect("note" in plane.ask(b"GROUP.INFO.mine"))
    expect(plane.server.log_has("that of the file is in force"))
    plane.restart()
    expect(plane.stats(b"mine")["limit"] == 9)
    expect(plane.server.log_has('"mine" .* that of the file is in force'), plane.server.log)
    error = plane.ask(b"GROUP.UPDATE.mine", {"queue": {"size": 1, "timeout": "1s"}})["error"]
    expect(error["code"] == 400 and "queue.timeout" in error["description"], error)
    expect(plane.ask(b"GROUP.DELETE.checkout")["error"]["code"] == 409)


BAD = (
    # What is wrong in the block; the line of it in the block; what the message says.
    ("a { throttling { limit: 0 } }", 1, "limit"),
    ("a { throttling { limit: -1 } }", 1, "limit"),
    ("a { throttling { limit: 1000001 } }", 1, "limit"),
    ("a {\n throttling { limit: many } }", 2, "limit"),
    ("a { throttling { limit: 1, attribute: colour } }", 1, "attribute"),
    ("a { throttling { limit: 1, mode: maybe } }", 1, "mode"),
    ("a { throttling { attribute: user } }", 1, "limit"),
    ("a { throttling { limit: 1 }\n queue { size: 10000001 } }", 2, "size"),
    ("a { throttling { limit: 1 }\n queue { size: -1 } }", 2, "size"),
    ("a { throttling { limit: 1 }\n queue { size: 1, max_bytes: 0 } }", 2, "max_bytes"),
    ("a { throttling { limit: 1 }\n queue { size: 1, timeout: 1s } }", 2, "queue.timeout"),
    ("a { match { subject: \"x..y\" } }", 1, "subject"),
    ("a { match { nope: x } }", 1, "nope"),
    ("a { cancel_after: soon }", 1, "cancel_after"),
    ("a { nope: 1 }", 1, "nope"),
    ("\"a b\" { }", 1, "invalid name"),
    ("a { throttling: 3 }", 1, "throttling: a block is expected"),
    ("a { match { nope: x } }", 1, "there are account, user, client, subject"),
    ("a { }\n\na { }", 3, 'two workload groups of the name "a"'),
)


def test_what_is_wrong_is_refused_with_file_and_line(plane):
    """At the check, at the start and at a reload, which changes nothing."""
    before = plane.ask(b"GROUP.LIST")["groups"]
    first = (CONF % "@").split("@", 1)[0].count("\n") + 1
    for block, line, named in BAD:
        said = "server.conf:%d:" % (first + line - 1)
        found = plane.reload(block, said=said + ".*" + named.replace("(", r"\("))
        expect(found is not None, block, "was not refused at the reload with", said, named)
        out = subprocess.run([plane.binary, "-c", plane.path, "-t"], capture_output=True, text=True, timeout=common.TIMEOUT, check=False)
        expect(out.returncode == 1 and said in out.stdout + out.stderr and named in out.stdout + out.stderr, block, out)
    out = subprocess.run([plane.binary, "-c", plane.path], capture_output=True, text=True, timeout=common.TIMEOUT, check=False)
    expect(out.returncode == 1 and "two workload groups" in out.stdout + out.stderr, out)
    expect(plane.ask(b"GROUP.LIST")["groups"] == before)


def test_what_is_wrong_is_refused_over_the_api_by_its_field(plane):
    """And changes nothing."""
    before = plane.ask(b"GROUP.LIST")["groups"]
    one = {"throttling": {"limit": 1}}
    for body, named in (({"throttling": {"limit": 0}}, "limit"), ({"throttling": {"limit": -1}}, "limit"), ({"throttling": {"limit": 1 << 40}}, "limit"),
                        ({"throttling": {"limit": "8"}}, "limit"), ({"throttling": {"limit": 1, "attribute": "colour"}}, "attribute"),
                        ({"throttling": {"limit": 1, "mode": "maybe"}}, "mode"), ({"throttling": {}}, "limit"),
                        (dict(one, queue={"size": -1}), "size"), (dict(one, queue={"size": 1, "timeout": "1s"}), "queue.timeout"),
                        (dict(one, queue={"size": 1, "max_bytes": 0}), "max_bytes"), ({"match": {"subject": "x..y"}}, "subject"),
                        ({"match": {"nope": "x"}}, "nope"), ({"cancel_after": "soon"}, "cancel_after"), ({"cancel_after": "25h"}, "cancel_after"),
                        ({"nope": 1}, "nope"), ({"match": 3}, "match"), ([], "object")):
        for verb in (b"CREATE.new", b"UPDATE.checkout"):
            error = plane.ask(b"GROUP." + verb, body)["error"]
            expect(error["code"] == 400 and named in error["description"], verb, body, error)
    expect(plane.ask(b"GROUP.CREATE.checkout", one)["error"]["code"] == 409, "two of one name")
    expect(plane.ask(b"GROUP.LIST")["groups"] == before)


def test_weights_are_changed_at_run_time(plane):
    answer = plane.ask(b"WEIGHT.UPDATE", {"account_weights": {"APP": 7}})
    expect(answer["account_weights"] == {"APP": 7}, answer)
    expect(plane.ask(b"WEIGHT.LIST")["account_weights"] == {"APP": 7})
    error = plane.ask(b"WEIGHT.UPDATE", {"account_weights": {"NONE": 7}})["error"]
    expect(error["code"] == 400 and 'account_weights: there is no account "NONE"' in error["description"], error)


def test_only_who_is_permitted_administers(plane):
    looker = plane.peer("looker", "s").ready()
    answer = json.loads(looker.ask(b"$WLM.API.GROUP.INFO.checkout"))
    expect(answer["group"]["name"] == "checkout", answer)
    looker.send(b"PUB $WLM.API.GROUP.DELETE.checkout 0\r\n\r\n")
    line = looker.line()
    while not line.startswith(b"-ERR"):
        line = looker.line()
    expect(b"Permissions Violation" in line, line)
    outsider = plane.peer("other").ready()
    outsider.send(b"SUB _INBOX.x 1\r\nPUB $WLM.API.GROUP.NAMES _INBOX.x 0\r\n\r\n")
    expect(outsider.message()[1].startswith(b"NATS/1.0 503"))


def test_the_monitor_shows_the_groups(plane):
    load = Load(plane.peer(), "l")
    load.send(20, 1000)
    load.wait_all()
    z = plane.http("/wlmz")
    expect(z["groups"][0]["stats"]["total_admitted"] == 20 and z["totals"]["groups"] == 1, z)
    expect('sluice_api_group_admitted_total{group="checkout"} 20' in plane.text("/metrics"))
    expect(plane.http("/apiz")["workload_groups"]["groups"] == 1)


def start(binary, directory, _name):
    return Plane(binary, directory, CONF % (CHECKOUT % (2, 1000)))


if __name__ == "__main__":
    common.main("groups", "workload groups over real connections", globals(), start, "build/release/sluice-testing")
