# SPDX-License-Identifier: GPL-2.0-only
# The generator of demo and benchmarks, and the measuring programs. Included by the Makefile.

GEN_OBJ := $(call obj,tests/bench/gen.c tests/bench/prefixes.c)

BENCH_PROGRAMS := $(addprefix $(B)/,flood flood.bpf.o bench-forward bench.bpf.o bench-change \
	bench-kinds kinds.bpf.o)

# Lookups are measured beside those of DPDK only where that is installed.
ifeq ($(shell pkg-config --exists libdpdk 2>/dev/null && echo yes),yes)
BENCH_PROGRAMS += $(B)/bench-dpdk
endif

# A test run does not measure, but what measures must build.
check-programs: $(BENCH_PROGRAMS)

$(B)/flood.bpf.o $(B)/bench.bpf.o $(B)/kinds.bpf.o: $(B)/%.bpf.o: tests/bench/%.bpf.c
	@mkdir -p $(@D)
	@echo "  BPF   $@"
	@$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(B)/flood: $(call obj,tests/bench/flood.c) $(GEN_OBJ) | $(B)/flood.bpf.o
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ -lbpf

$(B)/bench-forward: $(call obj,tests/bench/forward.c tests/bench/side.c) $(GEN_OBJ) | $(B)/bench.bpf.o
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ -lbpf

$(B)/bench-change: $(call obj,tests/bench/change.c tests/bench/prefixes.c)
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ -lbpf -lmnl

$(B)/bench-kinds: $(call obj,tests/bench/kinds.c) $(GEN_OBJ) | $(B)/kinds.bpf.o
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ -lbpf -pthread

# DPDK's own flags choose its instructions; of its many libraries these are enough.
$(B)/bench-dpdk: tests/bench/dpdk.c user/bench/dpdk.h user/bench/lookup.h user/bench/user_walk.h
	@mkdir -p $(@D)
	@echo "  CC    $@"
	@$(CC) -O2 -g -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $$(pkg-config --cflags libdpdk) -o $@ $< \
		-Wl,--as-needed -lrte_fib -lrte_rib -lrte_lpm -lrte_eal
