#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""talk.py SERVER [FILE...]: each conversation of talks/*.txt is had with SERVER and with nats-server, which must say the same,
but for times and random names. Prints PASS, FAIL or SKIP for each. The language is told in README.md."""
import json
import os
import re
import socket
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from server import Server, beside_reference, verdict  # noqa: E402

PATIENCE = float(os.environ.get("STEP_TIMEOUT", "20"))
SILENCE = 1.5  # how long a server may take before it counts as silent

# What differs from server to server and from run to run.
PATTERNS = [(re.compile(p), r) for p, r in (
    (r"(?!0001)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "T"),
    (r"(\$JS\.ACK\.[^.\s]+\.[^.\s]+\.\d+\.\d+\.\d+)\.\d+\.", r"\1.T."),
    (r"(\$JS\.ACK)\.\w+\.\w{8}(\.[^.\s]+\.[^.\s]+\.\d+\.\d+\.\d+)\.\d+\.(\d+)\.\w+", r"\1.D.A\2.T.\3.R"),
    (r"(\$JS\.FC\.[^.\s]+\.[^.\s]+)\.\S+", r"\1.R"),
    (r"(\$JS\.SNAPSHOT\.(ACK|RESTORE)\.[^.\s]+)\.\S+", r"\1.R"),
    (r'("(?:id|nonce|rtt|server|server_id|server_ver|ver|start|stop|pinned_id|ident|host|client_id|domain)"\s*:\s*)("[^"]*"|\d+)', r"\1R"),
    (r'("(?:ack_time|active|pause_remaining|nanos|last_active|delta)"\s*:\s*)-?\d+', r"\g<1>0"),
    (r"(Nats-Pin-Id: )\S+", r"\1R"),
    (r"(Nats-Stream-Source: [^ ]+ \d+ [^ ]+ [^ ]+ [^ ]+) \w{8}", r"\1 R"),
)]


def normal(text):
    for pattern, by in PATTERNS:
        text = pattern.sub(by, text)
    start = text.find("{")
    if start >= 0 and text.endswith("}"):
        try:
            return text[:start] + json.dumps(json.loads(re.sub(r":\s*([RT])([,}])", r':"\1"\2', text[start:])), sort_keys=True)
        except ValueError:
            pass
    return text


def without(text, member):
    """Of a JSON text, what is left without that member, wherever it is."""
    def cut(v):
        if isinstance(v, dict):
            return {key: cut(m) for key, m in v.items() if key != member}
        return [cut(m) for m in v] if isinstance(v, list) else v
    start = text.find("{")
    try:
        return text[:start] + json.dumps(cut(json.loads(text[start:])), sort_keys=True) if start >= 0 else text
    except ValueError:
        return text


class Client:
    """One connection: asks, listens, sends."""

    def __init__(self, address, options=None):
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.data = b""
        self.count = 0
        self.answers = {}   # by inbox
        self.heard = []     # (subject, reply, text)
        self.reply = ""     # of the last message that was got
        self.pongs = 0
        base = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "protocol": 1}
        self.send("CONNECT %s\r\nSUB in.* 1\r\n" % json.dumps(dict(base, **(options or {}))))
        self.fence()

    def send(self, text):
        self.socket.sendall(text.encode("utf-8", "surrogateescape"))

    def publish(self, subject, reply, body, header):
        body = body.encode("utf-8", "surrogateescape")
        if header:
            block = header.encode("utf-8", "surrogateescape")
            line = "HPUB %s %s %d %d\r\n" % (subject, reply, len(block), len(block) + len(body))
            self.socket.sendall(line.encode() + block + body + b"\r\n")
        else:
            self.socket.sendall(("PUB %s %s %d\r\n" % (subject, reply, len(body))).encode() + body + b"\r\n")

    def fence(self):
        want = self.pongs + 1
        self.send("PING\r\n")
        if not self.wait(lambda: self.pongs >= want, PATIENCE):
            raise RuntimeError("no PONG")

    def wait(self, done, seconds):
        """Reads until done() holds or the time is over."""
        end = time.monotonic() + seconds
        while not done():
            left = end - time.monotonic()
            if left <= 0:
                return False
            self.socket.settimeout(left)
            try:
                data = self.socket.recv(1 << 16)
            except TimeoutError:
                return False
            if not data:
                raise RuntimeError("the server closed the connection")
            self.data += data
            while self._take():
                pass
        return True

    def _take(self):
        line, found, rest = self.data.partition(b"\r\n")
        if not found:
            return False
        words = line.decode("utf-8", "replace").split(" ")
        if words[0] not in ("MSG", "HMSG"):
            self.data = rest
            if words[0] == "PING":
                self.send("PONG\r\n")
            self.pongs += words[0] == "PONG"
            if words[0] == "-ERR":
                self.heard.append(("-ERR", "", line.decode("utf-8", "replace")))
            return True
        size = int(words[-1])
        if len(rest) < size + 2:
            return False
        fixed = 5 if words[0] == "HMSG" else 4
        reply = words[3] if len(words) > fixed else ""
        text = rest[:size].decode("utf-8", "surrogateescape")
        self.data = rest[size + 2:]
        if words[1].startswith("in.") and words[2] == "1":
            self.answers.setdefault(words[1], []).append(text)
        else:
            self.heard.append((words[1], reply, text))
        return True

    def ask(self, subject, body, header, n=1):
        self.count += 1
        inbox = "in.%d" % self.count
        self.publish(subject, inbox, body, header)
        self.wait(lambda: len(self.answers.get(inbox, [])) >= n, SILENCE)
        return self.answers.pop(inbox, ["silence"])

    def get(self, n):
        self.wait(lambda: len(self.heard) >= n, PATIENCE if n > 0 else 0)
        out, self.heard = self.heard[:n], self.heard[n:]
        if out:
            self.reply = out[-1][1]
        return ["%s [%s] %s" % m for m in out]


class Talk:
    """One conversation with one server; says() is its transcript."""

    def __init__(self, binary, home, lines):
        self.lines = lines
        self.conf = "".join(line[5:] + "\n" for line in lines if line.startswith("conf "))
        self.home = home
        self.binary = binary
        self.users = {}
        self.server = None
        self.header = None

    def start(self):
        with open(os.path.join(self.home, "conf"), "w", encoding="utf-8") as f:
            js = "" if "jetstream" in self.conf.split("accounts", maxsplit=1)[0] else "jetstream { store_dir: '%s' }\n" % self.home
            f.write("server_name: S\n" + js + self.conf.replace("${dir}", self.home))
        self.server = Server(self.binary, self.home, ["-c", os.path.join(self.home, "conf")], PATIENCE)
        self.server.wait_ready()
        self.users = {}

    def client(self, name):
        if name not in self.users:
            options = {"user": name, "pass": name, "name": name} if name else {"name": "talk"}
            self.users[name] = Client(self.server.address(), options)
        return self.users[name]

    def step(self, line):
        """What came of it, a list of texts."""
        name = ""
        m = re.match(r"(\w+)\| (.*)", line)
        if m:
            name, line = m.groups()
        c = self.client(name)
        verb, _, rest = line.partition(" ")
        if verb == "sub":
            c.send("SUB %s %d\r\n" % (rest, 100 + c.count))
            c.fence()
            return []
        if verb == "get" or verb == "set":
            got = [normal(t) for t in c.get(int(rest))]
            return sorted(got) if verb == "set" else got
        if verb == "none":
            c.wait(lambda: len(c.heard) > 0, int(rest) / 1000)
            return [normal(t) for t in c.get(len(c.heard))]
        if verb == "all":
            c.wait(lambda: False, int(rest) / 1000)
            return sorted(normal(t) for t in c.get(len(c.heard)))
        if verb == "restart":
            why = self.server.stop()
            self.start()
            return [why] if why else []
        if verb == "wait":
            return self.until(c, rest)
        if verb == "quiet":
            self.step(rest)
            return []
        if verb == "without":
            member, rest = rest.split(" ", 1)
            return [without(t, member) for t in self.step("%s| %s" % (name, rest) if name else rest)]
        header, self.header = self.header, None
        if verb == "ack":
            c.publish(c.reply, "", rest, header)
            c.fence()
            return []
        if verb == "ackack":
            return c.ask(c.reply, rest, header)
        if verb == "send":
            subject, _, body = rest.partition(" ")
            subject, _, reply = subject.partition(">")
            c.publish(subject, reply, body, header)
            c.fence()
            return []
        n = 1
        m = re.match(r"(\d+)\* ", line)
        if m:
            n = int(m.group(1))
            line = line[m.end():]
        subject, _, body = line.partition(" ")
        return [normal(t) for t in c.ask(re.sub("^@", "$JS.API.", subject), body, header, n)]

    def until(self, c, rest):
        """wait PATTERN SUBJECT BODY: asks until the answer has the pattern."""
        pattern, subject, body = (rest.split(" ", 2) + [""])[:3]
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            text = c.ask(re.sub("^@", "$JS.API.", subject), body, None)[0]
            if re.search(pattern, text):
                return []
        return ["never: " + text]

    def says(self):
        self.start()
        out = []
        for number, line in steps(self.lines):
            if line.startswith("! "):
                self.header = "NATS/1.0\r\n" + line[2:].replace("\\r\\n", "\r\n") + "\r\n\r\n"
                continue
            try:
                out.append((number, line, self.step(line)))
            except (RuntimeError, OSError) as e:
                out.append((number, line, [str(e)]))
                break
        return out


def steps(lines):
    for number, line in enumerate(lines, 1):
        if not line or line.startswith(("#", "conf ")):
            continue
        line = re.sub(r"\\x\*(\d+)\*", lambda m: "x" * int(m.group(1)), line)
        m = re.match(r"repeat (\d+) (.*)", line)
        if not m:
            yield number, line
            continue
        for i in range(int(m.group(1))):
            yield number, m.group(2).replace("${i}", str(i))


def parts(text):
    """Of a JSON text, each member by its path; else the text."""
    start = text.find("{")
    try:
        value = json.loads(text[start:]) if start >= 0 else None
    except ValueError:
        value = None
    if value is None:
        return {"": text}
    out = {"": text[:start]}

    def walk(path, v):
        if isinstance(v, dict) and v:
            for key, member in v.items():
                walk(path + "." + key, member)
        elif isinstance(v, list) and v:
            for i, member in enumerate(v):
                walk("%s[%d]" % (path, i), member)
        else:
            out[path] = json.dumps(v)
    walk("", value)
    return out


def tell(number, line, ours, theirs):
    out = ["line %d: %s" % (number, line[:200])]
    for i in range(max(len(ours), len(theirs))):
        a, b = (v[i] if i < len(v) else "(nothing)" for v in (ours, theirs))
        pa, pb = parts(a), parts(b)
        for path in sorted(set(pa) | set(pb)):
            if pa.get(path) != pb.get(path):
                out.append("   %d%s ours: %s theirs: %s" % (i, path, (pa.get(path) or "-")[:400], (pb.get(path) or "-")[:400]))
    return "\n".join(out)


def judge(path, binaries):
    """The first difference, or None."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    with tempfile.TemporaryDirectory() as directory:
        said, ends = [], []
        for i, binary in enumerate(binaries):
            home = os.path.join(directory, str(i))
            os.mkdir(home)
            talk = Talk(binary, home, lines)
            try:
                said.append(talk.says())
            finally:
                if talk.server is not None:
                    ends.append(talk.server.stop())
        if os.environ.get("VERBOSE"):
            for number, line, got in said[1]:
                print("   %d %s\n      => %s" % (number, line[:150], "\n         ".join(t[:int(os.environ["VERBOSE"])] for t in got)))
        all_different = []
        for (number, line, ours), (_, _, theirs) in zip(*said):
            if ours != theirs:
                all_different.append(tell(number, line, ours, theirs))
        if len(said[0]) != len(said[1]):
            all_different.append("one of them broke off")
        if ends[0]:
            all_different.append(ends[0])
        return "\n".join(all_different[:None if os.environ.get("ALL") else 1]) or None


def judge_all(binaries, paths):
    folder = os.path.join(HERE, "talks")
    paths = paths or [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".txt")]
    # They mostly wait.
    with ThreadPoolExecutor(1 if os.environ.get("VERBOSE") else 3) as pool:
        reasons = pool.map(lambda path: judge(path, binaries), paths)
        return sum(verdict("jstalk/" + os.path.basename(path)[:-4], why) for path, why in zip(paths, reasons))


if __name__ == "__main__":
    sys.exit(beside_reference("jstalk", judge_all))
