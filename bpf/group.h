/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a route with several next hops to one of them (fib6_select_path). The hash is not the
 * kernel's, which is keyed by a secret, but is over the fields that the kernel's is over
 * (rt6_multipath_hash), so that what keeps together there keeps together here.
 *
 * Invariant: a flow stays with its member as long as the group stands and the member's port is up.
 */
#ifndef SIXLANE_GROUP_H
#define SIXLANE_GROUP_H

#include <linux/icmpv6.h>

#include "flow.h"

/* FIB_MULTIPATH_HASH_FIELD_* of include/net/ip_fib.h, which is no UAPI */
#define GROUP_SRC_IP (1u << 0)
#define GROUP_DST_IP (1u << 1)
#define GROUP_PROTO (1u << 2)
#define GROUP_LABEL (1u << 3)
#define GROUP_SRC_PORT (1u << 4)
#define GROUP_DST_PORT (1u << 5)
#define GROUP_INNER_SHIFT 6
#define GROUP_INNER (0x3fu << GROUP_INNER_SHIFT)
#define GROUP_PORTS (GROUP_SRC_PORT | GROUP_DST_PORT)

#define GROUP_L3 (GROUP_SRC_IP | GROUP_DST_IP | GROUP_PROTO | GROUP_LABEL)
#define GROUP_L4 (GROUP_SRC_IP | GROUP_DST_IP | GROUP_PROTO | GROUP_PORTS)

#define GROUP_TRIES 16	    /* draws until a member's port is up */
#define GROUP_FIRST_MAX 16u /* members of SIXLANE_KIND_FIRST; the daemon makes no larger ones */

/* --- the hash ---------------------------------------------------------------------------- */

static __always_inline __u64 group_mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

static __always_inline __u64 group_mix_addr(__u64 hash, const union sixlane_addr *addr)
{
	hash = group_mix(hash, addr->words[0] | (__u64)addr->words[1] << 32);
	return group_mix(hash, addr->words[2] | (__u64)addr->words[3] << 32);
}

static __always_inline __u32 group_label(const struct packet_ip6 *ip6)
{
	return (ip6->class_flow[0] & 0x0fu) << 16 | ip6->class_flow[1] << 8 | ip6->class_flow[2];
}

/* The fields of one header, of which proto is the caller's word; ports are mixed in by it. */
static __always_inline __u64 group_mix_header(__u64 hash, const struct packet_ip6 *ip6, __u8 proto,
					      __u32 fields)
{
	if (fields & GROUP_SRC_IP)
		hash = group_mix_addr(hash, &ip6->src);
	if (fields & GROUP_DST_IP)
		hash = group_mix_addr(hash, &ip6->dst);
	if (fields & (GROUP_PROTO | GROUP_LABEL))
		hash = group_mix(hash, (fields & GROUP_PROTO ? proto : 0) |
					       (fields & GROUP_LABEL ? group_label(ip6) : 0) << 8);
	return hash;
}

/* Whether the flow dissector would find another header inside, or may. */
static __always_inline int group_is_tunnel(__u8 proto)
{
	return proto == IPPROTO_IPIP || proto == IPPROTO_IPV6 || proto == IPPROTO_GRE ||
	       proto == IPPROTO_MPLS;
}

/* The header right behind the first, NULL if it is not all there. */
static __always_inline const struct packet_ip6 *group_inner(const struct packet *pkt, __u32 offset)
{
	const struct packet_ip6 *inner = (const void *)(pkt->ip6 + 1) + offset;

	if (pkt->ip_bytes < 2 * sizeof(*inner) + offset ||
	    (void *)(inner + 1) > packet_end(pkt->ctx))
		return NULL;
	return inner;
}

/* ip6_multipath_l3_keys(): an ICMPv6 error goes the way of the packet that it is about. */
static __always_inline const struct packet_ip6 *group_l3_header(const struct packet *pkt)
{
	const struct icmp6hdr *icmp = (const void *)(pkt->ip6 + 1);
	const struct packet_ip6 *inner;

	if (pkt->ip6->next_header != IPPROTO_ICMPV6)
		return pkt->ip6;
	inner = group_inner(pkt, sizeof(*icmp));
	return inner && icmp->icmp6_type >= ICMPV6_DEST_UNREACH &&
			       icmp->icmp6_type <= ICMPV6_PARAMPROB
		       ? inner
		       : pkt->ip6;
}

