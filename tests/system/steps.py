# SPDX-License-Identifier: Apache-2.0
"""Executes the steps of one transcript against one server."""
import collections
import json
import os
import re
import shlex
import socket
import threading
import time
import urllib.error
import urllib.request

from client import Client, Closed, show
from server import Server
from transcript import BadTranscript, unescape


class Failed(Exception):
    """The server did not do what the transcript says."""


class Skipped(Exception):
    """The transcript is not for this server; the text is the reason."""


PLAIN_CONNECT = {"verbose": False, "pedantic": False}


class Run:
    """One transcript: its server, its clients, its variables, and what was said so far."""

    def __init__(self, binary, flavour, directory, options):
        self.binary = binary
        self.flavour = flavour
        self.dir = directory
        self.timeout = options["timeout"]
        self.split = options["split"]
        self.flags = []
        self.env = {}
        self.server = None
        self.exited = False
        self.clients = {}
        self.vars = {"dir": directory}
        self.said = []
        self.conf = False
        self.pause = threading.Event()  # never set: between two looks at something that has no event

    def note(self, text):
        self.said.append(text)

    # -- text of the transcript --------------------------------------------------------------

    def subst(self, text, quote=False):
        """Puts variables in; `quote` is for use inside a regular expression."""

        def one(m):
            name = m.group(1)
            if "." in name:
                client, field = name.split(".", 1)
                value = str(self.client(client).info.get(field))
            elif name in self.vars:
                value = str(self.vars[name])
            else:
                raise BadTranscript("no variable ${%s}" % name)
            return re.escape(value) if quote else value

        return re.sub(r"\$\{([A-Za-z_][\w.]*)\}", one, text)

    def client(self, name):
        if name not in self.clients:
            raise BadTranscript("no client %s" % name)
        return self.clients[name]

    # -- the server --------------------------------------------------------------------------

    def started(self):
        """The server, started at its first use."""
        if self.server is None:
            flags = [self.subst(f) for f in self.flags]
            if self.conf:
                flags += ["-c", os.path.join(self.dir, "server.conf")]
            self.server = Server(self.binary, self.dir, flags, self.timeout, self.env)
            self.server.wait_ready()
            self.vars["pid"] = self.server.pid
            self.vars["port"] = self.server.address()[1]
        return self.server

    def connect(self, name, options=None):
        c = Client(name, self.started().address(), self.timeout, self.note,
                   dict({"split": self.split}, **(options or {})))
        self.clients[name] = c
        return c

    def login(self, name, extra, options=None):
        """Connects and says CONNECT as a client library does; returns when the server has taken it."""
        c = self.connect(name, options)
        c.read_info()
        c.send(b"CONNECT " + json.dumps(dict(PLAIN_CONNECT, **extra)).encode() + b"\r\nPING\r\n", whole=True)
        if extra.get("verbose"):
            self.expect(c, "+OK")
        self.expect(c, "PONG")
        return c

    # -- expectations ------------------------------------------------------------------------

    def next_line(self, c, wanted):
        try:
            return c.line()
        except (Closed, TimeoutError) as e:
            raise Failed("%s: expected %s, but %s" % (c.name, wanted, e)) from None

    def expect(self, c, text):
        line = self.next_line(c, text)
        if line != unescape(text):
            raise Failed("%s: expected %s, got %s" % (c.name, text, show(line)))

    def expect_closed(self, c):
        try:
            line = c.line()
        except Closed as e:
            if c.buf:
                raise Failed("%s: %s" % (c.name, e)) from None
            self.note("%s closed" % c.name)
            return
        except TimeoutError:
            raise Failed("%s: expected the connection to be closed, but it stays open" % c.name) from None
        raise Failed("%s: expected the connection to be closed, got %s" % (c.name, show(line)))

    def fence(self, c):
        """Passes when nothing came before the answer to a PING; asked twice, for what is on its way."""
        for _ in range(2):
            c.send(b"PING\r\n", quiet=True, whole=True)
            self.expect(c, "PONG")

    def until(self, condition, what):
        """Asks again until it holds; the limit is for failures only."""
        deadline = time.monotonic() + self.timeout
        while True:
            why = condition()
            if why is None:
                return
            if time.monotonic() > deadline:
                raise Failed("%s: %s" % (what, why))
            self.pause.wait(0.02)

    def finish(self):
        """Closes everything; returns what is wrong with the end of the server, or None."""
        for c in self.clients.values():
            c.close()
        if self.server is None:
            return None
        if self.exited:
            return None
        return self.server.stop()


