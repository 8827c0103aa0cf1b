# SPDX-License-Identifier: Apache-2.0
# Sluice: one Makefile, sources by wildcard, one build folder per variant.
VARIANT ?= release
B       := build/$(VARIANT)
ifeq ($(origin CC),default)
CC := gcc
endif
PKGS    := libevent libevent_pthreads jansson libsodium libssl libcrypto sqlite3

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
        -Wformat=2 -Wimplicit-fallthrough -Wundef -Wcast-align -Wswitch-enum -Wvla
WARN += $(if $(WERROR),-Werror)
BASE_CFLAGS := -std=c11 -D_GNU_SOURCE $(WARN) -g -fno-omit-frame-pointer -pthread -I. \
               $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lcrypt -lm -pthread

ifeq ($(VARIANT),release)
VFLAGS := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong
else ifeq ($(VARIANT),asan)
VFLAGS := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
else ifeq ($(VARIANT),tsan)
VFLAGS := -O1 -fsanitize=thread
endif

SRC      := $(wildcard server/*.c server/*/*.c api/*.c api/*/*.c queue/*.c stream/*.c)
LIB_SRC  := $(filter-out server/main.c,$(SRC))
OBJ      := $(SRC:%.c=$(B)/obj/%.o)
# The same sources once more with -DTESTING: fault injection in mem.c, the set-cost endpoint.
TLIB_OBJ := $(LIB_SRC:%.c=$(B)/tobj/%.o)
TEST_SRC := $(shell find tests/unit -name 'test_*.c' 2>/dev/null)
TESTS    := $(TEST_SRC:%.c=$(B)/%)
SUPPORT  := $(wildcard tests/support/*.c)
TSUP_OBJ := $(SUPPORT:%.c=$(B)/tobj/%.o)

all: build/sluice

build/sluice: $(if $(filter release,$(VARIANT)),$(B)/sluice)
	@ln -sf release/sluice build/sluice

$(B)/sluice: $(OBJ)
	$(CC) $(BASE_CFLAGS) $(VFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# The server with the test-only endpoint.
$(B)/sluice-testing: $(TLIB_OBJ) $(B)/tobj/server/main.o
	$(CC) $(BASE_CFLAGS) $(VFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(VFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/tobj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(VFLAGS) $(CFLAGS) -DTESTING -MMD -MP -c -o $@ $<

$(B)/libtest.a: $(TLIB_OBJ) $(TSUP_OBJ)
	@rm -f $@
	@ar rcs $@ $^

$(B)/tests/unit/%: tests/unit/%.c $(B)/libtest.a
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(VFLAGS) $(CFLAGS) -DTESTING -MMD -MP -o $@ $< $(B)/libtest.a -lcmocka $(LIBS)

check-unit: $(TESTS)
	@set -e; for t in $(TESTS); do echo "== $$t"; $$t; done

clean:
	rm -rf build

.PHONY: all check-unit clean
.SECONDARY:
-include $(shell find build -name '*.d' 2>/dev/null)