/* Outer fields. False: XDP cannot reach them. */
static __always_inline int group_mix_outer(const struct packet *pkt, __u32 fields, __u64 *hash)
{
	struct flow_ports ports = { 0, 0 };
	__u8 proto = 0;

	if (fields & (GROUP_PORTS | GROUP_PROTO) && flow_is_extension(pkt->ip6->next_header))
		return 0;
	if (fields & GROUP_PROTO && !flow_get_proto(pkt, &proto))
		return 0;
	if (fields & GROUP_PORTS && !flow_get_ports(pkt, &ports))
		return 0;
	*hash = group_mix_header(*hash, pkt->ip6, proto, fields);
	if (fields & GROUP_PORTS)
		*hash = group_mix(*hash, (fields & GROUP_SRC_PORT ? ports.src : 0) |
						 (fields & GROUP_DST_PORT ? ports.dst : 0) << 16);
	return 1;
}

/* Inner fields of IPv6 in IPv6; other tunnels are the kernel's. */
static __always_inline int group_mix_inner(const struct packet *pkt, __u32 fields, __u64 *hash)
{
	const struct packet_ip6 *inner;

	if (pkt->ip6->next_header != IPPROTO_IPV6)
		return 0;
	inner = group_inner(pkt, 0);
	if (!inner || fields & GROUP_PORTS || group_is_tunnel(inner->next_header) ||
	    flow_is_extension(inner->next_header) || inner->next_header == IPPROTO_HOPOPTS ||
	    inner->next_header == IPPROTO_FRAGMENT)
		return 0;
	*hash = group_mix_header(*hash, inner, inner->next_header, fields);
	return 1;
}

/* rt6_multipath_hash(). False: over headers that XDP does not reach. */
static __always_inline int group_mix_packet(const struct packet *pkt, union sixlane_hash_policy how,
					    __u64 *hash)
{
	const struct packet_ip6 *ip6 = pkt->ip6;
	int tunnel = group_is_tunnel(ip6->next_header);

	switch (how.policy) {
	case SIXLANE_HASH_L3:
		ip6 = group_l3_header(pkt);
		*hash = group_mix_header(*hash, ip6, ip6->next_header, GROUP_L3);
		return 1;
	case SIXLANE_HASH_L4:
		return group_mix_outer(pkt, GROUP_L4, hash);
	case SIXLANE_HASH_INNER:
		return tunnel ? group_mix_inner(pkt, GROUP_L3, hash)
			      : group_mix_outer(pkt, GROUP_L3, hash);
	case SIXLANE_HASH_FIELDS:
		if (how.fields & GROUP_INNER && flow_is_extension(ip6->next_header))
			return 0;
		if (!group_mix_outer(pkt, how.fields & ~GROUP_INNER, hash))
			return 0;
		return !(how.fields & GROUP_INNER && tunnel) ||
		       group_mix_inner(pkt, how.fields >> GROUP_INNER_SHIFT, hash);
	default:
		return 0;
	}
}

/*
 * Functions of their own, here and below, which the verifier goes through once, not once for each
 * way that leads to them. This one: a packet's hash, never 0; 0: over headers that XDP does
 * not reach.
 */
__attribute__((noinline)) int group_hash(struct xdp_md *ctx, __u32 tag_bytes, __u32 ip_bytes)
{
	struct packet pkt = { .ctx = ctx, .ip_bytes = ip_bytes };
	union sixlane_hash_policy how;
	const struct sixlane_meta *meta;
	__u32 zero = 0;
	__u64 hash;

	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	if (!meta || tag_bytes > 2 * sizeof(union sixlane_tag) || !packet_point(&pkt, tag_bytes))
		return 0;
	how.word = READ_ONCE(meta->hash_policy.word);
	hash = READ_ONCE(meta->hash_seed);
	return group_mix_packet(&pkt, how, &hash) ? (int)(hash | 1) : 0;
}

/* --- the member -------------------------------------------------------------------------- */

/* The id that a draw of a group's falls upon; 0: none. */
static __always_inline __u32 group_draw(union sixlane_fate group, __u32 draw)
{
	__u64 product = (__u64)draw * group.n_cells;
	__u32 index = group.first_cell + (__u32)(product >> 32);
	const union sixlane_cell *found;
	union sixlane_cell cell;

	found = bpf_map_lookup_elem(&sl_cells, &index);
	if (!found)
		return 0;
	cell.word = READ_ONCE(found->word);
	return (__u32)product < cell.bound ? cell.below : cell.above;
}

