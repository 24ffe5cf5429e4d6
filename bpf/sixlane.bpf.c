// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The XDP program: one packet's walk, top to bottom, a header a step. A step returns
 * SIXLANE_FORWARD ("so far so good") or the packet's final verdict, and notes in struct packet
 * what it found.
 *
 * Invariants: every packet is counted exactly once; nothing is written to a packet before all
 * checks are through; whatever is in doubt is the kernel's.
 */
#include "bond.h"
#include "exception.h"
#include "group.h"
#include "hint.h"
#include "mtu.h"
#include "nexthop.h"
#include "parse.h"
#include "port.h"
#include "rewrite.h"
#include "rule.h"
#include "verdict.h"
#include "vlan.h"

#ifndef SIXLANE_SECTION
#define SIXLANE_SECTION "xdp"
#define SIXLANE_PROGRAM sixlane
#endif

/* By which next hop. Most routes have one, and no exceptions, which one comparison tells. */
static __always_inline enum sixlane_verdict walk_choose(struct packet *pkt)
{
	pkt->mtu = READ_ONCE(pkt->next_hop->mtu);
	if (likely(!(pkt->fate.kind | (pkt->route & ROUTE_MARKS))))
		return SIXLANE_FORWARD;
	return group_choose(pkt) ?: exception_apply(pkt) ?: nexthop_check_fate(pkt);
}

/* Out by what was found. Most frames keep their length and leave by the device itself. */
static __always_inline enum sixlane_verdict walk_leave(struct packet *pkt)
{
	if (likely(rewrite_is_plain(pkt))) {
		rewrite_headers(pkt);
		return SIXLANE_FORWARD;
	}
	return bond_choose_slave(pkt) ?: rewrite_packet(pkt);
}

static __always_inline enum sixlane_verdict walk(struct packet *pkt)
{
	return port_check_all() ?:
	       vlan_find_port(pkt) ?:
	       port_check(pkt) ?:
	       parse_frame(pkt) ?:
	       parse_addressee(pkt) ?:
	       parse_ip6(pkt) ?:
	       rule_find_route(pkt) ?:
	       walk_choose(pkt) ?:
	       nexthop_check_forwarding(pkt) ?:
	       nexthop_find_egress(pkt) ?:
	       mtu_check(pkt) ?:
	       nexthop_find_neighbour(pkt) ?:
	       walk_leave(pkt);
}

SEC(SIXLANE_SECTION)
int SIXLANE_PROGRAM(struct xdp_md *ctx)
{
	struct packet pkt = { .ctx = ctx, .bytes = packet_bytes(ctx) };
	enum sixlane_verdict verdict;

	port_find(&pkt);
	verdict = walk(&pkt);
	if (likely(verdict == SIXLANE_FORWARD)) {
		verdict_count(&pkt, SIXLANE_FORWARD);
	} else {
		if (verdict == PACKET_DECIDED)
			verdict = pkt.decided;
		hint_consider(&pkt, verdict);
		verdict_count(&pkt, verdict);
		if (!verdict_redirects(verdict))
			return verdict_act(verdict);
	}
	return verdict_redirect(&pkt);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
