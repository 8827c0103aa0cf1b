#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Configuration files judged by ours and by nats-server: run.py --server BIN. Prints PASS name | FAIL name reason |
SKIP name reason.

Each case of cases.txt goes through `-t -c a.conf` of both. They must end with the same exit code and tell the same:
"valid" with the same digest, or the same errors at the same places. Allowed is: another order (the reference has none); a
place where the reference gives none; a further line of the reference about what its first error broke."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from server import find_binary, flavour  # noqa: E402

TIMEOUT = float(os.environ.get("STEP_TIMEOUT", "20"))
PLACE = re.compile(r"^[\w./-]+:\d+:\d+: ")


class Case:
    def __init__(self, title):
        words = title.split()
        self.start = words[-1] == "start" and len(words) > 1
        self.env = dict(w.split("=", 1) for w in words if "=" in w)
        self.name = " ".join(w for w in words if "=" not in w)
        if self.start:
            self.name = self.name[:-len(" start")]
        self.files = {"a.conf": ""}


def read_cases():
    cases = []
    name = None
    with open(os.path.join(HERE, "cases.txt"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("=== "):
                cases.append(Case(line[4:].strip()))
                name = "a.conf"
            elif line.startswith("@@ "):
                name = line[3:].strip()
                cases[-1].files[name] = ""
            elif cases:
                cases[-1].files[name] += line
    return cases


def judge(binary, case, directory):
    """(exit code, lines told without the program's name)"""
    flags = ["-p", "-1"] if case.start else ["-t"]
    done = subprocess.run([binary, *flags, "-c", "a.conf"], cwd=directory, capture_output=True, text=True, timeout=TIMEOUT,
                          stdin=subprocess.DEVNULL, env=dict(os.environ, **case.env), check=False)
    lines = [line for line in done.stderr.split("\n") if line]
    if lines:
        lines[0] = re.sub(r"^[\w-]+: ", "", lines[0], count=1)
    # Where the file ends too early the reference prints the NUL that stands for the end.
    return done.returncode, [line.replace("'\0'", "'EOF'") for line in lines]


def difference(ours, reference):
    if ours[0] != reference[0]:
        return "exit code %d, reference %d: %s | %s" % (ours[0], reference[0], ours[1], reference[1])
    missing = list(reference[1])
    for line in ours[1]:
        if line in missing:
            missing.remove(line)
        elif PLACE.sub("", line) in missing:
            missing.remove(PLACE.sub("", line))
        else:
            return "told: %s, reference: %s" % (line, " | ".join(reference[1]))
    missing = [line for line in missing if "runtime error: " not in line]
    return "not told: %s" % " | ".join(missing) if missing else None


def main():
    parser = argparse.ArgumentParser(description="configuration files, ours against the reference")
    parser.add_argument("--server", default=os.environ.get("SERVER_BIN", "build/sluice"))
    parser.add_argument("--reference", default="nats-server")
    parser.add_argument("names", nargs="*", help="only cases whose name has one of these")
    args = parser.parse_args()
    binary = find_binary(args.server)
    reference = shutil.which(args.reference)
    if binary is None:
        sys.exit("no such server: %s" % args.server)
    why = ("it compares ours with the reference" if flavour(binary) != "sluice" else
           "there is no nats-server" if reference is None else None)
    if why:
        print("SKIP config", why)
        return 0
    failed = 0
    for case in read_cases():
        if args.names and not any(n in case.name for n in args.names):
            continue
        with tempfile.TemporaryDirectory(prefix="config-") as directory:
            for name, text in case.files.items():
                with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
                    f.write(text)
            diff = difference(judge(binary, case, directory), judge(reference, case, directory))
        if diff:
            failed += 1
            print("FAIL config/%s %s" % (case.name.replace(" ", "_"), diff), flush=True)
        else:
            print("PASS config/%s" % case.name.replace(" ", "_"), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
