# SPDX-License-Identifier: Apache-2.0
"""natscli.py SERVER: what the `nats` command line asks of a server; prints PASS, FAIL or SKIP for each case."""
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
from server import Server, find_binary  # noqa: E402

CONF = """
server_name: cli
accounts {
  SYS { users: [ { user: admin, password: s } ] }
  APP { users: [ { user: app, password: a } ] }
}
system_account: SYS
"""
ADMIN, APP = ("admin", "s"), ("app", "a")

# name, user, arguments, what the output must match
CASES = [
    ("rtt", APP, "rtt", r"nats://127\.0\.0\.1:\d+: [\d.]+(µs|ms)"),
    ("account_info", APP, "account info", r"Connected Server Name: cli[\s\S]*JetStream is not supported"),
    ("check_connection", APP, "server check connection", r"OK Connection OK:connected"),
    ("request_without_responders", APP, "request nobody hi", r"No responders are available"),
    ("bench_pub", APP, "bench pub x --msgs 100000 --no-progress", r"publisher stats: [\d,]+ msgs/sec"),
    ("server_ping", ADMIN, "server ping 1", r"cli\s+rtt=[\d.]+"),
    ("server_list", ADMIN, "server list 1", r"│ cli +│"),
    ("server_info", ADMIN, "server info", r"Server information for cli \(N[A-Z2-7]{55}\)"),
    ("server_report_connections", ADMIN, "server report connections", r"NATS CLI Version"),
    ("server_report_accounts", ADMIN, "server report accounts", r"│ SYS +│ 1 +│"),
    ("server_request_variables", ADMIN, "server request variables", r'"data":\{"server_id":"N'),
    ("server_request_connections", ADMIN, "server request connections", r'"authorized_user":"admin"'),
    ("server_request_subscriptions", ADMIN, "server request subscriptions", r'"num_subscriptions":\d'),
    ("server_request_accounts", ADMIN, "server request accounts", r'"system_account":"SYS"'),
    ("wrong_password", ("app", "wrong"), "account info", r"Authorization Violation"),
]


class Cli:
    """The nats command against one server, with a home of its own."""

    def __init__(self, nats, url, home):
        self.nats, self.url = nats, url
        self.env = dict(os.environ, HOME=home, XDG_CONFIG_HOME=home, NO_COLOR="1")

    def argv(self, user, args):
        return [self.nats, "--server", self.url, "--user", user[0], "--password", user[1]] + args

    def run(self, user, args):
        done = subprocess.run(self.argv(user, args), env=self.env, stdin=subprocess.DEVNULL, timeout=30,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout

    def start(self, user, args):
        return subprocess.Popen(self.argv(user, args), env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def read_until(process, pattern):
    """Reads lines of a running command; the first that matches, or the whole text if none does."""
    text = ""
    for line in process.stdout:
        text += line
        if re.search(pattern, text):
            return None
    return "ended with: " + text.strip()


def subscriber_hears(cli):
    sub = cli.start(APP, ["subscribe", "news.>", "--count", "1"])
    try:
        why = read_until(sub, r"Subscribing on")
        # The line is printed before the server has the subscription, so the message may have to go out again.
        for _ in range(50):
            if why is not None or sub.poll() is not None:
                break
            cli.run(APP, ["publish", "news.local", "it rains"])
            try:
                sub.wait(0.2)
            except subprocess.TimeoutExpired:
                pass
        if sub.poll() is not None and "it rains" in sub.stdout.read():
            return None
        return why or "did not hear"
    finally:
        sub.kill()
        sub.wait()


def service_answers(cli):
    service = cli.start(APP, ["reply", "weather", "sunny"])
    try:
        why = read_until(service, r"Listening on")
        text = ""
        for _ in range(50):
            _, text = cli.run(APP, ["request", "weather", "?"])
            if why is None and "sunny" in text:
                return None
        return why or text.strip()
    finally:
        service.kill()
        service.wait()


class Output:
    """What a running command has printed so far, read without waiting."""

    def __init__(self, process):
        self.fd = process.stdout.fileno()
        self.text = ""
        os.set_blocking(self.fd, False)

    def more(self, wait=0.0):
        if select.select([self.fd], [], [], wait)[0]:
            self.text += os.read(self.fd, 65536).decode("utf-8", "replace")
        return self.text


def bench_pair(cli, receiver, sender, receiver_says):
    """A receiving and a sending `nats bench`; who sends before the other is there sends again."""
    process = cli.start(APP, receiver.split())
    try:
        output, text = Output(process), ""
        for _ in range(20):
            code, text = cli.run(APP, sender.split())
            if code == 0 and (receiver_says is None or re.search(receiver_says, output.more(0.2))):
                return None
        return "sender: %s receiver: %s" % (text.strip()[-150:], output.text.strip()[-150:])
    finally:
        process.kill()
        process.wait()


def queue_shares(cli):
    """Two members of a queue group hear each message once together."""
    subs = [cli.start(APP, ["subscribe", "work", "--queue", "q", "--raw"]) for _ in range(2)]
    try:
        outputs = [Output(sub) for sub in subs]
        # Nothing tells when a raw subscriber is there, so it begins with messages that may be lost.
        for _ in range(100):
            cli.run(APP, ["publish", "work", "begin", "--quiet"])
            if all("begin" in o.more(0.05) for o in outputs):
                break
        cli.run(APP, ["publish", "work", "item", "--count", "50", "--quiet"])
        counts = [0, 0]
        for _ in range(200):
            counts = [o.more(0.05).count("item") for o in outputs]
            if sum(counts) >= 50:
                break
        return None if sum(counts) == 50 and min(counts) > 0 else "shares: %s" % counts
    finally:
        for sub in subs:
            sub.kill()
            sub.wait()


def expects(cli, user, args, pattern):
    code, text = cli.run(user, args.split())
    if re.search(pattern, text):
        return None
    return "exit %d: %s" % (code, " ".join(text.split())[:300])


def main():
    nats = shutil.which("nats")
    if nats is None:
        print("SKIP natscli the nats command line is not here (it needs Go 1.24 or newer)")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        conf = os.path.join(directory, "conf")
        with open(conf, "w", encoding="ascii") as f:
            f.write(CONF)
        server = Server(find_binary(sys.argv[1]), directory, ["-c", conf], 20)
        server.wait_ready()
        cli = Cli(nats, "nats://%s:%d" % server.address(), directory)
        runs = [(name, expects, case) for name, *case in CASES]
        runs += [("subscribe", subscriber_hears, ()), ("reply", service_answers, ()), ("queue", queue_shares, ())]
        runs += [("bench_sub", bench_pair, ("bench sub y --msgs 100000 --no-progress", "bench pub y --msgs 100000 --no-progress",
                                            r"subscriber stats: [\d,]+ msgs/sec")),
                 ("bench_service", bench_pair, ("bench service serve z --no-progress --clients 2",
                                                "bench service request z --msgs 2000 --clients 2 --no-progress", None))]
        for name, run, args in runs:
            try:
                why = run(cli, *args)
            except subprocess.TimeoutExpired:
                why = "took too long"
            print("PASS natscli/" + name if why is None else "FAIL natscli/%s %s" % (name, why), flush=True)
            failed += why is not None
        why = server.stop()
        if why is not None and os.path.basename(sys.argv[1]) != "nats-server":
            print("FAIL natscli/server", why)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
