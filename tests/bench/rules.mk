# SPDX-License-Identifier: GPL-2.0-only
# The generator of demo and benchmarks, and the measuring programs. Included by the Makefile.

# Of the bench's own: tables of prefixes, and what makes packets and counts them.
TABLE_OBJ := $(call obj,$(addprefix user/,bench/common.c bench/table.c bench/table_file.c rib/prefix.c rib/radix.c lib/input.c lib/log.c))
GEN_OBJ := $(call obj,tests/bench/draw.c $(addprefix user/bench/forward/,forward_pattern.c frame.c gen.c sink.c)) $(TABLE_OBJ)

BENCH_PROGRAMS := $(addprefix $(B)/,flood bench-forward bench-change bench-kinds kinds.bpf.o)

# Lookups are measured beside those of DPDK only where that is installed.
ifeq ($(shell pkg-config --exists libdpdk 2>/dev/null && echo yes),yes)
BENCH_PROGRAMS += $(B)/bench-dpdk
endif

# A test run does not measure, but what measures must build.
check-programs: $(BENCH_PROGRAMS)

$(B)/kinds.bpf.o: $(B)/%.bpf.o: tests/bench/%.bpf.c Makefile
	@mkdir -p $(@D)
	@echo "  BPF   $@"
	@$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(B)/flood: $(call obj,tests/bench/flood.c) $(GEN_OBJ) | $(B)/bench-flood.bpf.o
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ -lbpf -lm -pthread

$(B)/bench-forward: $(call obj,tests/bench/forward.c tests/bench/side.c user/bench/forward/forward_side.c) $(GEN_OBJ) \
		| $(B)/bench-forward.bpf.o
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ -lbpf -lm -pthread

$(B)/bench-change: $(call obj,tests/bench/change.c) $(TABLE_OBJ)
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ -lbpf -lmnl

$(B)/bench-kinds: $(call obj,tests/bench/kinds.c) $(GEN_OBJ) | $(B)/kinds.bpf.o
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ -lbpf -lm -pthread

# DPDK's own flags choose its instructions; of its many libraries these are enough.
$(B)/bench-dpdk: tests/bench/dpdk.c $(addprefix user/bench/lookup/,dpdk.h lookup.h user_walk.h)
	@mkdir -p $(@D)
	@echo "  CC    $@"
	@$(CC) -O2 -g -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $$(pkg-config --cflags libdpdk) -o $@ $< \
		-Wl,--as-needed -lrte_fib -lrte_rib -lrte_lpm -lrte_eal
