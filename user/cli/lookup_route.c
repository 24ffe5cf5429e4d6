// SPDX-License-Identifier: GPL-2.0-only
/*
 * See lookup_route.h. If all packets use the same table, the trie is read. If a port or rules
 * decide, the program runs on a packet of the query: a UDP datagram, from :: if no source is given,
 * which no rule's source selector matches.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "../lib/log.h"
#include "../loader/run.h"
#include "lookup_route.h"
#include "packet.h"

#define HOP_LIMIT 64
#define RULE_L4 (SIXLANE_RULE_PROTO | SIXLANE_RULE_SPORT | SIXLANE_RULE_DPORT)

/* The ports that a packet may come in by if none is given. */
struct served {
	uint32_t n;	  /* served ports */
	uint32_t n_rules; /* … whose packets ask rules */
	uint32_t n_vrfs;  /* … in VRFs */
	uint32_t first;	  /* ifindex */
};

static void count_served(const struct maps *maps, struct served *out)
{
	*out = (struct served){ 0 };
	for (uint32_t slot = 1; slot < SIXLANE_MAX_PORTS; slot++) {
		const struct sixlane_port *port = &maps->ports[slot];

		if (!port->ifindex || !(port->flags & SIXLANE_PORT_INGRESS))
			continue;
		if (!out->n++)
			out->first = port->ifindex;
		out->n_rules += (port->flags & SIXLANE_PORT_RULES) != 0;
		out->n_vrfs += (port->flags & SIXLANE_PORT_VRF) != 0;
	}
}

static uint32_t load(const __u32 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* --- what the answer depends on ---------------------------------------------------------- */

static uint32_t depends_on(uint32_t selectors, const struct lookup_query *query)
{
	uint32_t depends = 0;

	if (!query->ingress && selectors & (SIXLANE_RULE_IIF | SIXLANE_RULE_L3MDEV))
		depends |= LOOKUP_ON_PORT;
	if (!query->has_src && selectors & SIXLANE_RULE_SOURCE)
		depends |= LOOKUP_ON_SOURCE;
	if (selectors & SIXLANE_RULE_TCLASS)
		depends |= LOOKUP_ON_TCLASS;
	return selectors & RULE_L4 ? depends | LOOKUP_ON_FLOW : depends;
}

static bool matches(const union sixlane_addr *addr, const union sixlane_addr *prefix,
		    const union sixlane_addr *mask)
{
	return !(((addr->halves[0] & mask->halves[0]) ^ prefix->halves[0]) |
		 ((addr->halves[1] & mask->halves[1]) ^ prefix->halves[1]));
}

/* A given field that does not match decides, whatever else the rule selects. */
static bool is_excluded(const struct trace_rule *tried, const struct lookup_query *query)
{
	const struct sixlane_rule *rule = &tried->rule;

	if (rule->flags & SIXLANE_RULE_DESTINATION &&
	    !matches(&query->dst, &rule->dst, &rule->dst_mask))
		return true;
	return tried->outcome == SIXLANE_TRACE_RULE_DIFFERS &&
	       tried->selector != SIXLANE_RULE_INVERT && !depends_on(tried->selector, query);
}

uint32_t lookup_depends(const struct trace_rule *rules, uint32_t n,
			const struct lookup_query *query)
{
	uint32_t depends = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!is_excluded(&rules[i], query))
			depends |= depends_on(rules[i].rule.flags, query);
	}
	return depends;
}

/* --- by the program ---------------------------------------------------------------------- */

static int run_program(const struct cmd_view *view, const struct lookup_query *query,
		       uint32_t ingress, struct loader_run **run, struct trace *trace)
{
	static struct loader_run_result result; /* large */
	struct packet packet = {
		.src = query->src, .dst = query->dst, .proto = IPPROTO_UDP, .hop_limit = HOP_LIMIT
	};
	uint32_t slot = maps_port_slot(&view->maps, ingress);
	uint8_t frame[256];
	char err[LOADER_ERR];
	size_t len;
	int rc = 0;

	memcpy(packet.dst_mac, view->maps.ports[slot].mac.bytes, sizeof(packet.dst_mac));
	len = packet_build(&packet, frame, sizeof(frame));
	if (!*run)
		rc = loader_run_open_trace(loader_object_path(), false, &view->fds, run, err);
	if (!rc)
		rc = loader_run_trace(*run, ingress, frame, len, &result, &trace->records, err);
	if (rc)
		log_error("%s", err);
	else
		trace_read(&view->maps, ingress, &query->dst, &query->src, trace);
	return rc;
}

/* Whether the verdict is due to the source ::, which the query does not have. */
static bool is_of_source(const struct lookup_query *query, uint32_t verdict)
{
	return verdict == SIXLANE_PASS_SOURCE && !query->has_src;
}

/* The verdict of rules or table for a packet without a route. */
static uint32_t verdict_without_route(const struct trace *trace)
{
	const struct sixlane_trace *records = &trace->records;
	uint32_t verdict = SIXLANE_PASS_NO_ROUTE;

	for (uint32_t i = 0; i < records->n && i < SIXLANE_TRACE_RECORDS; i++) {
		const struct sixlane_trace_record *record = &records->records[i];

		if (record->step == SIXLANE_TRACE_RULE || record->step == SIXLANE_TRACE_SOURCE)
			verdict = record->verdict ?: SIXLANE_PASS_NO_ROUTE;
		if (record->step == SIXLANE_TRACE_RULE &&
		    record->facts.rule.outcome == SIXLANE_TRACE_RULE_THROW)
			verdict = SIXLANE_PASS_THROW;
	}
	return verdict;
}

