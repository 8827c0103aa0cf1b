#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""smoke.py: the overload lab in short, and the program that it is driven by. Asserts what became of the requests and that the
books add up, never how long anything took. Prints PASS name | FAIL name why | SKIP name why."""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading

import lab
import planes
import plots
import tenants
from planes import Server, overload

failed = 0


def verdict(name, offences):
    global failed
    offences = list(offences)
    failed += bool(offences)
    print(f"FAIL overload/{name} {'; '.join(offences)[:500]}" if offences
          else f"PASS overload/{name}", flush=True)


def skip(name, why):
    print(f"SKIP overload/{name} {why}", flush=True)


# ---- the lab


def runs_of(got):
    """(name, run) of all policy runs on one plane."""
    for (case, variant), runs in got["runs"].items():
        for run in runs:
            yield f"{case} {variant}", run


def measured(lot):
    """(name, raw) of those that could be measured; the others are offences already."""
    return [(name, run["raw"]) for name, run in lot if "raw" in run]


def one_outcome_each(lot):
    for name, run in lot:
        if "raw" not in run:
            yield f"{name}: {run.get('error')}"
            continue
        for raw in run["raw"].get("tenants", [run["raw"]]):
            sum_of = sum(raw[k] for k in ("ok", "refused", "told_late", "late", "never"))
            if sum_of != raw["calls"] or raw["duplicates"]:
                yield f"{name}: {raw['calls']} calls, {sum_of} outcomes, {raw['duplicates']} twice"


def all_answered(lot):
    for name, raw in measured(lot):
        for t in raw.get("tenants", [raw]):
            if t["never"] or t["unanswered_attempts"]:
                yield f"{name}: {t['never']} calls, {t['unanswered_attempts']} requests unanswered"


def books_add_up(lot):
    for name, raw in measured(lot):
        if not raw["adds_up"]:
            yield f"{name}: {raw['books']}"


def books_are_what_clients_saw(lot):
    """Each refusal that the server counts reached a client, and the other way round."""
    for name, raw in measured(lot):
        books, answers = raw["books"], raw["answers"]
        pairs = {"evicted": "refused_503", "expired": "refused_408", "refused": "refused_429"}
        for ours, theirs in pairs.items():
            if books[ours] != answers[theirs]:
                yield f"{name}: {books[ours]} {ours}, clients saw {answers[theirs]}"
        # What set the run up was answered too.
        if books["received"] - books["answered"] != raw["attempts"] - answers["ok"]:
            yield f"{name}: {books} against {raw['attempts']} requests, {answers}"


def refuses_as_meant(lot):
    for name, raw in measured(lot):
        case = name.split()[0]
        refused = sum(n for k, n in raw["answers"].items() if k != "ok")
        if case.startswith(("S3", "S4", "S6")) and refused == 0:
            yield f"{name}: nobody was refused past capacity"
        if case == "S6" and raw["answers"]["refused_503"] == 0:
            yield f"{name}: a full queue evicted nobody"
        if raw["ok"] == 0:
            yield f"{name}: nothing was answered in time"
        if case.endswith(("/hint", "/error")) and raw["attempts"] <= raw["calls"]:
            yield f"{name}: nobody tried again"


def check_planes(run):
    for cls in (planes.Endpoint, planes.Gate):
        short = cls.column.split()[-1]
        got = run.policy.get(cls.column)
        lot = list(runs_of(got)) if got else [("all", {"error": "; ".join(run.notes)})]
        verdict(f"{short}_each_call_has_one_outcome", one_outcome_each(lot))
        verdict(f"{short}_every_request_is_answered", all_answered(lot))
        verdict(f"{short}_the_books_add_up", books_add_up(lot))
        verdict(f"{short}_the_books_are_what_clients_saw", books_are_what_clients_saw(lot))
        verdict(f"{short}_refuses_as_meant", refuses_as_meant(lot))


def check_product(run):
    lot = [(f"{name} {case}", r) for (name, case, _), sides in run.product.items()
           for r in sides.get("Sluice", []) if case != "books"]
    books = [(name, r) for (name, case, _), sides in run.product.items()
             for r in sides.get("Sluice", []) if case == "books"]
    verdict("jetstream_each_call_has_one_outcome",
            [*one_outcome_each(lot), *all_answered(lot), *([] if lot else run.notes)])
    verdict("jetstream_the_books_add_up", books_add_up(books) if books else ["not measured"])


def check_tenants(run):
    for cls in (tenants.SetCost, tenants.UsersGate):
        short = cls.column.split()[-1]
        lot = [("S8", r) for r in run.tenants.get(cls.column, [])]
        verdict(f"tenants_of_the_{short}_each_call_has_one_outcome",
                [*one_outcome_each(lot), *all_answered(lot)])
        verdict(f"tenants_of_the_{short}_the_books_add_up",
                books_add_up(lot) if lot else ["not measured"])


def check_parked(run):
    bad = [r.get("error") for r in run.parked if "values" not in r]
    good = [r for r in run.parked if "values" in r]
    verdict("parked_requests_of_clients_that_leave_are_cancelled",
            bad + [str(r["raw"]["left"]) for r in good if r["values"]["lost"]])
    verdict("parked_the_backstop_finds_nothing_and_the_books_add_up",
            bad + [str(r["raw"]) for r in good if not r["raw"]["adds_up"]
                   or any(x["swept"] for x in r["raw"]["left"].values())])


def check_peer(run):
    if run.args.nats is None:
        skip("nats_server_s_half", "no nats-server here (it needs Go 1.24)")
        return
    lot = list(runs_of(run.policy.get(planes.Service.column, {"runs": {}})))
    lot += [(f"{name} {case}", r) for (name, case, _), sides in run.product.items()
            for r in sides.get("nats-server", [])]
    verdict("nats_server_s_half_is_measured", one_outcome_each(lot) if lot else ["nothing was"])


def check_files(run, out):
    text = lab.save(run)
    with open(os.path.join(out, "results.json"), encoding="utf-8") as f:
        rows = json.load(f)["rows"]
    verdict("the_table_and_the_json_are_written",
            [] if rows and all(r["label"] in text for r in rows) else [text[:300]])
    if not plots.have_gnuplot():
        skip("the_plots_are_drawn", "no gnuplot here")
        return
    verdict("the_plots_are_drawn", [
        f"no {p}" for p in ("goodput", "pause", "age", "tenants")
        if not os.path.getsize(os.path.join(out, f"overload-{p}.svg"))])


# ---- the program


def call(*options):
    return subprocess.run([tenants.TOOL, *options], capture_output=True, text=True, timeout=60,
                          check=False)


WRONG = {
    "an_end": (["--rate", "10", "--subject", "a"], "--seconds is required"),
    "a_rate": (["--seconds", "1", "--subject", "a"], "--rate"),
    "a_rate_that_is_a_number": (["--rate", "max", "--seconds", "1", "--subject", "a"], "--rate"),
    "a_rate_within_reason": (["--rate", "1e9", "--seconds", "1", "--subject", "a"], "--rate"),
    "an_end_within_reason": (["--rate", "1", "--seconds", "1e9", "--subject", "a"], "--seconds"),
    "few_enough_requests": (["--rate", "1e6", "--seconds", "600", "--subject", "a"], "20 million"),
    "one_subject": (["--rate", "1", "--seconds", "1", "--subject", "a.*"], "wildcards"),
    "a_known_option": (["--rats", "1"], "--rats"),
    "a_value_for_each_option": (["--rate"], "missing"),
    "a_scheme_it_speaks": (["--server", "tls://127.0.0.1", "--rate", "1", "--seconds", "1",
                            "--subject", "a"], "nats://"),
    "a_whole_url": (["--server", "nats://127.0.0.1:x", "--rate", "1", "--seconds", "1",
                     "--subject", "a"], "HOST"),
    "a_tenant_with_a_rate": (["--tenant", "a:b", "--seconds", "1", "--subject", "a"], "--tenant"),
    "one_rate_only": (["--tenant", "a:b@1", "--rate", "1", "--seconds", "1", "--subject", "a"],
                      "--tenant"),
    "a_known_way_to_retry": (["--retry", "often", "--rate", "1", "--seconds", "1", "--subject",
                              "a"], "--retry"),
    "a_pid_to_pause": (["--pause-for", "1", "--rate", "1", "--seconds", "1", "--subject", "a"],
                       "--pid"),
    "a_length_of_the_pause": (["--pause-at", "1", "--rate", "1", "--seconds", "1", "--subject", "a"],
                              "--pause-for"),
    "the_pid_of_the_server_to_pause": (["--pid", str(os.getpid()), "--pause-for", "1", "--rate", "1",
                                        "--seconds", "1", "--subject", "a"], "does not listen"),
    "a_pid_that_is_there": (["--pid", "4194304", "--rate", "1", "--seconds", "1", "--subject", "a"],
                            "not found"),
}


def check_refusals(address):
    for name, (options, why) in WRONG.items():
        got = call("--server", f"nats://{address}", *options)
        lines = got.stderr.splitlines()
        good = got.returncode == 1 and len(lines) == 1 and why in lines[0] and not got.stdout
        verdict(f"program_wants_{name}", [] if good else [f"{got.returncode} {got.stderr}"])


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return f.read().rsplit(") ", 1)[1][0]


def wait_state(pid, stopped):
    """Until the process is stopped, or is not; whether it came to that."""
    for _ in range(2000):
        if (state_of(pid) == "T") == stopped:
            return True
        threading.Event().wait(0.01)
    return False


def check_impatience(server, *options):
    """Two Ctrl-C while the server is paused end the program, and the server goes on."""
    tool = subprocess.Popen([tenants.TOOL, *options, "--pid", str(server.pid), "--pause-at", "0.2",
                             "--pause-for", "50"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    offences = [] if wait_state(server.pid, True) else ["the server was not paused"]
    while tool.poll() is None:
        tool.send_signal(signal.SIGINT)
        threading.Event().wait(0.02)
    offences += [] if wait_state(server.pid, False) else ["it stays stopped"]
    verdict("program_leaves_no_server_stopped", offences)


def check_program(binary):
    conf = ("accounts {\n A { users: [ { user: a, password: \"p:@/\" } ] }\n"
            " B { users: [ { user: b, password: b } ] }\n}\n")
    ask = ["--subject", overload.SluicePlane.subject, "--rate", "50", "--seconds", "1.2", "--progress"]
    with Server(binary, conf) as s:
        check_refusals(s.address)
        check_impatience(s, "--server", f"nats://b:b@{s.address}", *ask[:4], "--seconds", "60")
        got = call("--server", f"nats://a:p%3A%40%2F@{s.address}", *ask)
        verdict("program_prints_a_table_and_its_progress",
                [] if got.returncode == 0 and "in time" in got.stdout and "1 s:" in got.stderr
                else [got.stdout + got.stderr])
        got = call("--server", f"nats://a:wrong@{s.address}", *ask)
        verdict("program_says_that_it_was_not_let_in",
                [] if got.returncode == 1 and "Authorization" in got.stderr else [got.stderr])
        two = call("--server", f"nats://{s.address}", *ask[:2], *ask[4:], "--tenant", "a:p:@/@40",
                   "--tenant", "b:b@20", "--json")
        paused = call("--server", f"nats://b:b@{s.address}", *ask, "--pid", str(s.pid), "--pause-at",
                      "0.3", "--pause-for", "0.2", "--json")
        verdict("program_pauses_the_server_of_that_pid",
                [] if paused.returncode == 0 and "server_cpu" in paused.stdout else [paused.stderr])
        users = [t["user"] for t in json.loads(two.stdout)["tenants"]] if two.stdout else []
        verdict("program_loads_for_several_tenants", [] if users == ["a", "b"] else [two.stderr])
    got = call("--server", f"nats://{s.address}", *ask)
    verdict("program_says_that_nobody_is_there",
            [] if got.returncode == 1 and "refused" in got.stderr else [got.stderr])
    got = call("--help")
    verdict("program_documents_itself",
            [] if got.returncode == 0 and all(f"--{o} " in got.stdout for o in (
                "server", "rate", "seconds", "tenant", "retry", "timeout-header", "json"))
            else [got.stdout])


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--testing", default=os.path.join(planes.overload.ROOT,
                                                     "build/release/sluice-testing"))
    p.add_argument("--sluice", default=os.path.join(planes.overload.ROOT, "build/release/sluice"))
    p.add_argument("--out", default=os.path.join(planes.overload.ROOT, "build/overload/smoke"))
    args = p.parse_args()
    check_program(args.testing)
    run = lab.Lab(lab.parse(["--quick", "--sluice", args.sluice, "--testing", args.testing,
                             "--out", args.out]))
    run.run()
    check_planes(run)
    check_product(run)
    check_tenants(run)
    check_parked(run)
    check_peer(run)
    check_files(run, args.out)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
