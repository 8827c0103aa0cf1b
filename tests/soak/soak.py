#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""soak.py --server BIN [--seconds N] [--seed N]: a server under everything at once, then a clean end.

Passes when every actor got what it was owed, the server answered to the last, grew no more than it may,
and ended with 0 (so sanitizers found nothing and nothing leaked). Prints PASS name | FAIL name reason."""
import argparse
import collections
import os
import random
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "system")]
from actors import ADMIN, EVERYBODY, Breach, connect  # noqa: E402
from server import Server, find_binary, flavour  # noqa: E402

CONF = """
max_payload: 1MB
max_pending: 2MB
write_deadline: "1s"
max_connections: %d
accounts {
  SYS { users: [ { user: admin, password: s } ] }
  APP { users: [
    { user: app, password: app }
    { user: hashed, password: "$2a$04$abcdefghijklmnopqrstuuyvPXIbu7xe6/CED2DzX8z6Si09MlzlW" }
    { user: limited, password: x, permissions: {
      publish: { allow: ["churn.>"], deny: ["churn.t1.>"] }, subscribe: ["churn.>", "_INBOX.> q1"], allow_responses: true } }
  ] }
}
system_account: SYS
"""
MAX_CONNECTIONS = (2000, 1900)
# Resident memory may grow this far between the middle and the end of a run of a build without sanitizers.
GROWTH = 128 << 20


class World:
    """What the actors share."""

    def __init__(self, server, ours):
        self.address = server.address()
        self.monitor = server.address("monitoring")
        self.patience = server.timeout
        self.over = threading.Event()
        self.lives = collections.Counter()
        self.cut = collections.Counter()
        self.breaches = []
        self.lock = threading.Lock()
        self.paths = ("/apiz", "/metrics") if ours else ()
        with connect(self, *ADMIN) as peer:
            ident = ready_id(peer)
        self.api = [(b"$SYS.REQ.SERVER.%s.%s" % (ident, what), body) for what in (b"VARZ", b"CONNZ", b"SUBSZ", b"STATSZ", b"HEALTHZ")
                    for body in (b"", b'{"limit":3}')]
        self.api += [(b"$SYS.REQ.SERVER.PING", b""), (b"$SYS.REQ.SERVER.PING.CONNZ", b'{"subscriptions":true}'),
                     (b"$SYS.REQ.ACCOUNT.APP.CONNZ", b""), (b"$SYS.REQ.ACCOUNT.APP.SUBSZ", b""), (b"$SYS.REQ.USER.INFO", b"")]
        if ours:
            self.api += [(b"$WLM.API.QUEUE.INFO", b""), (b"$WLM.API.REQUEST.LIST", b"")]
            self.api += [(b"$WLM.API.QUEUE.UPDATE", b'{"discipline":{"%s":"%s"}}' % (level, how))
                         for level in (b"normal", b"info") for how in (b"fifo", b"lifo", b"adaptive")]

    def pause(self, seconds):
        self.over.wait(seconds)


def ready_id(peer):
    """The server's id, from INFO."""
    line = peer.line()
    peer.ready()
    return line.split(b'"server_id":"')[1].split(b'"')[0]


def live(world, actor, seed):
    """One actor, life after life."""
    rnd = random.Random(seed)
    while not world.over.is_set():
        try:
            actor(world, rnd)
            outcome = world.lives
        except Breach as e:
            with world.lock:
                world.breaches.append("%s: %s" % (actor.__name__, e))
            return
        except TimeoutError:
            # A server that is killed by its load does not answer: whoever behaves must not wait that long.
            with world.lock:
                world.breaches.append("%s: no answer within %g s" % (actor.__name__, world.patience))
            return
        except (OSError, ConnectionError):
            outcome = world.cut
        with world.lock:
            outcome[actor.__name__] += 1


def memory(pid):
    """Resident bytes of a process."""
    with open("/proc/%d/statm" % pid, encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def reload_now_and_then(world, server, conf):
    """SIGHUP with a slightly different file."""
    i = 0
    while not world.over.wait(3):
        i += 1
        with open(conf + ".new", "w", encoding="ascii") as f:
            f.write(CONF % MAX_CONNECTIONS[i % 2])
        os.rename(conf + ".new", conf)
        server.signal("HUP")


def soak(server, conf, ours, args):
    """Runs it; returns what is wrong."""
    world = World(server, ours)
    threads = [threading.Thread(target=live, args=(world, actor, args.seed * 1000 + i)) for i, actor in enumerate(EVERYBODY)]
    threads.append(threading.Thread(target=reload_now_and_then, args=(world, server, conf)))
    began = time.monotonic()
    for t in threads:
        t.start()
    world.over.wait(args.seconds / 2)
    middle = memory(server.pid)
    while time.monotonic() < began + args.seconds and server.proc.poll() is None and not world.breaches:
        world.over.wait(0.5)
    world.over.set()
    for t in threads:
        t.join()
    wrong = list(world.breaches)
    if server.proc.poll() is not None:
        return wrong + ["the server ended"]
    end = memory(server.pid)
    print("lives: %s\ncut short: %s\nresident: %d MiB in the middle, %d MiB at the end" % (
        dict(sorted(world.lives.items())), dict(sorted(world.cut.items())), middle >> 20, end >> 20))
    for actor in set(EVERYBODY):
        if world.lives[actor.__name__] + world.cut[actor.__name__] == 0:
            wrong.append("%s: not one life in %g s" % (actor.__name__, args.seconds))
    try:
        with connect(world) as peer:
            peer.ready()
    except OSError as e:
        wrong.append("the server no longer answers: %s" % e)
    if args.check_memory and end > middle + GROWTH:
        wrong.append("resident memory grew from %d to %d MiB" % (middle >> 20, end >> 20))
    return wrong


def main():
    parser = argparse.ArgumentParser(description="a server under everything at once")
    parser.add_argument("--server", default="build/sluice")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--name", default="soak")
    parser.add_argument("--check-memory", action="store_true", help="for builds without sanitizers")
    args = parser.parse_args()
    binary = find_binary(args.server)
    if binary is None:
        sys.exit("no such server: %s" % args.server)
    with tempfile.TemporaryDirectory(prefix="soak-") as directory:
        conf = os.path.join(directory, "soak.conf")
        # In a file, so that nobody waits for this process to read it.
        log = os.path.join(directory, "soak.log")
        with open(conf, "w", encoding="ascii") as f:
            f.write(CONF % MAX_CONNECTIONS[0])
        server = Server(binary, directory, ["-c", conf, "-m", "-1", "-l", log], float(os.environ.get("STEP_TIMEOUT", "30")))
        wrong = []
        try:
            server.wait_ready()
            wrong = soak(server, conf, flavour(binary) == "sluice", args)
        except (RuntimeError, OSError) as e:
            wrong.append(str(e))
        end = server.stop()
        wrong += [end] if end else []
        with open(log, encoding="utf-8", errors="replace") as f:
            told = [line.rstrip("\n") for line in f if " Violation - " not in line]
        print("\n".join("log: " + line for line in told[-20 if wrong else -3:] + server.log[-60:]))
    print("FAIL %s %s" % (args.name, "; ".join(wrong)) if wrong else "PASS %s %g s" % (args.name, args.seconds))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
