# SPDX-License-Identifier: Apache-2.0
# Fuzzers: fuzz_NAME.c has LLVMFuzzerTestOneInput, corpus/NAME/ the inputs to begin with. `make fuzz` looks for more
# with libFuzzer (clang, FUZZ_SECONDS each); the tests replay the corpus with any compiler.
FUZZERS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SECONDS ?= 60

SUITES      += fuzz
ASAN_SUITES += fuzz
SUITE_fuzz = for f in $(FUZZERS); do $(B)/tests/fuzz/replay_$$f fuzz/$$f tests/fuzz/corpus/$$f || echo "FAIL fuzz/$$f"; done
NEEDS_fuzz = $(FUZZERS:%=$(B)/tests/fuzz/replay_%)

$(B)/tests/fuzz/replay_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c $(B)/libtest.a
	@mkdir -p $(@D)
	$(call quiet,CC,$@)$(COMPILE) -DTESTING -o $@ $< tests/fuzz/replay.c $(B)/libtest.a $(LDFLAGS) $(LIBS)

$(B)/tests/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(B)/libtest.a
	@mkdir -p $(@D)
	$(call quiet,CC,$@)$(COMPILE) -fsanitize=fuzzer -DTESTING -o $@ $< $(B)/libtest.a $(LDFLAGS) $(LIBS)

fuzz-build: $(FUZZERS:%=$(B)/tests/fuzz/fuzz_%)

fuzz: ## Look for inputs that break the parsers (clang, FUZZ_SECONDS=60 each)
	@scripts/deps build fuzz
	@+$(MAKE) --no-print-directory -j$(JOBS) VARIANT=fuzz CC=clang fuzz-build
	@for f in $(FUZZERS); do \
	    mkdir -p build/fuzz/found/$$f; \
	    build/fuzz/tests/fuzz/fuzz_$$f -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 \
	        -artifact_prefix=build/fuzz/$$f- build/fuzz/found/$$f tests/fuzz/corpus/$$f || exit 1; \
	done
.PHONY: fuzz fuzz-build
