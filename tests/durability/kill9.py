#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills the server with SIGKILL at random moments under load and starts it again on the same store.

Four publishers and one pull consumer run while it lives. After each restart every message that was
acknowledged in the round (and some of earlier rounds) is read back: its sequence holds just its payload, no
sequence was given twice, and the durable consumer goes on. Prints PASS or FAIL lines for the test runner.
"""
import argparse
import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
from server import Server, find_binary  # noqa: E402

STREAM = "K"
CONSUMER = "c"


class Gone(Exception):
    """The server does not answer any more."""


class Conn:
    """A plain NATS connection: lines and messages, in order."""

    def __init__(self, port):
        try:
            self.sock = socket.create_connection(("127.0.0.1", port), timeout=20)
            self.file = self.sock.makefile("rb")
            self.file.readline()
            self.inbox = "_INBOX.%x" % random.getrandbits(64)
            self.send(b'CONNECT {"verbose":false,"headers":true,"no_responders":true,"protocol":1}\r\nPING\r\n'
                      b"SUB %s.* 1\r\n" % self.inbox.encode())
        except OSError as e:
            raise Gone from e

    def send(self, data):
        try:
            self.sock.sendall(data)
        except OSError as e:
            raise Gone from e

    def publish(self, subject, token, payload):
        self.send(b"PUB %s %s.%s %d\r\n%s\r\n" % (subject.encode(), self.inbox.encode(), token.encode(),
                                                 len(payload), payload))

    def read(self):
        """The next message: (subject, reply, header, payload)."""
        while True:
            try:
                line = self.file.readline()
            except OSError as e:
                raise Gone from e
            if not line.endswith(b"\r\n"):
                raise Gone
            words = line.split()
            if words[0] == b"PING":
                self.send(b"PONG\r\n")
            elif words[0] in (b"MSG", b"HMSG"):
                size = int(words[-1])
                head = int(words[-2]) if words[0] == b"HMSG" else 0
                data = self.file.read(size + 2)
                if len(data) != size + 2:
                    raise Gone
                fixed = 4 if words[0] == b"MSG" else 5
                reply = words[3].decode() if len(words) > fixed else ""
                return words[1].decode(), reply, data[:head], data[head:size]

    def request(self, subject, body=b""):
        self.publish(subject, "rq", body)
        while True:
            subj, _, hdr, data = self.read()
            if subj.endswith(".rq"):
                return hdr, data

    def api(self, subject, body):
        answer = json.loads(self.request("$JS.API." + subject, json.dumps(body).encode())[1] or b"{}")
        if "error" in answer:
            raise RuntimeError("%s: %s" % (subject, answer["error"]))
        return answer

    def close(self):
        self.sock.close()


class Round:
    """What the clients of one life of the server saw. Guarded by lock."""

    def __init__(self):
        self.lock = threading.Lock()
        self.acked = {}
        self.errors = []
        self.delivered = 0


def publisher(port, number, rnd, seed):
    draw = random.Random(seed)
    sent = {}
    n = 0
    try:
        conn = Conn(port)
        while True:
            batch = draw.choice((1, 1, 5, 50, 200))
            for _ in range(batch):
                n += 1
                payload = b"%d %d %d %s" % (seed, number, n, b"x" * draw.randrange(200))
                sent[str(n)] = payload
                conn.publish("k.%d.%d" % (number, n % 10), str(n), payload)
            for _ in range(batch):
                subject, _, _, data = conn.read()
                ack = json.loads(data)
                with rnd.lock:
                    if "error" in ack:
                        rnd.errors.append("publish refused: %s" % ack["error"])
                        return
                    if ack["seq"] in rnd.acked:
                        rnd.errors.append("sequence %d was given twice" % ack["seq"])
                    rnd.acked[ack["seq"]] = sent.pop(subject.rsplit(".", 1)[1])
    except Gone:
        pass


def reader(port, rnd):
    try:
        conn = Conn(port)
        while True:
            conn.publish("$JS.API.CONSUMER.MSG.NEXT.%s.%s" % (STREAM, CONSUMER), "n",
                         b'{"batch":20,"expires":500000000}')
            got = 0
            while got < 20:
                _, reply, hdr, _ = conn.read()
                if not reply:
                    if b" 408" in hdr or b" 409" in hdr or b" 404" in hdr:
                        break
                    continue
                conn.send(b"PUB %s 4\r\n+ACK\r\n" % reply.encode())
                got += 1
            with rnd.lock:
                rnd.delivered += got
    except Gone:
        pass


def set_up(port):
    conn = Conn(port)
    conn.api("STREAM.CREATE." + STREAM, {"name": STREAM, "subjects": ["k.>"], "allow_direct": True, "storage": "file"})
    conn.api("CONSUMER.DURABLE.CREATE.%s.%s" % (STREAM, CONSUMER),
             {"stream_name": STREAM, "config": {"durable_name": CONSUMER, "ack_policy": "explicit",
                                                "ack_wait": 2000000000, "max_ack_pending": 1000}})
    conn.close()


def check(port, acked):
    """Messages that are not as they were acknowledged; and the states."""
    conn = Conn(port)
    wrong = []
    seqs = sorted(acked)
    for at in range(0, len(seqs), 100):
        part = seqs[at:at + 100]
        for seq in part:
            conn.publish("$JS.API.DIRECT.GET." + STREAM, "g%d" % seq, b'{"seq":%d}' % seq)
        for _ in part:
            subject, _, _, data = conn.read()
            seq = int(subject.rsplit(".g", 1)[1])
            if data != acked[seq]:
                wrong.append("sequence %d holds %r, acknowledged was %r" % (seq, data[:40], acked[seq][:40]))
    state = conn.api("STREAM.INFO." + STREAM, {})["state"]
    consumer = conn.api("CONSUMER.INFO.%s.%s" % (STREAM, CONSUMER), {})
    conn.close()
    if acked and state["last_seq"] < seqs[-1]:
        wrong.append("last_seq is %d, acknowledged was %d" % (state["last_seq"], seqs[-1]))
    return wrong, state, consumer


def live(port, seed):
    """Runs the load until the server is gone; the kill is the caller's."""
    rnd = Round()
    threads = [threading.Thread(target=publisher, args=(port, i, rnd, seed * 10 + i)) for i in range(4)]
    threads.append(threading.Thread(target=reader, args=(port, rnd)))
    for t in threads:
        t.start()
    return rnd, threads


