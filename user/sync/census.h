/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the daemon (census.c) asks the program that looks into fib6 (census.bpf.c).
 */
#ifndef SYNC_CENSUS_H
#define SYNC_CENSUS_H

#include "../rib/level.h"

/* The name of its map: ARRAY of one, mmapable. The daemon writes the question and runs the program.
 */
#define CENSUS_MAP "census"

struct census {
	struct {
		__u8 dst[16], src[16]; /* network order, host bits 0 */
		__u32 table;	       /* RTA_TABLE */
		__u32 metric;
		__u32 dst_len, src_len; /* in bits */
	} level;
	struct {
		struct level_sum sum;
		/*
		 * No dump tells all: something stands between the hops of a multipath set, or these
		 * are unlike in MTU or in having a lifetime, or there are too many to look at.
		 */
		__u32 untellable;
		__u32 zero;
	} answer;
};

#endif
