/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Answers a packet that is too big with Packet Too Big, byte for byte as icmp6_send() does (RFC
 * 4443, section 3.2).
 *
 * Where XDP is not certain of the kernel's answer, the packet is passed: the kernel knows the same
 * MTU. It does not know exceptions of the operator, and would forward the packet; so such packets
 * are answered by the port and MAC that they came from, or dropped.
 */
#ifndef SIXLANE_ICMP6_H
#define SIXLANE_ICMP6_H

#include "bucket.h"
#include "icmp6_eligible.h"
#include "icmp6_query.h"
#include "icmp6_route.h"
#include "icmp6_write.h"
#include "trace.h"

/* Rate limit of answers, a token bucket for each CPU. */
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

/* Reads the halves in the order that struct sixlane_port requires. False: there is no source. */
static __always_inline int icmp6_read_source(const struct sixlane_port *port,
					     union sixlane_addr *source)
{
	source->halves[0] = READ_ONCE(port->source.halves[0]);
	source->halves[1] = READ_ONCE(port->source.halves[1]);
	return source->halves[0] != 0;
}

/* Sets the addresses of the answer, and its MAC to the sender's. False: the ingress port cannot
 * send an answer. */
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
 * In generic mode a frame may be several packets that fit the MTU (GRO, GSO); only the kernel can
 * tell. For an exception of the operator, a frame within the port's MTU counts as one packet.
 */
static __always_inline int icmp6_may_be_many(const struct packet *pkt,
					     const struct icmp6_query *query)
{
	return query->flags & ICMP6_GENERIC && (!(query->flags & ICMP6_OPERATOR) ||
						query->ip_bytes > READ_ONCE(pkt->egress_port->mtu));
}

/* The verdict if there is no answer. */
static __always_inline enum sixlane_verdict icmp6_refusal(const struct icmp6_query *query)
{
	return query->flags & ICMP6_OPERATOR ? SIXLANE_DROP_TOO_BIG : SIXLANE_PASS_TOO_BIG;
}

/* Sets pkt to the packet of a query. False: it is too short to be quoted. */
static __always_inline int icmp6_point(struct packet *pkt, const struct icmp6_query *query)
{
	__u32 slot = query->slot;

	pkt->egress_port = bpf_map_lookup_elem(&sl_ports, &slot);
	pkt->bytes = query->bytes;
	pkt->tag_bytes = query->tag_bytes;
	if (!pkt->egress_port || !packet_point(pkt, pkt->tag_bytes))
		return 0;
	pkt->egress_flags = READ_ONCE(pkt->egress_port->flags);
	/* The first test is for the verifier, which does not deduce it from the second. */
	return (void *)(pkt->eth + 1) <= packet_end(pkt->ctx) &&
	       (void *)pkt->ip6 + ICMP6_QUOTE <= packet_end(pkt->ctx);
}

/* Checks before the route of the answer is looked up. SIXLANE_FORWARD: continue with
 * icmp6_find_route() and icmp6_answer(). */
static __always_inline enum sixlane_verdict icmp6_prepare(const struct packet *pkt,
							  struct icmp6_query *query)
{
	if (query->ip_bytes <= ICMP6_MIN_MTU)
		return icmp6_refusal(query);
	if (icmp6_may_be_many(pkt, query))
		return SIXLANE_PASS_TOO_BIG;
	return icmp6_address(pkt, query) ? SIXLANE_FORWARD : icmp6_refusal(query);
}

/* Whether the answer has a route: an exact one, or, for exceptions of the operator, back to the
 * packet's sender. */
static __always_inline int icmp6_has_way(const struct icmp6_query *query, enum icmp6_way way)
{
	const union packet_mac mac = { .word = query->dst_mac };

	if (way == ICMP6_WAY_EXACT)
		return 1;
	return way == ICMP6_WAY_UNSURE && query->flags & ICMP6_OPERATOR &&
	       !(mac.pieces[0] & bpf_htons(0x0100));
}

/*
 * Sends the answer. enum sixlane_verdict, never SIXLANE_FORWARD. Like the other functions that take
 * a query not inlined: called one after the other, their stacks do not add up.
 */
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
	TRACE(ANSWER, SIXLANE_ANSWER_TOO_BIG, answer, .mtu = query->answer_mtu, .way = way,
	      .dst_mac = query->dst_mac, .source = query->src);
	pkt.dst_mac.word = query->dst_mac;
	pkt.egress_flags = query->egress_flags;
	return icmp6_write(&pkt, query, meta);
}

#endif
