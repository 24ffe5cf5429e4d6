/* SPDX-License-Identifier: GPL-2.0-only */
/* What agree.bpf.c and the tests that run it share. */
#ifndef TESTS_BPF_AGREE_H
#define TESTS_BPF_AGREE_H

#include "../../bpf/abi/sixlane.h"

#define AGREE_PROBES 16384u
#define AGREE_BATCH 1024u /* one run's */

/* An address to be looked up in a table, and what came of it; compiled may be AGREE_UNKNOWN. */
struct agree_probe {
	union sixlane_addr addr;
	__u32 table;
	__u32 trie, compiled; /* of the program agree */
	/* Written by the program follow. which: the probe whose address it asked for. */
	__u32 which, found, before, after;
};

/* The compiled FIB has no answer, and the trie is asked. */
#define AGREE_UNKNOWN SIXLANE_FIB_NODE

struct agree_state {
	__u32 next;	/* probe, of the next run */
	__u32 finished; /* changes, … */
	__u32 started;	/* … and those of which the last may be under way */
	__u32 hot;	/* a probe under the prefix that the last of these changes */
	__u32 inside;	/* the program linger is at it */
};

#endif
