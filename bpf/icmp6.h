/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packet Too Big made in XDP: byte for byte what icmp6_send() makes (RFC 4443, section 3.2). The
 * frame turns back: the packet is cut, and new headers stand in front of it.
 *
 * Only what is certain is answered; the rest is the kernel's, which knows the same MTU. But of an
 * operator's exception the kernel knows nothing, and would forward: such packets are answered by
 * the way they came, or dropped. All of this is rare, and no part of what other packets pay for.
 */
#ifndef SIXLANE_ICMP6_H
#define SIXLANE_ICMP6_H

#include <bpf/bpf_endian.h>
#include <linux/icmpv6.h>
#include <linux/if_ether.h>

#include "bucket.h"
#include "exception.h"
#include "nexthop.h"
#include "rewrite.h"
#include "route.h"
#include "trace.h"
#include "vlan.h"

#define ICMP6_MIN_MTU 1280u /* RFC 8200, section 5 */
#define ICMP6_MAX_HEADERS 8 /* looked behind for an ICMPv6 error; the kernel's bound is higher */

#define ICMP6_LABEL_STATELESS 0x80000u /* IPV6_FLOWLABEL_STATELESS_FLAG */

/* What stands in front of the packet. */
struct icmp6_head {
	struct packet_ip6 ip6;
	__u8 type;
	__u8 code;
	__be16 checksum;
	__be32 mtu;
};
_Static_assert(sizeof(struct icmp6_head) == 48, "RFC 4443, section 3.2");

/* Bytes of the packet: what is answered has as many, being over the least MTU. */
#define ICMP6_QUOTE (ICMP6_MIN_MTU - (__u32)sizeof(struct icmp6_head))
#define ICMP6_OFFSET_MASK 2047u
_Static_assert(ICMP6_OFFSET_MASK >= ICMP6_QUOTE, "any offset in it");

/* What is known of a packet that is over an MTU, and then of its answer. */
struct icmp6_query {
	__u32 bytes, ip_bytes, tag_bytes, slot; /* as in struct packet */
	__u32 device_mtu;			/* the egress port's */
	__u32 mtu, exception;			/* as in struct packet */
	__u32 flags;				/* ICMP6_* */
	__u32 told;				/* MTU that the answer names */
	__u32 egress_flags; /* of the answer's port, as they were when it was found to be sent */
	__u64 dst_mac;	    /* word of the answer's: union packet_mac */
	union sixlane_addr src, dst; /* the answer's */
};

#define ICMP6_LOCKED (1u << 0)	/* the route's MTU is */
#define ICMP6_GENERIC (1u << 1) /* the program runs in generic mode */
#define ICMP6_STACKED (1u << 2) /* device_mtu is what XDP can send, the kernel's may be larger */
#define ICMP6_VRF (1u << 3)	/* the egress port belongs to one */
/* Of the answer: */
#define ICMP6_EXCEPTION (1u << 4)   /* the packet is too big for its exception */
#define ICMP6_OPERATOR (1u << 5)    /* … for what the operator says, and not for the kernel */
#define ICMP6_DECREMENTED (1u << 6) /* the kernel would have lowered the hop limit before */

/* --- what is not answered ------------------------------------------------------------------ */

struct icmp6_walk {
	__u32 offset; /* of a header, from the IPv6 header on; 0: not yet behind that */
	__u32 next;   /* what it is */
};

enum icmp6_turn {
	ICMP6_ON, /* there is another header */
	ICMP6_ANSWERED,
	ICMP6_SILENT,
};

/* ipv6_ext_hdr() but for NEXTHDR_NONE, behind which there is nothing. */
static __always_inline int icmp6_is_extension(__u32 next)
{
	return next < 64 &&
	       (1ull << IPPROTO_HOPOPTS | 1ull << IPPROTO_ROUTING | 1ull << IPPROTO_FRAGMENT |
		1ull << IPPROTO_AH | 1ull << IPPROTO_DSTOPTS) >>
			       next &
		       1;
}

