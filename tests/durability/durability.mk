# SPDX-License-Identifier: Apache-2.0
# Nothing acknowledged is lost: the server is killed at random moments under load. ROUNDS=200 for the long run.
ROUNDS            ?= 20
SUITES            += durability
SUITE_durability   = PYTHONDONTWRITEBYTECODE=1 python3 tests/durability/kill9.py --server $(SLUICE) --rounds $(ROUNDS)
NEEDS_durability   = $(SLUICE)
