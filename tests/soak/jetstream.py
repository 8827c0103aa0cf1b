#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JetStream under everything at once: publishers, pull and push consumers, purges, deletes, consumers that come
and go, orderly restarts. Ends with PASS where the server lived, its states add up and every stop was clean (the
sanitizers' reports make it unclean)."""
import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))
sys.path.insert(0, os.path.join(HERE, "..", "durability"))
from kill9 import Conn, Gone, options  # noqa: E402
from server import Server, find_binary  # noqa: E402

STREAMS = ("F", "M", "W")


class Life:
    """One life of the server: actors end with it. Guarded by lock."""

    def __init__(self, port):
        self.port = port
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.counts = {}
        self.wrong = []

    def count(self, what, n=1):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + n

    def fail(self, why):
        with self.lock:
            self.wrong.append(why)


def actor(fn):
    """Runs fn(life, draw, …) until the server goes or the life ends."""
    def run(life, seed, *args):
        try:
            fn(life, random.Random(seed), *args)
        except Gone:
            if not life.stop.is_set():
                life.fail("%s: the server went away" % fn.__name__)
        except RuntimeError as e:  # an error of the API: at the end it may refuse
            if not life.stop.is_set():
                life.fail("%s: %s" % (fn.__name__, e))
        except Exception as e:  # a bug of the test must not look like a pass
            life.fail("%s: %r" % (fn.__name__, e))
    return run


@actor
def publish(life, draw, number):
    conn = Conn(life.port)
    while not life.stop.is_set():
        n = draw.choice((1, 10, 100))
        for i in range(n):
            stream = draw.choice(STREAMS)
            conn.publish("%s.%d.%d" % (stream.lower(), number, draw.randrange(50)), "p%d" % i,
                         b"x" * draw.choice((0, 16, 128, 1000)))
        for _ in range(n):
            data = conn.read()[3]
            if not data:  # no responders: the server stops
                if not life.stop.is_set():
                    life.fail("a publish found no stream")
                return
            ack = json.loads(data)
            life.count("refused" if "error" in ack else "published")


@actor
def pull(life, draw, stream, name):
    conn = Conn(life.port)
    while not life.stop.is_set():
        conn.publish("$JS.API.CONSUMER.MSG.NEXT.%s.%s" % (stream, name), "n",
                     json.dumps({"batch": 50, "expires": 300000000}).encode())
        got = 0
        while got < 50:
            _, reply, hdr, _ = conn.read()
            if not reply:
                break
            word = draw.choice((b"+ACK", b"+ACK", b"+ACK", b"+ACK", b"-NAK", b"+WPI", b"+TERM"))
            conn.send(b"PUB %s %d\r\n%s\r\n" % (reply.encode(), len(word), word))
            got += 1
        life.count("pulled", got)
        if b" 503" in hdr or b" 409" in hdr:
            life.stop.wait(0.05)


@actor
def push(life, draw, stream, deliver):
    conn = Conn(life.port)
    conn.send(b"SUB %s 2\r\n" % deliver.encode())
    while not life.stop.is_set():
        subject, reply, hdr, _ = conn.read()
        if reply.startswith("$JS.ACK"):
            conn.send(b"PUB %s 4\r\n+ACK\r\n" % reply.encode())
            life.count("pushed")
        elif reply:
            conn.send(b"PUB %s 0\r\n\r\n" % reply.encode())


@actor
def churn(life, draw):
    conn = Conn(life.port)
    while not life.stop.is_set():
        what = draw.randrange(6)
        stream = draw.choice(STREAMS[:2])
        if what == 0:
            conn.api("STREAM.PURGE." + stream, draw.choice(({}, {"keep": 100}, {"filter": stream.lower() + ".1.>"})))
        elif what == 1:
            state = conn.api("STREAM.INFO." + stream, {})["state"]
            if state["messages"] > 0:
                body = json.dumps({"seq": draw.randint(state["first_seq"], state["last_seq"])}).encode()
                conn.request("$JS.API.STREAM.MSG.DELETE." + stream, body)
        elif what == 2:
            conn.api("STREAM.CREATE.TMP", {"name": "TMP", "subjects": ["tmp.>"], "storage": draw.choice(("file", "memory"))})
            for i in range(20):
                conn.request("tmp.%d" % i, b"x")
            conn.api("STREAM.DELETE.TMP", {})
        elif what == 3:
            name = "eph%d" % draw.randrange(1000)
            conn.api("CONSUMER.CREATE.%s.%s" % (stream, name), {"stream_name": stream, "config": {
                "name": name, "ack_policy": "none", "deliver_policy": "all", "inactive_threshold": 60000000000}})
            conn.api("CONSUMER.DELETE.%s.%s" % (stream, name), {})
        elif what == 4:
            conn.api("CONSUMER.LIST." + stream, {})
            conn.api("STREAM.LIST", {})
        else:
            conn.api("INFO", {})
        life.count("managed")
        life.stop.wait(0.02)


