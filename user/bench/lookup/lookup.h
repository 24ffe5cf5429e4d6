/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the measured program and its driver share: the array of addresses, and the packet that
 * carries the state of one thread from one run to the next. Knows no engine.
 */
#ifndef BENCH_LOOKUP_H
#define BENCH_LOOKUP_H

#include "../../../bpf/abi/sixlane.h"

/* So many that no branch predictor learns their sequence. A power of two. */
#define BENCH_ADDRESSES 65536u
/* Lookups of one run of a program: many, since the kernel's own work between two runs is the
 * same for one. */
#define BENCH_BATCH 64u

/* Of memory that a lookup of compiled-load reads one of: 8 MB. */
#define BENCH_BESIDE_LINES 131072u
struct bench_line {
	__u64 words[8];
};

/* Where in so many bytes of memory an address is to load from, if it is to be anywhere. */
static inline __u32 bench_offset(const union sixlane_addr *addr, __u32 bytes)
{
	__u64 hash = (addr->halves[0] ^ addr->halves[1]) * 0x9e3779b97f4a7c15ull;

	return (hash >> 32) * bytes >> 32;
}

/* An IPv4 address is the first word. Network order. */
struct bench_addresses {
	union sixlane_addr at[BENCH_ADDRESSES];
};

struct bench_answers {
	__u32 at[BENCH_ADDRESSES];
};

/* Test runs hand the same packet to each run. */
struct bench_packet {
	__u32 cursor;	 /* of the next address */
	__u32 zero;	 /* which the compiler does not know */
	__u32 sum;	 /* of the answers, which otherwise nobody would want */
	__u32 ifindex;	 /* for bpf_fib_lookup */
	__u32 fib_flags; /* the same */
	__u32 list;	 /* of addresses, the thread's own */
	__u32 reserved[10];
};

#endif