# -- JSON paths and their conditions -----------------------------------------------------------

ABSENT = object()


def at_path(value, path):
    """What stands at .a.b[0].c (or .list.length) in a JSON value, or ABSENT."""
    for key, index in re.findall(r"\.?([\w$-]+)|\[(-?\d+)\]", path):
        if index and isinstance(value, list) and -len(value) <= int(index) < len(value):
            value = value[int(index)]
        elif key == "length" and isinstance(value, (list, dict)):
            value = len(value)
        elif key and isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return ABSENT
    return value


def holds(value, condition):
    """None if `.path op value` holds for the JSON value, else what is there instead."""
    m = re.match(r"(\S+)\s+(==|!=|<=|>=|<|>|~|absent|exists)\s*(.*)$", condition)
    if not m:
        raise BadTranscript("not a condition: %s" % condition)
    path, op, wanted = m.groups()
    got = at_path(value, path)
    if op in ("absent", "exists"):
        good = (got is ABSENT) == (op == "absent")
    elif got is ABSENT:
        good = False
    elif op == "~":
        good = re.fullmatch(wanted, str(got)) is not None
    else:
        wanted = json.loads(wanted)
        good = {"==": lambda: got == wanted, "!=": lambda: got != wanted,
                "<": lambda: got < wanted, ">": lambda: got > wanted,
                "<=": lambda: got <= wanted, ">=": lambda: got >= wanted}[op]()
    if good:
        return None
    return "%s: it is %s" % (condition, "absent" if got is ABSENT else json.dumps(got))


# -- steps that begin with a word --------------------------------------------------------------


def do_server(run, arg, _):
    run.flags += shlex.split(arg)


def do_env(run, arg, _):
    name, value = arg.split("=", 1)
    run.env[name] = run.subst(value)


def do_file(run, arg, body):
    name = arg.split(" ")[0]
    with open(os.path.join(run.dir, name), "w", encoding="utf-8") as f:
        f.write(run.subst("\n".join(body)) + "\n")


def do_config(run, _, body):
    do_file(run, "server.conf", body)
    run.conf = True


def do_start(run, _arg, _body):
    run.started()


def do_connect(run, arg, _):
    """connect NAME [rcvbuf=N]: the socket and INFO, nothing sent."""
    name, *options = arg.split(" ")
    c = run.connect(name, {k: int(v) for k, v in (o.split("=") for o in options)})
    c.read_info()


def do_socket(run, arg, _):
    """socket NAME: the socket only, INFO not yet read."""
    run.connect(arg)


def do_client(run, arg, _):
    """client NAME [rcvbuf=N] [JSON]: CONNECT and PING, PONG came."""
    m = re.match(r"(\w+)(?: rcvbuf=(\d+))?(?: (\{.*\}))?$", run.subst(arg))
    if not m:
        raise BadTranscript("client: %s" % arg)
    options = {"rcvbuf": int(m.group(2))} if m.group(2) else {}
    run.login(m.group(1), json.loads(m.group(3) or "{}"), options)


def do_log(run, arg, _):
    m = run.started().wait_log(run.subst(arg, quote=True))
    if m is None:
        raise Failed("no such log line came: %s" % arg)
    run.note("log: %s" % m.string)
    run.vars.update(m.groupdict())


def do_no_log(run, arg, _):
    if run.started().log_has(run.subst(arg, quote=True)):
        raise Failed("the log has: %s" % arg)


def do_signal(run, arg, _):
    run.note("signal %s" % arg)
    run.started().signal(arg)


def do_exit(run, arg, _):
    code = run.started().wait_exit()
    run.exited = True
    if code != int(arg):
        raise Failed("expected exit code %s, got %d" % (arg, code))


