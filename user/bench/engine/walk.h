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
