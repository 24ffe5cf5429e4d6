// SPDX-License-Identifier: GPL-2.0-only
/*
 * See kernel_reader.h. A record has what rtnetlink would report of a route (rt6_fill_node). The
 * hops of a multipath route are separate records, which are joined here.
 */
#include "kernel_reader.h"

#include <linux/ipv6_route.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../netlink/parse.h"

/* Lifetimes of hops that differ by less were set by one request. */
#define SAME_REQUEST_NS 1000000000u

static void copy_prefix(struct prefix *out, const __u8 addr[16], __u8 len)
{
	memcpy(out->addr.bytes, addr, sizeof(out->addr.bytes));
	out->len = len;
}

struct prefix kernel_routes_dst(const struct kernel_record *record)
{
	struct prefix dst;

	copy_prefix(&dst, record->dst, record->dst_len);
	return dst;
}

static void add_hop(struct kernel_routes *out, struct route *route,
		    const struct kernel_record *record)
{
	struct route_hop *hop = &out->hops[out->n_hops];

	if (!record->ifindex) /* by a next-hop object, which has the hop */
		return;
	if (route->n_hops == ROUTE_MAX_HOPS) {
		route->truncated = true;
		return;
	}
	*hop = (struct route_hop){ .ifindex = record->ifindex, .weight = record->weight };
	memcpy(hop->gateway.bytes, record->gateway, sizeof(hop->gateway.bytes));
	hop->has_gateway = !addr_is_zero(&hop->gateway);
	out->n_hops++;
	route->n_hops++;
}

static void fill_route(struct route *out, const struct kernel_view *view, uint32_t table,
		       const struct kernel_record *record)
{
	*out = (struct route){
		.table = table,
		.metric = record->metric,
		.next_hop_id = record->next_hop_id,
		.mtu = record->mtu,
		.mtu_locked = record->mtu_locked,
		.expires = record->flags & RTF_EXPIRES,
		.expires_ns = kernel_reader_expires_ns(view, record),
		.type = record->type,
		.protocol = record->protocol,
		.preference = record->preference,
		.own_source = record->prefsrc || record->hop_limit ||
			      (record->mtu && record->mtu < PARSE_MIN_MTU_BYTES),
		.encap = record->encap,
		.unknown = record->features & ~(uint32_t)PARSE_HARMLESS_FEATURES,
	};
	copy_prefix(&out->dst, record->dst, record->dst_len);
	copy_prefix(&out->src, record->src, record->src_len);
}

static bool lifetimes_differ(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns + SAME_REQUEST_NS < b_ns || b_ns + SAME_REQUEST_NS < a_ns;
}

/* Another hop of a set. fib6 has it as a route with attributes of its own. */
static void join(struct route *set, const struct route *hop)
{
	set->unlike |= set->mtu != hop->mtu || set->mtu_locked != hop->mtu_locked ||
		       set->type != hop->type || set->preference != hop->preference ||
		       set->expires != hop->expires ||
		       lifetimes_differ(set->expires_ns, hop->expires_ns);
	if (hop->expires && hop->expires_ns < set->expires_ns)
		set->expires_ns = hop->expires_ns;
	set->encap |= hop->encap;
	set->own_source |= hop->own_source;
	set->unknown |= hop->unknown;
}

/* Routes of one metric and source that have siblings are hops of one set. */
static bool same_set(const struct kernel_record *a, const struct kernel_record *b)
{
	return a->n_siblings && b->n_siblings && a->metric == b->metric &&
	       a->src_len == b->src_len && !memcmp(a->src, b->src, sizeof(a->src));
}

/* Add the route of records[i], with its further hops. */
static void add_route(struct kernel_routes *out, const struct kernel_view *view, uint32_t table,
		      const struct kernel_record *records, size_t i, size_t n)
{
	struct route *route = &out->routes[out->n++];

	fill_route(route, view, table, &records[i]);
	route->hops = &out->hops[out->n_hops];
	add_hop(out, route, &records[i]);
	for (size_t j = i + 1; records[i].n_siblings && j < n; j++) {
		struct route hop;

		if (!same_set(&records[i], &records[j]))
			continue;
		fill_route(&hop, view, table, &records[j]);
		join(route, &hop);
		add_hop(out, route, &records[j]);
	}
}

/* Its set has been added already. */
static bool is_known(const struct kernel_record *records, size_t i)
{
	for (size_t j = 0; records[i].n_siblings && j < i; j++)
		if (same_set(&records[j], &records[i]))
			return true;
	return false;
}

void kernel_routes_fill(struct kernel_routes *out, const struct kernel_view *view, uint32_t table,
			const struct kernel_record *records, size_t n)
{
	out->n = out->n_hops = 0;
	for (size_t i = 0; i < n; i++)
		if (records[i].kind == KERNEL_RECORD_ROUTE && !is_known(records, i))
			add_route(out, view, table, records, i, n);
}
