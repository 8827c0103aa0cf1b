#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""edge.py SERVER [WORD...]: malformed and borderline requests, made from a table: each endpoint of $JS.API gets bodies that are no
request, and for each of its members values of wrong types, bad names, huge and negative numbers. SERVER and nats-server must
answer the same, but for what differences.txt allows, and have the same state after it; with `strict` off for the bodies only. Each
endpoint has servers of its own. Prints PASS or FAIL for each (WORD: only subjects that have it); ALL=1 tells every difference."""
import concurrent.futures
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
from server import Server, beside_reference  # noqa: E402
import talk  # noqa: E402
from judge import allowed, differences  # noqa: E402

talk.SILENCE = 0.4
# They wait most of the time, so many run at once, each with so many bodies at most.
SIDE_BY_SIDE = 8
BODIES_EACH = 60

LONG = "x" * 300
# Bodies that are no request, or hardly. NUL: the text that stands for the valid body.
BODIES = ["", " ", "null", "true", "0", "-1", '"x"', "[]", "[{}]", "{}", " {} ", "{", "}", '{"', '{"a"', '{"a":', '{"a":}', '{"a":1,}',
          "{'a':1}", "{a:1}", "x", "\x00", "\ufeff{}", '{"a":1}{"b":2}', "{} x", '{"unknown":1}', '{"":1}', '{"\U0001f600":1}', '{"a":01}',
          '{"a":1e999}', '{"a":NaN}', '{"a":"\\x"}', '{"a":"\\ud800"}', '{"a":"\t"}', '{"a":"\udcff"}', "[" * 200 + "]" * 200,
          '{"a":' * 500 + "1" + "}" * 500, "// x", "{}\n", "@ x", "@@"]
NUMBERS = ['"x"', '"1"', "1.5", "1e2", "-1", "-2", "0", "-0", "true", "null", "[]", "{}", "9223372036854775807", "9223372036854775808",
           "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "1e400", "2147483648"]
VALUES = {
    "int": NUMBERS,
    "bool": ["0", "1", '"true"', '""', "null", "[]", "{}", "true", "false"],
    "str": ["1", "true", "null", "[]", "{}", '""', '" "', '"\u00fc\u2603"', '"a b"', '"a.b"', '"*"', '">"', '"a.>"', '"a.*.b"', '".a"', '"a."',
            '"a..b"', '"' + LONG + '"', '"a\\u0000b"', '"a\\tb"', '"a/b"', '"a\\\\b"', '"\\ud800"', '"$JS.API.x"', '"$SYS.x"', '"A"'],
    "list": ['"x"', "1", "null", "[]", "[1]", "[null]", '[""]', "{}", "[[]]", '["a.1","a.1"]', '["\u00fc"]', '["a b"]', '[">"]', '["$JS.>"]', '["a..b"]'],
    "enum": ['""', '"bogus"', "0", "1", "null", "[]", '"LIMITS"', '"none"'],
    "time": ['"x"', '""', "1", "null", '"2026-13-01T00:00:00Z"', '"2026-11-30T00:00:00Z"', '"2026-11-30T00:00:00+25:00"', '"2026-11-30"',
             '"0001-01-01T00:00:00Z"', '"2026-11-30T00:00:00.123456789123Z"'],
    "obj": ['"x"', "1", "null", "[]", "{}", '{"unknown":1}', "[{}]"],
    "map": ['"x"', "1", "null", "[]", "{}", '{"a":1}', '{"a":null}', '{"":""}', '{"\u00fc":"\u00fc"}', '{"_nats.x":"y"}', '{"a":"%s"}' % ("x" * 140000)],
}
# Where a snapshot goes to; into the stream itself, it depends on the moment what it has.
VALUES["dest"] = [v for v in VALUES["str"] if v != '"a.b"']
STREAM = {
    "name": "str", "description": "str", "subjects": "list", "retention": "enum", "max_consumers": "int", "max_msgs": "int", "max_bytes": "int",
    "max_age": "int", "max_msgs_per_subject": "int", "max_msg_size": "int", "discard": "enum", "storage": "enum", "num_replicas": "int", "no_ack": "bool",
    "duplicate_window": "int", "placement": "obj", "mirror": "obj", "sources": "list", "compression": "enum", "first_seq": "int",
    "subject_transform": "obj", "republish": "obj", "sealed": "bool", "deny_delete": "bool", "deny_purge": "bool", "allow_rollup_hdrs": "bool",
    "allow_direct": "bool", "mirror_direct": "bool", "discard_new_per_subject": "bool", "metadata": "map", "template_owner": "str",
    "allow_msg_ttl": "bool", "subject_delete_marker_ttl": "int", "consumer_limits": "obj", "consumer_limits.inactive_threshold": "int",
    "consumer_limits.max_ack_pending": "int", "mirror.name": "str", "mirror.opt_start_seq": "int", "mirror.opt_start_time": "time",
    "mirror.filter_subject": "str", "republish.src": "str", "republish.dest": "str", "republish.headers_only": "bool", "subject_transform.src": "str",
    "subject_transform.dest": "str", "placement.cluster": "str", "placement.tags": "list", "allow_atomic": "bool", "allow_msg_counter": "bool",
    "allow_msg_schedules": "bool", "allow_batched": "bool", "persist_mode": "enum", "pedantic": "bool",
}
CONSUMER = {
    "name": "str", "durable_name": "str", "description": "str", "deliver_policy": "enum", "opt_start_seq": "int", "opt_start_time": "time",
    "ack_policy": "enum", "ack_wait": "int", "max_deliver": "int", "backoff": "list", "filter_subject": "str", "filter_subjects": "list",
    "replay_policy": "enum", "rate_limit_bps": "int", "sample_freq": "str", "max_waiting": "int", "max_ack_pending": "int", "flow_control": "bool",
    "headers_only": "bool", "max_batch": "int", "max_expires": "int", "max_bytes": "int", "deliver_subject": "str", "deliver_group": "str",
    "idle_heartbeat": "int", "inactive_threshold": "int", "num_replicas": "int", "mem_storage": "bool", "metadata": "map", "pause_until": "time",
    "priority_groups": "list", "priority_policy": "enum", "priority_timeout": "int",
}
IN_CONFIG = dict({"config." + k: v for k, v in CONSUMER.items()}, stream_name="str", action="enum", config="obj", pedantic="bool")
BASE_STREAM = {"name": "A", "subjects": ["a.*"], "storage": "memory", "allow_direct": True}
NEW_CONSUMER = {"stream_name": "A", "config": {"name": "n", "ack_policy": "explicit"}}
DURABLE = {"stream_name": "A", "config": {"durable_name": "n", "ack_policy": "explicit"}}
# Subject, the valid body, its members, what goes before each.
ENDPOINTS = [
    ("INFO", None, {}),
    ("STREAM.NAMES", {"offset": 0}, {"offset": "int", "subject": "str"}),
    ("STREAM.LIST", {"offset": 0}, {"offset": "int", "subject": "str"}),
    ("STREAM.CREATE.N", {"name": "N", "subjects": ["n"], "storage": "memory"}, STREAM),
    ("STREAM.UPDATE.A", BASE_STREAM, STREAM),
    ("STREAM.INFO.A", {"offset": 0}, {"offset": "int", "deleted_details": "bool", "subjects_filter": "str"}),
    ("STREAM.PURGE.A", {"seq": 2}, {"seq": "int", "keep": "int", "filter": "str"}),
    ("STREAM.DELETE.A", None, {}),
    ("STREAM.MSG.GET.A", {"seq": 2}, {"seq": "int", "last_by_subj": "str", "next_by_subj": "str", "batch": "int", "max_bytes": "int",
                                      "start_time": "time", "multi_last": "list", "up_to_seq": "int", "up_to_time": "time", "no_hdr": "bool"}),
    ("STREAM.MSG.DELETE.A", {"seq": 2}, {"seq": "int", "no_erase": "bool"}),
    ("STREAM.SNAPSHOT.A", {"deliver_subject": "snap"}, {"deliver_subject": "dest", "no_consumers": "bool", "chunk_size": "int", "window_size": "int",
                                                        "jsck": "bool"}),
    ("STREAM.RESTORE.R", {"config": {"name": "R", "subjects": ["r"], "storage": "memory"}, "state": {}},
     {"config": "obj", "state": "obj", "config.name": "str", "config.max_msgs": "int", "state.messages": "int", "state.first_ts": "time"}),
    ("DIRECT.GET.A", {"seq": 2}, {"seq": "int", "last_by_subj": "str", "next_by_subj": "str", "batch": "int", "max_bytes": "int", "start_time": "time",
                                  "multi_last": "list", "up_to_seq": "int", "up_to_time": "time", "no_hdr": "bool"}),
    ("DIRECT.GET.A.a.1", None, {}),
    ("CONSUMER.NAMES.A", {"offset": 0}, {"offset": "int"}),
    ("CONSUMER.LIST.A", {"offset": 0}, {"offset": "int"}),
    ("CONSUMER.CREATE.A", NEW_CONSUMER, IN_CONFIG),
    ("CONSUMER.CREATE.A.n", NEW_CONSUMER, IN_CONFIG),
    ("CONSUMER.CREATE.A.n.a.1", {"stream_name": "A", "config": {"name": "n", "filter_subject": "a.1"}},
     {k: v for k, v in IN_CONFIG.items() if "filter" in k or "name" in k}),
    ("CONSUMER.DURABLE.CREATE.A.n", DURABLE, IN_CONFIG),
    ("CONSUMER.INFO.A.c", None, {}),
    ("CONSUMER.DELETE.A.c", None, {}),
    ("CONSUMER.PAUSE.A.c", {"pause_until": "2026-11-30T00:00:00Z"}, {"pause_until": "time"}),
    ("CONSUMER.UNPIN.A.c", {"group": "g"}, {"group": "str"}),
    ("CONSUMER.RESET.A.c", {"seq": 2}, {"seq": "int"}),
    ("CONSUMER.MSG.NEXT.A.c", {"batch": 1, "no_wait": True}, {"batch": "int", "no_wait": "bool", "max_bytes": "int", "expires": "int",
                                                              "idle_heartbeat": "int", "group": "str", "min_pending": "int", "id": "str", "priority": "int"}),
]
# Tokens of subjects that name what is not there, or nothing.
NAMES = ["STREAM.INFO.none", "STREAM.INFO.*", "STREAM.INFO.>", "STREAM.INFO.\u00fc", "STREAM.INFO", "STREAM.INFO.A.B", "STREAM.CREATE.%s" % LONG, "STREAM.INFO.%s" % LONG,
         "STREAM.DELETE.none", "STREAM.PURGE.none", "STREAM.UPDATE.none", "STREAM.MSG.GET.none", "STREAM.MSG.DELETE.none", "STREAM.SNAPSHOT.none",
         "STREAM.RESTORE.A", "CONSUMER.NAMES.none", "CONSUMER.LIST.none", "CONSUMER.CREATE.none", "CONSUMER.CREATE.none.x", "CONSUMER.CREATE.none.x.y",
         "CONSUMER.DURABLE.CREATE.none.x", "CONSUMER.INFO.none.c", "CONSUMER.INFO.A.none", "CONSUMER.INFO.A", "CONSUMER.DELETE.A.none",
         "CONSUMER.DELETE.none.c", "CONSUMER.PAUSE.A.none", "CONSUMER.PAUSE.none.c", "CONSUMER.UNPIN.A.none", "CONSUMER.UNPIN.none.c",
         "CONSUMER.MSG.NEXT.A.none", "DIRECT.GET.none", "DIRECT.GET.A.none", "ACCOUNT.PURGE.none", "STREAM.TEMPLATE.CREATE.x", "SERVER.REMOVE"]
SET_UP = [("STREAM.DELETE.N", ""), ("STREAM.DELETE.R", ""), ("STREAM.DELETE.A", ""), ("STREAM.CREATE.A", json.dumps(BASE_STREAM)),
          ("CONSUMER.DURABLE.CREATE.A.c", json.dumps({"stream_name": "A", "config": {"durable_name": "c", "ack_policy": "explicit"}}))]
STATE = [("STREAM.NAMES", ""), ("STREAM.INFO.A", '{"deleted_details":true}'), ("CONSUMER.NAMES.A", ""), ("CONSUMER.INFO.A.c", "")]


def put(body, path, text):
    """The body as JSON text, with that text as the value of a member."""
    mark = "\u0001"
    out = json.loads(json.dumps(body or {}))
    at = out
    *way, last = path.split(".")
    for key in way:
        at = at.setdefault(key, {})
    at[last] = mark
    return json.dumps(out, ensure_ascii=False).replace(json.dumps(mark), text)


def bodies(valid, members):
    whole = json.dumps(valid) if valid else ""
    yield whole
    for text in BODIES:
        yield text.replace("@", whole)
    if valid:
        yield put(valid, "unknown", "1")
        yield whole.replace('"' + next(iter(valid)), '"' + next(iter(valid)).upper(), 1)
    for path, kind in members.items():
        for text in VALUES[kind]:
            yield put(valid, path, text)


def normal(text):
    text = talk.normal(text)
    try:
        return json.loads(text[text.index("{"):])
    except ValueError:
        return text


class Pair:
    """Both servers, asked the same."""

    def __init__(self, binaries, directory, strict):
        self.servers, self.clients = [], []
        for i, binary in enumerate(binaries):
            home = os.path.join(directory, str(i))
            os.mkdir(home)
            path = os.path.join(home, "conf")
            with open(path, "w", encoding="ascii") as f:
                f.write("server_name: S\njetstream { store_dir: '%s', strict: %s }\n" % (home, "true" if strict else "false"))
            self.servers.append(Server(binary, home, ["-c", path], talk.PATIENCE))
            self.servers[-1].wait_ready()
            self.clients.append(talk.Client(self.servers[-1].address()))

    def ask(self, subject, body):
        for c in self.clients:
            c.count += 1
            c.publish("$JS.API." + subject, "in.%d" % c.count, body, None)
        inboxes = ["in.%d" % c.count for c in self.clients]
        for _ in range(2):  # where one has answered the other has more time
            for c, inbox in zip(self.clients, inboxes):
                one = any(inbox in c.answers for c, inbox in zip(self.clients, inboxes))
                c.wait(lambda: c.answers.get(inbox), 5 if one else talk.SILENCE)
        return [c.answers.pop(inbox, ["silence"])[0] for c, inbox in zip(self.clients, inboxes)]

    def set_up(self):
        for subject, body in SET_UP:
            self.ask(subject, body)
        for c in self.clients:
            for i in range(5):
                c.ask("a.%d" % (i % 3), "x", None)

    def stop(self):
        return [s.stop() for s in self.servers]


READERS = ("DIRECT", "INFO", "STREAM.MSG.GET", "STREAM.NAMES", "STREAM.LIST", "CONSUMER.NAMES", "CONSUMER.LIST")


def judge(pair, subject, texts, allow):
    """What differs."""
    pair.set_up()
    out = []

    def compare(subject, body):
        ours, theirs = (normal(t) for t in pair.ask(subject, body))
        said = subject[:60] + " " + body
        found = list(differences(ours, theirs))
        new = [d for d in found if not any(a.search("$JS.API." + said) and b.search(d) for a, b in allow)]
        out.extend("%s %s" % (said[:180], d) for d in new)
        return theirs, len(found) > len(new)

    def compare_state():
        for s, b in STATE:
            compare(s, b)

    for body in texts:
        theirs, allowed_to_differ = compare(subject, body)
        refused = isinstance(theirs, dict) and "error" in theirs
        if allowed_to_differ:
            pair.set_up()
        elif not refused and not subject.startswith(READERS):
            compare_state()
            pair.set_up()
    compare_state()
    return out


def run(binaries, job):
    """What is to be printed of one endpoint, asked of servers of its own."""
    subject, part, texts, strict = job
    name = "jsedge/%s/%s%d" % (subject, "" if strict else "lax/", part)
    with tempfile.TemporaryDirectory() as directory:
        pair = Pair(binaries, directory, strict)
        try:
            allow = list(allowed())
            found = judge(pair, subject, texts, allow) if texts else [d for s in NAMES for d in judge(pair, s, [""], allow)]
        except (RuntimeError, OSError) as e:
            found = [str(e), *pair.servers[0].log[-20:]]
        why = pair.stop()[0]
    found += [why] if why else []
    return "FAIL %s %s" % (name, "\n  ".join(found if os.environ.get("ALL") else found[:1])) if found else "PASS " + name


def split():
    for strict in (True, False):
        for subject, valid, members in ENDPOINTS:
            texts = list(bodies(valid, members if strict else {}))
            for part in range(0, len(texts), BODIES_EACH):
                yield subject, part // BODIES_EACH + 1, texts[part : part + BODIES_EACH], strict
        yield "names that are none", 1, [], strict


def judge_all(binaries, words):
    jobs = [j for j in split() if not words or any(w in j[0] for w in words)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for line in pool.map(lambda job: run(binaries, job), jobs):
            print(line, flush=True)
            failed += line.startswith("FAIL")
    return failed


if __name__ == "__main__":
    sys.exit(beside_reference("jsedge", judge_all))
