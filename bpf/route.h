/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Destination, and source where it counts, to next hop, in one table: the longest prefix of the
 * destination and then that of the source (fib6_node_lookup). By the compiled FIB where there is
 * one, else, and with the same answer, by the trie. Knows nothing of rules, nor of what a
 * next hop is.
 */
#ifndef SIXLANE_ROUTE_H
#define SIXLANE_ROUTE_H

#include <bpf/bpf_endian.h>

#include "compiled.h"
#include "packet.h"
#include "trace.h"

#define ROUTE_KEY_BITS (SIXLANE_TABLE_BITS + 8u * (__u32)sizeof(union sixlane_addr))
#define ROUTE_FLAGS SIXLANE_ROUTE_EXCEPTIONS

/* What a table says of a packet. */
struct route {
	__u32 value; /* of the trie; length and marks are the destination's prefix's in any case */
	const struct sixlane_next_hop *next_hop;
	union sixlane_nh_entry nh_entry;
};

/* Set next_hop and next-hop entry by value. False: it names no next hop (not of our ABI). */
static __always_inline int route_take(struct route *route)
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

/* The routes of this destination are chosen among by the source. */
static __always_inline enum sixlane_verdict route_by_source(const union sixlane_addr *src,
							    struct route *route)
{
	struct sixlane_route_key key = route_key(route->nh_entry.source_table, src);
	const __u32 *found = bpf_map_lookup_elem(&sl_src_routes, &key);

	/* Every set has an entry for all sources: this one has just been replaced. */
	if (!found) {
		TRACE(SOURCE, SIXLANE_PUNT_SOURCE_ROUTE, route,
		      .table = route->nh_entry.source_table);
		return SIXLANE_PUNT_SOURCE_ROUTE;
	}
	route->value = (READ_ONCE(*found) & ~ROUTE_FLAGS) | (route->value & ROUTE_FLAGS);
	if (!route_take(route) || route->nh_entry.type == SIXLANE_NH_SOURCES)
		return SIXLANE_PUNT_ROUTE;
	TRACE(SOURCE, SIXLANE_FORWARD, route, .table = bpf_ntohl(key.table), .value = route->value,
	      .nh_entry = route->nh_entry);
	return SIXLANE_FORWARD;
}

/* The trie's value; 0: no route. Not static: the verifier goes through it once. */
__attribute__((noinline)) __u32 route_find_in_trie(__u32 table, __be64 high, __be64 low)
{
	const union sixlane_addr addr = { .halves = { high, low } };
	struct sixlane_route_key key = route_key(table, &addr);
	const __u32 *found = bpf_map_lookup_elem(&sl_routes, &key);

	return found ? READ_ONCE(*found) : 0;
}

/* Where a table begins; 0: it has no routes. */
static __always_inline __u32 route_root(union sixlane_fib fib, __u32 table)
{
	__u32 root;

	if (likely(table == SIXLANE_TABLE_MAIN))
		return fib.main;
	root = compiled_find_far(fib.tables, (__u64)table << 32, 0);
	return root && root != COMPILED_UNKNOWN ? root | SIXLANE_FIB_NODE : root;
}

/* Where the lookup's code stands: right here, or where several callers share it. */
enum route_code { ROUTE_HERE, ROUTE_SHARED };

/* The value; 0: no route. */
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

/* By destination alone. SIXLANE_FORWARD: *route is filled in. SIXLANE_PASS_NO_ROUTE: none. */
static __always_inline enum sixlane_verdict route_by_destination(__u32 table,
								 const union sixlane_addr *dst,
								 enum route_code code,
								 struct route *route)
{
	route->value = route_find(table, dst, code);
	if (!route->value)
		return SIXLANE_PASS_NO_ROUTE;
	return route_take(route) ? SIXLANE_FORWARD : SIXLANE_PUNT_ROUTE;
}

/* As above, by both. */
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

#endif
