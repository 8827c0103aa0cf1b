# SPDX-License-Identifier: Apache-2.0
# Benchmarks: the load generator, the comparison with nats-server, the plots of the README.
#   make bench                 all cases, three rounds        CASES="p2p S3"  only these
#   make bench QUICK=1         short runs, one round          ROUNDS=n
LOADGEN     := build/bench/loadgen
LOADGEN_SRC := $(wildcard tests/bench/loadgen/*.c)
LOADGEN_OBJ := $(LOADGEN_SRC:%.c=build/bench/obj/%.o) \
               $(addprefix build/bench/obj/server/base/,assert.o buf.o clock.o mem.o status.o)

build/bench/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) $(BASE_CFLAGS) -O2 $(CFLAGS) $(if $(WERROR),-Werror) -MMD -MP -c -o $@ $<

$(LOADGEN): $(LOADGEN_OBJ)
	$(call quiet,LINK,$@)$(CC) -O2 $(CFLAGS) $(LDFLAGS) -o $@ $^ -ljansson -lm

loadgen: $(LOADGEN)
