/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory for what is rare and large, so that the stack of the way that all packets go stays small:
 * the verifier adds up a chain of calls, whichever way a packet goes, and allows 512 bytes.
 *
 * Each CPU has one piece. Where softirqs can be preempted (PREEMPT_RT without the lock around
 * them) two packets may want it at a time: the second one does not get it, and is the kernel's.
 */
#ifndef SIXLANE_SCRATCH_H
#define SIXLANE_SCRATCH_H

#include "maps.h"

#define SCRATCH_WORDS 12

struct scratch {
	__u64 is_taken;
	__u64 words[SCRATCH_WORDS];
};

/* Not pinned: nobody else has a use for it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} sl_scratch SEC(".maps");

/* This CPU's, until scratch_give(); what stands there is of an earlier packet. NULL: it is taken.
 */
static __always_inline struct scratch *scratch_take(void)
{
	struct scratch *scratch;
	__u32 zero = 0;

	scratch = bpf_map_lookup_elem(&sl_scratch, &zero);
	if (!scratch || __sync_lock_test_and_set(&scratch->is_taken, 1))
		return NULL;
	return scratch;
}

static __always_inline void scratch_give(struct scratch *scratch)
{
	WRITE_ONCE(scratch->is_taken, 0);
}

#endif
