# SPDX-License-Identifier: Apache-2.0
"""S14: the reconnect storm, by a program with the official Go client; it is run where it has been built."""

import json
import os
import subprocess

from planes import BenchError, overload
from servers import ROOT

PROGRAM = os.path.join(ROOT, "build/go/bin/storm")
LABEL = "2,000 clients of nats.go, the server restarts"
CHECKS = []


def missing():
    """Why it cannot be run; "" if it can."""
    return "" if os.access(PROGRAM, os.X_OK) else "build/go/bin/storm is not there (it needs Go)"


def measure(binary, quick):
    cmd = [PROGRAM, "--server", binary, "--clients", "50" if quick else "2000", "--json"]
    run = subprocess.run(cmd, capture_output=True, text=True, timeout=600, check=False)
    try:
        return {"values": json.loads(run.stdout)}
    except ValueError:
        raise BenchError(f"storm: {run.stderr.strip()[-300:] or 'no result'}") from None
