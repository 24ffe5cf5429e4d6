/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory for large objects of rare paths. The verifier allows a chain of calls 512 bytes of stack,
 * so such objects cannot be on it.
 *
 * Each CPU has one piece. Where softirqs can be preempted (PREEMPT_RT), two packets may need it at
 * the same time. The second one does not get it, and is passed to the kernel.
 */
#ifndef SIXLANE_SCRATCH_H
#define SIXLANE_SCRATCH_H

#include "maps.h"

#define SCRATCH_WORDS 12

struct scratch {
	__u64 users; /* packets that hold it or are about to */
	__u64 words[SCRATCH_WORDS];
};

/* Not pinned: only the program uses it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} sl_scratch SEC(".maps");

/* An atomic addition without fetch, the only atomic operation of Linux 5.15's JIT for arm64. In
 * assembly, since clang may choose the one with fetch. */
static __always_inline void scratch_add(struct scratch *scratch, __s64 users)
{
	asm volatile("lock *(u64 *)(%0 + 0) += %1" ::"r"(&scratch->users), "r"(users) : "memory");
}

static __always_inline void scratch_put(struct scratch *scratch)
{
	scratch_add(scratch, -1);
}

/*
 * Takes this CPU's memory until scratch_put(). Its contents are undefined. NULL: another packet
 * holds it.
 */
static __always_inline struct scratch *scratch_get(void)
{
	struct scratch *scratch;
	__u32 zero = 0;

	scratch = bpf_map_lookup_elem(&sl_scratch, &zero);
	if (!scratch)
		return NULL;
	scratch_add(scratch, 1);
	if (READ_ONCE(scratch->users) == 1)
		return scratch;
	scratch_put(scratch);
	return NULL;
}

#endif
