/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The exceptions of one hop (rt6_exception): Path MTUs and redirects. The kernel keeps them in a
 * hash table of chains, which is copied as a whole. It stays when the last exception has gone.
 *
 * Bounded: a table costs as much as some records, and the routes of a destination keep room.
 */
#ifndef USER_DAEMON_KERNEL_EXCEPTIONS_BPF_H
#define USER_DAEMON_KERNEL_EXCEPTIONS_BPF_H

#include "kernel_route.bpf.h"

#define CHAINS_AT_ONCE 16u			 /* are looked at together, since most are empty */
#define MAX_CHAIN 16				 /* the kernel lets at most 10 be */
#define BUCKET_COST 8				 /* in records: 3 microseconds */
#define MAX_COST (KERNEL_READER_RECORDS - 2048u) /* the rest is for routes */

struct exception_heads {
	struct {
		__u64 first;
		__u64 depth;
	} chains[FIB6_EXCEPTION_BUCKET_SIZE];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct exception_heads);
} kr_heads SEC(".maps");

static __always_inline struct exception_heads *the_heads(void)
{
	const __u32 zero = 0;

	return bpf_map_lookup_elem(&kr_heads, &zero);
}

static __always_inline void fill_exception(struct kernel_record *record, __u64 address)
{
	const struct rt6_info *cached = VIEW(rt6_info, address);
	const struct net_device *dev = (const void *)cached->dst.dev;

	__builtin_memset(record, 0, sizeof(*record));
	copy_address(record->dst, &cached->rt6i_dst.addr);
	copy_address(record->src, &cached->rt6i_src.addr);
	copy_address(record->gateway, &cached->rt6i_gateway);
	record->dst_len = (__u8)cached->rt6i_dst.plen;
	record->src_len = (__u8)cached->rt6i_src.plen;
	record->expires = cached->dst.expires;
	record->flags = cached->rt6i_flags;
	record->kind = KERNEL_RECORD_EXCEPTION;
	fill_metrics(record, VIEW(dst_metrics, cached->dst._metrics & ~DST_METRICS_FLAGS));
	record->ifindex = (__u32)BPF_CORE_READ(dev, ifindex);
}

static __always_inline bool is_wanted(const struct kernel_reader_question *question, __u64 cached)
{
	const __u64 *wanted = (const __u64 *)question->exception;
	__u64 dst[2];

	if (question->exceptions != KERNEL_EXCEPTIONS_ONE)
		return true;
	bpf_probe_read_kernel(dst, sizeof(dst),
			      (const void *)MEMBER(rt6_info, cached, rt6i_dst.addr));
	return dst[0] == wanted[0] && dst[1] == wanted[1];
}

/* Reports walk.exception if it is asked for, and goes to the next of its chain. Not 0: no room. */
__noinline int add_exception(void)
{
	const __u64 node = walk.exception;
	const struct rt6_exception *exception =
		VIEW(rt6_exception, node - bpf_core_field_offset(struct rt6_exception, hlist));
	const __u64 cached = (__u64)exception->rt6i;
	struct kernel_reader_call *call = the_call();
	struct kernel_record *record;

	walk.exception = (__u64)exception->hlist.next;
	if (!call || ++walk.cost > MAX_COST)
		return 1;
	if (!is_wanted(&call->question, cached))
		return 0;
	record = record_at(walk.n);
	if (!record)
		return 1;
	fill_exception(record, cached);
	walk.n++;
	return 0;
}

/* Not 0: more than fit. */
static __always_inline int add_chain(__u64 first)
{
	walk.exception = first;
	for (int i = 0; walk.exception && i < MAX_CHAIN; i++)
		if (add_exception())
			return 1;
	return walk.exception != 0;
}

/* Not 0: more than fit. */
__noinline int add_chains(__u32 first)
{
	const struct exception_heads *heads = the_heads();
	const __u64 at = bound_mask(first, FIB6_EXCEPTION_BUCKET_SIZE - CHAINS_AT_ONCE);
	__u64 any = 0;

	if (!heads)
		return 1;
	for (__u32 i = 0; i < CHAINS_AT_ONCE; i++)
		any |= heads->chains[at + i].first;
	if (!any)
		return 0;
	for (__u32 i = 0; i < CHAINS_AT_ONCE; i++)
		if (add_chain(heads->chains[at + i].first))
			return 1;
	return 0;
}

/* All that are asked for of walk.hop. Not 0: more than fit. */
__noinline int add_exceptions(void)
{
	const struct fib6_nh *nh = (const void *)walk.hop;
	const __u64 bucket =
		(__u64)BPF_CORE_READ(nh, rt6i_exception_bucket) & ~RT6_EXCEPTION_BUCKET_FLUSHED;
	struct exception_heads *heads = the_heads();

	if (!bucket || !heads)
		return 0;
	walk.cost += BUCKET_COST;
	if (walk.cost > MAX_COST)
		return 1;
	if (bpf_probe_read_kernel(heads, sizeof(*heads), (const void *)bucket))
		return 0;
	for (__u32 i = 0; i < FIB6_EXCEPTION_BUCKET_SIZE; i += CHAINS_AT_ONCE)
		if (add_chains(i))
			return 1;
	return 0;
}

#endif