/* Four bytes of the packet, of those that will be quoted; NULL: not there. */
static __always_inline const __u8 *icmp6_bytes_at(const struct packet *pkt, __u32 offset)
{
	const __u8 *bytes;

	if (offset > ICMP6_QUOTE - 4)
		return NULL;
	bytes = (const void *)pkt->ip6 + bound_mask(offset, ICMP6_OFFSET_MASK);
	return (void *)(bytes + 4) <= packet_end(pkt->ctx) ? bytes : NULL;
}

/* What a later fragment starts with is no header. */
static __always_inline int icmp6_is_later_fragment(const __u8 *header)
{
	return header[2] || header[3] & 0xf8;
}

/* One turn of ipv6_skip_exthdr(): to the header behind this one, if there is one. enum icmp6_turn.
 * A function of its own: see group_hash_rare(). */
__attribute__((noinline)) int icmp6_step(struct xdp_md *ctx, __u32 tag_bytes,
					 struct icmp6_walk *walk)
{
	struct packet pkt = { .ctx = ctx };
	const __u8 *header;

	if (!walk || !packet_point(&pkt, tag_bytes))
		return ICMP6_SILENT;
	if (!walk->offset) {
		walk->offset = sizeof(struct packet_ip6);
		walk->next = pkt.ip6->next_header;
	}
	header = icmp6_bytes_at(&pkt, walk->offset);
	if (!header)
		return ICMP6_SILENT;
	if (walk->next == IPPROTO_ICMPV6)
		return header[0] & ICMPV6_INFOMSG_MASK ? ICMP6_ANSWERED : ICMP6_SILENT;
	if (!icmp6_is_extension(walk->next) ||
	    (walk->next == IPPROTO_FRAGMENT && icmp6_is_later_fragment(header)))
		return ICMP6_ANSWERED;
	if (walk->next == IPPROTO_FRAGMENT)
		walk->offset += 8;
	else if (walk->next == IPPROTO_AH)
		walk->offset += (header[1] + 2u) * 4;
	else
		walk->offset += (header[1] + 1u) * 8;
	walk->next = header[0];
	return ICMP6_ON;
}

/* is_ineligible(): an ICMPv6 error is never answered, nor what may be one out of sight. */
static __always_inline int icmp6_is_answerable(const struct packet *pkt)
{
	struct icmp6_walk walk = { 0 };
	int turn = ICMP6_ON;

#pragma clang loop unroll(disable)
	for (int i = 0; i <= ICMP6_MAX_HEADERS && turn == ICMP6_ON; i++)
		turn = icmp6_step(pkt->ctx, pkt->tag_bytes, &walk);
	return turn == ICMP6_ANSWERED;
}

/* From the CPU's bucket of answers. */
static __always_inline int icmp6_take_token(const struct sixlane_meta *meta)
{
	__u64 each_ns = READ_ONCE(meta->answer_ns);
	struct sixlane_cpu *own;
	__u32 zero = 0;

	if (!each_ns)
		return 1;
	own = bpf_map_lookup_elem(&sl_cpu, &zero);
	return own && bucket_take(&own->filled_ns, each_ns, READ_ONCE(meta->answer_burst));
}

/* --- the way back --------------------------------------------------------------------------- */

/* How the answer's way back is known, if it is. */
enum icmp6_way {
	ICMP6_WAY_NONE, /* an address that is not answered to */
	ICMP6_WAY_EXACT,
	ICMP6_WAY_UNSURE, /* the kernel may send it otherwise */
};

/* Whether all bits of an address behind the first so many are 0. */
static __always_inline int icmp6_is_prefix(const union sixlane_addr *addr, __u32 len)
{
	__u64 high = bpf_be64_to_cpu(addr->halves[0]), low = bpf_be64_to_cpu(addr->halves[1]);

	if (len >= 64)
		return len >= 128 || !(low << (len - 64));
	return !low && !(high << len);
}

/* To ipv6_anycast_destination() an on-link prefix's first address is its routers' anycast. */
static __always_inline int icmp6_is_anycast(const union sixlane_addr *addr,
					    const struct route *route)
{
	__u32 len = sixlane_route_len(route->value);

	return !route->nh_entry.neighbour && len < 127 && icmp6_is_prefix(addr, len);
}

