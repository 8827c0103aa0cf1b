# SPDX-License-Identifier: Apache-2.0
"""A server with a gate, and what speaks to it: services that answer when told to, requesters, an operator."""
import collections
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import plane as common  # noqa: E402
from plane import adds_up, expect  # noqa: E402

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


class Rig(common.Plane):
    """The server of one test and its connections."""

    def __init__(self, binary, directory, settings):
        super().__init__(binary, directory, CONF + settings)

    def reload(self, settings, said="Reloaded server configuration"):
        return super().reload(CONF + settings, said)

    def gate(self, subject, body=None):
        return self.ask(b"GATE." + subject, body)

    def counters(self, name=b"g"):
        """They add up, whenever they are looked at."""
        return adds_up(self.gate(b"INFO." + name)["gate"]["counters"])

    def wait(self, **wanted):
        """Until the counters of the gate are so."""
        for _ in range(int(common.TIMEOUT / 0.01)):
            c = self.counters()
            if all(c.get(k, c["reasons"].get(k)) == v for k, v in wanted.items()):
                return
            threading.Event().wait(0.01)
        raise AssertionError("not in time: %s, but %s" % (wanted, c))
