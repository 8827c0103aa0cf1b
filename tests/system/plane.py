# SPDX-License-Identifier: Apache-2.0
"""What tests of the API plane share: the server of one test with its connections, load, and the loop that runs a file of tests."""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from peer import Peer
from server import Server, find_binary

TIMEOUT = float(os.environ.get("STEP_TIMEOUT", "20"))
ENDINGS = ("answered", "refused", "evicted", "expired", "cancelled")
SLEEP = b"$SYS.REQ.TEST.SLEEP"  # of a build with the endpoint of a set cost


class Skip(Exception):
    """The test needs something that is not there."""


def expect(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what)[:600])


def adds_up(counts):
    """Everything received has ended or is somewhere."""
    expect(counts["received"] == sum(counts[k] for k in ENDINGS) + counts["parked"] + counts["queued"] + counts["running"], counts)
    return counts


def kind_of(payload):
    """Of an answer: "ok", or the code of its error in either form."""
    if b"Nats-Service-Error-Code: " in payload:
        return int(payload.split(b"Nats-Service-Error-Code: ", 1)[1].split(b"\r\n", 1)[0])
    if b'"error"' in payload:
        return json.loads(payload[payload.index(b"{"):])["error"]["code"]
    return "ok"


class Load(threading.Thread):
    """One connection with requests in flight: reads what comes back and counts it by its kind."""

    def __init__(self, peer, name, subject=SLEEP):
        super().__init__(daemon=True)
        self.peer, self.tag, self.subject = peer, name.encode(), subject
        self.sent = 0
        self.kinds = collections.Counter()
        self.answers = collections.Counter()
        self.order = []  # of the served, by number
        self.wait = threading.Condition()
        peer.ready()
        peer.send(b"SUB _INBOX.%s.* 1\r\n" % self.tag)
        peer.fence()
        self.start()

    @property
    def served(self):
        return set(self.order)

    def run(self):
        try:
            while True:
                subject, payload = self.peer.message()
                number, kind = int(subject.rsplit(b".", 1)[1]), kind_of(payload)
                with self.wait:
                    self.kinds[kind] += 1
                    self.answers[number] += 1
                    if kind == "ok":
                        self.order.append(number)
                    self.wait.notify_all()
        except OSError:
            pass

    def send(self, count, us=0, header=b""):
        """Requests of so many microseconds each, in one write."""
        body = b'{"us":%d}' % us
        lines = []
        for i in range(self.sent, self.sent + count):
            if header:
                block = b"NATS/1.0\r\n" + header + b"\r\n\r\n"
                lines.append(b"HPUB %s _INBOX.%s.%d %d %d\r\n%s%s\r\n" % (
                    self.subject, self.tag, i, len(block), len(block) + len(body), block, body))
            else:
                lines.append(b"PUB %s _INBOX.%s.%d %d\r\n%s\r\n" % (self.subject, self.tag, i, len(body), body))
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
    """The server of one test and its connections. conf: the whole configuration file, with a user admin of the system account
    whose password is s; ${dir} in it is the test's folder."""

    user, secret = "app", "app"  # of connections that do not say

    def __init__(self, binary, directory, conf):
        self.binary, self.directory, self.peers = binary, directory, []
        self.path = os.path.join(directory, "server.conf")
        self.write(conf)
        self.start()

    def write(self, conf):
        with open(self.path, "w", encoding="ascii") as f:
            f.write(conf.replace("${dir}", self.directory))

    def start(self):
        self.server = Server(self.binary, self.directory, ["-c", self.path, "-m", "-1"], TIMEOUT)
        self.server.wait_ready()
        self.admin = self.peer("admin", "s").ready()

    def restart(self):
        expect(self.close() is None)
        self.peers = []
        self.start()

    def reload(self, conf, said="Reloaded server configuration"):
        self.write(conf)
        self.server.signal("HUP")
        return self.server.wait_log(said)

    def peer(self, user=None, secret=None):
        p = Peer(self.server.address(), user or self.user, secret or self.secret, TIMEOUT)
        self.peers.append(p)
        return p

    def load(self, name, user=None, **more):
        return Load(self.peer(user), name, **more)

    def url(self, user=None, secret=None):
        return "nats://%s:%s@%s:%d" % ((user or self.user, secret or self.secret) + self.server.address())

    def ask(self, subject, body=None):
        """An answer of $WLM.API."""
        return json.loads(self.admin.ask(b"$WLM.API." + subject, json.dumps(body).encode() if body is not None else b""))

    def text(self, path):
        with urllib.request.urlopen("http://%s:%d%s" % (self.server.address("monitoring") + (path,)), timeout=TIMEOUT) as answer:
            return answer.read().decode()

    def http(self, path):
        return json.loads(self.text(path))

    def books(self):
        """The counters of the plane, which always add up."""
        c = self.ask(b"QUEUE.INFO")["counters"]
        for counts in [c] + list(c["levels"].values()):
            adds_up(counts)
        return c

    def swept_nothing(self):
        totals = self.ask(b"STATS")["totals"]
        expect(totals["swept_cancelled"] == 0 and totals["swept_admitted"] == 0, totals)

    def until(self, condition, what):
        for _ in range(int(TIMEOUT / 0.01)):
            if condition():
                return
            threading.Event().wait(0.01)
        raise AssertionError("not in time: " + what)

    def close(self):
        for p in self.peers:
            p.sock.close()
        return self.server.stop()


def run_one(shown, start, test):
    """start(directory): the plane of a test. True: it failed."""
    with tempfile.TemporaryDirectory(prefix="plane-") as directory:
        plane, why = None, None
        try:
            plane = start(directory)
            test(plane)
        except Skip as e:
            print("SKIP %s %s" % (shown, e), flush=True)
            plane.close()
            return False
        except (AssertionError, RuntimeError, OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError) as e:
            why = "%s: %s" % (type(e).__name__, e)
        end = plane.close() if plane else None
        why = "; ".join(filter(None, [why, end]))
        print("FAIL %s %s" % (shown, why.replace("\n", " ")) if why else "PASS " + shown, flush=True)
        if why and plane:
            print("\n".join("    log: " + line for line in plane.server.log[-6:]))
        return bool(why)


def main(suite, what, tests, start, server, threads=(None,)):
    """Runs the functions test_… of tests, those that are asked for, each once for each number of I/O loops (None: as it comes), on
    what start(binary, directory, name) gives; ends the program."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--server", default=server)
    parser.add_argument("names", nargs="*", help="only tests whose name has one of these")
    args = parser.parse_args()
    binary = find_binary(args.server)
    if binary is None:
        sys.exit("no such server: %s" % args.server)
    failed = 0
    for key, test in list(tests.items()):
        name = key[5:]
        if not key.startswith("test_") or (args.names and not any(n in name for n in args.names)):
            continue
        for n in threads:
            if n is not None:
                os.environ["IO_THREADS"] = str(n)
            shown = "%s/%s%s" % (suite, name, "" if n is None else "/%d" % n)
            failed += run_one(shown, lambda directory, name=name: start(binary, directory, name), test)
    sys.exit(1 if failed else 0)