def do_http(run, arg, body):
    """http GET PATH [CODE]: indented lines are conditions on the JSON, or text~ on the body."""
    _, path, *code = arg.split(" ")
    wanted = int(code[0]) if code else 200
    url = "http://%s:%d%s" % (run.started().address("monitoring") + (run.subst(path),))

    def ask():
        try:
            with urllib.request.urlopen(url, timeout=run.timeout) as answer:
                got, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as e:
            got, text = e.code, e.read().decode()
        if got != wanted:
            return "HTTP code %d, expected %d" % (got, wanted)
        for condition in body:
            condition = run.subst(condition)
            if condition.startswith("text~ "):
                why = None if re.search(condition[6:], text) else "the body has no " + condition[6:]
            else:
                why = holds(json.loads(text), condition)
            if why:
                return why
        return None

    run.until(ask, path)


def do_share(run, arg, _):
    """share A B total=N min=M REGEX: N lines like it come, each client gets M or more of them."""
    m = re.match(r"((?:\w+ )+)total=(\d+) min=(\d+) (.*)$", run.subst(arg, quote=True))
    if not m:
        raise BadTranscript("share: %s" % arg)
    names, total, least, pattern = m.group(1).split(), int(m.group(2)), int(m.group(3)), m.group(4)
    count = dict.fromkeys(names, 0)

    def take():
        for name in names:
            c = run.client(name)
            c.gather()
            while b"\r\n" in c.buf:
                line, c.buf = c.buf.split(b"\r\n", 1)
                count[name] += re.fullmatch(pattern, line.decode("latin-1")) is not None
        return None if sum(count.values()) >= total else "came: %s" % count

    run.until(take, "share of %d" % total)
    for name in names:
        run.fence(run.client(name))
    if sum(count.values()) != total or min(count.values()) < least:
        raise Failed("share: %s" % count)


def do_cases(run, arg, body):
    """cases [raw | JSON]: each indented `SEND => LINES => open|closed` on a connection of its own."""
    for row in body:
        m = re.match(r"(.*?) => (?:(.*) )?=> (open|closed)$", row)
        if not m:
            raise BadTranscript("not a case: %s" % row)
        said, lines, end = m.groups()
        run.note("case: %s" % row)
        if arg == "raw":
            c = run.connect("case")
            c.read_info()
        else:
            c = run.login("case", json.loads(arg or "{}"))
        c.send(unescape(run.subst(said)) + b"\r\n")
        for line in filter(None, (lines or "").split("\\r\\n")):
            if line.startswith("~"):
                expect_regex(run, c, line[1:])
            else:
                run.expect(c, run.subst(line))
        if end == "open":
            run.fence(c)
        else:
            run.expect_closed(c)
        c.close()


def do_matches(run, _, body):
    """matches: rows `PATTERN SUBJECT yes|no|error`, each subscribed and published on one connection."""
    c = run.login("match", {})
    for row in body:
        pattern, subject, wanted = row.split()
        run.note("match: %s" % row)
        c.send(("SUB %s 1\r\nPUB %s 1\r\nx\r\nUNSUB 1\r\n" % (pattern, subject)).encode())
        if wanted == "error":
            run.expect(c, "-ERR 'Invalid Subject'")
        if wanted == "yes":
            run.expect(c, "MSG %s 1 1" % subject)
            run.expect(c, "x")
        run.fence(c)
    c.close()


def do_only(_run, _arg, _body):
    """only SERVER: REASON. Decided before the server starts."""


def do_nosplit(run, _arg, _body):
    """nosplit REASON: from here on nothing is sent byte by byte."""
    run.split = False
    for c in run.clients.values():
        c.split = False


def do_refused(run, _arg, _body):
    """refused: nobody accepts connections any more."""

    def ask():
        try:
            with socket.create_connection(run.started().address(), run.timeout) as sock:
                return "connected" if sock.recv(1) else None
        except OSError:
            return None

    run.until(ask, "refused")


WORDS = {
    "server": do_server, "env": do_env, "config": do_config, "file": do_file, "start": do_start,
    "connect": do_connect, "socket": do_socket, "client": do_client, "log~": do_log, "log!~": do_no_log,
    "signal": do_signal, "exit": do_exit, "http": do_http, "share": do_share, "cases": do_cases,
    "matches": do_matches, "only": do_only, "nosplit": do_nosplit,
    "refused": do_refused,
}

# -- steps that begin with a client's name ------------------------------------------------------


