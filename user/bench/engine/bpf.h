/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Engines whose lookup is a BPF program: an object of programs NAME_independent, NAME_dependent and
 * NAME_answers (walk.bpf.h), run by BPF_PROG_TEST_RUN. The time of a run is the kernel's own
 * figure: a clock around the system call would count its preparations, which wait for RCU.
 */
#ifndef BENCH_ENGINE_BPF_H
#define BENCH_ENGINE_BPF_H

#include <bpf/libbpf.h>

#include "lookup.h"

/* First member of a side's state. */
struct bpf_side {
	struct bpf_object *object;
	int run[2], dry[2], answers; /* programs; independent, dependent */
	struct walk_packet packet;   /* what each run begins with */
	int netns;		     /* in which programs run; -1: as the caller */
};

struct bpf_engine {
	const char *file;     /* of the object */
	const char *programs; /* NAME */
	/* Before the maps are made: which ones, and their sizes. */
	int (*prepare)(struct lookup_side *side, struct bpf_object *object);
};

/*
 * Load the programs and the addresses. side->state is a new struct of so many bytes, a struct
 * bpf_side at its beginning.
 */
int bpf_side_open(struct lookup_side *side, const struct bpf_engine *engine, size_t bytes);
/* As of struct lookup_engine. */
int bpf_side_measure(struct lookup_side *side, bool dependent, unsigned int threads,
		     uint64_t lookups, struct lookup_times *out);
int bpf_side_answers(struct lookup_side *side, uint32_t *out);

/* The kernel's own account of what a map takes; 0: none. */
uint64_t bpf_map_bytes(int fd);

/* The calling thread moves to another network namespace (-1: a new one), and back. */
int bpf_netns_enter(int netns, int *back);
int bpf_netns_leave(int *back);

#endif
