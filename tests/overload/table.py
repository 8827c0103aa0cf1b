# SPDX-License-Identifier: Apache-2.0
"""Rows with a bar: what was measured in each round, whether the median holds."""

import statistics

from planes import overload
from report import holds, number


class Row:
    """cells: {column: [value of each round]}; the bar binds for the columns of Sluice's. No
    bound: a value to see."""

    def __init__(self, label, clients, check):
        self.label, self.clients = label, clients
        self.key, self.text, self.sign, self.bound = check
        self.cells = {}

    def add(self, column, runs):
        values = [r["values"][self.key] for r in runs if self.key in r.get("values", {})]
        if values:
            self.cells[column] = values

    def fell(self):
        """The columns of ours whose median misses the bar."""
        if self.bound is None:
            return []
        return [c for c, v in self.cells.items() if c.startswith("Sluice")
                and not holds(statistics.median(v), self.sign, self.bound)]

    def bar(self):
        return "" if self.bound is None else f"{self.sign} {self.bound:g}"

    def json(self):
        return {"label": self.label, "clients": self.clients, "value": self.text,
                "bar": self.bar(), "cells": self.cells, "fell": self.fell()}


def cell(values):
    if not values:
        return "-"
    low, mid, high = min(values), statistics.median(values), max(values)
    if number(low) == number(high):
        return number(mid)
    return f"{number(mid)} ({number(low)}-{number(high)})"


def lines(title, columns, rows):
    """A table; nothing without rows."""
    rows = [r for r in rows if r.cells]
    if not rows:
        return
    wide = max(len(r.label) for r in rows)
    form = f"{{:<{wide}}} {{:<7}} {{:<27}}" + " {:>24}" * len(columns) + "  {:<8} {}"
    yield title
    yield form.format("case", "clients", "value", *columns, "bar", "").rstrip()
    for r in rows:
        fell = r.fell()
        ours = any(c.startswith("Sluice") for c in r.cells)
        verdict = ("MISS: " + ", ".join(c.removeprefix("Sluice: ") for c in fell) if fell
                   else "pass" if ours and r.bound is not None else "")
        yield form.format(r.label, r.clients, r.text, *(cell(r.cells.get(c)) for c in columns),
                          r.bar(), verdict).rstrip()


def errors(results):
    """results: {key: [runs]}"""
    for key, runs in results.items():
        for text in sorted({r["error"] for r in runs if "error" in r}):
            yield f"{' '.join(key) if isinstance(key, tuple) else key}: {text}"


def variants_of(results):
    return [v for v in overload.VARIANTS if any(k[1] == v for k in results)]
