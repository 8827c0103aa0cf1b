#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py --server BIN [--reference BIN]: the monitoring of a server against nats-server's.

Both are started with the same configuration, get the same clients, and are asked for every view over HTTP and over
$SYS.REQ, and for the events. Compared: status, content type, the keys and their order, types, values. What may differ
stands in differences.txt, each with its reason; one that no longer occurs fails. Prints PASS | FAIL | SKIP lines."""
import argparse
import fnmatch
import json
import os
import shutil
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import server as process  # noqa: E402

WAIT = 20

CONFIG = """
server_name: twin
listen: "127.0.0.1:-1"
http: "127.0.0.1:-1"
server_tags: ["rack:1", "b"]
server_metadata { zone: "z1" }
max_connections: 100
accounts {
  A { users: [ {user: a, password: pa}, {user: aa, password: paa} ] }
  B { users: [ {user: b, password: pb} ] }
  SYS { users: [ {user: s, password: ps} ] }
}
system_account: SYS
"""
OPEN_CONFIG = 'server_name: twin\nlisten: "127.0.0.1:-1"\nhttp: "127.0.0.1:-1"\nhttp_base_path: "/mon"\n'


class Failure(Exception):
    pass


class Client:
    """A raw client. Everything that comes is kept in self.buf."""

    def __init__(self, port, user=None, password=None, **options):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=WAIT)
        self.buf = b""
        self.until(b"\r\n")
        self.buf = b""
        options.update(verbose=False, lang="py", version="1")
        if user:
            options.update({"user": user, "pass": password})
        self.send("CONNECT " + json.dumps(options))
        self.fence()

    def send(self, text):
        self.sock.sendall(text.encode() + b"\r\n")

    def until(self, mark):
        end = time.monotonic() + WAIT
        while mark not in self.buf:
            self.sock.settimeout(max(0.01, end - time.monotonic()))
            data = self.sock.recv(65536)
            if not data:
                raise Failure(f"closed while waiting for {mark!r}: {self.buf!r}")
            self.buf += data

    def fence(self):
        self.send("PING")
        self.until(b"PONG\r\n")
        self.buf = self.buf.replace(b"PONG\r\n", b"", 1)

    def message(self, timeout=WAIT):
        """The next message as (subject, payload), or None."""
        end = time.monotonic() + timeout
        while True:
            line, mark, rest = self.buf.partition(b"\r\n")
            if mark and line == b"PING":
                self.buf = rest
                self.send("PONG")
                continue
            if mark and line.startswith((b"MSG", b"HMSG")):
                parts = line.split()
                size = int(parts[-1])
                head = int(parts[-2]) if line.startswith(b"HMSG") else 0
                if len(rest) >= size + 2:
                    self.buf = rest[size + 2:]
                    return parts[1].decode(), rest[head:size]
            elif mark:
                self.buf = rest
                continue
            left = end - time.monotonic()
            if left <= 0:
                return None
            self.sock.settimeout(left)
            try:
                data = self.sock.recv(65536)
            except socket.timeout:
                return None
            if not data:
                raise Failure("closed")
            self.buf += data

    def request(self, subject, body, timeout):
        self.send(f"SUB inbox.x 99\r\nUNSUB 99 1\r\nPUB {subject} inbox.x {len(body)}\r\n{body}")
        got = self.message(timeout)
        self.send("UNSUB 99")
        return None if got is None else got[1]

    def close(self):
        self.sock.close()


class Server(process.Server):
    """One of the two, with its monitor."""

    def __init__(self, binary, config):
        directory = tempfile.mkdtemp(prefix="monitor-")
        path = os.path.join(directory, "server.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write(config)
        super().__init__(process.find_binary(binary), directory, ["-c", path], WAIT)
        self.wait_ready()
        self.port = self.address()[1]
        self.http = self.address("monitoring")[1]
        self.id = self.get("/varz", base=CONFIG_BASE.get(config, ""))[2]["server_id"]

    def get(self, path, base="", method="GET"):
        """(status, content type, JSON or text)"""
        req = urllib.request.Request(f"http://127.0.0.1:{self.http}{base}{path}", method=method)
        try:
            with urllib.request.urlopen(req, timeout=WAIT) as r:
                status, head, body = r.status, r.headers, r.read()
        except urllib.error.HTTPError as e:
            status, head, body = e.code, e.headers, e.read()
        kind = head.get("Content-Type", "")
        text = body.decode("utf-8", "replace")
        if kind.startswith("application/json"):
            try:
                return status, kind, json.loads(text)
            except ValueError:
                pass
        return status, kind, text

    def stop(self):
        super().stop()
        shutil.rmtree(self.dir, ignore_errors=True)
        return self.proc.returncode


CONFIG_BASE = {OPEN_CONFIG: "/mon"}


class Rules:
    """The lines of differences.txt: VIEW PATH RULE reason. VIEW and PATH are shell patterns, "*" in PATH also matches dots."""

    KINDS = ("value", "absent", "extra", "any", "status", "order", "type")

    def __init__(self, path):
        self.rules = []
        with open(path, encoding="utf-8") as f:
            for n, line in enumerate(f, 1):
                if line.strip() and not line.startswith("#"):
                    view, where, kind, reason = line.split(None, 3)
                    if kind.rstrip("?") not in self.KINDS:
                        raise Failure(f"{path}:{n}: no such rule: {kind}")
                    self.rules.append([view, where, kind.rstrip("?"), reason.strip(), n, int(kind.endswith("?"))])

    def allows(self, view, where, kind):
        found = False
        for r in self.rules:
            if r[2] in (kind, "any") and fnmatch.fnmatchcase(view, r[0]) and fnmatch.fnmatchcase(where, r[1].replace("[]", "[[]]")):
                r[5] += 1
                found = True
        return found

    def unused(self):
        return [r for r in self.rules if r[5] == 0]


def kind_of(v):
    if isinstance(v, bool):
        return "bool"
    if isinstance(v, (int, float)):
        return "number"
    return {str: "string", list: "array", dict: "object", type(None): "null"}[type(v)]


class Comparison:
    def __init__(self, rules):
        self.rules = rules
        self.view = ""
        self.errors = []

    def differ(self, where, kind, text):
        if not self.rules.allows(self.view, where, kind):
            self.errors.append(f"{where or '.'}: {text}")

    def objects(self, ref, own, where):
        for key in ref:
            if key not in own:
                self.differ(f"{where}.{key}", "absent", f"missing, nats-server has {json.dumps(ref[key])[:80]}")
        for key in own:
            if key not in ref:
                self.differ(f"{where}.{key}", "extra", f"nats-server has no such key ({json.dumps(own[key])[:80]})")
        both = [k for k in ref if k in own]
        if both != [k for k in own if k in ref]:
            self.differ(where, "order", f"keys in another order: {[k for k in own if k in ref]}")
        for key in both:
            self.values(ref[key], own[key], f"{where}.{key}")

    def values(self, ref, own, where):
        if any(r[2] == "any" and fnmatch.fnmatchcase(self.view, r[0]) and fnmatch.fnmatchcase(where, r[1]) for r in self.rules.rules):
            if ref != own:
                self.rules.allows(self.view, where, "any")
            return
        if kind_of(ref) != kind_of(own):
            self.differ(where, "type", f"{kind_of(own)}, nats-server has {kind_of(ref)}")
        elif isinstance(ref, dict):
            self.objects(ref, own, where)
        elif isinstance(ref, list):
            if len(ref) != len(own):
                self.differ(where, "value", f"{len(own)} entries, nats-server has {len(ref)}")
            for a, b in zip(ref, own):
                self.values(a, b, f"{where}[]")
        elif ref != own:
            self.differ(where, "value", f"{own!r}, nats-server has {ref!r}")


def normal(v, key="", any_order=False):
    """Lists whose order means nothing are sorted; what nats-server subscribes to itself is left out."""
    if isinstance(v, dict):
        return {k: normal(x, k, any_order) for k, x in v.items()}
    if isinstance(v, list):
        out = [normal(x) for x in v]
        if key in ("subscriptions_list", "subscriptions_list_detail"):
            subject = (lambda x: x["subject"] if isinstance(x, dict) else x)
            out = sorted((x for x in out if not subject(x).startswith("$SYS.") and subject(x) != "inbox.x"), key=subject)
        elif key == "connections" and any_order:
            out.sort(key=lambda x: x.get("name", ""))
        elif key == "accounts":
            out.sort()
        elif key == "account_statz":
            out.sort(key=lambda x: x["acc"])
        return out
    return v


HTTP = """
/varz
/connz
/connz?subs=1
/connz?subs=detail&auth=true
/connz?auth=1&sort=cid
/connz?sort=start
/connz?sort=subs
/connz?sort=msgs_to&limit=1
/connz?sort=msgs_from&limit=1
/connz?sort=bytes_to&limit=1
/connz?sort=bytes_from&limit=1
/connz?sort=pending&limit=0
/connz?sort=uptime&limit=1
/connz?sort=last&limit=1
/connz?sort=idle&limit=1
/connz?sort=rtt
/connz?sort=stop
/connz?sort=reason
/connz?sort=stop&state=closed
/connz?sort=reason&state=closed
/connz?sort=nope
/connz?state=closed&subs=1
/connz?state=closed&subs=detail&auth=1
/connz?state=ANY
/connz?state=all&sort=uptime&limit=1
/connz?state=zz
/connz?offset=1&limit=1
/connz?offset=99
/connz?offset=-1&limit=-1
/connz?limit=zz
/connz?limit=99999999999999999999
/connz?offset=1.5
/connz?auth=maybe
/connz?subs=maybe
/connz?cid=-1
/connz?cid=999999
/connz?acc=A
/connz?acc=A&auth=1
/connz?acc=A&state=closed
/connz?acc=none
/connz?user=aa
/connz?user=aa&auth=1
/connz?user=none
/connz?mqtt_client=m
/connz?acc=A&filter_subject=foo.1
/subsz
/subsz?subs=1&acc=A
/subsz?subs=1&acc=A&test=foo.1
/subsz?subs=1&acc=A&test=nothing
/subsz?subs=1&acc=none
/subsz?acc=B
/subsz?subs=1&test=foo.*
/subsz?test=a..b
/subsz?subs=x
/subsz?offset=x
/subsz?limit=x
/subscriptionsz
/routez
/routez?subs=detail
/routez?subs=x
/gatewayz
/gatewayz?accs=1&gw_name=x
/gatewayz?accs=q
/leafz
/leafz?subs=1&acc=A
/leafz?subs=q
/accountz
/accountz?acc=A
/accountz?acc=SYS
/accountz?acc=none
/accstatz
/accstatz?unused=1
/accstatz?unused=q
/healthz
/healthz?js-enabled-only=true
/healthz?js-server-only=true
/healthz?js-enabled=1
/healthz?details=true
/healthz?stream=S
/healthz?stream=S&details=1
/healthz?consumer=C
/healthz?account=A&stream=S
/healthz?js-meta-only=q
/ipqueuesz
/ipqueuesz?all=1
/ipqueuesz?all=q
/jsz
/jsz?accounts=1&streams=1&consumers=1&config=1
/jsz?acc=A
/jsz?leader-only=1
/jsz?limit=q
/raftz
/raftz?acc=A
/debug/vars
/stacksz
/
/nope
POST:/varz POST:/nope PUT:/healthz DELETE:/connz?sort=nope OPTIONS:/ PATCH:/accountz TRACE:/routez
/varz/
/expvarz
/%76arz
"""

REQUESTS = """
SERVER.PING
SERVER.PING.VARZ
SERVER.PING.IDZ
SERVER.PING.STATSZ
SERVER.PING.STATSZ [1]
SERVER.PING.CONNZ {"auth":true,"subscriptions":true}
SERVER.PING.CONNZ {"auth":true,"subscriptions_detail":true,"state":1}
SERVER.PING.CONNZ {"limit":1,"offset":1}
SERVER.PING.CONNZ {"limit":"x"}
SERVER.PING.CONNZ {"limit":1.5}
SERVER.PING.CONNZ {"auth":1}
SERVER.PING.CONNZ {"cid":-1}
SERVER.PING.CONNZ {"state":"open"}
SERVER.PING.CONNZ {"sort":"nope"}
SERVER.PING.CONNZ {"sort":"stop"}
SERVER.PING.CONNZ {"filter_subject":"foo.1"}
SERVER.PING.CONNZ {"filter_subject":"foo.1","acc":"A"}
SERVER.PING.CONNZ {"acc":"none"}
SERVER.PING.CONNZ [1]
SERVER.PING.CONNZ {"server_name":"other"}
SERVER.PING.CONNZ {"SORT":"cid","nope":1}
SERVER.PING.SUBSZ
SERVER.PING.SUBSZ {"subscriptions":true,"account":"A"}
SERVER.PING.SUBSZ {"test":"a.*"}
SERVER.PING.ROUTEZ
SERVER.PING.GATEWAYZ
SERVER.PING.LEAFZ
SERVER.PING.ACCOUNTZ
SERVER.PING.ACCOUNTZ {"account":"A"}
SERVER.PING.ACCOUNTZ {"account":"none"}
SERVER.PING.JSZ
SERVER.PING.JSZ {"leader_only":true}
SERVER.PING.HEALTHZ
SERVER.PING.HEALTHZ {"stream":"S"}
SERVER.PING.IPQUEUESZ
SERVER.PING.RAFTZ
SERVER.PING.EXPVARZ
SERVER.PING.PROFILEZ
SERVER.PING.PROFILEZ {"name":"nope"}
SERVER.PING.PROFILEZ {"name":"cpu"}
SERVER.@.CONNZ {"limit":1}
SERVER.@.VARZ
SERVER.@.STATSZ
SERVER.@.HEALTHZ
ACCOUNT.A.CONNZ {"auth":true}
ACCOUNT.A.SUBSZ
ACCOUNT.A.LEAFZ
ACCOUNT.A.JSZ
ACCOUNT.A.INFO
ACCOUNT.SYS.INFO
ACCOUNT.none.INFO
ACCOUNT.A.STATZ
ACCOUNT.none.STATZ
ACCOUNT.none.STATZ {"include_unused":true}
ACCOUNT.A.CONNS
ACCOUNT.none.CONNS
ACCOUNT.PING.STATZ
ACCOUNT.PING.STATZ {"include_unused":true}
ACCOUNT.PING.STATZ {"accounts":["A"]}
ACCOUNT.PING.STATZ {"accounts":"A"}
ACCOUNT.NSUBS {"acc":"A","subject":"foo.1"}
ACCOUNT.NSUBS {"acc":"A","subject":"foo.*"}
"""

EVENTS = ["$SYS.ACCOUNT.*.CONNECT", "$SYS.ACCOUNT.*.DISCONNECT", "$SYS.SERVER.*.CLIENT.AUTH.ERR", "$SYS.ACCOUNT.*.SERVER.CONNS",
          "$SYS.SERVER.ACCOUNT.*.CONNS", "$SYS.SERVER.*.STATSZ"]


def populate(server):
    """The same clients for both, in the same order; returns those that stay."""
    gone = Client(server.port, "a", "pa", name="gone")
    gone.send("SUB foo.gone 1")
    gone.fence()
    gone.close()
    stay = []
    for user, password, name in (("a", "pa", "one"), ("aa", "paa", "two"), ("b", "pb", "")):
        stay.append(Client(server.port, user, password, name=name))
    stay[0].send("SUB foo.1 1\r\nSUB foo.* q 2\r\nSUB bar 3\r\nUNSUB 3 5")
    stay[0].fence()
    stay[1].send("SUB foo.> 1\r\nPUB foo.1 5\r\nhello\r\nPUB bar 3\r\nabc")
    stay[1].fence()
    stay[0].until(b"abc")
    stay[0].send("SUB later 9")
    stay[0].fence()
    stay[2].send("PUB nobody 1\r\nx")
    stay[2].fence()
    closed(server, 1)
    return stay


def closed(server, n):
    """Waits until the server remembers n closed connections."""
    end = time.monotonic() + WAIT
    while server.get("/connz?state=closed")[2]["total"] < n:
        if time.monotonic() > end:
            raise Failure("a closed connection does not appear")


def report(name, errors):
    print(f"PASS {name}" if not errors else f"FAIL {name} {'; '.join(errors[:6])}", flush=True)
    return not errors


def compare_http(cmp, pair, paths, base=""):
    ok = True
    for line in paths:
        method, path = line.split(":", 1) if line[0] != "/" else ("GET", line)
        cmp.view, cmp.errors = path, []
        (rs, rk, rb), (os_, ok_, ob) = (s.get(path, base, method) for s in pair)
        if rs != os_:
            cmp.differ("", "status", f"code {os_}, nats-server answers {rs}: {str(ob)[:80]!r}")
        elif rk != ok_:
            cmp.differ("", "type", f"content type {ok_}, nats-server has {rk}")
        elif isinstance(rb, str) or isinstance(ob, str):
            if rb != ob:
                cmp.differ("", "value", f"{ob[:100]!r}, nats-server has {rb[:100]!r}")
        else:
            ties = "sort=pending" in path or "sort=rtt" in path
            cmp.values(normal(rb, "", ties), normal(ob, "", ties), "")
        ok &= report(f"monitor{base}{line.replace(':', '')}", cmp.errors)
    return ok


def compare_requests(cmp, pair):
    ok = True
    clients = [Client(s.port, "s", "ps", name="sys") for s in pair]
    for line in REQUESTS.strip().splitlines():
        subject, _, body = line.partition(" ")
        cmp.view, cmp.errors = line, []
        answers = []
        for s, c in zip(pair, clients):
            # A missing answer is waited for in vain: long where nats-server gave one.
            timeout = 0.5 if not answers else WAIT if answers[0] is not None else 0.5
            got = c.request("$SYS.REQ." + subject.replace("@", s.id), body, timeout)
            answers.append(None if got is None else json.loads(got))
        ref, own = answers
        if (ref is None) != (own is None):
            cmp.differ("", "status", f"answers {own!r:.100}, nats-server {ref!r:.100}")
        elif ref is not None:
            cmp.values(normal(ref), normal(own), "")
        ok &= report(f"monitor/$SYS.REQ.{line}".replace(" ", "_"), cmp.errors)
    for c in clients:
        c.close()
    return ok


def gather_events(server):
    """The events of one client that comes, one that is refused, and one that goes: {subject pattern: last event}."""
    got = {}
    sys_client = Client(server.port, "s", "ps", name="listener")
    for i, subject in enumerate(EVENTS):
        sys_client.send(f"SUB {subject} {i}")
    sys_client.fence()
    visitor = Client(server.port, "a", "pa", name="visitor")
    visitor.send("PUB nobody 3\r\nabc")
    visitor.fence()
    visitor.close()
    try:
        Client(server.port, "a", "wrong", name="intruder").close()
    except (Failure, OSError):
        pass
    end = time.monotonic() + WAIT
    while len(got) < len(EVENTS) and time.monotonic() < end:
        m = sys_client.message(max(0.01, end - time.monotonic()))
        if m is None:
            break
        for pattern in EVENTS:
            tokens, want = m[0].split("."), pattern.split(".")
            if len(tokens) != len(want) or any(w not in ("*", t) for t, w in zip(tokens, want)):
                continue
            event = json.loads(m[1])
            # Of the same account, and of the client that left in order, on both sides.
            if tokens[2:3] in (["$G"], ["SYS"]) or tokens[3:4] == ["SYS"] or event.get("reason") == "Authentication Failure" and "AUTH" not in pattern:
                continue
            got.setdefault(pattern, event)
    sys_client.close()
    return got


def compare_events(cmp, pair):
    ok = True
    ref, own = (gather_events(s) for s in pair)
    for subject in EVENTS:
        cmp.view, cmp.errors = subject, []
        if subject not in ref or subject not in own:
            cmp.differ("", "status", f"heard: {subject in own}, of nats-server: {subject in ref}")
        else:
            cmp.values(ref[subject], own[subject], "")
        ok &= report(f"monitor/{subject}", cmp.errors)
    return ok


def run_pair(binaries, config, body):
    servers, clients = [], []
    try:
        servers = [Server(b, config) for b in binaries]
        ok = body(servers, clients)
    finally:
        for c in clients:
            c.close()
        codes = [s.stop() for s in servers]
    return report("monitor/clean_exit", [] if codes[1:] == [0] else [f"exit code {codes[1:]}"]) and ok


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--server", required=True)
    args.add_argument("--reference", default="nats-server")
    args = args.parse_args()
    reference = shutil.which(args.reference)
    if reference is None:
        print("SKIP monitor/compare nats-server is not installed (it needs Go)")
        return 0
    rules = Rules(os.path.join(HERE, "differences.txt"))
    cmp = Comparison(rules)
    binaries = [reference, os.path.abspath(args.server)]

    def accounts(servers, clients):
        for s in servers:
            clients += populate(s)
        ok = compare_http(cmp, servers, HTTP.split())
        ok &= compare_requests(cmp, servers)
        return compare_events(cmp, servers) and ok

    def no_accounts(servers, clients):
        for s in servers:
            clients.append(Client(s.port, name="alone"))
        return compare_http(cmp, servers, ["/varz", "/connz?auth=1", "/accountz", "/nope"], "/mon")

    ok = run_pair(binaries, CONFIG, accounts)
    ok &= run_pair(binaries, OPEN_CONFIG, no_accounts)
    stale = [f"line {r[4]}: {r[0]} {r[1]} {r[2]}" for r in rules.unused()]
    ok &= report("monitor/differences_all_occur", stale)
    return 0 if ok else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as e:
        print(f"FAIL monitor/compare {e}")
        sys.exit(1)
