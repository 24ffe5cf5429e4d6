/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What stands at one level (destination, source, metric, in one table) as one number: of the RIB
 * and, by the same code in a BPF program (daemon/census.bpf.c), of fib6 itself. Equal sums are
 * equal routes, whatever their order.
 */
#ifndef RIB_LEVEL_H
#define RIB_LEVEL_H

#include <linux/types.h>

struct level_sum {
	__u64 sum;
	__u32 n; /* routes as fib6 has them: of a multipath set each hop is one */
	__u32 zero;
};

/* One of fib6's routes. By a next-hop object: gateway and ifindex are 0. */
struct level_entry {
	__u64 gateway[2]; /* network order; 0: none */
	__u32 ifindex;
	__u32 next_hop_id;
	__u32 mtu;	 /* RTAX_MTU */
	__u8 type;	 /* RTN_* */
	__u8 preference; /* IPV6_DECODE_PREF(): 1 low, 2 medium, 3 high */
	__u8 expires;	 /* 1: it has a lifetime, 0: none, or proto ra, which may change it */
	__u8 mtu_locked; /* 1: RTAX_LOCK says so of RTAX_MTU */
};

static inline __u64 level_mix(__u64 value)
{
	value *= 0x9e3779b97f4a7c15u;
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93u;
	return value ^ value >> 32;
}

static inline void level_add(struct level_sum *sum, const struct level_entry *entry)
{
	__u64 h = level_mix(entry->gateway[0] + 1);

	h = level_mix(h ^ entry->gateway[1]);
	h = level_mix(h ^ ((__u64)entry->ifindex << 32 | entry->next_hop_id));
	h = level_mix(h ^
		      ((__u64)entry->mtu << 32 | (__u32)entry->mtu_locked << 24 |
		       (__u32)entry->type << 16 | (__u32)entry->preference << 8 | entry->expires));
	sum->sum += h;
	sum->n++;
}

#endif
