/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a measured program and its driver share: lists of addresses, and the packet that carries the
 * state of a thread from one run to the next.
 */
#ifndef BENCH_ENGINE_WALK_H
#define BENCH_ENGINE_WALK_H

#include "../../../bpf/abi/sixlane.h"

/* So many that no branch predictor learns their sequence. A power of two. */
#define WALK_ADDRESSES 65536u
/* Lookups of one run of a program: many, since the kernel's own work between two runs is one. */
#define WALK_BATCH 64u

/* A place in so many bytes of memory, which hangs on the address alone. */
static inline __u32 walk_offset(const union sixlane_addr *addr, __u32 bytes)
{
	__u64 hash = (addr->halves[0] ^ addr->halves[1]) * 0x9e3779b97f4a7c15ull;

	return (hash >> 32) * bytes >> 32;
}

/* Network byte order. An IPv4 address is the first word. */
struct walk_addresses {
	union sixlane_addr at[WALK_ADDRESSES];
};

/* Values of routes; 0: none. */
struct walk_answers {
	__u32 at[WALK_ADDRESSES];
};

/* A test run hands the same packet to each of its repetitions. */
struct walk_packet {
	__u32 cursor;	 /* of the next address */
	__u32 zero;	 /* 0, which the compiler does not know */
	__u32 sum;	 /* of the answers, so that the compiler keeps the lookups */
	__u32 ifindex;	 /* for bpf_fib_lookup() */
	__u32 fib_flags; /* the same */
	__u32 list;	 /* of addresses, the thread's own */
	__u32 reserved[10];
};

#endif
