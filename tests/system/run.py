#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs transcripts against a server; see README.md of this folder.

run.py [-j N] [--split] [--timeout S] [--server BIN] [TRANSCRIPT…]"""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server import find_binary, flavour  # noqa: E402
from steps import Failed, Run, Skipped, execute  # noqa: E402
from transcript import BadTranscript, parse  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def check_only(steps, this):
    for step in steps:
        m = re.match(r"only (sluice|nats-server): (.+)$", step.text)
        if m and m.group(1) != this:
            raise Skipped("only %s: %s" % m.groups())


def context(run, step):
    """What was said last and what the server logged last."""
    lines = ["    at line %d: %s" % (step.number, step.text)] if step else []
    lines += ["    | " + text[:200] for text in run.said[-12:]]
    if run.server:
        lines += ["    log: " + text for text in run.server.log[-6:]]
    return "\n".join(lines)


def run_one(path, binary, this, options):
    """(outcome, name, text) of one transcript."""
    name = os.path.splitext(os.path.basename(path))[0] + ("/split" if options["split"] else "")
    directory = tempfile.mkdtemp(prefix="transcript-")
    run = Run(binary, this, directory, options)
    step, why = None, None
    try:
        steps = parse(path)
        check_only(steps, this)
        for step in steps:
            execute(run, step)
        step = None
    except Skipped as e:
        return "SKIP", name, str(e)
    except (Failed, BadTranscript, RuntimeError, OSError, ValueError, KeyError, TypeError) as e:
        why = "%s%s" % ("" if isinstance(e, Failed) else type(e).__name__ + ": ", e)
    finally:
        end = run.finish()
        shutil.rmtree(directory, ignore_errors=True)
    if why or end:
        return "FAIL", name, "%s\n%s" % ("; ".join(filter(None, [why, end])), context(run, step))
    return "PASS", name, ""


def main():
    parser = argparse.ArgumentParser(description="runs transcripts against a server")
    parser.add_argument("-j", type=int, default=4, help="transcripts at a time")
    parser.add_argument("--split", action="store_true", help="send byte by byte")
    parser.add_argument("--timeout", type=float, default=float(os.environ.get("STEP_TIMEOUT", "10")),
                        help="seconds a step may take before it fails")
    parser.add_argument("--server", default=os.environ.get("SERVER_BIN", "build/sluice"))
    parser.add_argument("transcripts", nargs="*")
    args = parser.parse_args()
    binary = find_binary(args.server)
    if binary is None:
        sys.exit("no such server: %s" % args.server)
    paths = args.transcripts or sorted(glob.glob(os.path.join(HERE, "*.txt")))
    options = {"timeout": args.timeout, "split": args.split}
    this = flavour(binary)
    count = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    with concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        jobs = [pool.submit(run_one, path, binary, this, options) for path in paths]
        for job in concurrent.futures.as_completed(jobs):
            outcome, name, text = job.result()
            count[outcome] += 1
            print(("%s %s %s" % (outcome, name, text)).rstrip(), flush=True)
    print("%s: %d transcripts passed, %d failed, %d skipped" % (this, count["PASS"], count["FAIL"], count["SKIP"]))
    sys.exit(1 if count["FAIL"] else 0)


if __name__ == "__main__":
    main()
