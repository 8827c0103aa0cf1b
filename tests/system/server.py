# SPDX-License-Identifier: Apache-2.0
"""One server process under test: started on free ports, its log read as it is written, stopped by pid."""
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

SIGNALS = {
    "HUP": signal.SIGHUP, "TERM": signal.SIGTERM, "INT": signal.SIGINT, "KILL": signal.SIGKILL,
    "USR1": signal.SIGUSR1, "USR2": signal.SIGUSR2, "STOP": signal.SIGSTOP, "CONT": signal.SIGCONT,
}


def find_binary(name):
    """The absolute path of a server binary given by path or by name on PATH."""
    path = shutil.which(name)
    return os.path.abspath(path) if path else None


def beside_reference(suite, judge):
    """The main of a suite that is held against nats-server: judge((server, nats-server), words) gets both binaries and what else
    stood on the command line, and returns how many of its lines were FAIL. Without nats-server the suite is skipped."""
    sys.stdout.reconfigure(errors="backslashreplace")
    reference = shutil.which("nats-server")
    if reference is None:
        print("SKIP %s nats-server is not here (it needs Go 1.24 or newer)" % suite)
        return 0
    return 1 if judge((find_binary(sys.argv[1]), reference), sys.argv[2:]) else 0


def verdict(name, why):
    """One line about one test; why is empty where it passed. True: it failed."""
    print("FAIL %s %s" % (name, why) if why else "PASS %s" % name, flush=True)
    return bool(why)


def flavour(binary):
    """Which of the two programs this is, as transcripts name them."""
    return "nats-server" if os.path.basename(binary) == "nats-server" else "sluice"


class Server:
    """A running server, with the text of its log so far."""

    def __init__(self, binary, directory, flags, timeout, env=None):
        self.dir = directory
        self.timeout = timeout
        self.log = []
        self.log_pos = 0
        self.cond = threading.Condition()
        self.ended = False
        ports = os.path.join(directory, "ports")
        os.makedirs(ports, exist_ok=True)
        argv = shlex.split(os.environ.get("WRAP", "")) + [binary, "-p", "-1", "--ports_file_dir", ports] + flags
        threads = os.environ.get("IO_THREADS")
        if threads and flavour(binary) == "sluice":
            argv += ["--io_threads", threads]
        if not {"-a", "--addr", "--net", "-addr"} & set(flags):
            argv += ["-a", "127.0.0.1"]
        self.proc = subprocess.Popen(argv, cwd=directory, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     env=dict(os.environ, **(env or {})))
        self.pid = self.proc.pid
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()
        self.ports = None

    def wait_ready(self):
        """Returns when the server accepts."""
        self.ports = self._wait_ports(os.path.join(self.dir, "ports"))

    def _read_log(self):
        for raw in self.proc.stdout:
            line = raw.decode("utf-8", "backslashreplace").rstrip("\n")
            with self.cond:
                self.log.append(line)
                self.cond.notify_all()
        with self.cond:
            self.ended = True
            self.cond.notify_all()

    def _wait_ports(self, directory):
        deadline = time.monotonic() + self.timeout
        while time.monotonic() < deadline:
            for name in glob.glob(os.path.join(directory, "*_%d.ports" % self.pid)):
                try:
                    with open(name, encoding="utf-8") as f:
                        return json.load(f)
                except ValueError:
                    pass  # half written
            if self.proc.poll() is not None:
                self.reader.join(self.timeout)
                raise RuntimeError("the server ended with exit code %d at its start" % self.proc.returncode)
            with self.cond:
                self.cond.wait(0.005)
        raise RuntimeError("no ports file within %g s" % self.timeout)

    def address(self, kind="nats"):
        """(host, port) of one of the server's listeners."""
        urls = self.ports.get(kind)
        if not urls:
            raise RuntimeError("the ports file has no %s address: %s" % (kind, self.ports))
        host, port = re.match(r"\w+://(.*):(\d+)", urls[0]).groups()
        return ("127.0.0.1" if host in ("0.0.0.0", "[::]", "::") else host.strip("[]"), int(port))

    def wait_log(self, pattern):
        """Waits for a log line after the last one found; returns its match, or None in time."""
        rx = re.compile(pattern)
        deadline = time.monotonic() + self.timeout
        with self.cond:
            while True:
                while self.log_pos < len(self.log):
                    self.log_pos += 1
                    m = rx.search(self.log[self.log_pos - 1])
                    if m:
                        return m
                left = deadline - time.monotonic()
                if left <= 0 or self.ended:
                    return None
                self.cond.wait(left)

    def log_has(self, pattern):
        with self.cond:
            return any(re.search(pattern, line) for line in self.log)

    def signal(self, name):
        os.kill(self.pid, SIGNALS[name])

    def wait_exit(self):
        """The exit code, once the process has ended by itself."""
        code = self.proc.wait(self.timeout)
        self.reader.join(self.timeout)
        return code

    def stop(self):
        """Ends the server; returns a reason if it did not end as it should."""
        if self.proc.poll() is None:
            # In this order: a SIGCONT at the end disturbs the leak sanitizer, which stops all threads.
            self.proc.send_signal(signal.SIGCONT)
            self.proc.send_signal(signal.SIGTERM)
        try:
            code = self.wait_exit()
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
            return "the server did not end within %g s of SIGTERM" % self.timeout
        if code != 0:
            return "the server ended with exit code %d" % code
        return None
