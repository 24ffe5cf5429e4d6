/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The MTU check. ip6_forward() checks the MTU of the device, or a locked one of the route;
 * ip6_finish_output() then checks the route's, locked or not. The MTU of an exception replaces the
 * route's. Most packets cost two comparisons. A function that is not inlined decides whether a
 * packet that is too big is answered here or passed.
 */
#ifndef SIXLANE_MTU_H
#define SIXLANE_MTU_H

#include "icmp6.h"
#include "scratch.h"
#include "trace.h"

/*
 * Sets answer_mtu and flags. False: the kernel has to answer. The MTU in an answer is at least
 * 1280. With a locked MTU over the device's, the kernel leaves oversized packets to the driver;
 * such packets are passed, since a redirected one would be lost without a counter.
 */
static __always_inline int mtu_find(struct icmp6_query *query)
{
	__u32 own = query->exception & SIXLANE_EXCEPTION_MTU;
	__u32 locked =
		own ? query->exception & SIXLANE_EXCEPTION_LOCKED : query->flags & ICMP6_LOCKED;
	__u32 by_device = !locked || !query->mtu;

	query->answer_mtu = by_device ? query->device_mtu : query->mtu;
	if (query->answer_mtu < ICMP6_MIN_MTU)
		query->answer_mtu = ICMP6_MIN_MTU;
	if (query->ip_bytes <= query->answer_mtu) {
		if (query->mtu < ICMP6_MIN_MTU || query->ip_bytes <= query->mtu)
			return 0;
		query->answer_mtu = query->mtu;
		query->flags |= ICMP6_DECREMENTED;
		by_device = 0;
	}
	if (own && !by_device)
		query->flags |= ICMP6_EXCEPTION;
	if (query->exception & SIXLANE_EXCEPTION_OPERATOR &&
	    (query->flags & ICMP6_EXCEPTION || query->exception & SIXLANE_EXCEPTION_NEXT_HOP))
		query->flags |= ICMP6_OPERATOR;
	return !by_device || !(query->flags & ICMP6_STACKED) || query->flags & ICMP6_OPERATOR;
}

/* enum sixlane_verdict. SIXLANE_FORWARD: answer here, if the answer has a route. */
__attribute__((noinline)) int mtu_decide(struct xdp_md *ctx, struct icmp6_query *query)
{
	struct packet pkt = { .ctx = ctx };
	const struct sixlane_meta *meta;
	__u32 zero = 0;

	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	if (!meta || !query || !mtu_find(query))
		return SIXLANE_PASS_TOO_BIG;
	if (!(query->flags & (ICMP6_EXCEPTION | ICMP6_OPERATOR)) &&
	    !(READ_ONCE(meta->flags) & SIXLANE_META_ANSWER))
		return SIXLANE_PASS_TOO_BIG;
	return icmp6_point(&pkt, query) ? icmp6_prepare(&pkt, query) : icmp6_refusal(query);
}

static __always_inline __u32 mtu_flags(const struct packet *pkt)
{
	__u32 flags = 0;

	if (READ_ONCE(pkt->next_hop->flags) & SIXLANE_NEXT_HOP_LOCKED)
		flags |= ICMP6_LOCKED;
	if (pkt->generic)
		flags |= ICMP6_GENERIC;
	if (vlan_egress_bytes(pkt) > sizeof(union sixlane_tag))
		flags |= ICMP6_STACKED;
	if (pkt->egress_flags & SIXLANE_PORT_VRF)
		flags |= ICMP6_VRF;
	return flags;
}

_Static_assert(sizeof(struct icmp6_query) <= sizeof(((struct scratch *)0)->words), "it fits");

/* Answers, drops or passes a packet that is too big. */
static __always_inline enum sixlane_verdict mtu_exceeded(struct packet *pkt, __u32 device_mtu)
{
	struct scratch *scratch = scratch_get();
	struct icmp6_query *query;
	int verdict;

	if (!scratch)
		return SIXLANE_PASS_TOO_BIG;
	query = (void *)scratch->words;
	*query = (struct icmp6_query){
		.bytes = pkt->bytes,
		.ip_bytes = pkt->ip_bytes,
		.tag_bytes = pkt->tag_bytes,
		.slot = pkt->slot,
		.device_mtu = device_mtu,
		.mtu = pkt->mtu,
		.exception = pkt->exception,
		.flags = mtu_flags(pkt),
	};
	verdict = mtu_decide(pkt->ctx, query);
	if (verdict == SIXLANE_FORWARD)
		verdict = icmp6_answer(pkt->ctx, query, icmp6_find_way(query));
	scratch_put(scratch);
	return packet_decide(pkt, verdict);
}

static __always_inline enum sixlane_verdict mtu_check(struct packet *pkt)
{
	__u32 device_mtu = READ_ONCE(pkt->egress_port->mtu);

	if (likely(pkt->ip_bytes <= device_mtu && (!pkt->mtu || pkt->ip_bytes <= pkt->mtu)))
		return SIXLANE_FORWARD;
	/* netfilter's rules see the packet before the kernel answers or drops it */
	if (pkt->ingress_flags & SIXLANE_PORT_FLOWS || trace_decided())
		return SIXLANE_PASS_TOO_BIG;
	return mtu_exceeded(pkt, device_mtu);
}

#endif
