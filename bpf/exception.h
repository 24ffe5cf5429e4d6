/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What holds for one destination instead of what its route says: a Path MTU, another next hop
 * (rt6_find_cached_rt). Looked for only where the route's prefix is marked to have any, so that
 * other traffic pays for a test of a bit. What has expired is as if it were not there until
 * user space removes it; nothing is ever removed here.
 *
 * Invariant: a hit writes to this CPU's value and to nothing that another CPU reads.
 */
#ifndef SIXLANE_EXCEPTION_H
#define SIXLANE_EXCEPTION_H

#include "packet.h"
#include "route.h"

/* What a packet asks with, and what holds for it then. */
struct exception_query {
	struct sixlane_exception_key key;
	union sixlane_fate fate; /* the route's; out: the exception's, if it has one */
	__u32 mtu;		 /* likewise */
	__u32 route;		 /* value of the trie */
	__u32 bytes;		 /* of the frame */
	__u32 flags;		 /* out: SIXLANE_EXCEPTION_* of what was applied; 0: nothing was */
};

static __always_inline void exception_count(struct sixlane_exception *own, __u32 bytes,
					    __u64 now_ns)
{
	own->hits++;
	own->bytes += bytes;
	own->used_ns = now_ns;
}

/* Whether this packet is one of those that it is meant for. */
static __always_inline int exception_holds(const struct sixlane_exception *found, __u32 flags,
					   union sixlane_fate fate)
{
	if (flags & SIXLANE_EXCEPTION_OBSERVE)
		return 0;
	return !(flags & SIXLANE_EXCEPTION_UNDER) || READ_ONCE(found->under.word) == fate.word;
}

/* False: it names no next hop. */
static __always_inline int exception_take_next_hop(const struct sixlane_exception *found,
						   struct exception_query *query)
{
	const struct sixlane_next_hop *next_hop;
	__u32 id = READ_ONCE(found->next_hop);

	next_hop = bpf_map_lookup_elem(&sl_next_hops, &id);
	if (!id || !next_hop)
		return 0;
	query->fate.word = READ_ONCE(next_hop->fate.word);
	return 1;
}

/* A function of its own: see group_hash_rare(). False: the packet is the kernel's. */
__attribute__((noinline)) int exception_find(struct exception_query *query)
{
	struct sixlane_exception *found;
	struct sixlane_exception_key key;
	__u64 now_ns, expires_ns;
	__u32 flags;

	if (!query)
		return 0;
	key = query->key;
	found = bpf_map_lookup_elem(&sl_exceptions, &key);
	if (!found)
		return !(query->route & SIXLANE_ROUTE_EXCEPTIONS_MISSING);
	now_ns = bpf_ktime_get_coarse_ns();
	expires_ns = READ_ONCE(found->expires_ns);
	if (expires_ns && now_ns >= expires_ns)
		return 1;
	exception_count(found, query->bytes, now_ns);
	flags = READ_ONCE(found->flags);
	if (!exception_holds(found, flags, query->fate))
		return 1;
	if (flags & SIXLANE_EXCEPTION_PUNT)
		return 0;
	if (flags & SIXLANE_EXCEPTION_NEXT_HOP && !exception_take_next_hop(found, query))
		return 0;
	if (flags & SIXLANE_EXCEPTION_MTU)
		query->mtu = READ_ONCE(found->mtu);
	query->flags = flags;
	return 1;
}

/* Sets mtu and exception, and fate to the exception's. */
static __always_inline enum sixlane_verdict exception_apply(struct packet *pkt)
{
	struct exception_query query;

	pkt->mtu = READ_ONCE(pkt->next_hop->mtu);
	if (likely(!(pkt->route & ROUTE_MARKS)) || pkt->fate.kind != SIXLANE_FORWARD)
		return SIXLANE_FORWARD;
	query = (struct exception_query){
		.key = { .dst = pkt->ip6->dst, .table = pkt->table },
		.fate = pkt->fate,
		.mtu = pkt->mtu,
		.route = pkt->route,
		.bytes = pkt->bytes,
	};
	if (!exception_find(&query))
		return SIXLANE_PUNT_EXCEPTION;
	pkt->fate = query.fate;
	pkt->mtu = query.mtu;
	pkt->exception = query.flags;
	return SIXLANE_FORWARD;
}

#endif
