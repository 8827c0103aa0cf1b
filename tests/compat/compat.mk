# SPDX-License-Identifier: Apache-2.0
# Clients of others against the server. `make check-compat` runs all of them; `make test` a choice.
NATSC := build/compat/natsc
REFUSALS := build/compat/refusals
SUITES      += natsc natscli refusals gonats
ASAN_SUITES += natsc
TSAN_SUITES += natsc

SUITE_natsc   = $(NATSC) $(SLUICE)
NEEDS_natsc   = $(NATSC) $(SLUICE)
SUITE_natscli = python3 tests/compat/natscli.py $(SLUICE)
NEEDS_natscli = $(SLUICE)
SUITE_refusals = tests/compat/refusals/run $(TESTING) $(REFUSALS)
NEEDS_refusals = $(TESTING) $(REFUSALS)/natsc
SUITE_gonats  = tests/compat/run-gonats $(SLUICE) build/compat/gonats full
NEEDS_gonats  = $(SLUICE)

$(NATSC): $(wildcard tests/compat/natsc/*.c)
$(REFUSALS)/natsc: tests/compat/refusals/natsc/refusals.c tests/compat/natsc/proc.c
$(NATSC) $(REFUSALS)/natsc: tests/compat/natsc/proc.h
	@mkdir -p $(@D)
	$(call quiet,CC,$@)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -g -pthread -I. $(CPPFLAGS) $(CFLAGS) \
	    $(if $(WERROR),-Werror) $(LDFLAGS) -o $@ $(filter %.c,$^) -lnats

check-compat: $(NEEDS_natsc) $(NEEDS_refusals)
	@SUITE_gonats='tests/compat/run-gonats $(SLUICE) build/compat/gonats' $(RUN_TESTS) -s natsc -s natscli -s refusals -s gonats
.PHONY: check-compat
