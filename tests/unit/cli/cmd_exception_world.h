/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The world of cmd_world.h with a destination that may have an exception, for those tests that are
 * about them: from IN to DESTINATION by HOP, and back with all that an exact answer takes.
 */
#ifndef UNIT_CLI_CMD_EXCEPTION_WORLD_H
#define UNIT_CLI_CMD_EXCEPTION_WORLD_H

#include "cmd_world.h"

#define HOP 5u	     /* ids: the route's, … */
#define OTHER_HOP 6u /* … and an exception's */
#define BACK_HOP 7u
#define MTU 1300u
#define PREFIX "2001:db8::"

#define KERNEL SIXLANE_EXCEPTION_KERNEL
#define OPERATOR (SIXLANE_EXCEPTION_OPERATOR | SIXLANE_EXCEPTION_LOCKED)
#define WITH_MTU SIXLANE_EXCEPTION_MTU
#define WITH_HOP SIXLANE_EXCEPTION_NEXT_HOP
#define MARK SIXLANE_ROUTE_EXCEPTIONS
#define MARK_MISSING SIXLANE_ROUTE_EXCEPTIONS_MISSING

static inline void fill(uint32_t marks)
{
	world_clear();
	world_port(SLOT_IN, IN, SERVED | SIXLANE_PORT_SOURCE);
	ports[SLOT_IN].source = address("2001:db8:a::ff");
	world_port(SLOT_OTHER, OTHER, LIVE);
	world_hop(HOP, SLOT_OUT, GATEWAY);
	world_hop(OTHER_HOP, SLOT_OTHER, OTHER_GATEWAY);
	world_hop(BACK_HOP, SLOT_IN, GATEWAY);
	neighbours[GATEWAY].mac.bytes[5] = 0xaa;
	world_route(SIXLANE_TABLE_MAIN, PREFIX, 48, HOP);
	routes[0].value |= marks;
	world_route(SIXLANE_TABLE_MAIN, "2001:db8:a::", 64, BACK_HOP);
}

/* DESTINATION has one that the map lacks. */
static inline void lack(void)
{
	const union sixlane_addr dst = address(DESTINATION);

	for (uint32_t number = 0; number < 2; number++) {
		uint32_t bit = sixlane_missing_bit(sixlane_missing_check(&dst), number);

		missing[bit / 64] |= 1ull << bit % 64;
	}
}

static inline struct sixlane_exception exception_of(uint32_t flags)
{
	return (struct sixlane_exception){ .flags = flags,
					   .mtu = MTU,
					   .next_hop = flags & WITH_HOP ? OTHER_HOP : 0,
					   .under = next_hops[HOP].fate };
}

static inline struct walk walk_of(uint32_t ip_bytes)
{
	struct walk_query query = world_query(IN);
	struct walk walk;

	query.ip_bytes = ip_bytes;
	walk_packet(&maps, &query, &walk);
	return walk;
}

#endif
