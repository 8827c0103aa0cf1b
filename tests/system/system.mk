# SPDX-License-Identifier: Apache-2.0
# Transcripts and command line scripts, against our server or SERVER_BIN=nats-server; README.md tells how.
SUITES       += system
ASAN_SUITES  += system
TSAN_SUITES  += system
SUITE_system  = tests/system/check $(or $(SERVER_BIN),$(SLUICE))
NEEDS_system  = $(if $(SERVER_BIN),,$(SLUICE))
