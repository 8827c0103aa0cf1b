#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server whose store takes no writes: no file of its may grow (RLIMIT_FSIZE), as if the disk were full.

What is asked of it then is answered, reads go on, health says so; it works again when the limit goes, and what it
acknowledged is there, also where it was killed meanwhile. Prints PASS or FAIL lines for the test runner."""
import json
import os
import resource
import signal
import sys
import tempfile
import time
import urllib.error
import urllib.request

SYSTEM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system")
sys.path[:0] = [SYSTEM, os.path.join(SYSTEM, "jsapi")]
from server import Server, find_binary  # noqa: E402
from talk import Client  # noqa: E402

SHARED = 64 << 10  # what a start needs: the memory that readers of the file share
PATIENCE = float(os.environ.get("STEP_TIMEOUT", "20"))
NO_WRITES = "disk I/O error"
NOT_YET = "not on disk yet: the store takes no writes now, keeps what was changed and tries again"


class Disk:
    """A server on a folder, and one connection."""

    def __init__(self, binary, home):
        self.binary, self.home = binary, home
        self.start()

    def start(self, limit=None):
        """limit: of its files, from the start on."""
        flags = ["-js", "-sd", self.home, "-m", "-1"]
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            self.server = Server(self.binary, self.home, flags, PATIENCE)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        self.server.wait_ready()
        self.client = Client(self.server.address())

    def fill(self):
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.prlimit(self.server.pid, resource.RLIMIT_FSIZE, (1, hard))

    def make_room(self):
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.prlimit(self.server.pid, resource.RLIMIT_FSIZE, (hard, hard))

    def kill(self):
        self.server.signal("KILL")
        self.server.proc.wait()

    def ask(self, subject, body=None):
        subject = subject.replace("@", "$JS.API.")
        text = self.client.ask(subject, json.dumps(body) if isinstance(body, dict) else body or "", None)[0]
        return json.loads(text[text.index("{"):])

    def error(self, subject, body=None):
        return self.ask(subject, body).get("error", {}).get("description")

    def health(self, query=""):
        host, port = self.server.address("monitoring")
        try:
            with urllib.request.urlopen("http://%s:%d/healthz%s" % (host, port, query), timeout=PATIENCE) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as e:
            return e.code, json.loads(e.read())

    def until(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            expect(what + " in time", time.monotonic() < end, True)


def expect(what, got, wanted):
    if got != wanted:
        raise AssertionError("%s: %s, not %s" % (what, got, wanted))


def stream(name, **more):
    return dict({"name": name, "subjects": [name.lower() + ".*"]}, **more)


def durable(name, **more):
    return {"stream_name": "A", "config": dict({"durable_name": name, "ack_policy": "explicit"}, **more)}


def make(d):
    """Streams A and B, a consumer, ten messages."""
    for name in "AB":
        expect("create", d.error("@STREAM.CREATE." + name, stream(name)), None)
    expect("create", d.error("@CONSUMER.CREATE.A.c", durable("c")), None)
    for i in range(10):
        expect("publish", d.ask("a.%d" % i, "x")["seq"], i + 1)


def fill(d):
    d.fill()
    expect("publish", d.error("a.1", "x"), "input/output error")
    expect("health", d.health(), (503, {"status": "unavailable",
                                        "error": "JetStream store write error: " + NO_WRITES}))


def refused(d):
    for subject, body in (("STREAM.CREATE.N", stream("N")), ("STREAM.UPDATE.A", stream("A", max_age=10**9)),
                          ("CONSUMER.CREATE.A.n", durable("n")), ("CONSUMER.CREATE.A.c", durable("c", max_ack_pending=5))):
        expect(subject, d.error("@" + subject, body), NO_WRITES)
    expect("names", d.ask("@STREAM.NAMES")["streams"], ["A", "B"])
    expect("max_age", d.ask("@STREAM.INFO.A")["config"]["max_age"], 0)
    expect("consumers", d.ask("@CONSUMER.NAMES.A")["consumers"], ["c"])
    expect("max_ack_pending", d.ask("@CONSUMER.INFO.A.c")["config"]["max_ack_pending"], 1000)


def delete(d):
    """Of every kind: done, and told that it is not on disk."""
    for subject, body in (("STREAM.MSG.DELETE.A", {"seq": 3}), ("STREAM.PURGE.A", {"filter": "a.5"}),
                          ("CONSUMER.DELETE.A.c", None), ("STREAM.DELETE.B", None)):
        expect(subject, d.error("@" + subject, body), NOT_YET)
    expect("messages", d.ask("@STREAM.INFO.A")["state"]["messages"], 8)
    expect("names", d.ask("@STREAM.NAMES")["streams"], ["A"])


def works(d):
    d.until("healthy", lambda: d.health()[0] == 200)
    expect("publish", d.error("a.1", "y"), None)
    expect("create", d.error("@CONSUMER.CREATE.A.later", durable("later")), None)
    expect("create", d.error("@STREAM.CREATE.N", stream("N")), None)
    expect("purge", d.ask("@STREAM.PURGE.N").get("success"), True)


def test_refuses_and_works_again(d):
    make(d)
    fill(d)
    expect("health", d.health("?js-enabled-only=1")[0], 200)
    expect("health", d.health("?details=1"), (503, {"status": "error", "errors": [
        {"type": "JETSTREAM", "error": "JetStream store write error: " + NO_WRITES}]}))
    refused(d)
    expect("read", d.ask("@STREAM.MSG.GET.A", {"seq": 4})["message"]["subject"], "a.3")
    memory = {"stream_name": "A", "config": {"name": "m", "ack_policy": "none", "mem_storage": True}}
    expect("create", d.error("@CONSUMER.CREATE.A.m", memory), None)
    d.make_room()
    works(d)
    expect("said", d.server.wait_log("it takes writes again") is not None, True)


def test_deletes_are_kept(d):
    make(d)
    fill(d)
    delete(d)
    d.make_room()
    works(d)
    d.kill()
    d.start()
    expect("messages", d.ask("@STREAM.INFO.A")["state"]["messages"], 9)
    expect("names", d.ask("@STREAM.NAMES")["streams"], ["A", "N"])
    expect("consumers", d.ask("@CONSUMER.NAMES.A")["consumers"], ["later"])


def test_starts_without_room_after_a_kill(d):
    make(d)
    fill(d)
    delete(d)
    d.kill()
    d.start(limit=SHARED)
    d.fill()
    expect("messages", d.ask("@STREAM.INFO.A")["state"]["messages"], 10)
    expect("names", d.ask("@STREAM.NAMES")["streams"], ["A", "B"])
    expect("publish", d.error("a.1", "x"), "input/output error")
    refused(d)
    d.make_room()
    works(d)


def main():
    binary = find_binary(sys.argv[1])
    failed = 0
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        why, d = None, None
        with tempfile.TemporaryDirectory(prefix="fulldisk-") as home:
            try:
                d = Disk(binary, home)
                test(d)
            except (AssertionError, RuntimeError, OSError, ValueError, KeyError) as e:
                why = "%s: %s" % (type(e).__name__, e)
            end = d.server.stop() if d else None
        why = "; ".join(filter(None, [why, end]))
        print("FAIL fulldisk/%s %s" % (name[5:], why.replace("\n", " ")) if why else "PASS fulldisk/" + name[5:], flush=True)
        if why and d:
            print("\n".join("    log: " + line for line in d.server.log[-8:]))
        failed += bool(why)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