def options(folder, sync):
    path = os.path.join(folder, "server.conf")
    with open(path, "w", encoding="utf-8") as f:
        f.write('jetstream { store_dir: "%s", sync_interval: %s }\n' %
                (os.path.join(folder, "store"), "always" if sync == "always" else '"%s"' % sync))
    return ["-c", path]


def run(binary, rounds, seed, sync):
    draw = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="sluice-kill9-")
    everything = {}
    delivered = 0
    try:
        server = Server(binary, folder, options(folder, sync), 60)
        server.wait_ready()
        port = int(server.ports["nats"][0].rsplit(":", 1)[1])
        set_up(port)
        for i in range(rounds):
            rnd, threads = live(port, seed * 1000 + i)
            threading.Event().wait(draw.uniform(0.02, 0.6))
            os.kill(server.pid, signal.SIGKILL)
            for t in threads:
                t.join(60)
            server.proc.wait(60)
            delivered += rnd.delivered
            if rnd.errors:
                return "round %d: %s" % (i, rnd.errors[0])
            both = set(everything) & set(rnd.acked)
            if both:
                return "round %d: sequence %d was given twice" % (i, min(both))
            shutil.rmtree(os.path.join(folder, "ports"))
            server = Server(binary, folder, options(folder, sync), 60)
            server.wait_ready()
            port = int(server.ports["nats"][0].rsplit(":", 1)[1])
            old = draw.sample(sorted(everything), min(200, len(everything)))
            wrong, state, consumer = check(port, {**rnd.acked, **{s: everything[s] for s in old}})
            if wrong:
                return "round %d: %d wrong, the first: %s" % (i, len(wrong), wrong[0])
            if consumer["delivered"]["stream_seq"] > state["last_seq"]:
                return "round %d: the consumer is past the stream" % i
            everything.update(rnd.acked)
        server.proc.send_signal(signal.SIGTERM)
        server.proc.wait(60)
        if delivered == 0:
            return "the consumer got nothing"
        print("# %d rounds, %d acknowledged, %d delivered" % (rounds, len(everything), delivered))
        return None
    finally:
        if server.proc.poll() is None:
            os.kill(server.pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--server", required=True)
    p.add_argument("--rounds", type=int, default=20)
    p.add_argument("--seed", type=int, default=int(time.time()) % 100000)
    p.add_argument("--sync", default="always", help="sync_interval; none may lose a message to a kill")
    a = p.parse_args()
    why = run(find_binary(a.server), a.rounds, a.seed, a.sync)
    if why is None:
        print("PASS durability/kill9 sync=%s" % a.sync)
        return 0
    print("FAIL durability/kill9 sync=%s (seed %d): %s" % (a.sync, a.seed, why))
    return 1


if __name__ == "__main__":
    sys.exit(main())
