# SPDX-License-Identifier: Apache-2.0
# Clients of others against the server. `make check-compat` runs all of them; `make test` a choice.
NATSC := build/compat/natsc
SUITES      += natsc natscli gonats
ASAN_SUITES += natsc
TSAN_SUITES += natsc

SUITE_natsc   = $(NATSC) $(SLUICE)
NEEDS_natsc   = $(NATSC) $(SLUICE)
SUITE_natscli = python3 tests/compat/natscli.py $(SLUICE)
NEEDS_natscli = $(SLUICE)
SUITE_gonats  = tests/compat/run-gonats $(SLUICE) build/compat/gonats full
NEEDS_gonats  = $(SLUICE)

$(NATSC): $(wildcard tests/compat/natsc/*.c)
	@mkdir -p $(@D)
	$(call quiet,CC,$@)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -g -pthread -I. $(CPPFLAGS) $(CFLAGS) \
	    $(if $(WERROR),-Werror) $(LDFLAGS) -o $@ $^ -lnats

check-compat: $(NEEDS_natsc)
	@SUITE_gonats='tests/compat/run-gonats $(SLUICE) build/compat/gonats' $(RUN_TESTS) -s natsc -s natscli -s gonats
.PHONY: check-compat
