# SPDX-License-Identifier: Apache-2.0
# Sluice: one Makefile; sources by wildcard, so a new file needs no edit here; one folder build/VARIANT
# for each variant. `make help` lists the targets. Knobs: CC=clang, CFLAGS=…, WERROR=1, V=1, JOBS=n,
# UNIT="queue server/net" (only the unit tests below these folders), SHARED=1, prefix=… and DESTDIR=… (install).
#
# A folder of tests adds a suite with three lines in its own .mk (tests/*/*.mk):
#     SUITES       += system                        gives `make check-system`, and a place in `make test`
#     SUITE_system  = tests/system/run $(SLUICE)    a command that prints PASS name | FAIL name | SKIP name reason
#     NEEDS_system  = $(SLUICE)                     what must be built first
#     ASAN_SUITES  += system                        … in `make asan`, and TSAN_SUITES in `make tsan`
# The tools that need Go (nats, nats-server) are on the suite's PATH where Go is; else it prints SKIP.

VARIANT ?= release
B       := build/$(VARIANT)
JOBS    ?= $(shell nproc)
SLUICE   = $(B)/sluice
TESTING  = $(B)/sluice-testing

ifeq ($(origin CC),default)
CC := gcc
endif
PKGS := libevent libevent_pthreads jansson libsodium libssl libcrypto sqlite3

# ---- flags -------------------------------------------------------------------------------------
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
        -Wformat=2 -Wimplicit-fallthrough -Wundef -Wcast-align -Wswitch-enum -Wvla
