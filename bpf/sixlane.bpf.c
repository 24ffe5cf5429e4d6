// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The XDP program: the sequence of steps that a packet goes through. A step is a function of the
 * header that its name begins with. It returns SIXLANE_FORWARD, which is 0, to go on, or a verdict
 * that ends the sequence; PACKET_DECIDED says that the verdict is in pkt->decided
 * (packet_decide()). What a step finds is in struct packet.
 *
 * TRACE_STEP() and TRACE_EARLY() return the verdict of the step. In the build for `sixlane explain`
 * they also record it, and go on after the verdict of an early step: see trace.h.
 *
 * Invariants: every packet is counted exactly once; nothing is written to a packet before all
 * checks have passed; a packet in question goes to the kernel.
 */
#include "bond.h"
#include "exception.h"
#include "group.h"
#include "guard.h"
#include "icmp_event.h"
#include "mtu.h"
#include "nexthop.h"
#include "parse.h"
#include "port.h"
#include "rewrite.h"
#include "rule.h"
#include "trace.h"
#include "verdict.h"
#include "vlan.h"

/* Other flavours define both, and include this file. */
#ifndef SIXLANE_SECTION
#define SIXLANE_SECTION "xdp"
#define SIXLANE_PROGRAM sixlane
#endif

/*
 * Resolves a next hop that is not one plain gateway: chooses the member of a group, applies an
 * exception, and ends with the verdict of a route that does not forward. Most packets skip this.
 */
static __always_inline enum sixlane_verdict choose_next_hop(struct packet *pkt)
{
	const __u32 exceptional = (pkt->route & ROUTE_FLAGS) | pkt->check_punted;
	enum sixlane_verdict verdict;

	/* type 0: one next hop that forwards */
	if (likely(!(pkt->nh_entry.type | exceptional)))
		return SIXLANE_FORWARD;
	verdict = TRACE_STEP(member, pkt, group_choose(pkt));
	if (verdict != SIXLANE_FORWARD)
		return verdict;
	/*
	 * A member with a port forwards. Not likely(), which costs the verifier a sixth more
	 * instructions.
	 */
	if (pkt->egress_port && !exceptional)
		return SIXLANE_FORWARD;
	return exception_apply(pkt) ?: nexthop_check_type(pkt);
}

/* Turns the frame into the one that is sent: VLAN tags, MACs, hop limit. */
static __always_inline enum sixlane_verdict rewrite(struct packet *pkt)
{
	if (unlikely(!rewrite_is_plain(pkt)))
		return TRACE_STEP(slave, pkt, bond_choose_slave(pkt)) ?: rewrite_packet(pkt);
	rewrite_headers(pkt);
	return SIXLANE_FORWARD;
}

/* The verdict of the first step that does not forward; SIXLANE_FORWARD: the frame is rewritten. */
static __always_inline enum sixlane_verdict run_steps(struct packet *pkt)
{
	return TRACE_EARLY(meta, pkt, port_check_all(pkt)) ?:
	       TRACE_EARLY(vlan, pkt, vlan_find_port(pkt)) ?:
	       TRACE_EARLY(port, pkt, port_check(pkt)) ?:
	       TRACE_STEP(frame, pkt, parse_frame(pkt)) ?:
	       TRACE_EARLY(addressee, pkt, parse_addressee(pkt)) ?:
	       TRACE_EARLY(header, pkt, parse_ip6(pkt)) ?:
	       (rule_applies(pkt) ? rule_find_route(pkt) : route_find_main(pkt)) ?:
	       choose_next_hop(pkt) ?:
	       TRACE_STEP(forwarding, pkt, nexthop_check_forwarding(pkt)) ?:
	       TRACE_STEP(egress, pkt, nexthop_find_egress(pkt)) ?:
	       TRACE_STEP(guard, pkt, guard_check(pkt)) ?:
	       TRACE_STEP(mtu, pkt, mtu_check(pkt)) ?:
	       nexthop_find_neighbour(pkt) ?:
	       trace_stop(pkt) ?:
	       rewrite(pkt);
}

/* Ends a packet that is not forwarded: decides and counts its verdict, and returns the XDP action.
 */
static __always_inline int end_unforwarded(struct packet *pkt, enum sixlane_verdict verdict)
{
	if (verdict == PACKET_DECIDED) {
		verdict = pkt->decided;
		/* Rules in prerouting may act on a packet before the kernel drops it. */
		if (unlikely(pkt->ingress_flags & SIXLANE_PORT_FLOWS) && verdict_drops(verdict))
			verdict = SIXLANE_PASS_FIREWALL;
	}
	verdict = trace_override(pkt, verdict);
	icmp_event_consider(pkt, verdict);
	verdict_count(pkt, verdict);
	/* Not XDP_TX for an answer: veth does not poll a peer without an XDP program then. */
	return verdict_redirects(verdict) ? verdict_redirect(pkt->ctx->ingress_ifindex)
					  : verdict_act(verdict);
}

/* The compiler as a BTF tag, which survives stripping and stays with a loaded program. */
__attribute__((btf_decl_tag(SIXLANE_COMPILER_TAG __VERSION__)))
SEC(SIXLANE_SECTION) int SIXLANE_PROGRAM(struct xdp_md *ctx)
{
	struct packet pkt = { .ctx = ctx, .bytes = packet_bytes(ctx) };
	enum sixlane_verdict verdict;

	port_find(&pkt);
	trace_arrival(&pkt);
	verdict = run_steps(&pkt);
	if (unlikely(verdict != SIXLANE_FORWARD))
		return end_unforwarded(&pkt, verdict);
	trace_rewrite(&pkt);
	verdict_count(&pkt, SIXLANE_FORWARD);
	return verdict_redirect(pkt.tx_ifindex);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
