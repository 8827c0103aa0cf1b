#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""judge.py SERVER: each request of requests.txt goes to SERVER and to nats-server, which must answer the same, but for times,
and for what differences.txt allows. Prints PASS, FAIL or SKIP for each."""
import json
import os
import re
import socket
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from server import Server, beside_reference, verdict  # noqa: E402

CONF = 'server_name: S\njetstream { store_dir: "%s" }\n'
SILENCE = 1.5  # how long nats-server may take before it counts as silent


class Client:
    """One connection that asks."""

    def __init__(self, address):
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")
        self.file.readline()
        self.count = 0
        options = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "protocol": 1}
        self.send("CONNECT %s\r\nPING\r\n" % json.dumps(options))
        while not self.file.readline().startswith(b"PONG"):
            pass
        self.send("SUB in.* 1\r\n")

    def send(self, text):
        self.socket.sendall(text.encode())

    def ask(self, subject, body, header):
        """The answer, or None where there is none."""
        self.count += 1
        inbox = "in.%d" % self.count
        size = len(body.encode())
        if header:
            self.send("HPUB %s %s %d %d\r\n%s%s\r\n" % (subject, inbox, len(header), len(header) + size, header, body))
        else:
            self.send("PUB %s %s %d\r\n%s\r\n" % (subject, inbox, size, body))
        self.socket.settimeout(SILENCE)
        try:
            while True:
                line = self.file.readline()
                if not line:
                    return "the server closed the connection"
                if line.startswith(b"PING"):
                    self.send("PONG\r\n")
                elif line.startswith((b"MSG", b"HMSG")):
                    text = self.file.read(int(line.split()[-1]) + 2)[:-2].decode("utf-8", "replace")
                    if line.split()[1].decode() == inbox or subject.startswith("$JS.API.DIRECT"):
                        return text
        except TimeoutError:
            self.file = self.socket.makefile("rb")
            return None


def requests():
    header = None
    with open(os.path.join(HERE, "requests.txt"), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if line.startswith("#") or not line:
                continue
            if line.startswith("! "):
                header = line[2:].replace("\\r\\n", "\r\n")
                continue
            subject, _, body = line.partition(" ")
            body = re.sub(r"\\x\*(\d+)\*", lambda m: "x" * int(m.group(1)), body).replace("\\x20", " ")
            yield number, re.sub("^@", "$JS.API.", subject), body, header
            header = None


def allowed():
    """(pattern of the request line's subject and body, pattern of the difference)"""
    with open(os.path.join(HERE, "differences.txt"), encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#") and line.strip():
                yield tuple(re.compile(part.strip()) for part in line.split("\t")[:2])


def normal(text):
    if text is None:
        return "silence"
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", lambda m: m.group(0) if m.group(0).startswith("0001") else "T", text)
    text = re.sub(r'"pause_remaining":\d+', '"pause_remaining":0', text)
    try:
        return json.loads(text)
    except ValueError:
        return text


def differences(ours, theirs, path=""):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(set(ours) | set(theirs)):
            if key not in ours or key not in theirs:
                yield "%s.%s: only %s" % (path, key, "ours" if key in ours else "theirs")
            else:
                yield from differences(ours[key], theirs[key], path + "." + key)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for i, pair in enumerate(zip(ours, theirs)):
            yield from differences(*pair, "%s[%d]" % (path, i))
    elif ours != theirs:
        yield "%s: %s, theirs: %s" % (path, json.dumps(ours)[:120], json.dumps(theirs)[:120])


def judge(binaries, _words):
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        servers, clients = [], []
        for i, binary in enumerate(binaries):
            home = os.path.join(directory, str(i))
            os.mkdir(home)
            with open(os.path.join(home, "conf"), "w", encoding="ascii") as f:
                f.write(CONF % home)
            servers.append(Server(binary, home, ["-c", os.path.join(home, "conf")], 20))
            servers[-1].wait_ready()
            clients.append(Client(servers[-1].address()))
        allow = list(allowed())
        for number, subject, body, header in requests():
            ours, theirs = (normal(c.ask(subject, body, header)) for c in clients)
            text = (subject + " " + body)[:200]
            found = [d for d in differences(ours, theirs)
                     if not any(a.search(text) and b.search(d) for a, b in allow)]
            failed += verdict("jsapi/%d" % number, found and "%s %s" % (text, found[0]))
        why = servers[0].stop()
        servers[1].stop()
        failed += verdict("jsapi/clean_exit", why)
    return failed


if __name__ == "__main__":
    sys.exit(beside_reference("jsapi", judge))
