// SPDX-License-Identifier: GPL-2.0-only
/* See explain.h. */
#include "explain.h"

#include <linux/bpf.h>

#include "guard.h"

/* --- the exception ----------------------------------------------------------------------- */

static const char *const outcome_texts[] = {
	[SIXLANE_TRACE_EXCEPTION_ABSENT] = "none for this destination",
	[SIXLANE_TRACE_EXCEPTION_FILTERED] = "its bits in sl_punted are set: the kernel decides",
	[SIXLANE_TRACE_EXCEPTION_FRESH] =
		"an ICMPv6 message about it has just come: the kernel decides",
	[SIXLANE_TRACE_EXCEPTION_EXPIRED] = "expired: the route holds",
	[SIXLANE_TRACE_EXCEPTION_OBSERVED] =
		"only counted: exceptions of the kernel are observed and not applied",
	[SIXLANE_TRACE_EXCEPTION_PUNTED] = "being changed: the kernel decides",
	[SIXLANE_TRACE_EXCEPTION_ELSEWHERE] = "not for this packet: only for routes of table ",
	[SIXLANE_TRACE_EXCEPTION_APPLIED] = "holds instead of what the route says",
};

/* Its contents, origin and expiry. */
static void add_entry(struct explain *explain)
{
	const struct sixlane_exception *value = &explain->trace.view.exception.value;
	char mtu[48] = "", text[EXPLAIN_HOP_LEN], hop[EXPLAIN_HOP_LEN + 16] = "";
	char expiry[SHOW_EXPIRY_LEN];
	struct hop_view next_hop;

	if (value->flags & SIXLANE_EXCEPTION_MTU)
		snprintf(mtu, sizeof(mtu), "Path MTU %u, ", value->mtu);
	if (value->flags & SIXLANE_EXCEPTION_NEXT_HOP) {
		hop_view_read(&explain->view.maps, value->next_hop, &next_hop);
		snprintf(hop, sizeof(hop), "next hop %s, ",
			 explain_hop_text(explain, &next_hop, "none", text));
	}
	explain_add(explain, "exception", "%s%s%s%s%s", mtu, hop,
		    value->flags & SIXLANE_EXCEPTION_OPERATOR ? "from the operator"
							      : "from the kernel",
		    value->expires_ns ? ", " : "",
		    value->expires_ns ? show_expiry(value->expires_ns, expiry) : "");
}

static void add_exception(struct explain *explain)
{
	const struct exception_view *exception = &explain->trace.view.exception;
	const uint32_t outcome = exception->outcome;
	char table[SHOW_TABLE_LEN];

	if (!exception->applies) {
		explain_add(explain, "exception", "none: no destination of this prefix has one");
		return;
	}
	if (outcome >= ARRAY_SIZE(outcome_texts))
		return;
	if (outcome != SIXLANE_TRACE_EXCEPTION_ABSENT &&
	    outcome != SIXLANE_TRACE_EXCEPTION_FILTERED && outcome != SIXLANE_TRACE_EXCEPTION_FRESH)
		add_entry(explain);
	explain_add(explain, "exception", "%s%s", outcome_texts[outcome],
		    outcome == SIXLANE_TRACE_EXCEPTION_ELSEWHERE
			    ? show_table(exception->value.table, table)
			    : "");
}

/* --- the next hop ------------------------------------------------------------------------ */

static void add_port(struct explain *explain)
{
	const struct sixlane_port *egress = &explain->trace.view.hop.egress;
	const struct ports *ports = &explain->view.ports;
	char buf[IFNAMSIZ], lower[IFNAMSIZ], tags[SHOW_TAGS_LEN];
	const char *name = ports_name(ports, egress->ifindex, buf);

	if (egress->flags & SIXLANE_PORT_TAGGED)
		explain_add(explain, "egress", "%s: frames go to %s with tag %s", name,
			    ports_name(ports, egress->tx_ifindex, lower),
			    show_tags(egress->tags, tags));
	else
		explain_add(explain, "egress", "%s", name);
	if (!(egress->flags & SIXLANE_PORT_UP))
		explain_add(explain, "egress", "%s is down", name);
	else if (!(egress->flags & SIXLANE_PORT_IPV6))
		explain_add(explain, "egress", "IPv6 is off on %s", name);
	else if (egress->flags & SIXLANE_PORT_NO_XMIT || !(egress->flags & SIXLANE_PORT_XMIT))
		explain_add(explain, "egress", "%s takes no frames redirected from native XDP",
			    name);
}

