/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between `sixlane bench lookup` and bench-dpdk, a program of its own, so that only those who
 * measure need DPDK: the table in shared memory (descriptor BENCH_DPDK_MEMORY), questions on the
 * standard input, an answer to each on the standard output, and one before all of them when the
 * table is filled. It ends when its input does.
 */
#ifndef BENCH_DPDK_H
#define BENCH_DPDK_H

#include "../../rib/object.h"
#include "lookup.h"

#define BENCH_DPDK_MEMORY 3

struct bench_dpdk_table {
	struct bench_addresses addresses;
	struct bench_answers answers;
	uint64_t n;
	struct prefix prefixes[]; /* in order; their values are 1, 2, … */
};

enum bench_dpdk_what {
	BENCH_DPDK_INDEPENDENT,
	BENCH_DPDK_DEPENDENT,
	BENCH_DPDK_ANSWERS, /* into the shared memory */
};

struct bench_dpdk_question {
	uint32_t what;
	uint32_t cursor;  /* of the first address */
	uint64_t lookups; /* BENCH_ADDRESSES for the answers */
};

struct bench_dpdk_answer {
	double gross_ns, dry_ns; /* of one lookup, and of a loop without any */
	uint64_t insert_ns;	 /* with the first answer */
	uint64_t bytes;		 /* the same */
};

#endif
