/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the daemon (census.c) asks the program that looks into fib6 (census.bpf.c).
 */
#ifndef USER_DAEMON_CENSUS_H
#define USER_DAEMON_CENSUS_H

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
		__u32 between; /* something stands between the hops of a multipath set */
		__u32 unlike;  /* these differ in more than their way, or are too many to look at
				*/
	} answer;
};

#endif