/* Whether the kernel asks the same routes, and what it sends by this one is like what we would. */
static __always_inline int icmp6_is_exact(const struct sixlane_port *port,
					  const struct route *route,
					  const struct icmp6_query *query)
{
	const __u32 unlike =
		SIXLANE_PORT_RULES | SIXLANE_PORT_VRF | SIXLANE_PORT_SLAVES | SIXLANE_PORT_NO_XMIT;
	__u32 flags = READ_ONCE(port->flags);

	return !(query->flags & ICMP6_VRF) && flags & SIXLANE_PORT_SOURCE && !(flags & unlike) &&
	       route->nh_entry.port == query->slot && !(route->value & ROUTE_FLAGS) &&
	       !(READ_ONCE(route->next_hop->flags) & SIXLANE_NEXT_HOP_NO_ANSWER);
}

/* enum icmp6_way; if that is EXACT, sets dst_mac. */
__attribute__((noinline)) int icmp6_find_way(struct icmp6_query *query)
{
	struct sixlane_neigh *neigh;
	const struct sixlane_port *port;
	union sixlane_addr dst;
	union sixlane_mac mac;
	struct route route;
	__u32 slot;

	if (!query)
		return ICMP6_WAY_UNSURE;
	slot = query->slot;
	dst = query->dst;
	port = bpf_map_lookup_elem(&sl_ports, &slot);
	if (!port || route_by_destination(READ_ONCE(port->table), &dst, ROUTE_SHARED, &route) !=
			     SIXLANE_FORWARD)
		return ICMP6_WAY_UNSURE;
	if (route.nh_entry.type == SIXLANE_PASS_LOCAL ||
	    route.nh_entry.type == SIXLANE_PASS_ANYCAST)
		return ICMP6_WAY_NONE;
	if (route.nh_entry.type != SIXLANE_FORWARD)
		return ICMP6_WAY_UNSURE;
	if (icmp6_is_anycast(&dst, &route))
		return ICMP6_WAY_NONE;
	if (!icmp6_is_exact(port, &route, query) ||
	    exception_may_be(dst.halves[0], dst.halves[1], READ_ONCE(port->table), route.value))
		return ICMP6_WAY_UNSURE;
	neigh = nexthop_neighbour(route.nh_entry.neighbour, &dst, port);
	if (!neigh)
		return ICMP6_WAY_UNSURE;
	mac.word = READ_ONCE(neigh->mac.word);
	if (!(mac.flags & SIXLANE_MAC_VALID))
		return ICMP6_WAY_UNSURE;
	nexthop_mark_used(neigh);
	query->dst_mac = mac.word;
	return ICMP6_WAY_EXACT;
}

/* In the order that struct sixlane_port asks for. False: there is none. */
static __always_inline int icmp6_read_source(const struct sixlane_port *port,
					     union sixlane_addr *source)
{
	source->halves[0] = READ_ONCE(port->source.halves[0]);
	source->halves[1] = READ_ONCE(port->source.halves[1]);
	return source->halves[0] != 0;
}

/* --- the answer ----------------------------------------------------------------------------- */

/* Over addresses, ICMPv6 header and the packet behind it, in pieces that the helper takes. */
static __always_inline __be16 icmp6_checksum(struct icmp6_head *head)
{
	const __u32 piece = 512, all = ICMP6_MIN_MTU - __builtin_offsetof(struct packet_ip6, src);
	__be32 *at = (void *)&head->ip6.src;
	__u32 sum = bpf_htons(ICMP6_MIN_MTU - sizeof(head->ip6)) + bpf_htons(IPPROTO_ICMPV6);

	sum = (__u32)bpf_csum_diff(NULL, 0, at, piece, sum);
	sum = (__u32)bpf_csum_diff(NULL, 0, at + piece / 4, piece, sum);
	sum = (__u32)bpf_csum_diff(NULL, 0, at + 2 * piece / 4, all - 2 * piece, sum);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__be16)~sum;
}

