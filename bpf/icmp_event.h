/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Nothing announces that the kernel has learnt a Path MTU, followed a redirect or taken a lifetime
 * from a router advertisement. So the ICMPv6 messages to this machine that can teach it one are
 * told to the daemon, which asks the kernel. The packet passes as it would have; a ICMP event that
 * finds no room is counted and lost, since the daemon looks for what it was not told.
 *
 * Until the daemon has asked, the destination that a Packet Too Big or a Redirect is about is punt:
 * its bytes in sl_fresh are set before the kernel sees the message, as long as there is room.
 *
 * Whether the kernel believes the message is not asked here, but where it certainly does not (a
 * Path MTU under 1280, a redirect or an advertisement from beyond the link) there is no ICMP event.
 */
#ifndef SIXLANE_HINT_H
#define SIXLANE_HINT_H

#include <bpf/bpf_endian.h>
#include <linux/icmpv6.h>

#include "packet.h"
#include "parse.h"
#include "punt.h"
#include "route.h"
#include "trace.h"

#ifdef SIXLANE_TRACE
#define HINT_SENDS 0
#else
#define HINT_SENDS 1
#endif

#define HINT_LOCAL_TABLE 255u	 /* RT_TABLE_LOCAL */
#define HINT_MIN_MTU 1280	 /* __ip6_rt_update_pmtu() ignores a smaller one */
#define HINT_NDISC_HOP_LIMIT 255 /* ndisc_rcv() ignores any other */
#define HINT_ADVERT_BYTES 16	 /* struct ra_msg of the kernel */

/* Verdicts that end the walk before anybody has asked to whom the packet is, … */
static const __u64 icmp_event_unasked =
	1ull << SIXLANE_PASS_NOT_READY | 1ull << SIXLANE_PASS_ALL | 1ull << SIXLANE_PUNT_RULES |
	1ull << SIXLANE_PASS_PORT | 1ull << SIXLANE_PASS_PORT_UPPER |
	1ull << SIXLANE_PASS_FIREWALL | 1ull << SIXLANE_PASS_TC | 1ull << SIXLANE_PASS_PROXY_NDP |
	1ull << SIXLANE_PASS_SOURCE;
/* … and of packets that are, or may be, addressed to this machine. */
static const __u64 icmp_event_verdicts =
	icmp_event_unasked | 1ull << SIXLANE_PASS_LOCAL | 1ull << SIXLANE_PASS_ANYCAST |
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
 * Sets type and dst. False: nothing that the kernel would learn from. A frame to a group,
 * other_mac, can only be an advertisement.
 */
static __always_inline int icmp_event_read(const struct packet *pkt, int other_mac,
					   struct sixlane_icmp_event *icmp_event)
{
	const struct icmp_event_too_big *too_big = (const void *)(pkt->ip6 + 1);
	const struct icmp_event_redirect *redirect = (const void *)too_big;
	const int is_from_link = pkt->ip6->hop_limit == HINT_NDISC_HOP_LIMIT;

	if (!icmp_event_has(pkt, HINT_ADVERT_BYTES))
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
	return bpf_ntohl(too_big->icmp6.icmp6_mtu) >= HINT_MIN_MTU;
}

/* Whether the kernel takes it for its own. A scoped destination is one of ours or nobody's. */
static __always_inline int icmp_event_is_to_us(const struct packet *pkt,
					       const struct sixlane_port *port)
{
	__u32 flags = READ_ONCE(port->flags), table = READ_ONCE(port->table);
	struct route route;

	if (parse_addr_is_scoped(&pkt->ip6->dst))
		return 1;
	/* Where local is not laid over the port's table it stands as it is, but for a VRF's. */
	if (flags & SIXLANE_PORT_RULES && !(flags & SIXLANE_PORT_VRF))
		table = HINT_LOCAL_TABLE;
	if (route_by_destination(table, &pkt->ip6->dst, ROUTE_SHARED, &route) != SIXLANE_FORWARD)
		return 0;
	return route.nh_entry.type == SIXLANE_PASS_LOCAL ||
	       route.nh_entry.type == SIXLANE_PASS_ANYCAST;
}

/*
 * Whether an IPv6 header stands behind so many bytes of tags. Sets eth, ip6 and ip_bytes again:
 * most packets never come here, and should not have to keep in mind where it was.
 */
static __always_inline int icmp_event_point(struct packet *pkt, __u32 tag_bytes)
{
	const __be16 *type = packet_data(pkt->ctx) + VLAN_AT + tag_bytes;

	if (!packet_point(pkt, tag_bytes) || *type != bpf_htons(ETH_P_IPV6))
		return 0;
	pkt->ip_bytes = sizeof(*pkt->ip6) + bpf_ntohs(pkt->ip6->payload_len);
	return 1;
}

/* A function of its own: see group_hash_rare(). Returns whether a ICMP event was sent. */
__attribute__((noinline)) int icmp_event_send(struct xdp_md *ctx, __u32 slot, __u32 verdict)
{
	struct packet pkt = { .ctx = ctx };
	const struct sixlane_port *port = bpf_map_lookup_elem(&sl_ports, &slot);
	struct sixlane_icmp_event icmp_event = { 0 }, *room;
	const struct sixlane_meta *meta;
	struct sixlane_cpu *own;
	__u32 zero = 0;
	int is_told;

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
	if (icmp_event_unasked >> (verdict & 63) & 1 && !icmp_event_is_to_us(&pkt, port))
		return 0;
	is_told = icmp_event.type == SIXLANE_ICMP6_ROUTER_ADVERT ||
		  punt_set(icmp_event.dst.halves[0], icmp_event.dst.halves[1]);
	icmp_event.ifindex = READ_ONCE(port->ifindex);
	room = bpf_ringbuf_reserve(&sl_icmp_events, sizeof(*room), 0);
	if (room) {
		*room = icmp_event;
		bpf_ringbuf_submit(room, 0);
	}
	own = bpf_map_lookup_elem(&sl_cpu, &zero);
	if (own && (!room || !is_told))
		own->icmp_events_lost++;
	return !!room;
}

/* Not a step: the verdict stands. A trace tells nobody. */
static __always_inline void icmp_event_consider(const struct packet *pkt,
						enum sixlane_verdict verdict)
{
	if (HINT_SENDS && unlikely(icmp_event_verdicts >> verdict & 1))
		icmp_event_send(pkt->ctx, pkt->slot, verdict);
}

#endif