/* The guard's bit for this pair of ports. */
static void add_pair(struct explain *explain)
{
	const union sixlane_trace_facts *facts = explain_facts(explain, SIXLANE_TRACE_PAIR);

	if (facts)
		explain_add(explain, "guard", "bit %u of word %u in sl_guard is %s",
			    facts->pair.bit, facts->pair.word,
			    facts->pair.value >> (facts->pair.bit % 64) & 1
				    ? "set: no firewall rule can touch this pair of ports"
				    : "clear: firewall rules may touch this pair of ports");
}

static void add_neighbour(struct explain *explain)
{
	const struct hop_view *hop = &explain->trace.view.hop;
	char addr[PRINT_PREFIX_LEN], mac[PRINT_MAC_LEN];

	print_addr(hop->has_gateway ? &hop->neigh.key.addr : &explain->packet.dst, addr);
	explain_add(explain, "neighbour", "%s %s, %s%s",
		    hop->has_gateway ? "the gateway" : "on-link, the destination itself:", addr,
		    hop->has_mac ? "resolved: "
				 : "not resolved: the kernel asks for it when it gets the packet",
		    hop->has_mac ? print_mac(hop->neigh.mac.bytes, mac) : "");
}

static void add_mtu(struct explain *explain)
{
	const struct hop_view *hop = &explain->trace.view.hop;
	bool own = hop->limit && hop->limit <= hop->mtu;
	uint32_t bytes = explain->packet.ip_bytes;
	char name[IFNAMSIZ];

	explain_add(explain, "mtu", "%u bytes, %s%s: the packet has %u%s", hop->mtu,
		    !own		? "that of "
		    : hop->by_exception ? "the exception's"
					: "the route's",
		    own ? "" : ports_name(&explain->view.ports, hop->egress.ifindex, name), bytes,
		    bytes > hop->mtu ? ", too many" : "");
}

/* The slave that the bond below a VLAN device would choose. */
static void add_slave(struct explain *explain)
{
	static const char *const over[] = {
		[SIXLANE_SLAVES_BY_L2] = "MACs",
		[SIXLANE_SLAVES_BY_L34] = "addresses and ports",
		[SIXLANE_SLAVES_BY_L23] = "MACs and addresses",
	};
	const struct hop_view *hop = &explain->trace.view.hop;
	const struct ports *ports = &explain->view.ports;
	const struct sixlane_port *egress = &hop->egress;
	char buf[IFNAMSIZ], slave[IFNAMSIZ];
	const char *bond = ports_name(ports, egress->tx_ifindex, buf);

	if (!(egress->flags & SIXLANE_PORT_SLAVES) || egress->slaves_by >= ARRAY_SIZE(over))
		return;
	if (!egress->n_slaves)
		explain_add(explain, "slave", "none: %s uses none", bond);
	else if (hop->slave)
		explain_add(explain, "slave", "%s, by the hash of %s over %s, one of %u in use",
			    ports_name(ports, hop->slave, slave), bond, over[egress->slaves_by],
			    egress->n_slaves);
	else if (explain->trace.verdict == SIXLANE_PUNT_HASH)
		explain_add(explain, "slave", "of %s: hashed over headers that XDP cannot reach",
			    bond);
}

void explain_add_egress(struct explain *explain)
{
	const struct route_view *route = &explain->trace.view;

	if (route->hop.port || route->exception.applies)
		add_exception(explain);
	if (!route->hop.port)
		return;
	add_port(explain);
	add_pair(explain);
	add_neighbour(explain);
	add_mtu(explain);
	add_slave(explain);
}

/* --- the verdict ------------------------------------------------------------------------- */

