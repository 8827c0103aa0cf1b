#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Command line tests: run.py --server BIN. Prints PASS name | FAIL name reason | SKIP name reason.

What tools read is asked of both servers alike; where ours differs on purpose the test says why."""
import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from server import Server, find_binary, flavour  # noqa: E402

TIMEOUT = float(os.environ.get("STEP_TIMEOUT", "20"))
PAUSE = threading.Event()


class Skip(Exception):
    """Not for this server; the text is the reason."""


class Bench:
    """One test: a directory of its own, the servers it started."""

    def __init__(self, binary, directory):
        self.binary = binary
        self.ours = flavour(binary) == "sluice"
        self.dir = directory
        self.servers = []

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return name

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()

    def call(self, *args, env=None):
        """Runs the server to its end; (exit code, stdout, stderr)."""
        done = subprocess.run([self.binary, *args], cwd=self.dir, capture_output=True, text=True, timeout=TIMEOUT,
                              stdin=subprocess.DEVNULL, env=dict(os.environ, **(env or {})), check=False)
        return done.returncode, done.stdout, done.stderr

    def start(self, *flags, env=None):
        """A running server on a free port of 127.0.0.1."""
        s = Server(self.binary, self.dir, list(flags), TIMEOUT, env)
        self.servers.append(s)
        s.wait_ready()
        return s

    def close(self):
        for s in self.servers:
            why = s.stop()
            if why:
                raise AssertionError(why)


def expect(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what)[:600])


def matches(pattern, text):
    expect(re.search(pattern, text, re.MULTILINE), "no /%s/ in %r" % (pattern, text[-500:]))


def until(condition, what):
    """Looks again until it holds; the limit is for failures only."""
    for _ in range(int(TIMEOUT / 0.02)):
        if condition():
            return
        PAUSE.wait(0.02)
    raise AssertionError("not within %g s: %s" % (TIMEOUT, what))


def info(server):
    """The INFO that a new client gets."""
    with socket.create_connection(server.address(), TIMEOUT) as s:
        data = b""
        while b"\r\n" not in data:
            data += s.recv(4096)
    return json.loads(data.split(b"\r\n")[0][5:])


# -- without a running server ------------------------------------------------------------------


def test_version_is_one_line_on_stdout(b):
    for args in (["-v"], ["--version"], ["-version"], ["version"]):
        code, out, err = b.call(*args)
        expect(code == 0 and err == "", args, code, err)
        matches(r"\A(nats-server|sluice): v\d+\.\d+\.\d+[^\n]*\n\Z", out)


def test_help_is_the_usage_on_stdout(b):
    for args in (["-h"], ["--help"], ["-help"], ["help"]):
        code, out, err = b.call(*args)
        expect(code == 0 and err == "", args, code, err)
        matches(r"^Usage: [\w-]+ \[options\]", out)
        for flag in ("-a, --addr", "-p, --port", "-n, --name", "-P, --pid", "-m, --http_port", "-c, --config", "-t ",
                     "--signal", "--ports_file_dir", "-l, --log", "-T, --logtime", "-D, --debug", "-V, --trace",
                     "-DV", "--max_traced_msg_len", "--user", "--pass", "--auth", "-h, --help", "-v, --version",
                     "--tlscert", "--cluster_listen", "-js, --jetstream", "--client_advertise", "--log_size_limit"):
            expect(flag in out, "the help lacks", flag)


def test_wrong_flags_are_told_on_stderr(b):
    # The reference ends with 0 after a wrong flag; ours with 1, as with every other wrong start.
    code_wanted = 1 if b.ours else 0
    for args, text in ((["-nosuch"], r"^flag provided but not defined: -nosuch$"),
                       (["--nosuch"], r"^flag provided but not defined: -nosuch$"),
                       (["-p"], r"^flag needs an argument: -p$"),
                       (["--pid"], r"^flag needs an argument: -pid$"),
                       (["--user"], r"^flag needs an argument: -user$"),
                       (["-p", "abc"], r'^invalid value "abc" for flag -p: parse error$'),
                       (["-m=x"], r'^invalid value "x" for flag -m: parse error$'),
                       (["-D=maybe"], r'^invalid boolean value "maybe" for -D: parse error$'),
                       (["--max_traced_msg_len", "x"], r'^invalid value "x" for flag -max_traced_msg_len: parse error$')):
        code, _, err = b.call(*args)
        matches(text, err)
        expect(code == code_wanted, args, "exit code", code)


def test_extra_words_are_refused(b):
    code, _, err = b.call("extra")
    expect(code == 1, code)
    matches(r'\A[\w-]+: unrecognized command: "extra"\n\Z', err)


def test_a_missing_config_file_is_one_line(b):
    for args in (["-c", "missing.conf"], ["-t", "-c", "missing.conf"], ["--config", "missing.conf"]):
        code, out, err = b.call(*args)
        expect(code == 1 and out == "", args, code, out)
        matches(r"\A[\w-]+: open missing\.conf: no such file or directory\n\Z", err)


def test_t_tests_a_file(b):
    b.write("good.conf", "port: 4333\nserver_name: x\n")
    b.write("unknown.conf", "port: -1\nnope: 1\n")
    b.write("syntax.conf", "max_payload: {\n")
    code, _, err = b.call("-t", "-c", "good.conf")
    expect(code == 0, code, err)
    matches(r"\A[\w-]+: configuration file good\.conf is valid", err)
    for args in (["-t", "-c", "unknown.conf"], ["-c", "unknown.conf"]):
        code, _, err = b.call(*args)
        expect(code == 1, args, code)
        matches(r'\A[\w-]+: unknown\.conf:2:1: unknown field "nope"', err)
    code, _, err = b.call("-t", "-c", "syntax.conf")
    expect(code == 1, code)
    matches(r"\A[\w-]+: Parse error on line 2: ", err)
    code, _, err = b.call("-t")
    expect(code == 1, code)
    matches(r"must specify \[-c, --config\] option", err)


def test_a_configuration_that_makes_no_sense_is_one_line(b):
    b.write("a.conf", "no_auth_user: nobody\n")
    code, _, err = b.call("-c", "a.conf")
    expect(code == 1, code)
    matches(r"\A[\w-]+: no_auth_user: \"nobody\" present, but users/nkeys are not defined\n\Z", err)
    b.write("b.conf", "max_payload: 10MB\nmax_pending: 1MB\n")
    code, _, err = b.call("-c", "b.conf")
    expect(code == 1, code)
    matches(r"\A[\w-]+: max_payload \(10485760\) cannot be higher than max_pending \(1048576\)\n\Z", err)
    b.write("c.conf", "server_name: \"a b\"\n")
    code, _, err = b.call("-c", "c.conf")
    expect(code == 1, code)


def test_a_taken_port_is_fatal(b):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        code, _, err = b.call("-a", "127.0.0.1", "-p", str(port))
        expect(code == 1, code)
        matches(r"^\[\d+\] \d{4}/\d\d/\d\d [\d:.]+ \[FTL\] Error listening on port: 127\.0\.0\.1:%d, \"listen tcp "
                r"127\.0\.0\.1:%d: bind: address already in use\"$" % (port, port), err)
        code, _, err = b.call("-a", "127.0.0.1", "-p", "-1", "-m", str(port))
        expect(code == 1, code)
        matches(r"\[FTL\] Can't start monitoring: ", err)


def test_addresses_that_cannot_be(b):
    for port in ("-5", "99999"):
        code, _, err = b.call("-p", port)
        expect(code == 1, port, code)
        matches(r"\[FTL\] Error listening on port: 0\.0\.0\.0:%s, \"listen tcp: address %s: invalid port\"$" % (port, port), err)
        code, _, err = b.call("-a", "127.0.0.1", "-p", "-1", "-m", port)
        expect(code == 1, port, code)
        matches(r"\[FTL\] Can't start monitoring: can't listen to the monitor port: listen tcp: address %s: invalid port$" % port,
                err)
    code, _, err = b.call("-a", "192.0.2.77", "-p", "-1")
    expect(code == 1, code)
    matches(r"\[FTL\] Error listening on port: 192\.0\.2\.77:0, .*cannot assign requested address", err)


def test_files_that_cannot_be_written(b):
    code, _, err = b.call("-a", "127.0.0.1", "-p", "-1", "-P", "no/such/pid")
    expect(code == 1, code)
    matches(r"\[FTL\] Could not write pidfile: open no/such/pid: no such file or directory$", err)
    code, _, err = b.call("-a", "127.0.0.1", "-p", "-1", "-l", "no/such/log")
    expect(code == 1, code)
    matches(r"error opening file: open no/such/log: no such file or directory$", err)


def test_syslogs_that_are_not_there(b):
    code, _, err = b.call("-p", "-1", "-r", "foo://127.0.0.1:1")
    expect(code == 1, code)
    matches(r'error invalid network type: "foo"$', err)
    code, _, err = b.call("-p", "-1", "-r", "tcp://127.0.0.1:1")
    expect(code == 1, code)
    matches(r'error connecting to syslog: "dial .*connection refused"$', err)
    if os.path.exists("/dev/log"):
        raise Skip("this machine has a syslog")
    code, _, err = b.call("-p", "-1", "-s")
    expect(code == 1, code)
    matches(r'error connecting to syslog: "Unix syslog delivery error"$', err)


def test_a_log_file_goes_before_syslog(b):
    s = b.start("-l", "server.log", "-s", "-r", "foo://nowhere")
    until(lambda: "Server is ready" in b.read("server.log"), "the log file is written")
    expect(s.log == [], s.log)


def test_what_is_not_there_yet_says_so(b):
    if not b.ours:
        raise Skip("what ours does not have yet")
    for args in (["--cluster", "nats://127.0.0.1:-1"], ["--routes", "nats://127.0.0.1:1"], ["--tls"],
                 ["--cluster_listen", "nats://127.0.0.1:-1"]):
        code, _, err = b.call("-a", "127.0.0.1", "-p", "-1", *args)
        expect(code == 1, args, code)
        matches(r"not supported", err)


# -- with a running server ---------------------------------------------------------------------


def test_one_and_two_dashes_and_equals_signs_are_the_same(b):
    for flags in (["-server_name", "nm"], ["--server_name", "nm"], ["-server_name=nm"], ["--server_name=nm"],
                  ["-n", "nm"], ["--n", "nm"], ["-name", "nm"], ["--name=nm"]):
        s = b.start(*flags)
        expect(info(s)["server_name"] == "nm", flags)
        expect(s.stop() is None, flags)
    b.servers.clear()


def test_flags_win_over_the_file(b):
    b.write("a.conf", 'port: 1\nserver_name: file\nhost: "192.0.2.1"\nmax_payload: 1000\n')
    s = b.start("-c", "a.conf", "--server_name", "flag", "-a", "127.0.0.1")
    got = info(s)
    expect(got["server_name"] == "flag" and got["max_payload"] == 1000, got)


def test_every_flag_of_a_server_is_taken(b):
    s = b.start("--addr", "127.0.0.1", "-m", "-1", "-P", "pid", "--client_advertise", "example.test:1234", "-T", "--logtime_utc",
                "-D", "-V", "--max_traced_msg_len", "10", "--user", "u", "--pass", "p", "-l", "out.log", "--log_size_limit", "100000",
                "--syslog=false")
    s2 = b.start("-net", "127.0.0.1", "-DVV", "-logtime=false", "--http_port", "-1", "-auth", "tok")
    expect(info(s)["auth_required"] and info(s2)["auth_required"])


def test_port_minus_one_takes_a_free_one(b):
    first, second = b.start(), b.start()
    expect(first.address() != second.address())
    expect(info(first)["port"] == first.address()[1])


def test_pid_file_is_digits_only(b):
    s = b.start("-P", "the.pid")
    expect(b.read("the.pid") == str(s.pid), repr(b.read("the.pid")))


def test_ports_file_names_what_listens(b):
    s = b.start("-m", "-1")
    name = os.path.basename(b.binary) + "_%d.ports" % s.pid
    expect(os.listdir(b.path("ports")) == [name], os.listdir(b.path("ports")))
    expect(sorted(s.ports) == ["monitoring", "nats"], s.ports)
    expect(re.fullmatch(r"nats://127\.0\.0\.1:\d+", s.ports["nats"][0]), s.ports)
    expect(re.fullmatch(r"http://127\.0\.0\.1:\d+", s.ports["monitoring"][0]), s.ports)
    expect(s.stop() is None)
    expect(os.listdir(b.path("ports")) == [], "the ports file stays behind")
    b.servers.clear()


def test_all_addresses_are_advertised(b):
    s = b.start("-a", "0.0.0.0")
    got = info(s)
    expect(got["host"] == "0.0.0.0", got)
    expect(len(s.ports["nats"]) >= 1, s.ports)
    expect("nats://127.0.0.1:%d" % got["port"] in s.ports["nats"], s.ports)


def test_log_file_instead_of_stderr(b):
    s = b.start("-l", "server.log")
    until(lambda: "Server is ready" in b.read("server.log"), "the log file is written")
    text = b.read("server.log")
    matches(r"^\[%d\] \d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6} \[INF\] Server is ready$" % s.pid, text)
    expect(s.stop() is None)
    expect(s.log == [], s.log)
    b.servers.clear()


def test_logtime_false_leaves_the_time_out(b):
    s = b.start("-T=false")
    expect(s.wait_log(r"^\[%d\] \[INF\] Server is ready$" % s.pid), s.log)


def test_reopen_makes_a_new_log_file(b):
    s = b.start("-l", "server.log")
    until(lambda: "Server is ready" in b.read("server.log"), "the log file is written")
    os.rename(b.path("server.log"), b.path("old.log"))
    s.signal("USR1")
    until(lambda: os.path.exists(b.path("server.log")) and "File log re-opened" in b.read("server.log"), "the new file is there")


def test_relative_paths_are_from_the_working_directory(b):
    os.mkdir(b.path("sub"))
    b.write("sub/a.conf", 'include "inc.conf"\nlog_file: "rel.log"\npid_file: "rel.pid"\n')
    b.write("sub/inc.conf", "server_name: included\n")
    s = b.start("-c", "sub/a.conf")
    expect(info(s)["server_name"] == "included")
    expect(os.path.exists(b.path("rel.log")) and b.read("rel.pid") == str(s.pid))


def test_environment_in_the_file(b):
    b.write("a.conf", "server_name: $NAME_OF_IT\nmax_payload: $SIZE_OF_IT\n")
    s = b.start("-c", "a.conf", env={"NAME_OF_IT": "fromenv", "SIZE_OF_IT": "4096"})
    got = info(s)
    expect(got["server_name"] == "fromenv" and got["max_payload"] == 4096, got)
    code, _, err = b.call("-c", "a.conf")
    expect(code == 1, code)
    matches(r"variable reference for 'NAME_OF_IT'.* can not be found", err)


def test_signal_by_pid_and_by_file(b):
    for command, line in (("stop", None), ("quit", r"Initiating Shutdown"), ("term", r"Initiating Shutdown"),
                          ("ldm", r"Entering lame duck mode")):
        for by_file in (False, True):
            s = b.start("-P", "the.pid")
            target = "the.pid" if by_file else str(s.pid)
            code, _, err = b.call("--signal", "%s=%s" % (command, target))
            expect(code == 0, command, code, err)
            if line:
                expect(s.wait_log(line), command, s.log)
            got = s.wait_exit()
            expect(got == (-signal.SIGKILL if command == "stop" else 0), command, got)
            b.servers.clear()


def test_signal_reload_and_reopen(b):
    b.write("a.conf", "max_payload: 1000\n")
    s = b.start("-c", "a.conf", "-P", "the.pid")
    b.write("a.conf", "max_payload: 2000\n")
    code, _, err = b.call("-sl", "reload=the.pid")
    expect(code == 0, code, err)
    expect(s.wait_log(r"\[INF\] Reloaded server configuration"), s.log)
    expect(info(s)["max_payload"] == 2000)
    code, _, err = b.call("-signal=reopen=%d" % s.pid)
    expect(code == 0, code, err)


def test_signals_that_cannot_be_sent(b):
    code, _, err = b.call("--signal", "foo=1")
    expect(code == 1, code)
    matches(r'\A[\w-]+: unknown signal "foo"\n\Z', err)
    code, _, err = b.call("--signal", "stop=nofile")
    expect(code == 1, code)
    matches(r"\A[\w-]+: invalid pid: nofile\n\Z", err)
    code, _, err = b.call("--signal", "reload=4999999")
    expect(code == 1, code)
    matches(r'signal "reload" 4999999: no such process', err)


def test_too_few_file_descriptors(b):
    """With few descriptors the server takes what fits, and goes on when there is room again."""
    argv = [sys.executable, "-c", "import os,resource,sys; resource.setrlimit(resource.RLIMIT_NOFILE,(64,64)); "
            "os.execv(sys.argv[1],sys.argv[1:])", b.binary]
    wrapper = b.path("few")
    with open(wrapper, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nexec '%s' \"$@\"\n" % "' '".join(a.replace("'", "'\\''") for a in argv))
    os.chmod(wrapper, 0o755)
    s = Server(wrapper, b.dir, [], TIMEOUT)
    b.servers.append(s)
    s.wait_ready()
    clients = [socket.create_connection(s.address(), TIMEOUT) for _ in range(100)]
    clients[0].settimeout(TIMEOUT)
    expect(clients[0].recv(5) == b"INFO ")
    for c in clients:
        c.close()
    expect(info(s)["proto"] == 1)


def main():
    parser = argparse.ArgumentParser(description="command line tests")
    parser.add_argument("--server", default=os.environ.get("SERVER_BIN", "build/sluice"))
    parser.add_argument("names", nargs="*", help="only tests whose name has one of these")
    args = parser.parse_args()
    binary = find_binary(args.server)
    if binary is None:
        sys.exit("no such server: %s" % args.server)
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (args.names and not any(n in name for n in args.names)):
            continue
        title = "cli/" + name[5:]
        with tempfile.TemporaryDirectory(prefix="cli-") as directory:
            b = Bench(binary, directory)
            try:
                try:
                    test(b)
                finally:
                    b.close()
                print("PASS", title, flush=True)
            except Skip as e:
                print("SKIP", title, e, flush=True)
            except (AssertionError, RuntimeError, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as e:
                failed += 1
                print("FAIL", title, str(e).replace("\n", "\\n"), flush=True)
                for where in traceback.extract_tb(e.__traceback__):
                    if where.name == name:
                        print("    at line %d: %s" % (where.lineno, where.line))
                for s in b.servers:
                    print("\n".join("    log: " + line for line in s.log[-5:]))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
