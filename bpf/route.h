/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The route lookup in one table: the longest prefix of the destination, then, of source-specific
 * routes, that of the source (fib6_node_lookup()). The compiled FIB answers where there is one, the
 * LPM trie otherwise; both give the same answer. Knows nothing of rules or of next hops.
 */
#ifndef SIXLANE_ROUTE_H
#define SIXLANE_ROUTE_H

#include <bpf/bpf_endian.h>

#include "compiled.h"
#include "packet.h"
#include "trace.h"

#define ROUTE_KEY_BITS (SIXLANE_TABLE_BITS + 8u * (__u32)sizeof(union sixlane_addr))
#define ROUTE_FLAGS SIXLANE_ROUTE_EXCEPTIONS

/* The route that a table has for a packet. */
struct route {
	__u32 value; /* of the trie; length and flags are those of the destination's prefix */
	const struct sixlane_next_hop *next_hop;
	union sixlane_nh_entry nh_entry;
};

/* Sets next_hop and nh_entry by value. False: there is no such next hop. */
static __always_inline int route_set_next_hop(struct route *route)
{
	__u32 id = sixlane_route_next_hop(route->value);

	route->next_hop = bpf_map_lookup_elem(&sl_next_hops, &id);
	if (!route->next_hop)
		return 0;
	route->nh_entry.word = READ_ONCE(route->next_hop->nh_entry.word);
	return 1;
}

static __always_inline struct sixlane_route_key route_key(__u32 table,
							  const union sixlane_addr *addr)
{
	struct sixlane_route_key key = {
		.prefix_len = ROUTE_KEY_BITS,
		.table = bpf_htonl(table),
	};

	key.addr.halves[0] = addr->halves[0];
	key.addr.halves[1] = addr->halves[1];
	return key;
}

/* Chooses among the source-specific routes of a destination. */
static __always_inline enum sixlane_verdict route_by_source(const union sixlane_addr *src,
							    struct route *route)
{
	struct sixlane_route_key key = route_key(route->nh_entry.source_table, src);
	const __u32 *found = bpf_map_lookup_elem(&sl_src_routes, &key);

	/* Each table has an entry for ::/0, so this one has just been replaced. */
	if (!found) {
		TRACE(SOURCE, SIXLANE_PUNT_SOURCE_ROUTE, route,
		      .table = route->nh_entry.source_table);
		return SIXLANE_PUNT_SOURCE_ROUTE;
	}
	route->value = (READ_ONCE(*found) & ~ROUTE_FLAGS) | (route->value & ROUTE_FLAGS);
	if (!route_set_next_hop(route) || route->nh_entry.type == SIXLANE_NH_SOURCES)
		return SIXLANE_PUNT_ROUTE;
	TRACE(SOURCE, SIXLANE_FORWARD, route, .table = bpf_ntohl(key.table), .value = route->value,
	      .nh_entry = route->nh_entry);
	return SIXLANE_FORWARD;
}

/* The trie's value; 0: no route. Not inlined: the verifier checks it once for all callers. */
__attribute__((noinline)) __u32 route_find_in_trie(__u32 table, __be64 high, __be64 low)
{
	const union sixlane_addr addr = { .halves = { high, low } };
	struct sixlane_route_key key = route_key(table, &addr);
	const __u32 *found = bpf_map_lookup_elem(&sl_routes, &key);

	return found ? READ_ONCE(*found) : 0;
}

/* Root of a table in the compiled FIB; 0: it has no routes. */
static __always_inline __u32 route_root(union sixlane_fib fib, __u32 table)
{
	__u32 root;

	if (likely(table == SIXLANE_TABLE_MAIN))
		return fib.main;
	root = compiled_find_far(fib.tables, (__u64)table << 32, 0);
	return root && root != COMPILED_UNKNOWN ? root | SIXLANE_FIB_NODE : root;
}

/* Whether the lookup is inlined, or a function that several callers share. */
enum route_code { ROUTE_HERE, ROUTE_SHARED };

/* The value of a route, as in sl_routes; 0: no route. */
static __always_inline __u32 route_find(__u32 table, const union sixlane_addr *dst,
					enum route_code code)
{
	const struct fib_memory memory = fib_open();
	const union sixlane_fib fib = { .word = fib_roots(&memory) };
	const __u64 high = bpf_be64_to_cpu(dst->halves[0]), low = bpf_be64_to_cpu(dst->halves[1]);
	__u32 found = COMPILED_UNKNOWN;

	if (fib.word && fib_engine(&memory) == SIXLANE_ENGINE_COMPILED)
		found = route_root(fib, table);
	if (found && found != COMPILED_UNKNOWN)
		found = code == ROUTE_HERE ? compiled_find(&memory, found, high, low)
					   : compiled_find_far(found, high, low);
	if (unlikely(found == COMPILED_UNKNOWN))
		return route_find_in_trie(table, dst->halves[0], dst->halves[1]);
	return found;
}

/* By destination alone. SIXLANE_FORWARD: *route is set. */
static __always_inline enum sixlane_verdict route_by_destination(__u32 table,
								 const union sixlane_addr *dst,
								 enum route_code code,
								 struct route *route)
{
	route->value = route_find(table, dst, code);
	if (!route->value)
		return SIXLANE_PASS_NO_ROUTE;
	return route_set_next_hop(route) ? SIXLANE_FORWARD : SIXLANE_PUNT_ROUTE;
}

/* By destination and source. SIXLANE_FORWARD: *route is set. */
static __always_inline enum sixlane_verdict route_lookup(__u32 table, const union sixlane_addr *dst,
							 const union sixlane_addr *src,
							 enum route_code code, struct route *route)
{
	enum sixlane_verdict verdict = route_by_destination(table, dst, code, route);

	if (verdict != SIXLANE_FORWARD) {
		TRACE(ROUTE, verdict, route, .table = table, .value = route->value);
		return verdict;
	}
	TRACE(ROUTE, verdict, route, .table = table, .value = route->value,
	      .nh_entry = route->nh_entry);
	if (route->nh_entry.type == SIXLANE_NH_SOURCES)
		return route_by_source(src, route);
	return SIXLANE_FORWARD;
}

/* Makes a route the packet's. */
static __always_inline void route_set(struct packet *pkt, const struct route *route)
{
	pkt->route = route->value;
	pkt->next_hop = route->next_hop;
	pkt->nh_entry = route->nh_entry;
	pkt->mtu = READ_ONCE(route->next_hop->mtu);
}

/* Looks the packet up in its port's only table. */
static __always_inline enum sixlane_verdict route_find_main(struct packet *pkt)
{
	/* clang would otherwise spill what it has not set, which the verifier takes for a read. */
	struct route route = { .next_hop = 0 };
	enum sixlane_verdict verdict;

	pkt->table = READ_ONCE(pkt->port->table);
	verdict = route_lookup(pkt->table, &pkt->ip6->dst, &pkt->ip6->src, ROUTE_HERE, &route);
	if (verdict == SIXLANE_FORWARD)
		route_set(pkt, &route);
	return verdict;
}

#endif
