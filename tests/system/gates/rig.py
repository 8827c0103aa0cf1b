# SPDX-License-Identifier: Apache-2.0
"""A server with a gate, and what speaks to it: services that answer when told to, requesters, an operator."""
import collections
import json
import os
import sys
import threading
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from peer import Peer  # noqa: E402
from server import Server  # noqa: E402

TIMEOUT = float(os.environ.get("STEP_TIMEOUT", "20"))
ENDINGS = ("answered", "refused", "evicted", "expired", "cancelled")
CONF = """
accounts {
  SYS { users: [ { user: admin, password: s } ] }
  APP { users: [
    { user: app, password: app }
    { user: narrow, password: app, permissions: { publish: ["svc.>"], subscribe: ["_INBOX.>"] } }
    { user: service, password: app, permissions: { subscribe: ["svc.>"], publish: { deny: [">"] }, allow_responses: true } }
  ] }
}
system_account: SYS
"""
GATE = 'gates { g { account: APP, subject: "svc.>", limit: 2, request_queue_limit: 50 } }\n'


class Skip(Exception):
    """The test needs something that is not there."""


def expect(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what)[:600])


class Service:
    """A responder that answers when it is told to."""

    def __init__(self, rig, user="app", queue=b"", subject=b"svc.>"):
        self.peer = rig.peer(user).ready()
        self.peer.send(b"SUB %s %s 1\r\n" % (subject, queue))
        self.peer.fence()
        self.replies = collections.deque()

    def line(self):
        """The next line that is neither PING nor INFO."""
        while True:
            line = self.peer.line()
            if line == b"PING":
                self.peer.send(b"PONG\r\n")
            elif not line.startswith(b"INFO "):
                return line

    def take(self, count=1):
        """The next requests; returns their payloads."""
        out = []
        for _ in range(count):
            line = self.line()
            expect(line.startswith((b"MSG ", b"HMSG ")), line)
            words = line.split()
            self.replies.append(words[3] if len(words) >= (5 if line[:1] == b"M" else 6) else b"")
            out.append(self.peer.take(int(words[-1])))
        return out

    def answer(self, *payloads):
        """Answers the oldest that was taken, with one message or several."""
        reply = self.replies.popleft()
        for p in payloads or (b"ok",):
            self.peer.send(b"PUB %s %d\r\n%s\r\n" % (reply, len(p), p))
        return reply

    def nothing(self):
        """No request has come up to now."""
        for _ in range(2):
            self.peer.send(b"PING\r\n")
            line = self.line()
            expect(line == b"PONG", "a request came too early:", line)


class Requester:
    """A client with an inbox; counts what it is told by reply subject."""

    def __init__(self, rig, name, user="app"):
        self.peer = rig.peer(user).ready()
        self.tag = name.encode()
        self.sent = 0
        self.peer.send(b"SUB _INBOX.%s.* 1\r\n" % self.tag)
        self.peer.fence()

    def send(self, count=1, subject=b"svc.a", header=b"", body=b"x"):
        lines = []
        for _ in range(count):
            reply = b"_INBOX.%s.%d" % (self.tag, self.sent)
            self.sent += 1
            if header:
                block = b"NATS/1.0\r\n" + header + b"\r\n\r\n"
                lines.append(b"HPUB %s %s %d %d\r\n%s%s\r\n" % (subject, reply, len(block), len(block) + len(body), block, body))
            else:
                lines.append(b"PUB %s %s %d\r\n%s\r\n" % (subject, reply, len(body), body))
        self.peer.send(b"".join(lines))

    def read(self, count):
        """The next messages: (number of the request, payload with headers)."""
        out = []
        for _ in range(count):
            subject, payload = self.peer.message()
            out.append((int(subject.rsplit(b".", 1)[1]), payload))
        return out


class Rig:
    """The server of one test and its connections."""

    def __init__(self, binary, directory, settings):
        self.path = os.path.join(directory, "server.conf")
        self.peers = []
        self.write(settings)
        self.server = Server(binary, directory, ["-c", self.path, "-m", "-1"], TIMEOUT)
        self.server.wait_ready()
        self.admin = self.peer("admin", "s").ready()

    def write(self, settings):
        with open(self.path, "w", encoding="ascii") as f:
            f.write(CONF + settings)

    def peer(self, user="app", secret="app"):
        p = Peer(self.server.address(), user, secret, TIMEOUT)
        self.peers.append(p)
        return p

    def url(self, user="app"):
        return "nats://%s:app@%s:%d" % ((user,) + self.server.address())

    def ask(self, subject, body=None):
        return json.loads(self.admin.ask(b"$WLM.API.GATE." + subject, json.dumps(body).encode() if body is not None else b""))

    def counters(self, name=b"g"):
        """They add up, whenever they are looked at."""
        answer = self.ask(b"INFO." + name)
        c = answer["gate"]["counters"]
        expect(c["received"] == sum(c[k] for k in ENDINGS) + c["queued"] + c["running"], c)
        return c

    def until(self, **wanted):
        for _ in range(int(TIMEOUT / 0.01)):
            c = self.counters()
            if all(c.get(k, c["reasons"].get(k)) == v for k, v in wanted.items()):
                return
            threading.Event().wait(0.01)
        raise AssertionError("not in time: %s, but %s" % (wanted, c))

    def http(self, path):
        with urllib.request.urlopen("http://%s:%d%s" % (self.server.address("monitoring") + (path,)), timeout=TIMEOUT) as answer:
            return answer.read().decode()

    def close(self):
        for p in self.peers:
            p.sock.close()
        return self.server.stop()
