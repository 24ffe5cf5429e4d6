/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Engines whose lookup is a BPF program: an object of programs NAME_independent, NAME_dependent
 * and NAME_answers with the loop of lookup_walk.h, run by BPF_PROG_TEST_RUN. What time a run takes
 * is the kernel's own word, since a clock around the system call would also count its
 * preparations, which wait for RCU.
 */
#ifndef BENCH_BPF_H
#define BENCH_BPF_H

#include <bpf/libbpf.h>

#include "../bench.h"

/* state of a side */
struct bench_bpf {
	struct bpf_object *object;
	int run[BENCH_N_MODES], dry[BENCH_N_MODES], answers; /* programs, the object's */
	struct bench_packet packet;			     /* what each run begins with */
	int netns; /* in which the programs run; -1: as the caller */
	void *own; /* the engine's, freed by the function before the object is closed */
	void (*free_own)(void *own);
};

struct bench_bpf_engine {
	const char *file;     /* of the object */
	const char *programs; /* NAME */
	/* Before the maps are made: their sizes. */
	int (*prepare)(struct bench_side *side, struct bench_bpf *bpf);
	/* All routes; what this takes is the time of the insertion, unless it sets insert_ns. */
	int (*fill)(struct bench_side *side, struct bench_bpf *bpf);
	const char *arena_file; /* in place of file where the kernel has arenas; NULL: file */
};

/* By the engine's bpf. */
int bench_bpf_open(struct bench_side *side);
int bench_bpf_measure(struct bench_side *side, enum bench_mode mode, unsigned int threads,
		      uint64_t lookups, struct bench_time *out);
int bench_bpf_answers(struct bench_side *side, uint32_t *out);
void bench_bpf_close(struct bench_side *side);

/* The object's map of this name, which it has. */
struct bpf_map *bench_bpf_map(const struct bench_bpf *bpf, const char *name);
/* The kernel's own account of what a map takes; 0: none. */
uint64_t bench_bpf_map_bytes(int fd);
/* The same of the pages that this process has of what it mapped there. */
uint64_t bench_bpf_mapped_bytes(const void *at);

/* What a run took: the mean of all threads, and that of the one that took longest. */
struct bench_runs {
	double mean_ns, longest_ns;
};
/* Run a program so often on each of so many threads at once, each on its own CPU. */
int bench_run(int prog, const struct bench_packet *packet, unsigned int threads, uint32_t repeat,
	      struct bench_runs *out);

#endif
