# SPDX-License-Identifier: GPL-2.0-only
# The generator of demo and benchmarks, and the measuring programs. Included by the Makefile.

GEN_OBJ := $(call obj,tests/bench/gen.c tests/bench/prefixes.c)

$(B)/flood.bpf.o: tests/bench/flood.bpf.c
$(B)/bench.bpf.o: tests/bench/bench.bpf.c

$(B)/flood: $(call obj,tests/bench/flood.c) $(GEN_OBJ) | $(B)/flood.bpf.o
	$(CC) $(CFLAGS) -o $@ $^ -lbpf

$(B)/bench-forward: $(call obj,tests/bench/forward.c) $(GEN_OBJ) | $(B)/bench.bpf.o
	$(CC) $(CFLAGS) -o $@ $^ -lbpf

$(B)/bench-change: $(call obj,tests/bench/change.c tests/bench/prefixes.c)
	$(CC) $(CFLAGS) -o $@ $^ -lbpf -lmnl

# As prerequisites, so that a change of the BPF programs alone is built, too.
.PHONY: demo-programs bench-programs
demo-programs: $(B)/flood $(B)/flood.bpf.o
bench-programs: demo-programs $(B)/bench-forward $(B)/bench.bpf.o $(B)/bench-change
