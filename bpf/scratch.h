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
	__u64 users; /* packets that hold it, or ask whether they may */
	__u64 words[SCRATCH_WORDS];
};

/* Not pinned: nobody else has a use for it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} sl_scratch SEC(".maps");

/* An atomic addition and no exchange: the JIT of Linux 5.15 for arm64 has no other. In assembly,
 * since clang may make it one that fetches. */
static __always_inline void scratch_add(struct scratch *scratch, __s64 users)
{
	asm volatile("lock *(u64 *)(%0 + 0) += %1" ::"r"(&scratch->users), "r"(users) : "memory");
}

static __always_inline void scratch_give(struct scratch *scratch)
{
	scratch_add(scratch, -1);
}

/*
 * This CPU's, until scratch_give(); what stands there is of an earlier packet. NULL: another packet
 * holds it. One that comes between the addition and the load takes its own away again before it
 * ends.
 */
static __always_inline struct scratch *scratch_take(void)
{
	struct scratch *scratch;
	__u32 zero = 0;

	scratch = bpf_map_lookup_elem(&sl_scratch, &zero);
	if (!scratch)
		return NULL;
	scratch_add(scratch, 1);
	if (READ_ONCE(scratch->users) == 1)
		return scratch;
	scratch_give(scratch);
	return NULL;
}

#endif
