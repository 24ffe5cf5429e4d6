// SPDX-License-Identifier: GPL-2.0-only
/*
 * The route of an address: one read of the trie where every packet asks the same table. Where a
 * port or rules decide, the program is asked, with a packet that fits the query: a UDP datagram,
 * from :: if no source was told, which no rule with a selector for it matches.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "../lib/log.h"
#include "../loader/run.h"
#include "lookup.h"
#include "packet.h"

#define HOP_LIMIT 64
#define RULE_L4 (SIXLANE_RULE_PROTO | SIXLANE_RULE_SPORT | SIXLANE_RULE_DPORT)

/* Which ports a packet may come in by, if none was named. */
struct served {
	uint32_t n, n_rules, n_vrfs; /* served ports; those that ask rules; those of VRFs */
	uint32_t first;		     /* ifindex */
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

/* --- what is left open ------------------------------------------------------------------- */

static uint32_t left_open(uint32_t selectors, const struct lookup_query *query)
{
	uint32_t open = 0;

	if (!query->ingress && selectors & (SIXLANE_RULE_IIF | SIXLANE_RULE_L3MDEV))
		open |= LOOKUP_ON_PORT;
	if (!query->has_src && selectors & SIXLANE_RULE_SOURCE)
		open |= LOOKUP_ON_SOURCE;
	if (selectors & SIXLANE_RULE_TCLASS)
		open |= LOOKUP_ON_TCLASS;
	return selectors & RULE_L4 ? open | LOOKUP_ON_FLOW : open;
}

static bool is_in(const union sixlane_addr *addr, const union sixlane_addr *prefix,
		  const union sixlane_addr *mask)
{
	return !(((addr->halves[0] & mask->halves[0]) ^ prefix->halves[0]) |
		 ((addr->halves[1] & mask->halves[1]) ^ prefix->halves[1]));
}

/* A selector that was told and does not hold decides, whatever is left open. */
static bool is_settled(const struct trace_rule *tried, const struct lookup_query *query)
{
	const struct sixlane_rule *rule = &tried->rule;

	if (rule->flags & SIXLANE_RULE_DESTINATION &&
	    !is_in(&query->dst, &rule->dst, &rule->dst_mask))
		return true;
	return tried->outcome == SIXLANE_TRACE_RULE_DIFFERS &&
	       tried->selector != SIXLANE_RULE_INVERT && !left_open(tried->selector, query);
}

uint32_t lookup_left_open(const struct trace_rule *rules, uint32_t n,
			  const struct lookup_query *query)
{
	uint32_t open = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!is_settled(&rules[i], query))
			open |= left_open(rules[i].rule.flags, query);
	}
	return open;
}

/* --- by the program ---------------------------------------------------------------------- */

static int run_program(const struct cmd_view *view, const struct lookup_query *query,
		       uint32_t ingress, struct loader_run **run, struct trace *trace)
{
	struct packet packet = {
		.src = query->src, .dst = query->dst, .proto = IPPROTO_UDP, .hop_limit = HOP_LIMIT
	};
	uint32_t slot = maps_port_slot(&view->maps, ingress);
	struct loader_run_result *result;
	uint8_t frame[256];
	char err[LOADER_ERR];
	size_t len;
	int rc = 0;

	memcpy(packet.dst_mac, view->maps.ports[slot].mac.bytes, sizeof(packet.dst_mac));
	len = packet_build(&packet, frame, sizeof(frame));
	result = malloc(sizeof(*result));
	if (!result || !len) {
		free(result);
		log_error("out of memory");
		return -ENOMEM;
	}
	if (!*run)
		rc = loader_run_open_trace(loader_object_path(), false, &view->fds, run, err);
	if (!rc)
		rc = loader_run_trace(*run, ingress, frame, len, result, &trace->records, err);
	free(result);
	if (rc) {
		log_error("%s", err);
		return rc;
	}
	trace_read(&view->maps, ingress, &query->dst, &query->src, trace);
	return 0;
}

/* What the packet's own header made the program decide says nothing of the query's packets. */
static bool is_of_header(const struct lookup_query *query, uint32_t verdict)
{
	return verdict == SIXLANE_PASS_SOURCE && !query->has_src;
}

/* What rules or table decided of a packet that found no route. */
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

