// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the maps send the packets of a flow, read as the datapath reads them. Knows neither what
 * the daemon believes to have written nor what the kernel would do.
 */
#include <string.h>

#include "access.h"

/* The route value of the engine in use; 0: no route. */
static uint32_t find_route(const struct maps *maps, uint32_t table, const union sixlane_addr *dst)
{
	struct compiled_view view;
	uint32_t value = 0;
	bool found = false;

	if (ATOMIC_LOAD(&maps->fib_head->engine) == SIXLANE_ENGINE_COMPILED &&
	    !maps_view(maps, &view)) {
		found = !compiled_find(&view, table, dst, &value);
		maps_unview(&view);
	}
	return found || !maps_route_lookup(maps, table, dst, &value) ? value : 0;
}

/* Whether the port is up and has IPv6. skip: port flags that exclude members of a group. */
static bool is_in_use(const struct sixlane_port *port, uint32_t skip)
{
	const uint32_t alive = SIXLANE_PORT_UP | SIXLANE_PORT_IPV6;

	return (ATOMIC_LOAD(&port->flags) & (alive | skip)) == alive;
}

/* As nexthop_neighbour() of the datapath. */
static bool goes_there(const struct maps *maps, const struct maps_flow *flow,
		       union sixlane_nh_entry nh_entry, uint32_t skip)
{
	const union sixlane_addr *next_hop = &flow->dst;

	if (nh_entry.type != SIXLANE_FORWARD || nh_entry.port >= SIXLANE_MAX_PORTS ||
	    nh_entry.neighbour >= SIXLANE_MAX_NEIGHBOURS)
		return false;
	if (nh_entry.neighbour)
		next_hop = &maps->neighbours[nh_entry.neighbour].key.addr;
	return ATOMIC_LOAD(&maps->ports[nh_entry.port].ifindex) == flow->ifindex &&
	       is_in_use(&maps->ports[nh_entry.port], skip) &&
	       !memcmp(next_hop, &flow->next_hop, sizeof(*next_hop));
}

static union sixlane_nh_entry entry_at(const struct maps *maps, uint32_t id)
{
	return (union sixlane_nh_entry){ .word = ATOMIC_LOAD(&maps->next_hops[id].nh_entry.word) };
}

static bool member_goes_there(const struct maps *maps, const struct maps_flow *flow, uint32_t id,
			      uint32_t skip)
{
	return goes_there(maps, flow, entry_at(maps, id), skip);
}

static bool group_goes_there(const struct maps *maps, const struct maps_flow *flow,
			     union sixlane_nh_entry nh_entry, uint32_t skip)
{
	for (uint32_t i = 0;
	     i < nh_entry.n_buckets && nh_entry.first_bucket + i < SIXLANE_MAX_NH_BUCKETS; i++) {
		const union sixlane_nh_bucket bucket = {
			.word = ATOMIC_LOAD(&maps->buckets[nh_entry.first_bucket + i].word),
		};

		if (member_goes_there(maps, flow, bucket.below, skip) ||
		    member_goes_there(maps, flow, bucket.above, skip))
			return true;
	}
	return false;
}

/* The id of the next hop for the flow's source. 0: none. */
static uint32_t find_next_hop(const struct maps *maps, const struct maps_flow *flow, uint32_t value)
{
	const uint32_t id = sixlane_route_next_hop(value) % SIXLANE_MAX_NEXT_HOPS;
	const union sixlane_nh_entry nh_entry = entry_at(maps, id);
	uint32_t by_source;

	if (nh_entry.type != SIXLANE_NH_SOURCES)
		return id;
	if (maps_source_lookup(maps, nh_entry.source_table, &flow->src, &by_source))
		return 0;
	return sixlane_route_next_hop(by_source) % SIXLANE_MAX_NEXT_HOPS;
}

static bool next_hop_goes_there(const struct maps *maps, const struct maps_flow *flow, uint32_t id,
				uint64_t now_ns)
{
	const union sixlane_nh_entry nh_entry = entry_at(maps, id);
	const uint64_t expires_ns = ATOMIC_LOAD(&maps->next_hops[id].expires_ns);
	const uint32_t skip = maps->next_hops[id].flags & SIXLANE_NEXT_HOP_OBJECT
				      ? SIXLANE_PORT_SKIP_OBJECT
				      : SIXLANE_PORT_SKIP;

	if (nh_entry.type != SIXLANE_NH_GROUP && nh_entry.type != SIXLANE_NH_EQUAL_METRIC)
		return goes_there(maps, flow, nh_entry, 0);
	return (!expires_ns || now_ns < expires_ns) && group_goes_there(maps, flow, nh_entry, skip);
}

bool maps_may_forward(const struct maps *maps, const struct maps_flow *flow, uint64_t now_ns,
		      uint8_t *len)
{
	const uint32_t value = find_route(maps, flow->table, &flow->dst);
	const uint32_t id = value ? find_next_hop(maps, flow, value) : 0;

	if (!id || !next_hop_goes_there(maps, flow, id, now_ns))
		return false;
	*len = (uint8_t)sixlane_route_len(value);
	return true;
}
