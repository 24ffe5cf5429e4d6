/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMPv6 messages to this machine that may change what the kernel does: Packet Too Big, Redirect,
 * Router Advertisement. The kernel sends no netlink message about these changes, so the program
 * reports such a packet to the daemon, which then reads the kernel's state. The packet is passed as
 * without this. An event is counted and lost if the ring is full; the daemon finds the change
 * later.
 *
 * Until then, packets to the destination of a Packet Too Big or Redirect are passed: its bytes in
 * sl_fresh are set before the kernel sees the message, unless sl_fresh is full.
 *
 * There is no event for messages that the kernel certainly ignores: a Path MTU under 1280, a
 * redirect or an advertisement from beyond the link.
 */
#ifndef SIXLANE_ICMP_EVENT_H
#define SIXLANE_ICMP_EVENT_H

#include <bpf/bpf_endian.h>
#include <linux/icmpv6.h>

#include "packet.h"
#include "parse.h"
#include "punt.h"
#include "route.h"
#include "trace.h"

#ifdef SIXLANE_TRACE
#define ICMP_EVENT_SENDS 0
#else
#define ICMP_EVENT_SENDS 1
#endif

#define ICMP_EVENT_LOCAL_TABLE 255u    /* RT_TABLE_LOCAL */
#define ICMP_EVENT_MIN_MTU 1280	       /* __ip6_rt_update_pmtu() ignores a smaller one */
#define ICMP_EVENT_NDISC_HOP_LIMIT 255 /* ndisc_rcv() ignores any other */
#define ICMP_EVENT_ADVERT_BYTES 16     /* struct ra_msg of the kernel */

/* Verdicts of steps before the route lookup: the packet may or may not be for this machine. */
static const __u64 icmp_event_early_verdicts =
	1ull << SIXLANE_PASS_NOT_READY | 1ull << SIXLANE_PASS_ALL | 1ull << SIXLANE_PUNT_RULES |
	1ull << SIXLANE_PASS_PORT | 1ull << SIXLANE_PASS_PORT_UPPER |
	1ull << SIXLANE_PASS_FIREWALL | 1ull << SIXLANE_PASS_TC | 1ull << SIXLANE_PASS_PROXY_NDP |
	1ull << SIXLANE_PASS_SOURCE;
/* All verdicts of packets that may be for this machine. */
static const __u64 icmp_event_verdicts =
	icmp_event_early_verdicts | 1ull << SIXLANE_PASS_LOCAL | 1ull << SIXLANE_PASS_ANYCAST |
	1ull << SIXLANE_PASS_DESTINATION | 1ull << SIXLANE_PASS_OTHER_MAC;

/* struct rd_msg of the kernel, without options. */
struct icmp_event_redirect {
	struct icmp6hdr icmp6;
	union sixlane_addr target, dst;
};

struct icmp_event_too_big {
	struct icmp6hdr icmp6;
	struct packet_ip6 inner;
};

static __always_inline int icmp_event_has(const struct packet *pkt, __u32 bytes)
{
	return pkt->ip_bytes >= sizeof(*pkt->ip6) + bytes &&
	       (void *)(pkt->ip6 + 1) + bytes <= packet_end(pkt->ctx);
}

static __always_inline int icmp_event_is_link_local(const union sixlane_addr *addr)
{
	return addr->bytes[0] == 0xfe && (addr->bytes[1] & 0xc0) == 0x80;
}

/*
 * Sets type and dst. False: the message changes nothing in the kernel. other_mac: the frame is not
 * for the port's own MAC, so it can only be an advertisement, which is multicast.
 */
static __always_inline int icmp_event_read(const struct packet *pkt, int other_mac,
					   struct sixlane_icmp_event *icmp_event)
{
	const struct icmp_event_too_big *too_big = (const void *)(pkt->ip6 + 1);
	const struct icmp_event_redirect *redirect = (const void *)too_big;
	const int is_from_link = pkt->ip6->hop_limit == ICMP_EVENT_NDISC_HOP_LIMIT;

	if (!icmp_event_has(pkt, ICMP_EVENT_ADVERT_BYTES))
		return 0;
	icmp_event->type = redirect->icmp6.icmp6_type;
	if (icmp_event->type == SIXLANE_ICMP6_ROUTER_ADVERT)
		return is_from_link && icmp_event_is_link_local(&pkt->ip6->src);
	if (other_mac || !icmp_event_has(pkt, sizeof(*redirect)))
		return 0;
	icmp_event->dst = redirect->dst;
	if (icmp_event->type == SIXLANE_ICMP6_REDIRECT)
		return is_from_link;
	if (icmp_event->type != SIXLANE_ICMP6_TOO_BIG || !icmp_event_has(pkt, sizeof(*too_big)))
		return 0;
	icmp_event->dst = too_big->inner.dst;
	return bpf_ntohl(too_big->icmp6.icmp6_mtu) >= ICMP_EVENT_MIN_MTU;
}