FLAGS_release  := -O2 -fstack-protector-strong $(if $(filter -O0,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
FLAGS_asan     := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
FLAGS_tsan     := -O1 -fsanitize=thread
FLAGS_coverage := -O0 --coverage
FLAGS_fuzz     := -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
ifeq ($(filter $(VARIANT),release asan tsan coverage fuzz),)
$(error VARIANT is one of: release asan tsan coverage fuzz)
endif

BASE_CFLAGS := -std=c11 -D_GNU_SOURCE $(WARN) -g -fno-omit-frame-pointer -pthread -I. \
               $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
VFLAGS  := $(FLAGS_$(VARIANT))
# The sanitizers define crypt_r themselves and look for the real one: it must be there all the same.
LIBS    := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -Wl,--no-as-needed,-lcrypt,--as-needed -lm
# A release server has its libraries inside where their archives are here: to find and bind the shared ones is a
# third of the time from exec to the first connection. Not libcrypt: it is LGPL. SHARED=1 links all as usual.
archive  = $(if $(wildcard /$(shell $(CC) -print-file-name=lib$1.a)),-l:lib$1.a,-l$1)
INSIDE  := $(if $(SHARED)$(filter-out release,$(VARIANT)),,event_pthreads event jansson sodium sqlite3)
SERVER_LIBS := $(foreach lib,$(INSIDE),$(call archive,$(lib))) $(if $(INSIDE),-lcrypt -lm,$(LIBS))
COMPILE  = $(CC) $(BASE_CFLAGS) $(VFLAGS) $(CPPFLAGS) $(CFLAGS) $(if $(WERROR),-Werror)
LINK     = $(CC) $(VFLAGS) -g -pthread $(CFLAGS) -Wl,--as-needed $(LDFLAGS)

# $(call quiet,CC,file) in front of a command: the short line, or with V=1 the command itself.
quiet = $(if $(V),,@printf '  %-7s %s\n' '$1' '$2';)

# ---- sources -----------------------------------------------------------------------------------
SRC      := $(wildcard server/*.c server/*/*.c api/*.c api/*/*.c queue/*.c stream/*.c)
LIB_SRC  := $(filter-out server/main.c,$(SRC))
OBJ      := $(SRC:%.c=$(B)/obj/%.o)
# The same sources once more with -DTESTING: faults in mem.c, the endpoint with a set cost.
TLIB_OBJ := $(LIB_SRC:%.c=$(B)/tobj/%.o)
TEST_SRC := $(sort $(shell find tests/unit -name 'test_*.c' 2>/dev/null))
TESTS    := $(if $(UNIT),$(foreach u,$(UNIT),$(filter tests/unit/$u%,$(TEST_SRC))),$(TEST_SRC))
TESTS    := $(TESTS:%.c=$(B)/%)
TSUP_OBJ := $(patsubst %.c,$(B)/tobj/%.o,$(wildcard tests/support/*.c))
EXAMPLES := $(patsubst %.c,build/%,$(wildcard examples/*.c))

# ---- build -------------------------------------------------------------------------------------
all: build/sluice $(SLUICE) ## Build the server: build/sluice (the default)

build/sluice: build/release/sluice
	@ln -sf release/sluice $@
ifneq ($(VARIANT),release)
build/release/sluice: FORCE
	@+$(MAKE) --no-print-directory VARIANT=release $@
endif

$(SLUICE): $(OBJ)
	$(call quiet,LINK,$@)$(LINK) -o $@ $^ $(SERVER_LIBS)

# The server with the test-only endpoint.
$(TESTING): $(TLIB_OBJ) $(B)/tobj/server/main.o
	$(call quiet,LINK,$@)$(LINK) -o $@ $^ $(LIBS)

$(B)/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(COMPILE) -MMD -MP -c -o $@ $<

$(B)/tobj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call quiet,CC,$< (testing))$(COMPILE) -DTESTING -MMD -MP -c -o $@ $<

$(B)/libtest.a: $(TLIB_OBJ) $(TSUP_OBJ)
	@rm -f $@
	$(call quiet,AR,$@)ar rcs $@ $^

$(B)/tests/unit/%: tests/unit/%.c $(B)/libtest.a
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(COMPILE) -DTESTING -MMD -MP -o $@ $< $(B)/libtest.a -Wl,--as-needed $(LDFLAGS) -lcmocka $(LIBS)

# Programs written with nats.c know nothing of the rest.
build/examples/%: examples/%.c
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -g $(CPPFLAGS) $(CFLAGS) $(if $(WERROR),-Werror) \
	    $(LDFLAGS) -o $@ $< -lnats

examples: $(EXAMPLES)

# Rebuilds when compiler or flags change; says what to do where a library is missing.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@pkg-config --exists $(PKGS) || { echo "Libraries are missing; 'make deps' installs them." >&2; exit 1; }
	@echo '$(CC) $(BASE_CFLAGS) $(VFLAGS) $(CPPFLAGS) $(CFLAGS) $(SERVER_LIBS)' | cmp -s - $@ || \
	    echo '$(CC) $(BASE_CFLAGS) $(VFLAGS) $(CPPFLAGS) $(CFLAGS) $(SERVER_LIBS)' >$@

# ---- the two commands of the README ------------------------------------------------------------
deps: ## Install what a build needs (apt-get)
	@scripts/deps build

run: ## Install what is missing, build, start the server on 4222 and the monitor on 8222 (ARGS=…)
	@scripts/deps build run
	@+$(MAKE) --no-print-directory -j$(JOBS) all examples
	@scripts/run $(ARGS)

test: ## Install what is missing, build, run every test
	@scripts/deps build run test
	@scripts/go-tools build/go/bin
	@+$(MAKE) --no-print-directory -j$(JOBS) all build-tests
	@+$(MAKE) --no-print-directory check

# ---- tests -------------------------------------------------------------------------------------
include $(wildcard tests/*/*.mk)

ENV_asan := ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1 \
            UBSAN_OPTIONS=print_stacktrace=1
ENV_tsan := TSAN_OPTIONS=suppressions=$(CURDIR)/tests/support/tsan.supp:allocator_may_return_null=1:halt_on_error=1:second_deadlock_stack=1
# The thread sanitizer and a highly randomised address space do not go together.
WRAP     ?= $(if $(filter tsan,$(VARIANT)),$(shell setarch -R true 2>/dev/null && echo setarch -R))
RUN_TESTS = $(ENV_$(VARIANT)) WRAP='$(WRAP)' JOBS=$(JOBS) PATH=$(CURDIR)/build/go/bin:$$PATH \
            tests/support/run-tests $(B)/logs

check: $(TESTS) $(foreach s,$(SUITES),$(NEEDS_$s)) ## Run every test, installing nothing
	@$(RUN_TESTS) $(TESTS) $(SUITES:%=-s %)

check-unit: $(TESTS) ## Run the unit tests (UNIT=folder …)
	@$(RUN_TESTS) $(TESTS)

define suite_rule
check-$1: $$(NEEDS_$1)
	@$$(RUN_TESTS) -s $1
export SUITE_$1
.PHONY: check-$1
endef
$(foreach s,$(SUITES),$(eval $(call suite_rule,$s)))

build-tests: $(TESTS) $(foreach s,$(SUITES),$(NEEDS_$s))

TSAN_UNIT   := queue server/net api
asan: ## Unit tests and ASAN_SUITES under the address and undefined-behaviour sanitizers
	@+$(MAKE) --no-print-directory -j$(JOBS) VARIANT=asan SUITES='$(sort $(ASAN_SUITES))' build-tests
	@+$(MAKE) --no-print-directory VARIANT=asan SUITES='$(sort $(ASAN_SUITES))' check

tsan: ## Unit tests of queue, net and api and TSAN_SUITES under the thread sanitizer
	@+$(MAKE) --no-print-directory -j$(JOBS) VARIANT=tsan UNIT='$(TSAN_UNIT)' SUITES='$(sort $(TSAN_SUITES))' build-tests
	@+$(MAKE) --no-print-directory VARIANT=tsan UNIT='$(TSAN_UNIT)' SUITES='$(sort $(TSAN_SUITES))' check

compile: $(SLUICE) $(TESTS) ## Build the server and the unit tests (CC=clang B=build/clang WERROR=1)

valgrind: build-tests ## Unit tests under valgrind
	@+$(MAKE) --no-print-directory check-unit WRAP='valgrind -q --leak-check=full --error-exitcode=9'

coverage: ## Line coverage of the unit tests (gcovr)
	@scripts/deps build test coverage
	@+$(MAKE) --no-print-directory -j$(JOBS) VARIANT=coverage build-tests
	@find build/coverage -name '*.gcda' -delete
	@+$(MAKE) --no-print-directory VARIANT=coverage check-unit
	@gcovr --root . --filter '(server|api|queue|stream)/' --exclude-unreachable-branches build/coverage

# ---- gates -------------------------------------------------------------------------------------
C_FILES    = $(shell git ls-files '*.c' '*.h')
LINT_FILES = $(SRC) $(TEST_SRC) $(wildcard tests/support/*.c)

gates: format-check check-deps check-headers check-files check-docs ## format-check, check-deps, check-headers, check-files and check-docs

format: ## Format the sources
	@clang-format -i $(C_FILES)

format-check: ## Are the sources formatted?
	@clang-format --dry-run -Werror $(C_FILES)

check-deps: ## Do includes point one way: server, api, queue and stream, server/base?
	@scripts/gates deps

check-headers: ## Does each header compile alone, and is it short?
	@scripts/gates headers $(CC) $(BASE_CFLAGS)

check-files: ## Lengths of files, sleeps in tests, paths of a machine, licence lines
	@scripts/gates files

check-docs: build/sluice ## Do the documents name every option?
	@scripts/gates docs build/sluice

lint: ## clang-tidy over what changed since the last run
	@+$(MAKE) --no-print-directory -k -j$(JOBS) lint-files

lint-files: $(LINT_FILES:%.c=build/lint/%.ok) ## clang-tidy over these alone (LINT_FILES="a.c b.c")

build/lint/%.ok: %.c .clang-tidy tests/.clang-tidy
	@mkdir -p $(@D)
	@$(CC) $(BASE_CFLAGS) -DTESTING -MM -MP -MT $@ -MF $(@:.ok=.d) $<
	$(call quiet,LINT,$<)clang-tidy --quiet $< -- $(BASE_CFLAGS) -DTESTING >$@.log 2>&1 || \
	    { cat $@.log; exit 1; }
	@touch $@

ci: gates lint test ## The cheap gates, then every test

# ---- install -----------------------------------------------------------------------------------
prefix     ?= /usr/local
bindir     ?= $(prefix)/bin
mandir     ?= $(prefix)/share/man
unitdir    ?= $(prefix)/lib/systemd/system
sysconfdir ?= $(if $(filter /usr,$(prefix)),/etc,$(prefix)/etc)

install: build/sluice $(SLUICE) ## Install the server, its unit and its man page (prefix=, DESTDIR=)
	install -D -m 755 build/sluice $(DESTDIR)$(bindir)/sluice
	install -d $(DESTDIR)$(mandir)/man8
	sed -e 's|@sysconfdir@|$(sysconfdir)|g' packaging/sluice.8.in >$(DESTDIR)$(mandir)/man8/sluice.8
	install -d $(DESTDIR)$(unitdir)
	sed -e 's|@bindir@|$(bindir)|g' -e 's|@sysconfdir@|$(sysconfdir)|g' packaging/sluice.service.in \
	    >$(DESTDIR)$(unitdir)/sluice.service
	test -e $(DESTDIR)$(sysconfdir)/sluice/sluice.conf || \
	    install -D -m 644 packaging/sluice.conf $(DESTDIR)$(sysconfdir)/sluice/sluice.conf

uninstall: ## Remove what install put there, but the configuration
	rm -f $(DESTDIR)$(bindir)/sluice $(DESTDIR)$(mandir)/man8/sluice.8 $(DESTDIR)$(unitdir)/sluice.service

# ---- the rest ----------------------------------------------------------------------------------
clean: ## Remove build/
	rm -rf build

help: ## This list
	@awk '/^[a-z-]+:.*##/ { sub(/:.*## */, " "); name = $$1; $$1 = ""; printf "  %-14s%s\n", name, $$0 }' $(MAKEFILE_LIST)
	@for s in $(SUITES); do printf '  %-14s the suite "%s" alone\n' check-$$s $$s; done

FORCE:
.PHONY: FORCE all examples deps run test check check-unit build-tests compile asan tsan valgrind coverage \
        gates format format-check check-deps check-headers check-files check-docs lint lint-files ci \
        install uninstall clean help
.SECONDARY:
-include $(OBJ:.o=.d) $(TLIB_OBJ:.o=.d) $(TSUP_OBJ:.o=.d) $(TESTS:=.d) $(LINT_FILES:%.c=build/lint/%.d)
