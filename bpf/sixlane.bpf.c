// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The XDP program: one packet's walk, top to bottom, a header a step. A step returns
 * SIXLANE_FORWARD ("so far so good") or the packet's final verdict, and notes in struct packet
 * what it found. TRACE_STEP() and TRACE_EARLY() hand the step's verdict on (trace.h).
 *
 * Invariants: every packet is counted exactly once; nothing is written to a packet before all
 * checks are through; whatever is in doubt is the kernel's.
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

#ifndef SIXLANE_SECTION
#define SIXLANE_SECTION "xdp"
#define SIXLANE_PROGRAM sixlane
#endif

/* From the port to the route. */
static __always_inline enum sixlane_verdict walk_in(struct packet *pkt)
{
	return TRACE_EARLY(meta, pkt, port_check_all(pkt)) ?:
	       TRACE_EARLY(vlan, pkt, vlan_find_port(pkt)) ?:
	       TRACE_EARLY(port, pkt, port_check(pkt)) ?:
	       TRACE_STEP(frame, pkt, parse_frame(pkt)) ?:
	       TRACE_EARLY(addressee, pkt, parse_addressee(pkt)) ?:
	       TRACE_EARLY(header, pkt, parse_ip6(pkt)) ?:
	       rule_find_route(pkt);
}

/* From one next hop, whose port has been looked up, to its neighbour. */
static __always_inline enum sixlane_verdict walk_out(struct packet *pkt)
{
	return TRACE_STEP(forwarding, pkt, nexthop_check_forwarding(pkt)) ?:
	       TRACE_STEP(egress, pkt, nexthop_find_egress(pkt)) ?:
	       TRACE_STEP(guard, pkt, guard_check(pkt)) ?:
	       TRACE_STEP(mtu, pkt, mtu_check(pkt)) ?:
	       nexthop_find_neighbour(pkt) ?:
	       trace_stop(pkt);
}

/* Which compiler it is by: a tag in BTF stays in a stripped object, and with a loaded program. */
__attribute__((btf_decl_tag(SIXLANE_COMPILER_TAG __VERSION__)))
SEC(SIXLANE_SECTION) int SIXLANE_PROGRAM(struct xdp_md *ctx)
{
	struct packet pkt = { .ctx = ctx, .bytes = packet_bytes(ctx) };
	enum sixlane_verdict verdict;
	__u32 ifindex;

	port_find(&pkt);
	trace_arrival(&pkt);
	verdict = walk_in(&pkt);
	if (unlikely(verdict != SIXLANE_FORWARD))
		goto ended;
	pkt.mtu = READ_ONCE(pkt.next_hop->mtu);
	if (unlikely(pkt.nh_entry.type | (pkt.route & ROUTE_FLAGS) | pkt.check_punted))
		goto choose;
chosen:
	pkt.egress_port = nexthop_port(&pkt);
met: /* group_choose() has found the port */
	verdict = walk_out(&pkt);
	if (unlikely(verdict != SIXLANE_FORWARD))
		goto ended;
	if (unlikely(!rewrite_is_plain(&pkt)))
		goto resize;
	rewrite_headers(&pkt);
forward:
	trace_rewrite(&pkt);
	verdict_count(&pkt, SIXLANE_FORWARD);
	ifindex = pkt.tx_ifindex;
redirect:
	return verdict_redirect(ifindex);

	/* Few packets come here. The compiler for BPF lays code out as it stands in the source. */
choose:
	verdict = TRACE_STEP(member, &pkt, group_choose(&pkt));
	if (unlikely(verdict != SIXLANE_FORWARD))
		goto ended;
	/* no likely(), which costs the verifier a sixth more instructions */
	if (pkt.egress_port && !((pkt.route & ROUTE_FLAGS) | pkt.check_punted))
		goto met;
	verdict = exception_apply(&pkt) ?: nexthop_check_entry(&pkt);
	if (verdict == SIXLANE_FORWARD)
		goto chosen;
	goto ended;
resize:
	verdict = TRACE_STEP(slave, &pkt, bond_choose_slave(&pkt)) ?: rewrite_packet(&pkt);
	if (verdict == SIXLANE_FORWARD)
		goto forward;
ended:
	if (verdict == PACKET_DECIDED) {
		verdict = pkt.decided;
		/* rules see it before the kernel drops it */
		if (unlikely(pkt.ingress_flags & SIXLANE_PORT_FLOWS) && verdict_drops(verdict))
			verdict = SIXLANE_PASS_FIREWALL;
	}
	verdict = trace_override(&pkt, verdict);
	icmp_event_consider(&pkt, verdict);
	verdict_count(&pkt, verdict);
	if (!verdict_redirects(verdict))
		return verdict_act(verdict);
	/* Not XDP_TX for an answer: of veth's it wakes up no peer that has no program of its own.
	 */
	ifindex = ctx->ingress_ifindex;
	goto redirect;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
