# SPDX-License-Identifier: Apache-2.0
"""natsjs.py SERVER: what the `nats` command line does with JetStream, step after step; prints PASS, FAIL or SKIP for each.

Streams, consumers, key-value, object store, publishers and readers, benchmarks, backup and restore into a second server,
checks and reports. SERVER may be nats-server."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server import Server, find_binary  # noqa: E402

CONF = """
server_name: %s
jetstream { store_dir: "%s" }
accounts {
  SYS { users: [ { user: admin, password: s } ] }
  APP { jetstream: enabled, users: [ { user: app, password: a } ] }
}
system_account: SYS
"""
ADMIN, APP = ("admin", "s"), ("app", "a")

# name, user, arguments ({dir}: a folder of the run), what the output must match
STEPS = [
    ("account_info", APP, "account info", r"JetStream Account Information[\s\S]*Streams: 0"),
    ("stream_add", APP, "stream add ORDERS --subjects orders.> --defaults --storage file --description all",
     r"Stream ORDERS was created"),
    ("stream_add_memory", APP, "stream add MEM --subjects mem.> --defaults --storage memory", r"Stream MEM was created"),
    ("stream_ls", APP, "stream ls", r"ORDERS[\s\S]*"),
    ("stream_ls_filtered", APP, "stream ls --names --subject mem.x", r"^MEM\s*$"),
    ("stream_info", APP, "stream info ORDERS", r"Subjects: orders\.>[\s\S]*Messages: 0"),
    ("pub", APP, "pub orders.a hello --jetstream", r"Stored in Stream: ORDERS Sequence: 1"),
    ("pub_many", APP, "pub orders.b {{{{Count}}}} --count 20 --jetstream --quiet", r""),
    ("stream_get", APP, "stream get ORDERS 1", r"orders\.a[\s\S]*hello"),
    ("stream_get_last", APP, "stream get ORDERS --last-for orders.b", r"Item: ORDERS#21|orders\.b[\s\S]*20"),
    ("stream_subjects", APP, "stream subjects ORDERS", r"orders\.b\D+20"),
    ("stream_state", APP, "stream state ORDERS", r"Messages: 21"),
    ("stream_report", APP, "stream report", r"ORDERS[\s\S]*21"),
    ("stream_edit", APP, "stream edit ORDERS --max-msgs 1000 --force", r"Stream ORDERS was updated"),
    ("sub_stream", APP, "sub --stream ORDERS --all --count 21 --raw", r"hello[\s\S]*20"),
    ("stream_rmm", APP, "stream rmm ORDERS 2 --force", r""),
    ("stream_rmm_gone", APP, "stream get ORDERS 2", r"no message found"),
    ("consumer_add", APP, "consumer add ORDERS C --pull --deliver all --defaults", r"Pull Mode: true"),
    ("consumer_add_push", APP, "consumer add ORDERS P --target out.p --deliver all --ack none --replay instant --defaults",
     r"Delivery Subject: out\.p"),
    ("consumer_ls", APP, "consumer ls ORDERS", r"C[\s\S]*P"),
    ("consumer_info", APP, "consumer info ORDERS C", r"Unprocessed Messages: 20"),
    ("consumer_next", APP, "consumer next ORDERS C --count 3", r"hello"),
    ("consumer_info_after", APP, "consumer info ORDERS C", r"Unprocessed Messages: 17"),
    ("consumer_report", APP, "consumer report ORDERS", r"C[\s\S]*Pull"),
    ("consumer_pause", APP, "consumer pause ORDERS C 1h --force", r"Paused"),
    ("consumer_resume", APP, "consumer resume ORDERS C --force", r""),
    ("consumer_edit", APP, "consumer edit ORDERS C --max-pending 10 --force", r"Max Ack Pending: 10"),
    ("consumer_rm", APP, "consumer rm ORDERS P --force", r""),
    ("kv_add", APP, "kv add CFG --history 5", r"Key-Value Store"),
    ("kv_put", APP, "kv put CFG a.b one", r"one"),
    ("kv_put_again", APP, "kv put CFG a.b two", r"two"),
    ("kv_create", APP, "kv create CFG c three", r"three"),
    ("kv_create_exists", APP, "kv create CFG c four", r"key exists|wrong last sequence"),
    ("kv_get", APP, "kv get CFG a.b --raw", r"^two\s*$"),
    ("kv_update", APP, "kv update CFG a.b five 2", r"five"),
    ("kv_history", APP, "kv history CFG a.b", r"one[\s\S]*two[\s\S]*five"),
    ("kv_ls", APP, "kv ls CFG", r"a\.b"),
    ("kv_del", APP, "kv del CFG c --force", r""),
    ("kv_get_deleted", APP, "kv get CFG c", r"key not found"),
    ("kv_purge", APP, "kv purge CFG a.b --force", r""),
    ("kv_status", APP, "kv info CFG", r"History Kept: 5"),
    ("kv_compact", APP, "kv compact CFG --force", r""),
    ("kv_rm", APP, "kv del CFG --force", r""),
    ("object_add", APP, "object add FILES", r"Object Store"),
    ("object_put", APP, "object put FILES {dir}/blob --name blob --no-progress --force", r"blob"),
    ("object_ls", APP, "object ls FILES", r"blob"),
    ("object_info", APP, "object info FILES blob", r"Size: 1\.0 MiB|Size:"),
    ("object_get", APP, "object get FILES blob --output {dir}/blob2 --no-progress --force", r"Wrote"),
    ("object_same", None, "cmp {dir}/blob {dir}/blob2", r"^$"),
    ("object_rm", APP, "object rm FILES blob --force", r""),
    ("bench_js_pub_sync", APP, "bench js pub sync bsync --create --msgs 200 --size 64 --no-progress --stream BSYNC", r"msgs/sec"),
    ("bench_js_pub_async", APP, "bench js pub async bjs --create --msgs 20000 --size 64 --no-progress --stream BENCH", r"msgs/sec"),
    ("bench_js_ordered", APP, "bench js ordered --stream BENCH --msgs 20000 --no-progress", r"msgs/sec"),
    ("bench_js_consume", APP, "bench js consume --stream BENCH --msgs 20000 --no-progress --acks none", r"msgs/sec"),
    ("bench_consumer_add", APP, "consumer add BENCH F --pull --deliver all --ack none --defaults", r"Pull Mode: true"),
    ("bench_js_fetch", APP, "bench js fetch --stream BENCH --msgs 20000 --no-progress --consumer F --acks none", r"msgs/sec"),
    ("bench_js_get_sync", APP, "bench js get sync --stream BENCH --msgs 500 --no-progress", r"msgs/sec"),
    ("bench_kv_add", APP, "kv add BKV", r"Key-Value Store"),
    ("bench_kv_put", APP, "bench kv put --msgs 500 --no-progress --bucket BKV", r"msgs/sec"),
    ("bench_kv_get", APP, "bench kv get --msgs 500 --no-progress --bucket BKV", r"msgs/sec"),
    ("server_check_jetstream", APP, "server check jetstream", r"OK JetStream"),
    ("server_check_stream", APP, "server check stream --stream ORDERS", r"OK ORDERS"),
    ("server_check_consumer", APP, "server check consumer --stream ORDERS --consumer C", r"OK"),
    ("server_report_jetstream", ADMIN, "server report jetstream", r"JetStream Summary[\s\S]*js1"),
    ("server_request_jetstream", ADMIN, "server request jetstream", r'"store_dir"'),
    ("stream_backup", APP, "stream backup ORDERS {dir}/backup --no-progress", r""),
    ("stream_purge", APP, "stream purge MEM --force", r""),
    ("stream_rm", APP, "stream rm BENCH --force", r""),
]
RESTORED = [
    ("stream_restore", APP, "stream restore {dir}/backup --no-progress", r"Restored stream|ORDERS"),
    ("stream_restored", APP, "stream state ORDERS", r"Messages: 20"),
    ("stream_restored_message", APP, "stream get ORDERS 1", r"hello"),
    ("consumer_restored", APP, "consumer info ORDERS C", r"Unprocessed Messages: 17"),
]


class Run:
    """One folder, one `nats`, any number of servers."""

    def __init__(self, nats, binary, directory):
        self.nats, self.binary, self.dir = nats, binary, directory
        self.env = dict(os.environ, HOME=directory, XDG_CONFIG_HOME=directory, NO_COLOR="1")
        self.failed = 0

    def server(self, name):
        home = os.path.join(self.dir, name)
        os.mkdir(home)
        conf = os.path.join(home, "conf")
        with open(conf, "w", encoding="ascii") as f:
            f.write(CONF % (name, os.path.join(home, "store")))
        server = Server(self.binary, home, ["-c", conf], 20)
        server.wait_ready()
        return server

    def say(self, name, why):
        print("PASS natsjs/" + name if why is None else "FAIL natsjs/%s %s" % (name, why), flush=True)
        self.failed += why is not None

    def step(self, url, user, args, pattern):
        argv = args.format(dir=self.dir).split()
        if user is not None:
            argv = [self.nats, "--server", url, "--user", user[0], "--password", user[1]] + argv
        try:
            done = subprocess.run(argv, env=self.env, stdin=subprocess.DEVNULL, timeout=60, text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            return "took too long"
        text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
        if re.search(pattern, text, re.MULTILINE) and (pattern or done.returncode == 0):
            return None
        return "exit %d: %s" % (done.returncode, " ".join(text.split())[-300:])

    def steps(self, server, steps):
        url = "nats://%s:%d" % server.address()
        for name, user, args, pattern in steps:
            self.say(name, self.step(url, user, args, pattern))
        why = server.stop()
        if why is not None and os.path.basename(self.binary) != "nats-server":
            self.say("server", why)


def main():
    nats = shutil.which("nats")
    if nats is None:
        print("SKIP natsjs the nats command line is not here (it needs Go 1.24 or newer)")
        return 0
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "blob"), "wb") as f:
            f.write(os.urandom(1 << 20))
        run = Run(nats, find_binary(sys.argv[1]), directory)
        run.steps(run.server("js1"), STEPS)
        run.steps(run.server("js2"), RESTORED)
        return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
