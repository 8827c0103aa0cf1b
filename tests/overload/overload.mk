# SPDX-License-Identifier: Apache-2.0
# The overload lab: the protocol against Sluice and nats-server in turn.
#   make overload              all parts, three rounds       PARTS="policy tenants"  only these
#   make overload QUICK=1      short runs, one round         ROUNDS=n
SUITES         += overload
SUITE_overload  = PYTHONDONTWRITEBYTECODE=1 python3 tests/overload/smoke.py --testing $(TESTING) --sluice $(SLUICE)
NEEDS_overload  = $(SLUICE) $(TESTING) build/bench/loadgen build/bench/overload

LAB := PYTHONDONTWRITEBYTECODE=1 python3 tests/overload/lab.py $(if $(QUICK),--quick) $(if $(ROUNDS),--rounds $(ROUNDS)) $(PARTS)

overload: ## The overload lab: table, JSON and plots in build/overload (PARTS="policy product …" QUICK=1 ROUNDS=n)
	@scripts/deps build bench
	@scripts/go-tools build/go/bin
	@+$(MAKE) --no-print-directory -j$(JOBS) VARIANT=release build/sluice build/release/sluice-testing loadgen
	@$(LAB)

overload-docs: ## Write docs/overload.md and docs/img from the last `make overload`
	@mkdir -p docs/img
	@cp build/overload/overload-*.svg docs/img/
	@{ printf '# The overload lab\nWritten by `make overload-docs` from a run of `make overload`; tests/overload/README.md tells how to read it.\n'; \
	   printf '%s cores, %s.\n```\n' "$$(nproc)" "$$(date -u -r build/overload/table.txt +%F)"; cat build/overload/table.txt; echo '```'; \
	   for f in build/overload/overload-*.svg; do n=$${f##*/}; printf '![%s](img/%s)\n' "$${n%.svg}" "$$n"; done; } >docs/overload.md
	@echo "docs/overload.md"

.PHONY: overload overload-docs