def set_up(port):
    conn = Conn(port)
    for name, more in (("F", {"storage": "file"}), ("M", {"storage": "memory", "max_msgs": 20000}),
                       ("W", {"storage": "file", "retention": "workqueue"})):
        conn.api("STREAM.CREATE." + name, dict({"name": name, "subjects": [name.lower() + ".>"]}, **more))
    for stream, name, more in (("F", "pull1", {}), ("F", "pull2", {"filter_subject": "f.*.7"}), ("M", "pull", {}),
                               ("W", "pull", {}), ("F", "push", {"deliver_subject": "d.f", "flow_control": True,
                                                                 "idle_heartbeat": 500000000}),
                               ("M", "push", {"deliver_subject": "d.m"})):
        conn.api("CONSUMER.DURABLE.CREATE.%s.%s" % (stream, name), {"stream_name": stream, "config": dict(
            {"durable_name": name, "ack_policy": "explicit", "ack_wait": 1000000000, "max_ack_pending": 2000}, **more)})
    conn.close()


def one_life(port, seconds, seed):
    life = Life(port)
    jobs = [(publish, i) for i in range(4)]
    jobs += [(pull, "F", "pull1"), (pull, "F", "pull2"), (pull, "M", "pull"), (pull, "W", "pull")]
    jobs += [(push, "F", "d.f"), (push, "M", "d.m"), (churn,)]
    threads = [threading.Thread(target=fn, args=(life, seed + i) + tuple(args)) for i, (fn, *args) in enumerate(jobs)]
    for t in threads:
        t.start()
    life.stop.wait(seconds)
    return life, threads


def check(port):
    conn = Conn(port)
    wrong = []
    for name in ("F", "W"):
        state = conn.api("STREAM.INFO." + name, {})["state"]
        gone = state.get("num_deleted", 0)
        span = state["last_seq"] - state["first_seq"] + 1 if state["messages"] > 0 else gone
        if state["messages"] + gone != span:
            wrong.append("%s: %d messages and %d deleted in %d sequences" % (name, state["messages"], gone, span))
    conn.close()
    return wrong


def run(binary, seconds, seed, sync):
    folder = tempfile.mkdtemp(prefix="sluice-soak-")
    end = time.monotonic() + seconds
    totals = {}
    lives = 0
    server = None
    try:
        while time.monotonic() < end:
            shutil.rmtree(os.path.join(folder, "ports"), ignore_errors=True)
            server = Server(binary, folder, options(folder, sync), 60)
            try:
                server.wait_ready()
            except RuntimeError as e:
                return "life %d: %s: %s" % (lives, e, " | ".join(server.log[-3:]))
            port = int(server.ports["nats"][0].rsplit(":", 1)[1])
            if lives == 0:
                set_up(port)
            else:
                conn = Conn(port)
                conn.request("$JS.API.STREAM.DELETE.TMP")  # the end may have come before its deletion
                conn.api("STREAM.CREATE.M", {"name": "M", "subjects": ["m.>"], "storage": "memory", "max_msgs": 20000})
                for name, more in (("pull", {}), ("push", {"deliver_subject": "d.m"})):
                    conn.api("CONSUMER.DURABLE.CREATE.M." + name, {"stream_name": "M", "config": dict(
                        {"durable_name": name, "ack_policy": "explicit", "ack_wait": 1000000000}, **more)})
                conn.close()
            wrong = check(port)
            life, threads = one_life(port, min(20, max(1, end - time.monotonic())), seed + lives * 100)
            life.stop.set()
            server.proc.send_signal(signal.SIGTERM)
            for t in threads:
                t.join(60)
            code = server.proc.wait(120)
            wrong += life.wrong
            if code != 0:
                wrong.append("exit code %d; %s" % (code, " | ".join(server.log[-5:])))
            if wrong:
                return "life %d: %s" % (lives, wrong[0])
            for k, v in life.counts.items():
                totals[k] = totals.get(k, 0) + v
            lives += 1
        print("# %d lives, %s" % (lives, totals))
        missing = [k for k in ("published", "pulled", "pushed", "managed") if not totals.get(k)]
        return "nothing was %s" % missing[0] if missing else None
    finally:
        if server is not None and server.proc.poll() is None:
            os.kill(server.pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--server", required=True)
    p.add_argument("--name", default="soak/jetstream")
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=int(time.time()) % 100000)
    p.add_argument("--sync", default="always", help="sync_interval")
    a = p.parse_args()
    why = run(find_binary(a.server), a.seconds, a.seed, a.sync)
    print("PASS %s" % a.name if why is None else "FAIL %s (seed %d): %s" % (a.name, a.seed, why))
    return 0 if why is None else 1


if __name__ == "__main__":
    sys.exit(main())
