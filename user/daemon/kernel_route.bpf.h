/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One fib6_info as a record: its own attributes, and those of its hop or next-hop object. Every
 * byte of the record is written.
 */
#ifndef USER_DAEMON_KERNEL_ROUTE_BPF_H
#define USER_DAEMON_KERNEL_ROUTE_BPF_H

#include "kernel_call.bpf.h"

/* nexthop_is_blackhole() */
static __always_inline bool is_blackhole(__u64 object)
{
	const struct nexthop *nh = VIEW(nexthop, object);
	const struct nh_group *group;

	if (nh->is_group) {
		group = BPF_CORE_READ((const struct nexthop *)object, nh_grp);
		if (BPF_CORE_READ(group, num_nh) != 1)
			return false;
		nh = VIEW(nexthop, BPF_CORE_READ(group, nh_entries[0].nh));
	}
	return VIEW(nh_info, nh->nh_info)->reject_nh;
}

static __always_inline void fill_object(struct kernel_record *record, __u64 object)
{
	record->next_hop_id = VIEW(nexthop, object)->id;
	record->ifindex = 0;
	record->weight = 0;
	record->encap = 0;
	zero_address(record->gateway);
	if (is_blackhole(object))
		record->type = RTN_BLACKHOLE;
}

static __always_inline void fill_hop(struct kernel_record *record, const struct fib6_nh *hop)
{
	const __u32 family = hop->nh_common.nhc_gw_family;

	record->next_hop_id = 0;
	record->ifindex = (__u32)hop->nh_common.nhc_oif;
	record->weight = (__u16)hop->nh_common.nhc_weight;
	record->encap = hop->nh_common.nhc_lwtstate || (family && family != AF_INET6);
	if (family == AF_INET6)
		copy_address(record->gateway, VIEW_MEMBER(in6_addr, &hop->nh_common.nhc_gw));
	else
		zero_address(record->gateway);
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
	else
		zero_address(record->src);
	record->expires = route->expires;
	record->flags = flags;
	record->metric = route->fib6_metric;
	record->n_siblings = siblings < 0xffff ? siblings : 0xffff;
	record->kind = KERNEL_RECORD_ROUTE;
	record->type = route->fib6_type;
	record->protocol = route->fib6_protocol;
	record->preference = IPV6_DECODE_PREF(flags >> 27 & 3);
	record->prefsrc = route->fib6_prefsrc.plen != 0;
	__builtin_memset(record->zero, 0, sizeof(record->zero));
	fill_metrics(record, VIEW(dst_metrics, route->fib6_metrics));
}

#endif
