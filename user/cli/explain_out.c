// SPDX-License-Identifier: GPL-2.0-only
/*
 * The steps of an explained packet in words, from the member that is chosen to the verdict. Decides
 * nothing.
 */
#include <linux/bpf.h>

#include "explain.h"
#include "guard.h"

/* --- the exception ----------------------------------------------------------------------- */

#define WAY_LEN 96

/* "via GATEWAY dev PORT", as far as there are such. */
static const char *way_text(const struct explain *explain, const struct hop_view *hop,
			    char buf[WAY_LEN])
{
	char gateway[PRINT_PREFIX_LEN], name[IFNAMSIZ];

	if (hop->has_gateway)
		print_prefix(&hop->neigh.key.addr, 128, true, gateway);
	snprintf(buf, WAY_LEN, "%s%s%sdev %s", hop->has_gateway ? "via " : "",
		 hop->has_gateway ? gateway : "", hop->has_gateway ? " " : "",
		 cmd_slot_name(&explain->view, hop->port, name) ?: "none");
	return buf;
}

static const char *outcome_text(const struct explain *explain, char buf[2 * WAY_LEN])
{
	const struct exception_view *exception = &explain->trace.view.exception;
	char table[SHOW_TABLE_LEN];

	switch (exception->outcome) {
	case SIXLANE_TRACE_EXCEPTION_EXPIRED:
		return "expired: the route holds";
	case SIXLANE_TRACE_EXCEPTION_OBSERVED:
		return "only counted: exceptions of the kernel are observed and not applied";
	case SIXLANE_TRACE_EXCEPTION_PUNTED:
		return "being changed: the kernel decides";
	case SIXLANE_TRACE_EXCEPTION_ELSEWHERE:
		snprintf(buf, 2 * WAY_LEN, "not for this packet: only for routes of table %s",
			 show_table(exception->value.table, table));
		return buf;
	default:
		return "holds instead of what the route says";
	}
}

/* What it says; who says so; until when. */
static void tell_entry(struct explain *explain)
{
	const struct sixlane_exception *value = &explain->trace.view.exception.value;
	char mtu[48] = "", way[WAY_LEN] = "", hop[WAY_LEN + 16] = "", expiry[SHOW_EXPIRY_LEN];
	uint32_t flags = value->flags;
	struct hop_view other;

	if (flags & SIXLANE_EXCEPTION_MTU)
		snprintf(mtu, sizeof(mtu), "Path MTU %u, ", value->mtu);
	if (flags & SIXLANE_EXCEPTION_NEXT_HOP) {
		route_view_hop(&explain->view.maps, value->next_hop, &other);
		snprintf(hop, sizeof(hop), "next hop %s, ", way_text(explain, &other, way));
	}
	explain_say(explain, "exception", "%s%s%s%s%s", mtu, hop,
		    flags & SIXLANE_EXCEPTION_OPERATOR ? "from the operator" : "from the kernel",
		    value->expires_ns ? ", " : "",
		    value->expires_ns ? show_expiry(value->expires_ns, expiry) : "");
}

static void tell_exception(struct explain *explain)
{
	char buf[2 * WAY_LEN];

	if (!explain->trace.view.exception.asked) {
		explain_say(explain, "exception", "none: no destination of this prefix has one");
		return;
	}
	switch (explain->trace.view.exception.outcome) {
	case SIXLANE_TRACE_EXCEPTION_ABSENT:
		explain_say(explain, "exception", "none for this destination");
		return;
	case SIXLANE_TRACE_EXCEPTION_FILTERED:
		explain_say(explain, "exception",
			    "its bits in sl_punted are set: the kernel decides");
		return;
	case SIXLANE_TRACE_EXCEPTION_FRESH:
		explain_say(explain, "exception",
			    "an ICMPv6 message about it has just come: the kernel decides");
		return;
	default:
		tell_entry(explain);
		explain_say(explain, "exception", "%s", outcome_text(explain, buf));
	}
}

/* --- the way out ------------------------------------------------------------------------- */

static void tell_neighbour(struct explain *explain)
{
	const struct hop_view *hop = &explain->trace.view.hop;
	const char *what = hop->has_gateway ? "the gateway" : "on-link, the destination itself:";
	char text[PRINT_PREFIX_LEN], mac[PRINT_MAC_LEN];

	print_prefix(hop->has_gateway ? &hop->neigh.key.addr : &explain->packet.dst, 128, true,
		     text);
	print_mac(hop->neigh.mac.bytes, mac);
	if (hop->has_mac)
		explain_say(explain, "neighbour", "%s %s, resolved: %s", what, text, mac);
	else
		explain_say(explain, "neighbour",
			    "%s %s, not resolved: the kernel asks for it when it gets the packet",
			    what, text);
}