/*
 * Version, no class; the label is drawn anew, since no two answers need to keep together. It is one
 * of those that the kernel draws, whether or not net.ipv6.flowlabel_state_ranges is set.
 */
static __always_inline __be32 icmp6_flow(const struct sixlane_meta *meta)
{
	__u32 label = 0;

	if (READ_ONCE(meta->flags) & SIXLANE_META_FLOW_LABEL)
		label = (bpf_get_prandom_u32() & 0x000fffff) | ICMP6_LABEL_STATELESS;
	return bpf_htonl(6u << 28 | label);
}

/* Cut the packet and make room in front of it, before any write: what fails is taken back. */
static __always_inline enum sixlane_verdict icmp6_resize(const struct packet *pkt, __u32 tag_bytes)
{
	int more = (int)(sizeof(struct icmp6_head) + tag_bytes - pkt->tag_bytes);
	int less = (int)(pkt->bytes - sizeof(struct packet_eth) - pkt->tag_bytes - ICMP6_QUOTE);

	if (bpf_xdp_adjust_head(pkt->ctx, -more))
		return SIXLANE_PASS_NO_HEADROOM;
	if (bpf_xdp_adjust_tail(pkt->ctx, -less)) {
		bpf_xdp_adjust_head(pkt->ctx, more);
		return SIXLANE_PASS_TRIM_FAILED;
	}
	return SIXLANE_FORWARD;
}

/* The frame turns back: what it came in by is where it leaves. */
static __always_inline enum sixlane_verdict
icmp6_write(struct packet *pkt, const struct icmp6_query *query, const struct sixlane_meta *meta)
{
	__u32 tag_bytes = vlan_egress_bytes(pkt);
	enum sixlane_verdict verdict = icmp6_resize(pkt, tag_bytes);
	struct packet_ip6 *quoted;
	struct icmp6_head *head;

	if (verdict != SIXLANE_FORWARD)
		return query->flags & ICMP6_OPERATOR ? SIXLANE_DROP_TOO_BIG : verdict;
	if (!packet_point(pkt, tag_bytes))
		return SIXLANE_DROP_TOO_BIG;
	head = (void *)pkt->ip6;
	quoted = (void *)(head + 1);
	if ((void *)head + ICMP6_MIN_MTU > packet_end(pkt->ctx))
		return SIXLANE_DROP_TOO_BIG;
	rewrite_macs(pkt);
	if (tag_bytes)
		rewrite_tags(pkt, tag_bytes);
	*(__be16 *)((void *)head - sizeof(__be16)) = bpf_htons(ETH_P_IPV6);
	if (query->flags & ICMP6_DECREMENTED)
		quoted->hop_limit--;
	head->ip6.flow = icmp6_flow(meta);
	head->ip6.payload_len = bpf_htons(ICMP6_MIN_MTU - sizeof(head->ip6));
	head->ip6.next_header = IPPROTO_ICMPV6;
	head->ip6.hop_limit = (__u8)READ_ONCE(pkt->egress_port->hop_limit);
	head->ip6.src = query->src;
	head->ip6.dst = query->dst;
	head->type = ICMPV6_PKT_TOOBIG;
	head->code = 0;
	head->checksum = 0;
	head->mtu = bpf_htonl(query->told);
	head->checksum = icmp6_checksum(head);
	return SIXLANE_ANSWER_TOO_BIG;
}

/* Sets the answer's addresses, and its MAC to where the packet came from. False: there is no answer
 * that could be sent by this port. */
static __always_inline int icmp6_address(const struct packet *pkt, struct icmp6_query *query)
{
	union packet_mac mac = { 0 };

	if (!(query->flags & ICMP6_GENERIC) && !(pkt->egress_flags & SIXLANE_PORT_XMIT))
		return 0;
	if (!icmp6_read_source(pkt->egress_port, &query->src))
		return 0;
	query->egress_flags = pkt->egress_flags;
	query->dst = pkt->ip6->src;
	mac.pieces[0] = pkt->eth->src[0];
	mac.pieces[1] = pkt->eth->src[1];
	mac.pieces[2] = pkt->eth->src[2];
	query->dst_mac = mac.word;
	return 1;
}