/* Of several members the packet took one: what that one met is not all that packets meet. */
static uint32_t verdict_behind_route(const struct lookup_query *query, const struct trace *trace,
				     const struct lookup_route *route)
{
	const struct group_view *group = &route->view.group;

	if (!query->ingress || (group->kind == SIXLANE_NH_GROUP && group->n_members > 1))
		return route->view.verdict;
	if (!is_of_header(query, trace->decided))
		return trace->verdict;
	return trace_behind_route(&trace->records) ?: route->view.verdict;
}

/* An IPsec policy holds back what is of some sources. */
static bool asks_source(const struct cmd_view *view, const struct lookup_query *query,
			const struct trace *trace)
{
	return query->ingress && !query->has_src && trace->port.flags & SIXLANE_PORT_GUARD &&
	       route_view_load(&view->maps.meta->flags) & SIXLANE_META_IPSEC &&
	       maps_has_policy(&view->maps, NULL, &query->dst);
}

static int find_by_program(const struct cmd_view *view, const struct lookup_query *query,
			   uint32_t ingress, struct loader_run **run, struct lookup_route *out)
{
	const union sixlane_addr *src = query->has_src ? &query->src : NULL;
	struct trace *trace = calloc(1, sizeof(*trace));
	struct route_packets packets = { .dst = &query->dst, .src = src };
	int rc;

	if (!trace) {
		log_error("out of memory");
		return -ENOMEM;
	}
	rc = run_program(view, query, ingress, run, trace);
	if (rc) {
		free(trace);
		return rc;
	}
	out->table = trace->route.table;
	out->depends |= lookup_left_open(trace->rules, trace->n_rules, query);
	out->view.value = trace->route.value;
	if (out->view.value) {
		route_view_value(&view->maps, trace->route.value, src, &out->view);
		if (query->ingress)
			trace_packets(trace, &query->dst, src, &packets);
		route_view_resolve(&view->maps, out->table, &packets, &out->view);
	}
	if (query->ingress && trace->decided && !is_of_header(query, trace->decided))
		out->verdict = trace->decided;
	else if (out->view.value)
		out->verdict = verdict_behind_route(query, trace, out);
	else if (!query->ingress || is_of_header(query, trace->decided))
		out->verdict = verdict_without_route(trace);
	else
		out->verdict = trace->verdict;
	if (query->ingress && trace->port.flags & SIXLANE_PORT_FLOWS &&
	    out->verdict == SIXLANE_DROP_BLACKHOLE)
		out->verdict = SIXLANE_PASS_FIREWALL;
	if (asks_source(view, query, trace))
		out->depends |= LOOKUP_ON_SOURCE;
	free(trace);
	return 0;
}

/* --- by the trie ------------------------------------------------------------------------- */

static void find_by_trie(const struct maps *maps, const struct lookup_query *query, uint32_t table,
			 struct lookup_route *out)
{
	const union sixlane_addr *src = query->has_src ? &query->src : NULL;
	const struct route_packets packets = { .dst = &query->dst, .src = src };
	uint32_t value;

	out->table = table;
	if (maps_route_lookup(maps, table, &query->dst, &value)) {
		out->verdict = SIXLANE_PASS_NO_ROUTE;
		return;
	}
	route_view_value(maps, value, src, &out->view);
	route_view_resolve(maps, table, &packets, &out->view);
	out->verdict = out->view.verdict;
}

/* What any packet is passed for. */
static uint32_t check_all(const struct sixlane_meta *meta)
{
	const uint32_t ready = SIXLANE_META_READY | SIXLANE_META_GUARDED;
	uint32_t flags = route_view_load(&meta->flags);

	if (route_view_load(&meta->abi) != SIXLANE_ABI || (flags & ready) != ready)
		return SIXLANE_PASS_NOT_READY;
	if (flags & SIXLANE_META_PASS_ALL)
		return SIXLANE_PASS_ALL;
	return flags & SIXLANE_META_RULES ? SIXLANE_PUNT_RULES : SIXLANE_FORWARD;
}

/* ff00::/8, fe80::/10, :: and ::1 are forwarded to by no route. */
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
	if (out->view.group.kind == SIXLANE_NH_EQUAL_METRIC && out->view.group.n_members > 1 &&
	    !query->ingress)
		out->depends |= LOOKUP_ON_PORT;
	all = check_all(maps->meta);
	if (all)
		out->verdict = all;
	else if (is_scoped(&query->dst) && (!query->ingress || !out->verdict))
		out->verdict = SIXLANE_PASS_DESTINATION;
	return 0;
}
