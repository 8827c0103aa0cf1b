#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""migrate.py SERVER: streams are backed up from nats-server and restored into SERVER, and the other way; what they hold is
compared, and the advisories on the way. Prints PASS, FAIL or SKIP for each."""
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(0, HERE)
from server import Server, beside_reference, verdict  # noqa: E402
from talk import Client, PATIENCE, normal  # noqa: E402

STREAMS = {
    "PLAIN": {"subjects": ["plain.>"]},
    "PACKED": {"subjects": ["packed.>"], "compression": "s2", "metadata": {"a": "b"}},
    "MEMORY": {"subjects": ["memory.>"], "storage": "memory"},
    "QUEUE": {"subjects": ["queue.>"], "retention": "workqueue"},
}


class Host:
    """A server and a connection to it."""

    def __init__(self, binary, home):
        os.mkdir(home)
        conf = os.path.join(home, "conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.write("server_name: S\njetstream { store_dir: '%s' }\n" % home)
        self.server = Server(binary, home, ["-c", conf], PATIENCE)
        self.server.wait_ready()
        self.client = Client(self.server.address())
        self.client.send("SUB $JS.EVENT.ADVISORY.STREAM.SNAPSHOT_CREATE.> 50\r\nSUB $JS.EVENT.ADVISORY.STREAM.SNAPSHOT_COMPLETE.> 51\r\n"
                         "SUB $JS.EVENT.ADVISORY.STREAM.RESTORE_CREATE.> 52\r\nSUB $JS.EVENT.ADVISORY.STREAM.RESTORE_COMPLETE.> 53\r\n")
        self.advisories = []

    def api(self, subject, body=None):
        answer = json.loads(self.client.ask("$JS.API." + subject, json.dumps(body) if body is not None else "", None)[0])
        if "error" in answer:
            raise RuntimeError("%s: %s" % (subject, answer["error"]))
        return answer

    def next(self):
        """The next message; advisories are put aside."""
        while True:
            if not self.client.wait(lambda: self.client.heard, PATIENCE):
                raise RuntimeError("nothing comes")
            subject, reply, text = self.client.heard.pop(0)
            if not subject.startswith("$JS.EVENT"):
                return subject, reply, text
            self.note(subject, text)

    def note(self, subject, text):
        value = json.loads(normal(text))
        # The state is the stream's; bytes are of the archive, which differs.
        for key in ("state", "bytes"):
            value.pop(key, None)
        for key in ("lang", "ver", "rtt", "id"):
            value.get("client", {}).pop(key, None)
        self.advisories.append("%s %s" % (subject, json.dumps(value, sort_keys=True)))

    def settle(self, n):
        """Advisories, once there are n."""
        while len(self.advisories) < n and self.client.wait(lambda: self.client.heard, PATIENCE):
            subject, _, text = self.client.heard.pop(0)
            self.note(subject, text)
        out, self.advisories = self.advisories, []
        return sorted(out)

    def fill(self):
        for name, config in STREAMS.items():
            self.api("STREAM.CREATE." + name, dict(config, name=name))
            for i in range(300):
                header = "NATS/1.0\r\nX-Number: %d\r\n\r\n" % i if i % 7 == 0 else None
                self.client.publish("%s.%d" % (name.lower(), i % 5), "in.x", ("text %d " % i) * (i % 40) * (i % 3), header)
            self.client.fence()
            self.client.answers.clear()
            self.api("STREAM.MSG.DELETE." + name, {"seq": 7})
            self.api("CONSUMER.DURABLE.CREATE.%s.D" % name, {"stream_name": name, "config": {"durable_name": "D", "ack_policy": "explicit"}})
            self.client.send("SUB pull 70\r\nPUB $JS.API.CONSUMER.MSG.NEXT.%s.D pull 12\r\n{\"batch\": 9}\r\n" % name)
            for i in range(9):
                _, reply, _ = self.next()
                if i < 4:
                    self.client.ask(reply, "+ACK", None)
            self.client.send("UNSUB 70\r\n")

    def backup(self, name):
        self.client.send("SUB copy 60\r\n")
        answer = self.api("STREAM.SNAPSHOT." + name, {"deliver_subject": "copy", "jsck": True})
        parts = []
        while True:
            _, reply, text = self.next()
            if text == "" or text.startswith("NATS/1.0"):
                break
            parts.append(text.encode("utf-8", "surrogateescape"))
            if reply:
                self.client.publish(reply, "", "", None)
        self.client.send("UNSUB 60\r\n")
        return answer, b"".join(parts)

    def restore(self, name, backup):
        answer, data = backup
        to = self.api("STREAM.RESTORE." + name, {"config": answer["config"], "state": answer["state"]})["deliver_subject"]
        for i in range(0, len(data), 65536):
            text = self.client.ask(to, data[i:i + 65536].decode("utf-8", "surrogateescape"), None)[0]
            if text:
                return text
        return self.client.ask(to, "", None)[0]

    def describe(self, name):
        """What the stream holds."""
        info = self.api("STREAM.INFO." + name, {"deleted_details": True})
        out = [{k: v for k, v in info["state"].items() if k != "consumer_count"}, info["config"]]
        for i in range(1, info["state"]["last_seq"] + 1):
            text = self.client.ask("$JS.API.STREAM.MSG.GET." + name, json.dumps({"seq": i}), None)[0]
            out.append(json.loads(text).get("message"))
        out.append({k: v for k, v in self.api("CONSUMER.INFO.%s.D" % name).items()
                    if k in ("delivered", "ack_floor", "num_ack_pending", "num_pending", "num_redelivered")})
        return [re.sub(r'"(_nats\.ver|last_active|first_ts)": "[^"]*"(, )?', "", json.dumps(v, sort_keys=True)) for v in out]


def differences(a, b):
    return ["%s; %s" % (x[:300], y[:300]) for x, y in zip(a, b) if x != y] + (["more"] if len(a) != len(b) else [])


def judge(binaries, _words):
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        ours = Host(binaries[0], os.path.join(directory, "ours"))
        theirs = Host(binaries[1], os.path.join(directory, "theirs"))
        told = {}
        for source, target, way in ((theirs, ours, "from"), (ours, theirs, "to")):
            source.fill()
            for name in STREAMS:
                before = source.describe(name)
                backup = source.backup(name)
                if os.environ.get("KEEP"):
                    with open(os.path.join(os.environ["KEEP"], way + name), "wb") as f:
                        f.write(backup[1])
                text = target.restore(name, backup)
                why = text[:300] if "error" in text else None
                if why is None:
                    after = target.describe(name)
                    # Pending acknowledgements come back, their order of delivery too; storage keeps what is there.
                    found = differences(before, after)
                    why = found[0] if found else None
                failed += verdict("jsmigrate/%s_%s" % (way, name), why)
                told.setdefault(id(source), []).append(source.settle(2))
                told.setdefault(id(target), []).append(target.settle(2))
            for name in STREAMS:
                source.api("STREAM.DELETE." + name)
                target.client.ask("$JS.API.STREAM.DELETE." + name, "", None)
        # Each was source once and target once, for the same streams.
        mine, other = (sorted(sum(told[id(h)], [])) for h in (ours, theirs))
        found = differences(mine, other)
        failed += verdict("jsmigrate/advisories", found and found[0])
        why = ours.server.stop()
        theirs.server.stop()
        failed += verdict("jsmigrate/clean_exit", why)
    return failed


if __name__ == "__main__":
    sys.exit(beside_reference("jsmigrate", judge))