static void tell_egress(struct explain *explain)
{
	const struct sixlane_port *egress = &explain->trace.view.hop.egress;
	char name[IFNAMSIZ], below[IFNAMSIZ], tags[SHOW_TAGS_LEN];

	explain_device(explain, egress->ifindex, name);
	if (egress->flags & SIXLANE_PORT_TAGGED)
		explain_say(explain, "egress", "%s: frames go to %s with tag %s", name,
			    explain_device(explain, egress->tx_ifindex, below),
			    show_tags(egress->tags, tags));
	else
		explain_say(explain, "egress", "%s", name);
	if (!(egress->flags & SIXLANE_PORT_UP))
		explain_say(explain, "egress", "%s is down", name);
	else if (!(egress->flags & SIXLANE_PORT_IPV6))
		explain_say(explain, "egress", "IPv6 is off on %s", name);
	else if (egress->flags & SIXLANE_PORT_NO_XMIT || !(egress->flags & SIXLANE_PORT_XMIT))
		explain_say(explain, "egress", "%s takes no frames redirected from native XDP",
			    name);
}

/* Which slave the bond below a VLAN device would choose. */
static void tell_slave(struct explain *explain)
{
	static const char *const over[] = {
		[SIXLANE_SLAVES_BY_L2] = "MACs",
		[SIXLANE_SLAVES_BY_L34] = "addresses and ports",
		[SIXLANE_SLAVES_BY_L23] = "MACs and addresses",
	};
	const struct hop_view *hop = &explain->trace.view.hop;
	const struct sixlane_port *egress = &hop->egress;
	char bond[IFNAMSIZ], slave[IFNAMSIZ];

	if (!(egress->flags & SIXLANE_PORT_SLAVES) || egress->slaves_by >= ARRAY_SIZE(over))
		return;
	explain_device(explain, egress->tx_ifindex, bond);
	if (!egress->n_slaves)
		explain_say(explain, "slave", "none: %s uses none", bond);
	else if (hop->slave)
		explain_say(explain, "slave", "%s, by the hash of %s over %s, one of %u in use",
			    explain_device(explain, hop->slave, slave), bond,
			    over[egress->slaves_by], egress->n_slaves);
	else if (explain->trace.verdict == SIXLANE_PUNT_HASH)
		explain_say(explain, "slave", "of %s: hashed over headers that XDP cannot reach",
			    bond);
}

/* Which bit of the guard was asked about this pair of ports. */
static void tell_pair(struct explain *explain)
{
	const union sixlane_trace_facts *facts =
		trace_facts(&explain->trace.records, SIXLANE_TRACE_PAIR);

	if (facts)
		explain_say(explain, "guard", "bit %u of word %u in sl_guard is %s",
			    facts->pair.bit, facts->pair.word,
			    facts->pair.value >> (facts->pair.bit % 64) & 1
				    ? "set: no firewall rule can touch this pair of ports"
				    : "clear: firewall rules may touch this pair of ports");
}

static void tell_mtu(struct explain *explain)
{
	const struct hop_view *hop = &explain->trace.view.hop;
	bool own = hop->limit && hop->limit <= hop->mtu;
	uint32_t bytes = explain->packet.ip_bytes;
	char name[IFNAMSIZ];

	explain_say(explain, "mtu", "%u bytes, %s%s: the packet has %u%s", hop->mtu,
		    !own		? "that of "
		    : hop->by_exception ? "the exception's"
					: "the route's",
		    own ? "" : explain_device(explain, hop->egress.ifindex, name), bytes,
		    bytes > hop->mtu ? ", too many" : "");
}

void explain_tell_way_out(struct explain *explain)
{
	const struct route_view *route = &explain->trace.view;

	if (route->hop.port || route->exception.asked)
		tell_exception(explain);
	if (!route->hop.port)
		return;
	tell_egress(explain);
	tell_pair(explain);
	tell_neighbour(explain);
	tell_mtu(explain);
	tell_slave(explain);
}

/* --- the verdict ------------------------------------------------------------------------- */

/* out: of a frame of len bytes. */
static void tell_frame(struct explain *explain, const char *name, const struct packet *out,
		       size_t len)
{
	char src[PRINT_MAC_LEN], dst[PRINT_MAC_LEN], tags[SHOW_TAGS_LEN];

	if (!out->ip_bytes) {
		explain_say(explain, name, "%zu bytes that are not a whole IPv6 frame", len);
		return;
	}
	print_mac(out->src_mac, src);
	print_mac(out->dst_mac, dst);
	show_tags(out->tags, tags);
	explain_say(explain, name, "to %s, from %s, %s%s, hop limit %u, %u bytes", dst, src,
		    *tags ? "tag " : "untagged", tags, out->hop_limit, out->ip_bytes);
}

