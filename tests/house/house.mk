# SPDX-License-Identifier: Apache-2.0
# What the README promises: its configuration, `make run`, `make install`.
SUITES       += house
SUITE_house   = tests/house/check $(SLUICE)
NEEDS_house   = build/sluice $(SLUICE) $(EXAMPLES)
