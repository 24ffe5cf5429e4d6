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

/* The word that tells whether the others belong together: see struct sixlane_exception. */
union exception_head {
	__u64 word;
	struct {
		__u32 flags, mtu;
	};
};

/* What an exception says, as it was at one time. */
struct exception_terms {
	union exception_head head;
	__u32 next_hop;
	union sixlane_fate under;
	__u64 expires_ns;
};

/* False: it is being changed, or was taken away and is another's now. */
static __always_inline int exception_read(const struct sixlane_exception *found,
					  const struct sixlane_exception_key *key,
					  struct exception_terms *terms)
{
	const union exception_head *head = (const void *)&found->flags;

	terms->head.word = READ_ONCE(head->word);
	terms->next_hop = READ_ONCE(found->next_hop);
	terms->under.word = READ_ONCE(found->under.word);
	terms->expires_ns = READ_ONCE(found->expires_ns);
	return READ_ONCE(found->check) == sixlane_exception_check(key) &&
	       READ_ONCE(head->word) == terms->head.word;
}

static __always_inline void exception_count(struct sixlane_exception *own, __u32 bytes,
					    __u64 now_ns)
{
	own->hits++;
	own->bytes += bytes;
	own->used_ns = now_ns;
}

/* Whether a packet is one of those that it is meant for. */
static __always_inline int exception_holds(const struct exception_terms *terms,
					   union sixlane_fate fate)
{
	if (terms->head.flags & SIXLANE_EXCEPTION_OBSERVE)
		return 0;
	return !(terms->head.flags & SIXLANE_EXCEPTION_UNDER) || terms->under.word == fate.word;
}

/* Put what it says in the place of what the route says. False: the packet is the kernel's. */
static __always_inline int exception_impose(const struct exception_terms *terms,
					    struct exception_query *query)
{
	const __u32 flags = terms->head.flags;
	const struct sixlane_next_hop *next_hop;
	__u32 id = terms->next_hop;

	if (flags & SIXLANE_EXCEPTION_PUNT)
		return 0;
	if (flags & SIXLANE_EXCEPTION_NEXT_HOP) {
		next_hop = bpf_map_lookup_elem(&sl_next_hops, &id);
		if (!id || !next_hop)
			return 0;
		query->fate.word = READ_ONCE(next_hop->fate.word);
	}
	if (flags & SIXLANE_EXCEPTION_MTU)
		query->mtu = terms->head.mtu;
	query->flags = flags;
	return 1;
}

/* A function of its own: see group_hash_rare(). False: the packet is the kernel's. */
__attribute__((noinline)) int exception_find(struct exception_query *query)
{
	struct sixlane_exception *found;
	struct sixlane_exception_key key;
	struct exception_terms terms;
	__u64 now_ns;

	if (!query)
		return 0;
	key = query->key;
	found = bpf_map_lookup_elem(&sl_exceptions, &key);
	if (!found)
		return !(query->route & SIXLANE_ROUTE_EXCEPTIONS_MISSING);
	if (!exception_read(found, &key, &terms))
		return 0;
	now_ns = bpf_ktime_get_coarse_ns();
	if (terms.expires_ns && now_ns >= terms.expires_ns)
		return 1;
	exception_count(found, query->bytes, now_ns);
	return !exception_holds(&terms, query->fate) || exception_impose(&terms, query);
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