static void tell_answer(struct explain *explain)
{
	const union sixlane_trace_facts *answer =
		trace_facts(&explain->trace.records, SIXLANE_TRACE_ANSWER);
	char src[PRINT_PREFIX_LEN], dst[PRINT_PREFIX_LEN];

	if (!answer)
		return;
	print_prefix(&explain->out.src, 128, true, src);
	print_prefix(&explain->out.dst, 128, true, dst);
	explain_say(explain, "answer", "Packet Too Big, MTU %u, from %s to %s, back by %s%s",
		    answer->answer.mtu, src, dst, explain->port->name,
		    answer->answer.way == SIXLANE_TRACE_WAY_SENDER
			    ? ", to where the frame came from"
			    : "");
}

/* What holds it back. */
static void tell_guard(struct explain *explain)
{
	const uint32_t verdict = explain->result.verdict;
	struct cmd_guard guard;

	if (verdict != SIXLANE_PASS_FIREWALL && verdict != SIXLANE_PASS_IPSEC &&
	    verdict != SIXLANE_PASS_TC)
		return;
	if (cmd_guard_open(&explain->view, &guard)) {
		snprintf(explain->held_by, sizeof(explain->held_by), "out of memory");
	} else {
		cmd_guard_reason(&guard, verdict, &explain->trace.port,
				 explain->trace.view.hop.egress.ifindex, &explain->packet.src,
				 &explain->packet.dst, explain->held_by);
		cmd_guard_close(&guard);
	}
	explain_say(explain, "guard reason", "%s", explain->held_by);
}

const char *explain_difference(uint32_t bit)
{
	switch (bit) {
	case EXPLAIN_VERDICT:
		return "verdict";
	case EXPLAIN_COUNTED_FOR:
		return "counted_for";
	case EXPLAIN_ACTION:
		return "action";
	case EXPLAIN_FRAME:
		return "frame";
	default:
		return NULL;
	}
}

size_t explain_differs_at(const struct explain *explain)
{
	const struct loader_run_result *a = &explain->result, *b = &explain->traced;
	size_t len = a->len < b->len ? a->len : b->len, i = 0;

	while (i < len && a->frame[i] == b->frame[i])
		i++;
	return i;
}

const char *explain_action(uint32_t action)
{
	static const char *const names[] = {
		[XDP_ABORTED] = "XDP_ABORTED",	 [XDP_DROP] = "XDP_DROP",
		[XDP_PASS] = "XDP_PASS",	 [XDP_TX] = "XDP_TX",
		[XDP_REDIRECT] = "XDP_REDIRECT",
	};

	return action < ARRAY_SIZE(names) ? names[action] : "unknown";
}

/* The action only where the two differ in it: it is that of the verdict. */
static void tell_result(struct explain *explain, const char *name,
			const struct loader_run_result *result)
{
	const bool action = explain->differs & EXPLAIN_ACTION;
	char port[IFNAMSIZ];

	explain_say(explain, name, "%s (%s), counted for %s%s%s", cmd_verdict_name(result->verdict),
		    cmd_verdict_text(result->verdict),
		    cmd_slot_name(&explain->view, result->slot, port) ?: "unknown ports",
		    action ? ", " : "", action ? explain_action(result->action) : "");
}

static void tell_disagreement(struct explain *explain)
{
	char what[64], at[48] = "";

	tell_result(explain, "trace", &explain->traced);
	tell_frame(explain, "trace output", &explain->traced_out, explain->traced.len);
	print_bits(explain->differs, explain_difference, what, sizeof(what));
	if (explain->differs & EXPLAIN_FRAME)
		snprintf(at, sizeof(at), ", first at offset %zu of the frame",
			 explain_differs_at(explain));
	explain_say(explain, "verdict",
		    "THE PROGRAM AND ITS TRACE DISAGREE. They differ in: %s%s. Please report this "
		    "with all that is above",
		    what, at);
}

void explain_tell_verdict(struct explain *explain)
{
	uint32_t verdict = explain->result.verdict;

	tell_guard(explain);
	tell_result(explain, "program", &explain->result);
	explain_say(explain, "program", "built by %s",
		    *explain->compiler ? explain->compiler : LOADER_COMPILER_UNKNOWN);
	if (verdict == SIXLANE_ANSWER_TOO_BIG)
		tell_answer(explain);
	if (verdict == SIXLANE_ANSWER_TOO_BIG || verdict == SIXLANE_FORWARD || explain->differs)
		tell_frame(explain, "output", &explain->out, explain->result.len);
	if (explain->differs)
		tell_disagreement(explain);
	else
		explain_say(explain, "verdict", "%s: %s%s", cmd_verdict_name(verdict),
			    cmd_verdict_text(verdict),
			    explain->result.action == XDP_PASS ? "; the kernel gets it as it came"
							       : "");
}
