# SPDX-License-Identifier: Apache-2.0
BENCH_APIQ := build/bench/bench_apiq

$(BENCH_APIQ): $(patsubst %.c,build/bench/obj/%.o,tests/bench/bench_apiq.c $(wildcard queue/*.c) \
    $(addprefix server/base/,assert.c clock.c hash.c mem.c status.c))
	$(call quiet,LINK,$@)$(CC) -O2 $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ $(LIBS)

bench-apiq: $(BENCH_APIQ) ## What a push and a pull of the priority queue cost
	@$(BENCH_APIQ)

.PHONY: bench-apiq
