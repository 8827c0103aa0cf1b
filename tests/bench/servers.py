# SPDX-License-Identifier: Apache-2.0
"""Servers under test: each case gets a fresh one, started and stopped here by its pid."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TICK = os.sysconf("SC_CLK_TCK")
START_S = 60
STOP_S = 30
_port_lock = threading.Lock()


class BenchError(Exception):
    """A case could not be measured; the text says why."""


def free_port():
    with _port_lock, socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def find_nats_server():
    """The reference, or None and why not."""
    for path in (os.environ.get("NATS_SERVER"), os.path.join(ROOT, "build/go/bin/nats-server"),
                 shutil.which("nats-server"), os.path.expanduser("~/go/bin/nats-server")):
        if path and os.access(path, os.X_OK):
            return path
    return None


def find_nats_cli():
    for path in (os.path.join(ROOT, "build/go/bin/nats"), shutil.which("nats"),
                 os.path.expanduser("~/go/bin/nats")):
        if path and os.access(path, os.X_OK):
            return path
    return None


class Server:
    """with Server(binary, config) as s: … s.address, s.pid; afterwards s.peak_kib.
    monitor: with HTTP on s.http."""

    def __init__(self, binary, config="", args=(), monitor=False):
        self.binary = binary
        self.config = config
        self.args = list(args)
        self.monitor = monitor
        self.http = 0
        self.peak_kib = 0
        self.dir = tempfile.mkdtemp(prefix="sluice-bench-")
        self.proc = None
        self.port = 0

    def command(self, port):
        cmd = [self.binary, "-a", "127.0.0.1", "-p", str(port)] + self.args
        if port < 0:
            cmd += ["--ports_file_dir", self.dir]
        if self.monitor:
            cmd += ["-m", "-1"]
        if self.config:
            path = os.path.join(self.dir, "server.conf")
            with open(path, "w", encoding="utf-8") as f:
                f.write(self.config.replace("@DIR@", self.dir))
            cmd += ["-c", path]
        return cmd

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self):
        return self.proc.pid

    def __enter__(self):
        self.start()
        return self

    def start(self):
        """Returns as soon as it takes connections, on a port that it chose: one that was free a
        moment ago may be somebody else's by now."""
        log = open(os.path.join(self.dir, "log"), "wb")
        with log:
            self.proc = subprocess.Popen(self.command(-1), stdout=log, stderr=log)
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if self.proc.poll() is not None:
                break
            if self.read_ports():
                return
            time.sleep(0.002)
        text = self.log_tail()
        self.stop()
        raise BenchError(f"{os.path.basename(self.binary)} does not start: {text}")

    def read_ports(self):
        """The file with the ports is there once they take connections."""
        for name in os.listdir(self.dir):
            if name.endswith(f"_{self.pid}.ports"):
                with open(os.path.join(self.dir, name), encoding="utf-8") as f:
                    text = f.read()
                try:
                    ports = json.loads(text)
                except ValueError:
                    return False  # it is being written
                self.port = int(ports["nats"][0].rsplit(":", 1)[1])
                if self.monitor:
                    self.http = int(ports["monitoring"][0].rsplit(":", 1)[1])
                return True
        return False

    def __exit__(self, *exc):
        alive = self.proc.poll() is None
        text = self.log_tail() if not alive else ""
        code = self.proc.returncode
        self.stop()
        if not alive:
            raise BenchError(f"{os.path.basename(self.binary)} died in the run "
                             f"(exit code {code}): {text}")

    def log_tail(self):
        try:
            with open(os.path.join(self.dir, "log"), "rb") as f:
                return f.read()[-400:].decode(errors="replace").strip().replace("\n", " | ")
        except OSError:
            return "no log"

    def view(self, path):
        """JSON of the monitor."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/{path}", timeout=20) as f:
            return json.load(f)

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def status_kib(self, name):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as f:
            for line in f:
                if line.startswith(name + ":"):
                    return int(line.split()[1])
        return 0

    def halt(self, how=signal.SIGTERM):
        """Ends the process; what it stored stays."""
        if self.proc.poll() is not None:
            return
        self.peak_kib = max(self.peak_kib, self.status_kib("VmHWM"))
        self.proc.send_signal(signal.SIGCONT)
        self.proc.send_signal(how)
        try:
            self.proc.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()

    def stop(self):
        self.halt()
        shutil.rmtree(self.dir, ignore_errors=True)


class Client:
    """A few requests over the raw protocol, for setting up what a case needs."""

    def __init__(self, port, timeout=20, user=None, password=""):
        login = {"user": user, "pass": password} if user else {}
        self.sock = socket.create_connection(("127.0.0.1", port), timeout)
        self.file = self.sock.makefile("rb")
        self.file.readline()
        self.sock.sendall(b"CONNECT %s\r\nSUB _INBOX.setup.* 1\r\n" % json.dumps(
            {"verbose": False, "protocol": 1, "headers": True, "no_responders": True,
             **login}).encode())

    def close(self):
        self.file.close()
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def must(self, subject, payload=""):
        """As request, but an error is an exception."""
        self.all_must([(subject, payload)])

    def all_must(self, pairs):
        for reply in self.requests(pairs):
            if not reply or b'"error"' in reply:
                raise BenchError(f"set-up: {reply[:200]!r}")

    def requests(self, pairs, ahead=64):
        """Sends (subject, payload) pairs, at most `ahead` unanswered; their replies in order."""
        pairs = list(pairs)
        replies = [b""] * len(pairs)
        sent = 0
        for done in range(len(pairs)):
            while sent < len(pairs) and sent - done < ahead:
                subject, payload = pairs[sent]
                data = payload.encode()
                self.sock.sendall(f"PUB {subject} _INBOX.setup.{sent} {len(data)}\r\n".encode()
                                  + data + b"\r\n")
                sent += 1
            which, body = self._message()
            replies[which] = body
        return replies

    def request(self, subject, payload=""):
        return self.requests([(subject, payload)])[0]

    def _message(self):
        """(number of the request, payload) of the next reply."""
        while True:
            line = self.file.readline()
            if not line:
                raise BenchError("the server closed the connection during set-up")
            words = line.split()
            if words[:1] == [b"PING"]:
                self.sock.sendall(b"PONG\r\n")
            elif words[:1] == [b"-ERR"]:
                raise BenchError(f"set-up: {line.decode().strip()}")
            elif words[:1] in ([b"MSG"], [b"HMSG"]):
                body = self.file.read(int(words[-1]) + 2)[:-2]
                head = int(words[-2]) if words[0] == b"HMSG" else 0
                return int(words[1].rsplit(b".", 1)[1]), body[head:]


def loadgen(mode, server, /, **options):
    """Runs the load generator against a server; its JSON. Option names: _ for -."""
    cmd = [os.path.join(ROOT, "build/bench/loadgen"), mode]
    rest = options.pop("rest", None)
    if server is not None:
        cmd += ["--server", server.address, "--pid", str(server.pid)]
    for name, value in options.items():
        if value is not None:
            cmd += ["--" + name.replace("_", "-"), str(value)]
    if rest is not None:
        cmd += ["--"] + rest
    limit = 120 + 3 * float(options.get("seconds", 0))
    run = subprocess.run(cmd, capture_output=True, text=True, timeout=limit, check=False)
    try:
        out = json.loads(run.stdout)
    except ValueError:
        raise BenchError(f"loadgen {mode}: {run.stderr.strip() or 'no result'}") from None
    if "error" in out:
        raise BenchError(f"loadgen {mode}: {out['error']}")
    return out