/*
 * In generic mode a frame may be several packets that are small enough (GRO, GSO), which only
 * the kernel can tell; the operator's word counts if the frame could have come in as one.
 */
static __always_inline int icmp6_may_be_many(const struct packet *pkt,
					     const struct icmp6_query *query)
{
	return query->flags & ICMP6_GENERIC && (!(query->flags & ICMP6_OPERATOR) ||
						query->ip_bytes > READ_ONCE(pkt->egress_port->mtu));
}

/* If there is no answer. */
static __always_inline enum sixlane_verdict icmp6_refusal(const struct icmp6_query *query)
{
	return query->flags & ICMP6_OPERATOR ? SIXLANE_DROP_TOO_BIG : SIXLANE_PASS_TOO_BIG;
}

/* The packet of a query. False: it is not there, nor so long as to be quoted. */
static __always_inline int icmp6_point(struct packet *pkt, const struct icmp6_query *query)
{
	__u32 slot = query->slot;

	pkt->egress_port = bpf_map_lookup_elem(&sl_ports, &slot);
	pkt->bytes = query->bytes;
	pkt->tag_bytes = query->tag_bytes;
	if (!pkt->egress_port || !packet_point(pkt, pkt->tag_bytes))
		return 0;
	pkt->egress_flags = READ_ONCE(pkt->egress_port->flags);
	/* The first test is the verifier's, which cannot tell it from the second. */
	return (void *)(pkt->eth + 1) <= packet_end(pkt->ctx) &&
	       (void *)pkt->ip6 + ICMP6_QUOTE <= packet_end(pkt->ctx);
}

/* What can be asked before its way is known. SIXLANE_FORWARD: find that, and then icmp6_answer().
 */
static __always_inline enum sixlane_verdict icmp6_prepare(const struct packet *pkt,
							  struct icmp6_query *query)
{
	if (query->ip_bytes <= ICMP6_MIN_MTU)
		return icmp6_refusal(query);
	if (icmp6_may_be_many(pkt, query))
		return SIXLANE_PASS_TOO_BIG;
	return icmp6_address(pkt, query) ? SIXLANE_FORWARD : icmp6_refusal(query);
}

/* Whether the answer has a way: the exact one, or, for the operator's, back to where it came from.
 */
static __always_inline int icmp6_has_way(const struct icmp6_query *query, enum icmp6_way way)
{
	const union packet_mac mac = { .word = query->dst_mac };

	if (way == ICMP6_WAY_EXACT)
		return 1;
	return way == ICMP6_WAY_UNSURE && query->flags & ICMP6_OPERATOR &&
	       !(mac.pieces[0] & bpf_htons(0x0100));
}

/* enum sixlane_verdict, never SIXLANE_FORWARD. A function of its own, as all that a query goes to:
 * they are called one after the other, so that their stacks do not add up. */
__attribute__((noinline)) int icmp6_answer(struct xdp_md *ctx, struct icmp6_query *query,
					   enum icmp6_way way)
{
	struct packet pkt = { .ctx = ctx };
	const struct sixlane_meta *meta;
	__u32 zero = 0;

	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	if (!meta || !query)
		return SIXLANE_PASS_TOO_BIG;
	if (!icmp6_point(&pkt, query) || !icmp6_has_way(query, way) || !icmp6_is_answerable(&pkt))
		return icmp6_refusal(query);
	if (!icmp6_take_token(meta))
		return SIXLANE_DROP_TOO_BIG_RATE;
	TRACE(ANSWER, SIXLANE_ANSWER_TOO_BIG, answer, .mtu = query->told, .way = way,
	      .dst_mac = query->dst_mac, .source = query->src);
	pkt.dst_mac.word = query->dst_mac;
	pkt.egress_flags = query->egress_flags;
	return icmp6_write(&pkt, query, meta);
}

#endif
