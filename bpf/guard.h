/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What forwarding in XDP would bypass: firewall rules, IPsec policies, incomplete checksums. The
 * daemon decides most of it ahead, by pairs of ports; here are the checks that need the packet, for
 * ports that the daemon has flagged. Writes to no map; a flowtable's flow is renewed by the lookup.
 */
#ifndef SIXLANE_GUARD_H
#define SIXLANE_GUARD_H

#include <bpf/bpf_endian.h>
#include <linux/in.h>
#include <linux/in6.h>

#include "checksum.h"
#include "flowtable.h"
#include "route.h"
#include "trace.h"

#define GUARD_ASKS (SIXLANE_PORT_GUARD | SIXLANE_PORT_OPEN_CHECKSUMS)

/* Whether a firewall rule may affect packets of this pair of slots. */
static __always_inline int guard_pair_is_held(__u32 in_slot, __u32 out_slot)
{
	__u32 word = sixlane_guard_word(in_slot, out_slot);
	const __u64 *free = bpf_map_lookup_elem(&sl_guard, &word);

	TRACE(PAIR, SIXLANE_FORWARD, pair, .value = free ? *free : 0, .word = word,
	      .bit = out_slot % 64);
	return !free || !(READ_ONCE(*free) >> (out_slot % 64) & 1);
}

/* Next headers after which nf_ct_frag6_gather() may find a fragment header. */
static __always_inline int guard_may_be_fragment(__u8 next_header)
{
	return next_header == IPPROTO_FRAGMENT || next_header == IPPROTO_ROUTING ||
	       next_header == IPPROTO_AH || next_header == IPPROTO_DSTOPTS;
}

/* The same for an ICMPv6 error. */
static __always_inline int guard_may_be_icmp6(__u8 next_header)
{
	return next_header == IPPROTO_ICMPV6 || guard_may_be_fragment(next_header);
}

/* Whether an IPsec policy covers both addresses. */
static __always_inline int guard_has_policy(const struct packet_ip6 *ip6)
{
	struct sixlane_route_key key = route_key(0, &ip6->dst);
	const __u32 *sources = bpf_map_lookup_elem(&sl_policies, &key);

	if (!sources)
		return 0;
	key = route_key(READ_ONCE(*sources), &ip6->src);
	return bpf_map_lookup_elem(&sl_policies, &key) != NULL;
}

static __always_inline enum sixlane_verdict guard_check_pair(const struct packet_ip6 *ip6,
							     __u32 in_slot, __u32 out_slot)
{
	const struct sixlane_meta *meta;
	__u32 zero = 0, flags;

	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	if (!meta)
		return SIXLANE_PASS_NOT_READY;
	flags = READ_ONCE(meta->flags);
	if (flags & SIXLANE_META_IPSEC_ALL ||
	    (flags & SIXLANE_META_IPSEC_ICMP6 && guard_may_be_icmp6(ip6->next_header)) ||
	    (flags & SIXLANE_META_IPSEC && guard_has_policy(ip6)))
		return SIXLANE_PASS_IPSEC;
	if (flags & SIXLANE_META_FRAGMENTS && guard_may_be_fragment(ip6->next_header))
		return SIXLANE_PASS_FIREWALL;
	return guard_pair_is_held(in_slot, out_slot) ? SIXLANE_PASS_FIREWALL : SIXLANE_FORWARD;
}

/* Whether a packet belongs to a flowtable's flow, which rules do not see. neighbour: slot of the
 * gateway; 0: on-link. */
static __always_inline int guard_is_flow(const struct packet *pkt, __u32 in_slot, __u32 out_slot,
					 __u32 neighbour)
{
	const struct sixlane_port *in = bpf_map_lookup_elem(&sl_ports, &in_slot);
	const struct sixlane_port *out = bpf_map_lookup_elem(&sl_ports, &out_slot);
	const struct sixlane_neigh *gateway = bpf_map_lookup_elem(&sl_neighbours, &neighbour);
	union sixlane_addr next_hop;

	if (!in || !out || !gateway || !(READ_ONCE(in->flags) & SIXLANE_PORT_FLOWS))
		return 0;
	next_hop = neighbour ? gateway->key.addr : pkt->ip6->dst;
	return flowtable_forwards(pkt->ctx, READ_ONCE(out->ifindex), next_hop.halves[0],
				  next_hop.halves[1]);
}

/* enum sixlane_verdict. Not inlined: see multipath_hash_rare(). */
__attribute__((noinline)) int guard_check_rules(struct xdp_md *ctx, __u32 tag_bytes, __u32 in_slot,
						__u32 out_slot, __u32 neighbour)
{
	struct packet pkt = { .ctx = ctx };
	enum sixlane_verdict verdict;

	if (!packet_point(&pkt, tag_bytes))
		return SIXLANE_PASS_TRUNCATED;
	verdict = guard_check_pair(pkt.ip6, in_slot, out_slot);
	return verdict == SIXLANE_PASS_FIREWALL && guard_is_flow(&pkt, in_slot, out_slot, neighbour)
		       ? SIXLANE_FORWARD
		       : verdict;
}

/* Needs the egress port and the neighbour of the packet. */
static __always_inline enum sixlane_verdict guard_check(struct packet *pkt)
{
	if (likely(!(pkt->ingress_flags & GUARD_ASKS)))
		return SIXLANE_FORWARD;
	if (pkt->ingress_flags & SIXLANE_PORT_OPEN_CHECKSUMS &&
	    unlikely(checksum_may_be_open(pkt->ctx, pkt->ip6)))
		return SIXLANE_PASS_CHECKSUM;
	if (likely(!(pkt->ingress_flags & SIXLANE_PORT_GUARD)))
		return SIXLANE_FORWARD;
	pkt->decided = guard_check_rules(pkt->ctx, pkt->tag_bytes, pkt->slot, pkt->nh_entry.port,
					 pkt->nh_entry.neighbour);
	return pkt->decided == SIXLANE_FORWARD ? SIXLANE_FORWARD : PACKET_DECIDED;
}

#endif
