/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contents of the maps as one plain struct: a test arranges it, the harness writes it to the
 * maps, the model reads it. Slots and ids are the maps' own. Knows no libbpf.
 *
 * The default world: packets for 2001:db8:2::/48 that come in by DEV_IN leave by DEV_OUT to a
 * gateway. Nothing leads back to the sender, and there are no groups, rules, sources and exceptions
 * until a test adds them.
 */
#ifndef TESTS_BPF_WORLD_H
#define TESTS_BPF_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bpf/abi/sixlane.h"
#include "devices.h"

#define WORLD_PORTS 40
#define WORLD_NEIGHBOURS (N_NEIGHBOURS + 4)
#define WORLD_INDEX N_NEIGHBOURS
#define WORLD_ROUTES 160
#define WORLD_SOURCES 32
#define WORLD_BUCKETS 128
#define WORLD_RULES (2 * SIXLANE_MAX_RULES)
#define WORLD_EXCEPTIONS 24
#define WORLD_POLICIES 16
#define WORLD_SET 7u	    /* a set of sources */
#define WORLD_VRF 1001u	    /* a table, of ports that a test puts into a VRF, … */
#define WORLD_VRF_IFINDEX 9 /* … which is this device */

struct world_route {
	struct sixlane_route_key key;
	uint32_t value;
};

struct world_exception { /* the same for all CPUs */
	union sixlane_addr dst;
	struct sixlane_exception value;
};

struct world_fresh {
	union sixlane_addr dst;
	uint32_t halves[SIXLANE_FRESH_NUMBERS]; /* in which each of its bytes is set */
};

struct world {
	struct sixlane_meta meta;
	struct sixlane_port ports[WORLD_PORTS];
	struct sixlane_next_hop next_hops[WORLD_NEXT_HOPS];
	union sixlane_nh_bucket buckets[WORLD_BUCKETS];
	struct sixlane_neigh neighbours[WORLD_NEIGHBOURS];
	struct sixlane_rule rules[WORLD_RULES];
	struct {
		uint32_t ifindex, slot;
	} port_index[N_DEVICES];
	size_t n_port_index;
	struct {
		struct sixlane_vlan_key key;
		uint32_t slot;
	} vlans[N_DEVICES];
	size_t n_vlans;
	struct {
		struct sixlane_neigh_key key;
		uint32_t slot;
	} neigh_index[WORLD_INDEX];
	size_t n_neigh_index;
	struct world_route routes[WORLD_ROUTES];
	size_t n_routes;
	struct world_route sources[WORLD_SOURCES];
	size_t n_sources;
	struct world_exception exceptions[WORLD_EXCEPTIONS];
	size_t n_exceptions;
	union sixlane_addr punted[WORLD_EXCEPTIONS]; /* those of sl_punted */
	size_t n_punted;
	struct world_fresh fresh[WORLD_EXCEPTIONS];
	size_t n_fresh;
	bool held[WORLD_PORTS][WORLD_PORTS]; /* pairs of slots, ingress and egress, in sl_guard */
	struct world_route policies[WORLD_POLICIES];
	size_t n_policies;
};

/* The default world, with no route yet. */
void world_init(struct world *world);

/* prefix: "2001:db8::/32"; table 0: main. */
void world_add_route(struct world *world, const char *prefix, uint32_t table, uint32_t next_hop);
/* len: the length of the destination's prefix, which the value carries. */
void world_add_source(struct world *world, uint32_t set, const char *prefix, uint32_t next_hop,
		      uint32_t len);
/* At the end of the list, for all ports. src and dst: NULL or a prefix. */
void world_add_rule(struct world *world, const struct sixlane_rule *rule, const char *src,
		    const char *dst);
/* An IPsec policy's prefix. In table 0 destinations, whose value is the table of its sources. */
void world_add_policy(struct world *world, uint32_t table, const char *prefix, uint32_t value);

/* An exception; table 0: main. The route is not marked to have one. */
void world_add_exception(struct world *world, const char *dst,
			 const struct sixlane_exception *value);
/* Adds dst to sl_punted. */
void world_add_punted(struct world *world, const char *dst);
/* Adds dst to sl_fresh; last_half: the half of the last byte. Leaves SIXLANE_META_CHECK_PUNTED. */
void world_add_fresh(struct world *world, const char *dst, uint32_t half, uint32_t last_half);
/* FRAME_DST's marked route to NH_GATEWAY, this exception of it, and a return route by NEIGH_IN. */
void world_add_exception_and_ways(struct world *world, const struct sixlane_exception *value);

/* Makes a bucket that has this member whatever the hash. */
void world_set_bucket(union sixlane_nh_bucket *bucket, uint32_t member);
/* A group of buckets with one member each; buckets from first_bucket on. */
void world_set_buckets(struct world *world, uint32_t id, uint32_t first_bucket,
		       const uint32_t *members, uint16_t n);
/* Put a port into the VRF. */
void world_enslave(struct world *world, enum device dev);
/* Every port into the slot that is tried first, and none in the index. The last change. */
void world_move_ports_home(struct world *world);

static inline struct sixlane_port *world_port(struct world *world, enum device dev)
{
	return &world->ports[world_port_slot(dev)];
}

static inline struct sixlane_neigh *world_neigh(struct world *world, enum neighbour neigh)
{
	return &world->neighbours[world_neigh_slot(neigh)];
}

/* NULL: :: */
union sixlane_addr world_addr(const char *text);

#endif
