/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by a measured program and its driver: lists of addresses, and the packet that carries a
 * thread's state from run to run. */
#ifndef BENCH_ENGINE_WALK_H
#define BENCH_ENGINE_WALK_H

#include "../../../bpf/abi/sixlane.h"

/* Too many for a branch predictor to learn. A power of two. */
#define WALK_ADDRESSES 65536u
/* Lookups of one run: many, to spread the kernel's cost between two runs. */
#define WALK_BATCH 64u

/* Network byte order. An IPv4 address is the first word. */
struct walk_addresses {
	union sixlane_addr at[WALK_ADDRESSES];
};

/* A test run hands the same packet to each of its repetitions. */
struct walk_packet {
	__u32 cursor;	 /* of the next address */
	__u32 zero;	 /* 0, which the compiler does not know */
	__u32 sum;	 /* of the answers, so that the compiler keeps the lookups */
	__u32 ifindex;	 /* for bpf_fib_lookup() */
	__u32 fib_flags; /* the same */
	__u32 list;	 /* of addresses, the thread's own */
};

#endif
