# SPDX-License-Identifier: Apache-2.0
"""Who makes the load of a soak: each function is one client's life, repeated until the time is over.

An actor may end its life as rudely as it likes; what it must not do is wait for ever. What the server owes to
the well behaved ones (order, completeness, an answer) is checked, and a breach raises Breach."""
import json
import socket
import struct
import urllib.error
import urllib.request

CONNECT = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "protocol": 1}
USERS = {"app": "app", "hashed": "pw", "limited": "x"}
ADMIN = ("admin", "s")


class Breach(Exception):
    """The server did not keep what it owes."""


class Peer:
    """A socket that speaks the protocol; every wait has a limit."""

    def __init__(self, world, user="app", secret=None, rcvbuf=0):
        self.world = world
        self.buf = b""
        self.sock = socket.socket()
        self.sock.settimeout(world.patience)
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.connect(world.address)
        options = dict(CONNECT, **{"user": user, "pass": secret or USERS.get(user)})
        self.sock.sendall(b"CONNECT " + json.dumps(options).encode() + b"\r\nPING\r\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def line(self):
        while b"\r\n" not in self.buf:
            data = self.sock.recv(65536)
            if not data:
                raise ConnectionError("closed")
            self.buf += data
        line, self.buf = self.buf.split(b"\r\n", 1)
        return line

    def take(self, size):
        while len(self.buf) < size + 2:
            data = self.sock.recv(65536)
            if not data:
                raise ConnectionError("closed")
            self.buf += data
        data, self.buf = self.buf[:size], self.buf[size + 2:]
        return data

    def message(self):
        """The next message as (subject, payload with headers), answering PINGs on the way."""
        while True:
            line = self.line()
            if line == b"PING":
                self.send(b"PONG\r\n")
            elif line.startswith((b"MSG ", b"HMSG ")):
                word = line.split()
                return word[1], self.take(int(word[-1]))
            elif line.startswith(b"-ERR"):
                raise ConnectionError(line.decode())

    def fence(self):
        self.send(b"PING\r\n")
        while self.line() != b"PONG":
            pass

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


def ready(peer):
    """Returns when CONNECT has been taken."""
    while peer.line() != b"PONG":
        pass
    return peer


def pair(world, rnd):
    """A publisher and a subscriber: everything arrives, once and in order."""
    with Peer(world) as sub, Peer(world) as pub:
        ready(sub)
        ready(pub)
        subject = b"pair.%d" % rnd.getrandbits(60)
        sub.send(b"SUB %s 1\r\n" % subject)
        sub.fence()
        count = rnd.randrange(1, 400)
        size = rnd.choice((0, 1, 100, 5000))
        pub.send(b"".join(b"PUB %s %d\r\n%08d%s\r\n" % (subject, size + 8, i, b"p" * size) for i in range(count)))
        for i in range(count):
            got = sub.message()[1]
            if len(got) != size + 8 or int(got[:8]) != i:
                raise Breach("message %d of %d came as %r" % (i, count, got[:20]))


def request(world, rnd):
    """A service of a queue group and its client: every request is answered; without a service it says so."""
    with Peer(world) as svc, Peer(world) as cli:
        ready(svc)
        ready(cli)
        subject = b"svc.%d" % rnd.getrandbits(60)
        svc.send(b"SUB %s workers 1\r\n" % subject)
        svc.fence()
        cli.send(b"SUB _INBOX.%s.* 1\r\n" % subject)
        for i in range(rnd.randrange(1, 30)):
            cli.send(b"PUB %s _INBOX.%s.%d 4\r\nask?\r\n" % (subject, subject, i))
            svc.message()
            svc.send(b"HPUB _INBOX.%s.%d 12 14\r\nNATS/1.0\r\n\r\nok\r\n" % (subject, i))
            if not cli.message()[1].endswith(b"ok"):
                raise Breach("a reply came broken")
        svc.send(b"UNSUB 1\r\n")
        svc.fence()
        cli.send(b"PUB %s _INBOX.%s.x 0\r\n\r\n" % (subject, subject))
        if b"503" not in cli.message()[1]:
            raise Breach("no 503 for a request that nobody answers")


def churn(world, rnd):
    """Subscriptions that come and go, with maxima, wildcards and queues; ends rudely."""
    peer = Peer(world, rnd.choice(("app", "limited")))
    for _ in range(rnd.randrange(1, 20)):
        lines = []
        for i in range(rnd.randrange(1, 200)):
            token = b"t%d" % rnd.randrange(50)
            pattern = rnd.choice((b"churn.%s", b"churn.*.%s", b"churn.%s.>", b"_INBOX.%s.*", b"a..%s")) % token
            lines.append(b"SUB %s %s%d\r\n" % (pattern, rnd.choice((b"", b"q1 ", b"q2 ")), i))
            if rnd.random() < 0.5:
                lines.append(b"UNSUB %d%s\r\n" % (rnd.randrange(200), rnd.choice((b"", b" 1", b" 5"))))
            if rnd.random() < 0.3:
                lines.append(b"PUB churn.%s.x _INBOX.%s.y 2\r\nhi\r\n" % (token, token))
        peer.send(b"".join(lines))
    if rnd.random() < 0.5:
        peer.reset()
    else:
        peer.sock.close()


def flood(world, rnd):
    """Publishes as fast as it can to whoever listens on flood.>."""
    with Peer(world) as peer:
        ready(peer)
        size = rnd.choice((16, 512, 8192, 100000))
        one = b"PUB flood.%d %d\r\n%s\r\n" % (rnd.randrange(10), size, b"f" * size)
        chunk = one * max(1, 200000 // len(one))
        for _ in range(rnd.randrange(1, 30)):
            peer.send(chunk)
        peer.fence()


def slow_reader(world, rnd):
    """Subscribes to the flood and reads little or nothing."""
    peer = Peer(world, rcvbuf=4096)
    peer.send(b"SUB flood.> 1\r\nSUB flood.* q 2\r\nSUB flood.1 3\r\n")
    for _ in range(rnd.randrange(1, 20)):
        world.pause(rnd.random() * 0.1)
        if rnd.random() < 0.5:
            peer.sock.recv(100)
    if rnd.random() < 0.5:
        peer.reset()
    else:
        peer.sock.close()


def half(world, rnd):
    """Operations that stop in the middle, garbage, lines without end, wrong logins, nothing at all."""
    whole = rnd.choice((
        b"PUB foo.bar 100000\r\n" + b"h" * 100000, b"HPUB foo 12 50\r\nNATS/1.0\r\n\r\n" + b"x" * 38, b"SUB foo.bar queue 17\r\n",
        b"CONNECT {\"user\":\"app\",\"pass\":\"app\"}\r\nPING\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01",
        b"CONNECT {\"user\":\"hashed\",\"pass\":\"no\"}\r\n", b"CONNECT {{{\r\n", b"PUB " + b"l" * 10000, b"UNSUB 1 2\r\n\r\n",
        bytes(rnd.getrandbits(8) for _ in range(200)), b"PUB f 1\r\nxyz\r\n", b"-ERR 'no'\r\n", b"CONNECT {\"user\":\"hashed\",\"pass\":\"pw\"}\r\nPUB x 1\r\n"))
    sock = socket.create_connection(world.address, world.patience)
    try:
        if rnd.random() < 0.5:
            sock.sendall(b"CONNECT {\"user\":\"app\",\"pass\":\"app\",\"headers\":true}\r\n")
        sock.sendall(whole[:rnd.randrange(len(whole) + 1)])
        if rnd.random() < 0.3:
            sock.recv(4096)
        if rnd.random() < 0.3:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    finally:
        sock.close()


def login(world, rnd):
    """Logins with a hashed password, right and wrong, some of them gone before the answer."""
    peers = [Peer(world, "hashed", rnd.choice(("pw", "pw", "wrong"))) for _ in range(rnd.randrange(1, 8))]
    for peer in peers:
        if rnd.random() < 0.6:
            try:
                ready(peer)
            except ConnectionError:
                pass
        peer.sock.close()


def crowd(world, rnd):
    """Many connections at once, that say nothing much."""
    peers = []
    try:
        for _ in range(rnd.randrange(20, 150)):
            peers.append(Peer(world))
        for peer in peers[::7]:
            peer.send(b"SUB crowd 1\r\n")
        if rnd.random() < 0.5:
            ready(peers[-1])
    finally:
        for peer in peers:
            peer.sock.close()


def api(world, rnd):
    """Requests of the system account, some of them waited for, some left behind."""
    with Peer(world, *ADMIN) as peer:
        ready(peer)
        peer.send(b"SUB _INBOX.api.* 1\r\n")
        peer.fence()
        asked = 0
        for i in range(rnd.randrange(1, 60)):
            what, body = rnd.choice(world.api)
            peer.send(b"PUB %s _INBOX.api.%d %d\r\n%s\r\n" % (what, i, len(body), body))
            asked += 1
        if rnd.random() < 0.7:
            for _ in range(asked):
                if not peer.message()[1]:
                    raise Breach("an empty answer")


def events(world, _rnd):
    """Listens to the events of the system account for a while."""
    with Peer(world, *ADMIN) as peer:
        ready(peer)
        peer.send(b"SUB $SYS.> 1\r\n")
        for _ in range(50):
            peer.message()


def monitor(world, rnd):
    """The HTTP monitor, in whole and in parts."""
    path = rnd.choice(("/varz", "/connz", "/connz?subs=1&auth=1&limit=5", "/connz?state=closed&sort=stop", "/connz?state=any&sort=bytes_to",
                       "/subsz?subs=1", "/subsz?test=flood.1", "/healthz", "/accountz", "/accstatz?unused=1", "/routez", "/jsz", "/", "/nothing",
                       "/connz?limit=x", "/connz?cid=99999") + world.paths)
    if rnd.random() < 0.1:
        with socket.create_connection(world.monitor, world.patience) as sock:
            sock.sendall(b"GET /varz HTTP/1.1\r\nHost: x\r\n\r\n"[:rnd.randrange(30)])
        return
    try:
        with urllib.request.urlopen("http://%s:%d%s" % (world.monitor + (path,)), timeout=world.patience) as answer:
            answer.read()
    except urllib.error.HTTPError as e:
        if e.code >= 500:
            raise Breach("%s answers %d" % (path, e.code)) from None


EVERYBODY = (pair, pair, request, churn, churn, flood, slow_reader, slow_reader, half, half, login, crowd, api, api, events, monitor)
