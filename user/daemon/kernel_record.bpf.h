/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of one fib6_info with its hop, and of the exceptions of a hop (rt6_exception): Path MTUs
 * and redirects. The kernel keeps exceptions in a hash table of chains, which is copied as a whole.
 * The table stays when the last exception is gone.
 *
 * Bounded: a table counts as several records, and room is reserved for the routes.
 */
#ifndef USER_DAEMON_KERNEL_RECORD_BPF_H
#define USER_DAEMON_KERNEL_RECORD_BPF_H

#include "kernel_call.bpf.h"

#define MAX_CHAIN 16				 /* the kernel allows 10 */
#define BUCKET_COST 8				 /* in records: 3 microseconds */
#define MAX_COST (KERNEL_READER_RECORDS - 2048u) /* the rest is for routes */

/* --- routes --- */

static __always_inline void fill_hop(struct kernel_record *record, const struct fib6_nh *hop)
{
	const __u32 family = hop->nh_common.nhc_gw_family;

	record->ifindex = (__u32)hop->nh_common.nhc_oif;
	record->weight = (__u16)hop->nh_common.nhc_weight;
	record->encap = hop->nh_common.nhc_lwtstate || (family && family != AF_INET6);
	if (family == AF_INET6)
		copy_address(record->gateway, VIEW_MEMBER(in6_addr, &hop->nh_common.nhc_gw));
}

static __always_inline void fill_metrics(struct kernel_record *record,
					 const struct dst_metrics *metrics)
{
	record->mtu = metrics->metrics[RTAX_MTU - 1];
	record->mtu_locked = metrics->metrics[RTAX_LOCK - 1] >> RTAX_MTU & 1;
	record->hop_limit = metrics->metrics[RTAX_HOPLIMIT - 1];
	record->features = metrics->metrics[RTAX_FEATURES - 1];
}

static __always_inline void fill_route(struct kernel_record *record, const struct fib6_info *route)
{
	const __u32 flags = route->fib6_flags, siblings = route->fib6_nsiblings;

	copy_address(record->dst, &route->fib6_dst.addr);
	record->dst_len = (__u8)route->fib6_dst.plen;
	record->src_len = (__u8)route->fib6_src.plen;
	if (record->src_len)
		copy_address(record->src, &route->fib6_src.addr);
	record->expires = route->expires;
	record->flags = flags;
	record->metric = route->fib6_metric;
	record->n_siblings = siblings < 0xffff ? siblings : 0xffff;
	record->type = route->fib6_type;
	record->protocol = route->fib6_protocol;
	record->preference = IPV6_DECODE_PREF(flags >> 27 & 3);
	record->prefsrc = route->fib6_prefsrc.plen != 0;
	fill_metrics(record, VIEW(dst_metrics, route->fib6_metrics));
}

/* --- exceptions --- */

static __always_inline void fill_exception(struct kernel_record *record, __u64 address)
{
	const struct rt6_info *cached = VIEW(rt6_info, address);
	const struct net_device *dev = (const void *)cached->dst.dev;

	copy_address(record->dst, &cached->rt6i_dst.addr);
	copy_address(record->gateway, &cached->rt6i_gateway);
	record->expires = cached->dst.expires;
	record->flags = cached->rt6i_flags;
	fill_metrics(record, VIEW(dst_metrics, cached->dst._metrics & ~DST_METRICS_FLAGS));
	record->ifindex = (__u32)BPF_CORE_READ(dev, ifindex);
}

static __always_inline bool is_wanted(__u64 cached)
{
	const __u64 *dst = (const void *)&VIEW(rt6_info, cached)->rt6i_dst.addr;
	const struct kernel_choice *choice = &kr.call.question.choice;

	return choice->exceptions == KERNEL_EXCEPTIONS_ALL ||
	       (dst[0] == choice->dst.halves[0] && dst[1] == choice->dst.halves[1]);
}

/* Adds kr.exception if it was asked for, and moves on in its chain. Not 0: no room. */
__noinline int add_exception(void)
{
	const struct rt6_exception *exception = VIEW(
		rt6_exception, kr.exception - bpf_core_field_offset(struct rt6_exception, hlist));
	const __u64 cached = (__u64)exception->rt6i;
	struct kernel_record *record;

	kr.exception = (__u64)exception->hlist.next;
	if (++kr.cost > MAX_COST)
		return 1;
	if (!is_wanted(cached))
		return 0;
	record = add_record(KERNEL_RECORD_EXCEPTION);
	if (!record)
		return 1;
	fill_exception(record, cached);
	return 0;
}

/* Not 0: more than fit. */
__noinline int add_chain(__u64 first)
{
	kr.exception = first;
	for (int i = 0; kr.exception && i < MAX_CHAIN; i++)
		if (add_exception())
			return 1;
	return kr.exception != 0;
}

/* Adds the exceptions of kr.hop that were asked for. Not 0: more than fit. */
__noinline int add_exceptions(void)
{
	const struct fib6_nh *hop = (const void *)kr.hop;
	const __u64 bucket = (__u64)BPF_CORE_READ(hop, rt6i_exception_bucket);

	kr.cost += BUCKET_COST;
	if (kr.cost > MAX_COST)
		return 1;
	if (bpf_probe_read_kernel(kr.chains, sizeof(kr.chains),
				  (const void *)(bucket & ~RT6_EXCEPTION_BUCKET_FLUSHED)))
		return 0;
	for (__u32 i = 0; i < FIB6_EXCEPTION_BUCKET_SIZE; i++)
		if (kr.chains[i].first && add_chain(kr.chains[i].first))
			return 1;
	return 0;
}

/* Adds the exceptions of a fib6_nh after its record, if any were asked for. Not 0: the call ends.
 */
static __always_inline int add_exceptions_of(__u64 hop)
{
	const struct kernel_choice *choice = &kr.call.question.choice;

	/* the record of the wanted hop has this number: only routes precede it */
	if (!choice->exceptions || (choice->hop && choice->hop != kr.call.view.n) ||
	    !VIEW(fib6_nh, hop)->rt6i_exception_bucket)
		return 0;
	kr.hop = hop; /* not an argument: the verifier would refuse a pointer there */
	return add_exceptions() && take_back();
}

#endif