/* The packet took one member of a group: its verdict is not that of all packets. */
static uint32_t verdict_of_route(const struct lookup_query *query, const struct trace *trace,
				 const struct lookup_route *route)
{
	const struct group_view *group = &route->view.group;

	if (!query->ingress || (group->type == SIXLANE_NH_GROUP && group->n_members > 1))
		return route->view.verdict;
	if (!is_of_source(query, trace->decided))
		return trace->verdict;
	return trace_late_verdict(&trace->records) ?: route->view.verdict;
}

/* An IPsec policy for the destination may match some sources only. */
static bool depends_on_source(const struct cmd_view *view, const struct lookup_query *query,
			      const struct trace *trace)
{
	return query->ingress && !query->has_src && trace->port.flags & SIXLANE_PORT_GUARD &&
	       load(&view->maps.meta->flags) & SIXLANE_META_IPSEC &&
	       maps_has_policy(&view->maps, NULL, &query->dst);
}

static int find_by_program(const struct cmd_view *view, const struct lookup_query *query,
			   uint32_t ingress, struct loader_run **run, struct lookup_route *out)
{
	const union sixlane_addr *src = query->has_src ? &query->src : NULL;
	struct packet_filter packets = { .dst = &query->dst, .src = src };
	static struct trace trace; /* large */
	int rc = run_program(view, query, ingress, run, &trace);

	if (rc)
		return rc;
	out->table = trace.table;
	out->depends |= lookup_depends(trace.rules, trace.n_rules, query);
	if (trace.view.value) {
		route_view_read(&view->maps, trace.view.value, src, &out->view);
		if (query->ingress)
			packets = trace_filter(&trace, &query->dst, src);
		route_view_check(&view->maps, out->table, &packets, &out->view);
	}
	if (query->ingress && trace.decided && !is_of_source(query, trace.decided))
		out->verdict = trace.decided;
	else if (out->view.value)
		out->verdict = verdict_of_route(query, &trace, out);
	else if (!query->ingress || is_of_source(query, trace.decided))
		out->verdict = verdict_without_route(&trace);
	else
		out->verdict = trace.verdict;
	if (query->ingress && trace.port.flags & SIXLANE_PORT_FLOWS &&
	    out->verdict == SIXLANE_DROP_BLACKHOLE)
		out->verdict = SIXLANE_PASS_FIREWALL;
	if (depends_on_source(view, query, &trace))
		out->depends |= LOOKUP_ON_SOURCE;
	return 0;
}

/* --- by the trie ------------------------------------------------------------------------- */

static void find_by_trie(const struct maps *maps, const struct lookup_query *query, uint32_t table,
			 struct lookup_route *out)
{
	const union sixlane_addr *src = query->has_src ? &query->src : NULL;
	const struct packet_filter packets = { .dst = &query->dst, .src = src };
	uint32_t value;

	out->table = table;
	if (maps_route_lookup(maps, table, &query->dst, &value)) {
		out->verdict = SIXLANE_PASS_NO_ROUTE;
		return;
	}
	route_view_read(maps, value, src, &out->view);
	route_view_check(maps, table, &packets, &out->view);
	out->verdict = out->view.verdict;
}

/* The verdict that all packets get, whatever their route. */
static uint32_t check_all(const struct sixlane_meta *meta)
{
	const uint32_t ready = SIXLANE_META_READY | SIXLANE_META_GUARDED;
	uint32_t flags = load(&meta->flags);

	if (load(&meta->abi) != SIXLANE_ABI || (flags & ready) != ready)
		return SIXLANE_PASS_NOT_READY;
	if (flags & SIXLANE_META_PASS_ALL)
		return SIXLANE_PASS_ALL;
	return flags & SIXLANE_META_RULES ? SIXLANE_PUNT_RULES : SIXLANE_FORWARD;
}

/* ff00::/8, fe80::/10, :: and ::1 are never forwarded to. */
static bool is_scoped(const union sixlane_addr *addr)
{
	static const uint8_t zero[15];
	const uint8_t *b = addr->bytes;

	if (b[0] == 0xff || (b[0] == 0xfe && (b[1] & 0xc0) == 0x80))
		return true;
	return !memcmp(b, zero, sizeof(zero)) && b[15] <= 1;
}

int lookup_find(const struct cmd_view *view, const struct lookup_query *query,
		struct loader_run **run, struct lookup_route *out)
{
	const struct maps *maps = &view->maps;
	struct served served;
	uint32_t all;
	int rc = 0;

	memset(out, 0, offsetof(struct lookup_route, view.group.members));
	count_served(maps, &served);
	if (!query->table && query->ingress) {
		rc = find_by_program(view, query, query->ingress, run, out);
	} else if (!query->table && served.n && served.n_rules == served.n) {
		rc = find_by_program(view, query, served.first, run, out);
	} else {
		find_by_trie(maps, query, query->table ?: SIXLANE_TABLE_MAIN, out);
	}
	if (rc)
		return rc;
	if (!query->table && !query->ingress &&
	    (served.n_vrfs || (served.n_rules && served.n_rules < served.n)))
		out->depends |= LOOKUP_ON_PORT;
	if (out->view.by_source && !query->has_src)
		out->depends |= LOOKUP_ON_SOURCE;
	if (out->view.group.type == SIXLANE_NH_EQUAL_METRIC && out->view.group.n_members > 1 &&
	    !query->ingress)
		out->depends |= LOOKUP_ON_PORT;
	all = check_all(maps->meta);
	if (all)
		out->verdict = all;
	else if (is_scoped(&query->dst) && (!query->ingress || !out->verdict))
		out->verdict = SIXLANE_PASS_DESTINATION;
	return 0;
}