/* The port's flags if a member leaves by one, else 0. */
static __always_inline __u32 group_port_flags(__u32 id, __u32 *ifindex)
{
	const struct sixlane_next_hop *member = bpf_map_lookup_elem(&sl_next_hops, &id);
	const struct sixlane_port *port;
	union sixlane_fate fate;
	__u32 slot;

	if (!member)
		return 0;
	fate.word = READ_ONCE(member->fate.word);
	slot = fate.port;
	port = bpf_map_lookup_elem(&sl_ports, &slot);
	if (fate.kind != SIXLANE_FORWARD || !port)
		return 0;
	*ifindex = READ_ONCE(port->ifindex);
	return READ_ONCE(port->flags);
}

/*
 * The id of the member that a hash falls upon. One whose port has one of the flags in skip is
 * passed over, before any message about the route, by drawing again. 0: no other was found.
 */
__attribute__((noinline)) int group_pick(__u64 word, __u64 hash, __u32 skip)
{
	const union sixlane_fate group = { .word = word };
	__u32 id, ifindex;

#pragma clang loop unroll(disable)
	for (int i = 0; i < GROUP_TRIES && group.n_cells; i++) {
		hash = group_mix(hash, i);
		id = group_draw(group, hash >> 32);
		if (!id || !(group_port_flags(id, &ifindex) & skip))
			return (int)id;
	}
	return 0;
}

/*
 * rt6_score_route(): of several equal routes that are no multipath set, the one by the ingress
 * device (here 0: that packet is passed in any case) is taken before the first.
 */
__attribute__((noinline)) int group_first(__u64 word, __u32 ingress)
{
	const union sixlane_fate group = { .word = word };
	__u32 first = 0, ifindex, index;
	const union sixlane_cell *cell;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < GROUP_FIRST_MAX && i < group.n_cells; i++) {
		index = group.first_cell + i;
		cell = bpf_map_lookup_elem(&sl_cells, &index);
		if (!cell)
			return 0;
		if (!i)
			first = READ_ONCE(cell->below);
		ifindex = 0;
		group_port_flags(READ_ONCE(cell->below), &ifindex);
		if (ifindex == ingress)
			return 0;
	}
	return (int)first;
}

/* Sets fate to that of one member. */
static __always_inline enum sixlane_verdict group_find_member(struct packet *pkt)
{
	const __u32 skip = READ_ONCE(pkt->next_hop->flags) & SIXLANE_NEXT_HOP_OBJECT
				   ? SIXLANE_PORT_SKIP_OBJECT
				   : SIXLANE_PORT_SKIP;
	const struct sixlane_next_hop *member;
	__u32 id, hash = 0;

	if (pkt->fate.n_cells > 1) {
		hash = group_hash(pkt->ctx, pkt->tag_bytes, pkt->ip_bytes);
		if (!hash)
			return SIXLANE_PUNT_HASH;
	}
	id = group_pick(pkt->fate.word, hash, skip);
	if (!id)
		return SIXLANE_PASS_EGRESS_DOWN;
	member = bpf_map_lookup_elem(&sl_next_hops, &id);
	if (!member)
		return SIXLANE_PUNT_MULTIPATH;
	pkt->fate.word = READ_ONCE(member->fate.word);
	return SIXLANE_FORWARD;
}

static __always_inline enum sixlane_verdict group_find_first(struct packet *pkt)
{
	const struct sixlane_next_hop *member;
	__u32 id = group_first(pkt->fate.word, pkt->ingress);

	if (!id)
		return SIXLANE_PASS_SAME_PORT;
	member = bpf_map_lookup_elem(&sl_next_hops, &id);
	if (!member)
		return SIXLANE_PUNT_EQUAL_METRIC;
	pkt->fate.word = READ_ONCE(member->fate.word);
	return SIXLANE_FORWARD;
}

/* Sets fate to that of one next hop. */
static __always_inline enum sixlane_verdict group_choose(struct packet *pkt)
{
	__u64 expires_ns;

	if (pkt->fate.kind < SIXLANE_KIND_GROUP)
		return SIXLANE_FORWARD;
	expires_ns = READ_ONCE(pkt->next_hop->expires_ns);
	if (expires_ns && bpf_ktime_get_ns() >= expires_ns)
		return SIXLANE_PUNT_EXPIRES;
	if (pkt->fate.kind == SIXLANE_KIND_GROUP)
		return group_find_member(pkt);
	if (pkt->fate.kind == SIXLANE_KIND_FIRST)
		return group_find_first(pkt);
	return SIXLANE_PUNT_ROUTE;
}

#endif
