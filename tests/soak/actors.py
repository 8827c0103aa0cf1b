# SPDX-License-Identifier: Apache-2.0
"""Who makes the load of a soak: each function is one client's life, repeated until the time is over.

An actor may end its life as rudely as it likes; what it must not do is wait for ever. What the server owes to
the well behaved ones (order, completeness, an answer) is checked, and a breach raises Breach."""
import socket
import struct
import urllib.error
import urllib.request

from peer import Peer

USERS = {"app": "app", "hashed": "pw", "limited": "x"}
ADMIN = ("admin", "s")


class Breach(Exception):
    """The server did not keep what it owes."""


def connect(world, user="app", secret=None, rcvbuf=0):
    """A connection of that user, CONNECT said and not yet taken."""
    return Peer(world.address, user, secret or USERS.get(user), world.patience, rcvbuf)


def pair(world, rnd):
    """A publisher and a subscriber: everything arrives, once and in order."""
    with connect(world) as sub, connect(world) as pub:
        sub.ready()
        pub.ready()
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
    with connect(world) as svc, connect(world) as cli:
        svc.ready()
        cli.ready()
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
    peer = connect(world, rnd.choice(("app", "limited"))).ready()
    for _ in range(rnd.randrange(1, 10)):
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
        if rnd.random() < 0.7:
            peer.fence()
    if rnd.random() < 0.5:
        peer.reset()
    else:
        peer.sock.close()


def flood(world, rnd):
    """Publishes as fast as it can to whoever listens on flood.>."""
    with connect(world) as peer:
        peer.ready()
        size = rnd.choice((16, 512, 8192, 100000))
        one = b"PUB flood.%d %d\r\n%s\r\n" % (rnd.randrange(10), size, b"f" * size)
        chunk = one * max(1, 200000 // len(one))
        for _ in range(rnd.randrange(1, 30)):
            peer.send(chunk)
        peer.fence()


def slow_reader(world, rnd):
    """Subscribes to the flood and reads little or nothing."""
    peer = connect(world, rcvbuf=4096)
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
    peers = [connect(world, "hashed", rnd.choice(("pw", "pw", "wrong"))) for _ in range(rnd.randrange(1, 8))]
    for peer in peers:
        if rnd.random() < 0.6:
            try:
                peer.ready()
            except ConnectionError:
                pass
        peer.sock.close()


def crowd(world, rnd):
    """Many connections at once, that say nothing much."""
    peers = []
    try:
        for _ in range(rnd.randrange(20, 150)):
            peers.append(connect(world))
        for peer in peers[::7]:
            peer.send(b"SUB crowd 1\r\n")
        if rnd.random() < 0.5:
            peers[-1].ready()
    finally:
        for peer in peers:
            peer.sock.close()


def api(world, rnd):
    """Requests of the system account, some of them waited for, some left behind."""
    with connect(world, *ADMIN) as peer:
        peer.ready()
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
    with connect(world, *ADMIN) as peer:
        peer.ready()
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
        # 503 is "not now": the loops had more to do than to be counted.
        if e.code >= 500 and e.code != 503:
            raise Breach("%s answers %d" % (path, e.code)) from None


EVERYBODY = (pair, pair, request, churn, churn, flood, slow_reader, slow_reader, half, half, login, crowd, api, api, events, monitor)
