# SPDX-License-Identifier: Apache-2.0
"""Reads a transcript into steps; README.md of this folder describes the language."""
import re


class Step:
    """One line of a transcript, with the indented lines that belong to it."""

    def __init__(self, number, text):
        self.number = number
        self.text = text
        self.body = []
        self.only = None


class BadTranscript(Exception):
    """The transcript itself is wrong."""


ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|[rnt0e\\])|\$\{([^}*]*)\*(\d+)\}")
PLAIN = {"e": "", "r": "\r", "n": "\n", "t": "\t", "0": "\0", "\\": "\\"}


def unescape(text):
    """The bytes that a line of a transcript stands for."""

    def one(m):
        if m.group(1):
            return PLAIN[m.group(1)] if m.group(1) in PLAIN else chr(int(m.group(1)[1:], 16))
        return m.group(2).replace("\\r", "\r").replace("\\n", "\n") * int(m.group(3))

    return ESCAPE.sub(one, text).encode("latin-1")


def parse(path):
    """The steps of one transcript."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    steps = []
    i = 0
    while i < len(lines):
        line = lines[i]
        i += 1
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] in " \t":
            if not steps:
                raise BadTranscript("line %d: an indented line belongs to no step" % i)
            steps[-1].body.append(line.strip())
            continue
        step = Step(i, line)
        m = re.match(r"@(sluice|nats-server) (.*)$", line)
        if m:
            step.only, step.text = m.group(1), m.group(2)
        steps.append(step)
    return steps