def expect_regex(run, c, pattern):
    line = run.next_line(c, "a line like " + pattern)
    m = re.fullmatch(run.subst(pattern, quote=True), line.decode("latin-1"))
    if not m:
        raise Failed("%s: expected a line like %s, got %s" % (c.name, pattern, show(line)))
    run.vars.update(m.groupdict())


def expect_any_order(run, c, body):
    wanted = collections.Counter(unescape(run.subst(line)) for line in body)
    got = collections.Counter(run.next_line(c, "one of the lines of the set") for _ in body)
    if got != wanted:
        raise Failed("%s: missing %s, unexpected %s" % (
            c.name, [show(x) for x in (wanted - got).elements()], [show(x) for x in (got - wanted).elements()]))


def expect_info(run, c, body):
    """A<info: one more INFO; indented lines are conditions on it."""
    c.read_info()
    check_info(run, c, body)


def expect_json(run, c, body):
    """A<json: the next line is JSON; indented lines are conditions on it."""
    line = run.next_line(c, "JSON")
    try:
        value = json.loads(line)
    except ValueError:
        raise Failed("%s: expected JSON, got %s" % (c.name, show(line))) from None
    for condition in body:
        why = holds(value, run.subst(condition))
        if why:
            raise Failed("%s: %s" % (c.name, why))


def check_info(run, c, conditions):
    for condition in conditions:
        why = holds(c.info, "." + run.subst(condition).lstrip("."))
        if why:
            raise Failed("%s: INFO %s" % (c.name, why))


def skip_until(run, c, pattern):
    """Reads and drops lines up to one that is like the pattern."""
    rx = re.compile(run.subst(pattern, quote=True))
    while not rx.fullmatch(run.next_line(c, "a line like " + pattern).decode("latin-1")):
        pass


def skip_to_end(run, c):
    """Reads and drops all up to the end of the connection."""
    try:
        while True:
            c.line()
    except Closed:
        c.buf = b""
        run.note("%s closed" % c.name)
    except TimeoutError:
        raise Failed("%s: expected the connection to be closed, but it stays open" % c.name) from None


def expect_text(run, c, text, body):
    """The operators after `A<`."""
    if text.startswith("~ "):
        expect_regex(run, c, text[2:])
    elif text == "any":
        expect_any_order(run, c, body)
    elif text == "info":
        expect_info(run, c, body)
    elif text.split(" ")[0] == "json":
        expect_json(run, c, body + ([text[5:]] if text[5:] else []))
    else:
        run.expect(c, run.subst(text[1:]))


def client_word(run, c, text, body):
    word, _, arg = text.partition(" ")
    if word == "closed":
        run.expect_closed(c)
    elif word == "fence":
        run.fence(c)
    elif word == "close":
        c.close()
    elif word == "reset":
        c.close(reset=True)
    elif word == "shutdown":
        c.sock.shutdown(socket.SHUT_WR)
    elif word == "info":
        check_info(run, c, body + ([arg] if arg else []))
    elif word == "until":
        skip_until(run, c, arg)
    elif word == "drain":
        skip_to_end(run, c)
    elif word == "pings":
        c.pings = True
    elif word == "pub":
        subject, reply, text = run.subst(arg).split(" ", 2)
        payload = unescape(text)
        head = "PUB %s %s%d\r\n" % (subject, "" if reply == "-" else reply + " ", len(payload))
        c.send(head.encode("latin-1") + payload + b"\r\n")
    elif word == "flood":
        count, what = arg.split(" ", 1)
        data = unescape(run.subst(what) + "\\r\\n")
        run.note("%s> %s times %s" % (c.name, count, show(data)))
        c.send(data * int(count), quiet=True)
    else:
        raise BadTranscript("no such step: %s" % text)


def execute(run, step):
    """One step."""
    if step.only and step.only != run.flavour:
        return
    word, _, arg = step.text.partition(" ")
    if word in WORDS:
        WORDS[word](run, arg, step.body)
        return
    m = re.match(r"(\w+)(>>|>|<)(.*)$", step.text)
    if m:
        c = run.client(m.group(1))
        if m.group(2) == "<":
            expect_text(run, c, m.group(3), step.body)
        else:
            c.send(unescape(run.subst(m.group(3)[1:])) + (b"\r\n" if m.group(2) == ">" else b""))
        return
    client_word(run, run.client(word), arg, step.body)
