#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh SERVER_BIN [PACKAGES] [TEST-REGEX]
#
# Runs the integration tests of the official Go client (nats.go 1.53.1) against
# servers started from SERVER_BIN, one test function at a time.
#
#   SERVER_BIN   a server that takes nats-server's -c FILE
#   PACKAGES     test, jetstream/test, micro/test: one or more, separated by
#                commas; default (or "all"): all three
#   TEST-REGEX   only the tests whose name matches (Go regular expression)
#
# Output, one line a test:    PASS|FAIL|SKIP|TIMEOUT package/Test seconds
# and the last one:           N passed, N failed, N skipped   (TIMEOUT: failed)
# The same goes to results.tsv in the current directory: package, test, result,
# seconds, tries, reason.
# Exit status: 0 the run was completed, 2 it was not.
#
# Environment:
#   GROUP=a,b    only the tests of these feature groups (column 3 of groups.tsv)
#   RETRY=N      run a test that does not pass up to N more times   (default 0)
#   JOBS=N       N tests at once                                    (default 1)
#   LIMIT=60s    time limit for one test                          (default 60s)
#   LOGS=DIR     where, by package, the output of tests that do not pass, their
#                servers' logs and the tester's journal go; what an earlier run
#                left there is removed               (default ./gonats-logs)
#   CONFIGS=DIR  keep every configuration file that the servers were given
#   RESULTS=FILE instead of results.tsv
#   SYNC=2m      sync_interval of the servers with JetStream   (default: theirs)
#   LIST=1       only print the tests that would run
#   BUILD=DIR    where the programs are built     (default: one below $TMPDIR)
set -eu
export LC_ALL=C

usage() { sed -n '4,/^set -eu/{/^set -eu/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2; exit 2; }
die()   { echo "run.sh: $*" >&2; exit 2; }

[ $# -ge 1 ] && [ $# -le 3 ] || usage
case $1 in -h|--help) usage ;; esac

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
server=$(command -v -- "$1") || die "$1 is not a program"
case $server in /*) ;; *) server=$PWD/$server ;; esac
command -v go >/dev/null || die "Go is needed to build the tests"

build=${BUILD:-${TMPDIR:-/tmp}/gonats-build-$(id -u)}
logs=${LOGS:-$PWD/gonats-logs}
mkdir -p "$build"

# Nothing from the caller's workspace or flags may change what is built.
export GOWORK=off GOFLAGS=-buildvcs=false CGO_ENABLED=0
(cd "$here" && go build -o "$build/" ./tester ./runner) || die "the tester does not build"

if [ -z "${LIST:-}" ]; then
    mkdir -p "$logs"
    find "$logs" -path "$logs/gonats-*" -type f \( -name '*.log' -o -name events.tsv \) -delete
fi

exec "$build/runner" -home "$here" -groups "$here/groups.tsv" \
    -server "$server" -tester "$build/tester" -build "$build" \
    -packages "${2:-}" -tests "${3:-}" -group "${GROUP:-}" \
    -out "${RESULTS:-results.tsv}" -logs "$logs" ${CONFIGS:+-configs "$CONFIGS"} \
    -retry "${RETRY:-0}" -jobs "${JOBS:-1}" -limit "${LIMIT:-60s}" ${LIST:+-list}
