# SPDX-License-Identifier: Apache-2.0
# Nothing acknowledged is lost: the server is killed at random moments under load (ROUNDS=200 LIMIT=1800 for the long run), and its store
# takes no writes for a while.
SUITES            += durability
KILL9              = PYTHONDONTWRITEBYTECODE=1 python3 tests/durability/kill9.py --server $(SLUICE) --rounds $(or $(ROUNDS),20)
SUITE_durability   = $(KILL9) && $(KILL9) --sync 2m
NEEDS_durability   = $(SLUICE)

SUITES         += fulldisk
SUITE_fulldisk  = PYTHONDONTWRITEBYTECODE=1 python3 tests/durability/fulldisk.py $(SLUICE)
NEEDS_fulldisk  = $(SLUICE)
