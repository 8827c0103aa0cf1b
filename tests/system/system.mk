# SPDX-License-Identifier: Apache-2.0
# Transcripts and command line scripts, against our server or SERVER_BIN=nats-server; README.md tells how.
SUITES       += system
ASAN_SUITES  += system
TSAN_SUITES  += system
SUITE_system  = tests/system/check $(or $(SERVER_BIN),$(SLUICE) $(TESTING))
NEEDS_system  = $(if $(SERVER_BIN),,$(SLUICE) $(TESTING))

# Every view of the monitor beside nats-server's.
SUITES        += monitor
SUITE_monitor  = tests/system/monitor/compare.py --server $(SLUICE)
NEEDS_monitor  = $(SLUICE)

# A client that obeys refusals; the examples are written with nats.c.
SUITES       += retry
SUITE_retry   = tests/system/retry.py --server $(TESTING)
NEEDS_retry   = $(TESTING) $(EXAMPLES)

# The nats command line's JetStream.
SUITES       += natsjs
SUITE_natsjs  = python3 tests/system/natsjs.py $(or $(SERVER_BIN),$(SLUICE))
NEEDS_natsjs  = $(if $(SERVER_BIN),,$(SLUICE))

# Requests of the JetStream API, judged beside nats-server.
SUITES       += jsapi
SUITE_jsapi   = python3 tests/system/jsapi/judge.py $(SLUICE)
NEEDS_jsapi   = $(SLUICE)

# Malformed requests of all kinds, made from a table.
SUITES       += jsedge
SUITE_jsedge  = python3 tests/system/jsapi/edge.py $(SLUICE)
NEEDS_jsedge  = $(SLUICE)

# Conversations with JetStream, the same with nats-server.
SUITES       += jstalk
SUITE_jstalk  = python3 tests/system/jsapi/talk.py $(SLUICE)
NEEDS_jstalk  = $(SLUICE)

# Streams move between nats-server and ours, both ways.
SUITES         += jsmigrate
SUITE_jsmigrate = python3 tests/system/jsapi/migrate.py $(SLUICE)
NEEDS_jsmigrate = $(SLUICE)

# Everything at once, under the sanitizers and in the release build; each ends with a clean exit.
SECONDS ?= 60
soak: ## A server under everything at once, per build: release, asan, tsan (SECONDS=60 each)
	@+$(MAKE) --no-print-directory -j$(JOBS) VARIANT=release build/release/sluice
	@+$(MAKE) --no-print-directory -j$(JOBS) VARIANT=asan build/asan/sluice
	@+$(MAKE) --no-print-directory -j$(JOBS) VARIANT=tsan build/tsan/sluice
	@PYTHONDONTWRITEBYTECODE=1 tests/soak/soak.py --name soak/release --seconds $(SECONDS) --check-memory --server build/release/sluice
	@PYTHONDONTWRITEBYTECODE=1 $(ENV_asan) tests/soak/soak.py --name soak/asan --seconds $(SECONDS) --server build/asan/sluice
	@PYTHONDONTWRITEBYTECODE=1 $(ENV_tsan) WRAP='$(shell setarch -R true 2>/dev/null && echo setarch -R)' \
	    tests/soak/soak.py --name soak/tsan --seconds $(SECONDS) --server build/tsan/sluice
	@PYTHONDONTWRITEBYTECODE=1 tests/soak/jetstream.py --name soak/jetstream-release --seconds $(SECONDS) --server build/release/sluice
	@PYTHONDONTWRITEBYTECODE=1 $(ENV_asan) tests/soak/jetstream.py --name soak/jetstream-asan --seconds $(SECONDS) --server build/asan/sluice
	@PYTHONDONTWRITEBYTECODE=1 $(ENV_tsan) WRAP='$(shell setarch -R true 2>/dev/null && echo setarch -R)' tests/soak/jetstream.py --name soak/jetstream-tsan --sync 2m --seconds $(SECONDS) --server build/tsan/sluice
.PHONY: soak