/* Whether the packet is for this machine. Scoped destinations are never forwarded. */
static __always_inline int icmp_event_is_for_router(const struct packet *pkt,
						    const struct sixlane_port *port)
{
	__u32 flags = READ_ONCE(port->flags), table = READ_ONCE(port->table);
	struct route route;

	if (parse_addr_is_scoped(&pkt->ip6->dst))
		return 1;
	/* With rules, main has no local routes (see SIXLANE_TABLE_MAIN): the local table has them.
	 */
	if (flags & SIXLANE_PORT_RULES && !(flags & SIXLANE_PORT_VRF))
		table = ICMP_EVENT_LOCAL_TABLE;
	if (route_by_destination(table, &pkt->ip6->dst, ROUTE_SHARED, &route) != SIXLANE_FORWARD)
		return 0;
	return route.nh_entry.type == SIXLANE_PASS_LOCAL ||
	       route.nh_entry.type == SIXLANE_PASS_ANYCAST;
}

/*
 * Sets eth, ip6 and ip_bytes if an IPv6 header follows tag_bytes of tags. They are found anew, so
 * that the common path need not keep them in registers.
 */
static __always_inline int icmp_event_point(struct packet *pkt, __u32 tag_bytes)
{
	const __be16 *type = packet_data(pkt->ctx) + VLAN_AT + tag_bytes;

	if (!packet_point(pkt, tag_bytes) || *type != bpf_htons(ETH_P_IPV6))
		return 0;
	pkt->ip_bytes = sizeof(*pkt->ip6) + bpf_ntohs(pkt->ip6->payload_len);
	return 1;
}

/* Returns whether an event was sent. Not inlined: see multipath_hash_rare(). */
__attribute__((noinline)) int icmp_event_send(struct xdp_md *ctx, __u32 slot, __u32 verdict)
{
	struct packet pkt = { .ctx = ctx };
	const struct sixlane_port *port = bpf_map_lookup_elem(&sl_ports, &slot);
	struct sixlane_icmp_event icmp_event = { 0 }, *room;
	const struct sixlane_meta *meta;
	struct sixlane_cpu *own;
	__u32 zero = 0;
	int punted;

	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	if (!slot || !port || !meta || READ_ONCE(meta->abi) != SIXLANE_ABI)
		return 0;
	/* No loop: clang may start its variable below 0, and since Linux 7.1 no pointer may lie
	 * before the packet, not even for a moment.
	 */
	if (!icmp_event_point(&pkt, 0) && !icmp_event_point(&pkt, sizeof(union sixlane_tag)) &&
	    !icmp_event_point(&pkt, 2 * sizeof(union sixlane_tag)))
		return 0;
	if (pkt.ip6->next_header != IPPROTO_ICMPV6 ||
	    !icmp_event_read(&pkt, verdict == SIXLANE_PASS_OTHER_MAC, &icmp_event))
		return 0;
	if (icmp_event_early_verdicts >> (verdict & 63) & 1 &&
	    !icmp_event_is_for_router(&pkt, port))
		return 0;
	punted = icmp_event.type == SIXLANE_ICMP6_ROUTER_ADVERT ||
		 punt_set(icmp_event.dst.halves[0], icmp_event.dst.halves[1]);
	icmp_event.ifindex = READ_ONCE(port->ifindex);
	room = bpf_ringbuf_reserve(&sl_icmp_events, sizeof(*room), 0);
	if (room) {
		*room = icmp_event;
		bpf_ringbuf_submit(room, 0);
	}
	own = bpf_map_lookup_elem(&sl_cpu, &zero);
	if (own && (!room || !punted))
		own->icmp_events_lost++;
	return !!room;
}

/* Not a step: the verdict stays as it is. The trace flavour sends nothing. */
static __always_inline void icmp_event_consider(const struct packet *pkt,
						enum sixlane_verdict verdict)
{
	if (ICMP_EVENT_SENDS && unlikely(icmp_event_verdicts >> verdict & 1))
		icmp_event_send(pkt->ctx, pkt->slot, verdict);
}

#endif