/* out: parsed from a frame of len bytes. */
static void add_frame(struct explain *explain, const char *name, const struct packet *out,
		      size_t len)
{
	char src[PRINT_MAC_LEN], dst[PRINT_MAC_LEN], tags[SHOW_TAGS_LEN];

	if (!out->ip_bytes) {
		explain_add(explain, name, "%zu bytes that are not a whole IPv6 frame", len);
		return;
	}
	show_tags(out->tags, tags);
	explain_add(explain, name, "to %s, from %s, %s%s, hop limit %u, %u bytes",
		    print_mac(out->dst_mac, dst), print_mac(out->src_mac, src),
		    *tags ? "tag " : "untagged", tags, out->hop_limit, out->ip_bytes);
}

static void add_answer(struct explain *explain)
{
	const union sixlane_trace_facts *facts = explain_facts(explain, SIXLANE_TRACE_ANSWER);
	char src[PRINT_PREFIX_LEN], dst[PRINT_PREFIX_LEN];

	if (facts)
		explain_add(explain, "answer",
			    "Packet Too Big, MTU %u, from %s to %s, back by %s%s",
			    facts->answer.mtu, print_addr(&explain->out.src, src),
			    print_addr(&explain->out.dst, dst), explain->port->name,
			    facts->answer.way == SIXLANE_TRACE_WAY_SENDER
				    ? ", to where the frame came from"
				    : "");
}

/* Why the guard passes the packet to the kernel. */
static void add_guard_reason(struct explain *explain)
{
	const uint32_t verdict = explain->result.verdict;
	struct cmd_guard guard;

	if (verdict != SIXLANE_PASS_FIREWALL && verdict != SIXLANE_PASS_IPSEC &&
	    verdict != SIXLANE_PASS_TC)
		return;
	if (cmd_guard_open(&explain->view, &guard)) {
		snprintf(explain->guard_reason, sizeof(explain->guard_reason), "out of memory");
	} else {
		cmd_guard_reason(&guard, verdict, &explain->trace.port,
				 explain->trace.view.hop.egress.ifindex, &explain->packet.src,
				 &explain->packet.dst, explain->guard_reason);
		cmd_guard_close(&guard);
	}
	explain_add(explain, "guard reason", "%s", explain->guard_reason);
}

/* The action is that of the verdict, and shown only if the two programs differ in it. */
static void add_result(struct explain *explain, const char *name,
		       const struct loader_run_result *result)
{
	const bool action = explain->differs & EXPLAIN_ACTION;
	char port[IFNAMSIZ];

	explain_add(explain, name, "%s (%s), counted for %s%s%s", cmd_verdict_name(result->verdict),
		    cmd_verdict_text(result->verdict),
		    cmd_slot_name(&explain->view, result->slot, port) ?: "unknown ports",
		    action ? ", " : "", action ? explain_action(result->action) : "");
}

static void add_difference(struct explain *explain)
{
	char what[64], at[48] = "";

	add_result(explain, "trace", &explain->traced);
	add_frame(explain, "trace output", &explain->traced_out, explain->traced.len);
	print_bits(explain->differs, explain_difference_names, ARRAY_SIZE(explain_difference_names),
		   what, sizeof(what));
	if (explain->differs & EXPLAIN_FRAME)
		snprintf(at, sizeof(at), ", first at offset %zu of the frame",
			 explain_differs_at(explain));
	explain_add(explain, "verdict",
		    "THE PROGRAM AND ITS TRACE DISAGREE. They differ in: %s%s. Please report this "
		    "with all that is above",
		    what, at);
}

void explain_add_verdict(struct explain *explain)
{
	const uint32_t verdict = explain->result.verdict;

	add_guard_reason(explain);
	add_result(explain, "program", &explain->result);
	explain_add(explain, "program", "built by %s",
		    *explain->compiler ? explain->compiler : LOADER_COMPILER_UNKNOWN);
	if (verdict == SIXLANE_ANSWER_TOO_BIG)
		add_answer(explain);
	if (verdict == SIXLANE_ANSWER_TOO_BIG || verdict == SIXLANE_FORWARD || explain->differs)
		add_frame(explain, "output", &explain->out, explain->result.len);
	if (explain->differs)
		add_difference(explain);
	else
		explain_add(explain, "verdict", "%s: %s%s", cmd_verdict_name(verdict),
			    cmd_verdict_text(verdict),
			    explain->result.action == XDP_PASS ? "; the kernel gets it as it came"
							       : "");
}
