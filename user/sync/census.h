/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the iterator over fib6 (census.bpf.c) hands to the daemon (census.c).
 */
#ifndef SYNC_CENSUS_H
#define SYNC_CENSUS_H

#include <linux/types.h>

/* The name of its map: ARRAY, mmapable, filled from the front; the first of n 0 ends it. */
#define CENSUS_LEVELS "census_levels"

/* Several of fib6's routes of one destination, source and metric, in one table. */
struct census_level {
	__u8 dst[16], src[16]; /* network order */
	__u32 table;	       /* RTA_TABLE */
	__u32 metric;
	__u32 n; /* the hops of a multipath set one by one */
	__u8 dst_len, src_len;
	__u16 zero;
};

#endif
