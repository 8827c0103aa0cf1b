# SPDX-License-Identifier: Apache-2.0
"""S14: the reconnect storm of ../bench/storm, 2,000 clients of the official Go client."""

import importlib.util
import shutil

from planes import overload

LABEL = "2,000 clients of nats.go, the server restarts"
CHECKS = [overload.at_most("ratio", "all back, / nats-server's", 0.5),
          ("all_s", "all watch and fetch, s", "", None),
          ("errors", "errors told to clients", "", None)]


def missing():
    """Why it cannot be run; "" if it can."""
    if importlib.util.find_spec("storm") is None:
        return "its program is not among the sources"
    return "" if shutil.which("go") else "it needs Go"


def measure(binary, quick):
    import storm  # only where it is
    return storm.measure("storm_default", binary, quick)


def compare(ours, theirs):
    """Sets the ratio in the runs of ours, round by round."""
    for a, b in zip(ours, theirs):
        if "values" in a and "values" in b and b["values"]["all_s"] > 0:
            a["values"]["ratio"] = a["values"]["all_s"] / b["values"]["all_s"]
