# SPDX-License-Identifier: Apache-2.0
BENCH_GROUPS := build/bench/bench_groups

$(BENCH_GROUPS): $(patsubst %.c,build/bench/obj/%.o,tests/bench/bench_groups.c $(wildcard queue/*.c) \
    $(filter-out api/group_json.c api/group_file.c,$(wildcard api/group*.c)) api/match.c api/fullest.c api/wheel.c \
    api/header.c api/jobj.c $(addprefix server/base/,assert.c clock.c hash.c mem.c status.c))
	$(call quiet,LINK,$@)$(CC) -O2 $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ $(LIBS)

bench-groups: $(BENCH_GROUPS) ## What the admission to a workload group costs
	@$(BENCH_GROUPS)

# A short form of it is among the unit tests. The second number: rounds at a limit of one.
STRESS := $(B)/tests/unit/api/test_group_stress $(B)/tests/unit/api/test_gate_race
stress: $(STRESS) ## Groups, accounts, gates, cancels and changes at once (SECONDS=60 each, VARIANT=tsan)
	@for test in $(STRESS); do echo "$$test $(SECONDS)"; $(ENV_$(VARIANT)) $(WRAP) $$test $(SECONDS) $(if $(filter release,$(VARIANT)),10000000) || exit 1; done

.PHONY: bench-groups stress
