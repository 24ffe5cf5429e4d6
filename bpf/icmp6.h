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

#include "bucket.h"
#include "icmp6_eligible.h"
#include "icmp6_query.h"
#include "icmp6_route.h"
#include "icmp6_write.h"
#include "trace.h"

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

/* In the order that struct sixlane_port asks for. False: there is none. */
static __always_inline int icmp6_read_source(const struct sixlane_port *port,
					     union sixlane_addr *source)
{
	source->halves[0] = READ_ONCE(port->source.halves[0]);
	source->halves[1] = READ_ONCE(port->source.halves[1]);
	return source->halves[0] != 0;
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
