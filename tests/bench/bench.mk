# SPDX-License-Identifier: Apache-2.0
# Benchmarks: the load generator, the comparison with nats-server, the plots of the README.
#   make bench                 all cases, three rounds        CASES="p2p S3 storm_default"  only these
#   make bench QUICK=1         short runs, one round          ROUNDS=n
LOADGEN     := build/bench/loadgen
LOADGEN_SRC := $(wildcard tests/bench/loadgen/*.c)
LOADGEN_OBJ := $(LOADGEN_SRC:%.c=build/bench/obj/%.o) \
               $(addprefix build/bench/obj/server/base/,assert.o buf.o clock.o mem.o status.o)

# The load of the overload protocol as a program of its own, for servers anywhere.
OVERLOAD     := build/bench/overload
OVERLOAD_OBJ := $(patsubst %.c,build/bench/obj/%.o,$(wildcard tests/bench/tool/*.c)) \
                $(filter-out %/main.o %/modes.o %/opts.o %/flood.o %/pubsub.o $(patsubst %.c,build/bench/obj/%.o,$(wildcard tests/bench/loadgen/mode_*.c)),$(LOADGEN_OBJ))

build/bench/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) $(BASE_CFLAGS) -O2 $(CFLAGS) $(if $(WERROR),-Werror) -MMD -MP -c -o $@ $<

$(LOADGEN): $(LOADGEN_OBJ)
	$(call quiet,LINK,$@)$(CC) -O2 $(CFLAGS) $(LDFLAGS) -o $@ $^ -ljansson -lm

$(OVERLOAD): $(OVERLOAD_OBJ)
	$(call quiet,LINK,$@)$(CC) -O2 $(CFLAGS) $(LDFLAGS) -o $@ $^ -ljansson -lm

-include $(LOADGEN_OBJ:.o=.d) $(OVERLOAD_OBJ:.o=.d)

loadgen: $(LOADGEN) $(OVERLOAD)

BENCH := python3 tests/bench/bench.py $(if $(QUICK),--quick) $(if $(ROUNDS),--rounds $(ROUNDS)) $(CASES)

bench: ## Compare with nats-server: table, JSON and plots in build/bench (CASES="p2p S3 …" QUICK=1 ROUNDS=n)
	@scripts/deps build bench
	@scripts/go-tools build/go/bin
	@+$(MAKE) --no-print-directory -j$(JOBS) VARIANT=release build/sluice build/release/sluice-testing $(LOADGEN)
	@$(BENCH)

bench-docs: ## Write docs/bench.md and docs/img from the last `make bench`
	@mkdir -p docs/img
	@cp build/bench/*.svg docs/img/
	@{ printf '# Figures\nWritten by `make bench-docs` from a run of `make bench`; tests/bench/README.md tells how to read them.\n'; \
	   printf '%s cores, %s.\n```\n' "$$(nproc)" "$$(date -u -r build/bench/table.txt +%F)"; cat build/bench/table.txt; echo '```'; \
	   for f in build/bench/*.svg; do n=$${f##*/}; printf '![%s](img/%s)\n' "$${n%.svg}" "$$n"; done; } >docs/bench.md
	@echo "docs/bench.md"

bench-gate: build/sluice $(LOADGEN) ## A service under overload with and without a gate: goodput in parts of its capacity
	@python3 tests/bench/gate.py

.PHONY: bench bench-docs bench-gate loadgen
