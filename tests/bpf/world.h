/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that the maps say, as one plain struct: a test arranges it, the harness writes it to the
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

enum device {
	/* Real ones, made by the harness, since BPF_PROG_TEST_RUN takes no others as ingress. */
	DEV_IN,
	DEV_OUT,
	DEV_ALT,
	DEV_GENERIC,  /* its program runs in generic mode */
	DEV_SLAVE,    /* of DEV_BOND, active, with its MAC */
	DEV_BACKUP,   /* of DEV_BOND, not in use */
	DEV_STRANGER, /* has no slot */
	N_REAL_DEVICES,

	/* Those which are but an entry in the maps. */
	DEV_BOND = N_REAL_DEVICES,
	DEV_IN_10,	 /* 802.1Q 10 on DEV_IN */
	DEV_IN_10_20,	 /* 802.1Q 20 in that */
	DEV_IN_AD30,	 /* 802.1ad 30 on DEV_IN */
	DEV_IN_AD30_40,	 /* 802.1Q 40 in that */
	DEV_OUT_10,	 /* 802.1Q 10 on DEV_OUT */
	DEV_OUT_AD30,	 /* 802.1ad 30 on DEV_OUT */
	DEV_OUT_AD30_40, /* 802.1Q 40 in that */
	DEV_BOND_10,	 /* 802.1Q 10 on DEV_BOND */
	N_DEVICES
};

enum neighbour {
	NEIGH_GATEWAY, /* fe80::1 on DEV_OUT */
	NEIGH_HOST,    /* FRAME_DST on DEV_OUT, known to the index */
	NEIGH_ALT,     /* fe80::1 on DEV_ALT */
	NEIGH_SILENT,  /* fe80::2 on DEV_OUT, unresolved */
	NEIGH_BOND,    /* fe80::1 on … */
	NEIGH_IN,
	NEIGH_IN_10,
	NEIGH_IN_10_20,
	NEIGH_IN_AD30,
	NEIGH_OUT_10,
	NEIGH_OUT_AD30_40,
	NEIGH_BOND_10,
	NEIGH_TAGGED_HOST, /* FRAME_DST on DEV_OUT_10 */
	NEIGH_SENDER,	   /* FRAME_SRC on DEV_IN */
	NEIGH_MEMBER,	   /* fe80::100 …, by turns on DEV_OUT, DEV_ALT, DEV_GENERIC, DEV_BOND */
	WORLD_MEMBERS = 16,
	N_NEIGHBOURS = NEIGH_MEMBER + WORLD_MEMBERS
};

/* Those of the real ones; of the others, which only the maps know, just numbers. */
#define WORLD_IFINDEX(dev) (24u + (uint32_t)(dev))

/* Next hops 1 … N_NEIGHBOURS lead to the neighbours. */
#define NH_VIA(neighbour) ((uint32_t)(neighbour) + 1)
#define NH_GATEWAY NH_VIA(NEIGH_GATEWAY)
#define NH_ALT NH_VIA(NEIGH_ALT)
#define NH_SILENT NH_VIA(NEIGH_SILENT)
#define NH_MEMBER(n) NH_VIA(NEIGH_MEMBER + (n))

enum world_next_hop {
	NH_ON_LINK = N_NEIGHBOURS + 1, /* DEV_OUT */
	NH_ON_LINK_10,		       /* DEV_OUT_10 */
	NH_ON_LINK_IN,		       /* DEV_IN */
	NH_LOCKED,		       /* NH_GATEWAY with mtu lock 1400 */
	NH_BACK,		       /* out of DEV_IN */
	NH_SOURCES,		       /* a set of sources, WORLD_SET */
	NH_GROUP = 40,		       /* … to be made by tests */
	NH_FATE = 64,		       /* + verdict: a route with a next-hop entry of its own */
	WORLD_NEXT_HOPS = NH_FATE + SIXLANE_MAX_VERDICTS
};
_Static_assert((int)NH_SOURCES < (int)NH_GROUP, "ids of next hops");

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

/* value is the same for all CPUs, in the world as well as in the map until packets come. */
struct world_exception {
	union sixlane_addr dst;
	struct sixlane_exception value;
};

/* A destination of sl_fresh: the half in which each of its bytes is set. */
struct world_fresh {
	union sixlane_addr dst;
	uint32_t halves[SIXLANE_FRESH_NUMBERS];
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

/* ifindex of each device and nothing routed yet. */
void world_init(struct world *world, const uint32_t ifindex[N_DEVICES]);

/* "2001:db8::/32"; table 0: main. */
void world_add_route(struct world *world, const char *prefix, uint32_t table, uint32_t next_hop);

/* To a set of sources; len: what the value says of the destination's prefix. */
void world_add_source(struct world *world, uint32_t set, const char *prefix, uint32_t next_hop,
		      uint32_t len);

/* At the end of the list of rules, for all ports. src and dst: NULL or a prefix. */
void world_add_rule(struct world *world, const struct sixlane_rule *rule, const char *src,
		    const char *dst);

/*
 * What holds for a destination instead of what the table says; table 0: main. The mark of the
 * prefix that it falls under is not set.
 */
void world_add_exception(struct world *world, const char *dst,
			 const struct sixlane_exception *value);

/* Punt; the rest as above. */
void world_add_punted(struct world *world, const char *dst);

/* Of a message that has just come; last_half: that of its last byte. SIXLANE_META_CHECK_PUNTED is
 * not set.
 */
void world_add_fresh(struct world *world, const char *dst, uint32_t half, uint32_t last_half);

/* An IPsec policy's sources, in the table that a destination's entry names; table 0: destinations.
 */
void world_add_policy(struct world *world, uint32_t table, const char *prefix, uint32_t value);

/* FRAME_DST's route to NH_GATEWAY, this exception of it, and a way back by NEIGH_IN. */
void world_add_exception_and_ways(struct world *world, const struct sixlane_exception *value);

/* Mark all routes of all tables. */
void world_mark_routes(struct world *world, uint32_t marks);

/* A group of buckets with one member each, as a resilient one has; buckets from first_bucket on. */
void world_set_buckets(struct world *world, uint32_t id, uint32_t first_bucket,
		       const uint32_t *members, uint16_t n);

/* The same next hop as a group that expires. */
void world_set_expiring(struct world *world, uint32_t id, uint32_t first_bucket, uint32_t member,
			uint64_t expires_ns);

/* Put a port into the VRF. */
void world_enslave(struct world *world, enum device dev);

/* Every port into the slot that the datapath tries first, and none in the index. The last change.
 */
void world_move_ports_home(struct world *world);

static inline uint32_t world_port_slot(enum device dev)
{
	return dev == DEV_STRANGER ? 0 : (uint32_t)dev + 1;
}

static inline uint32_t world_neigh_slot(enum neighbour neigh)
{
	return (uint32_t)neigh + 1;
}

static inline struct sixlane_port *world_port(struct world *world, enum device dev)
{
	return &world->ports[world_port_slot(dev)];
}

static inline struct sixlane_neigh *world_neigh(struct world *world, enum neighbour neigh)
{
	return &world->neighbours[world_neigh_slot(neigh)];
}

/* Of text; NULL: ::. */
union sixlane_addr world_addr(const char *text);

/* What answers by a device come from, and their hop limit. */
const union sixlane_addr *world_source(enum device dev);
#define WORLD_HOP_LIMIT(dev) ((uint8_t)(100 + (dev)))

extern const uint8_t world_device_mac[N_DEVICES][6];
extern const uint8_t world_neigh_mac[N_NEIGHBOURS][6];
enum device world_neigh_device(enum neighbour neigh);

/* The tags of frames by a device, the outer first, as for frame_push(). */
const uint32_t *world_device_tags(enum device dev);
#define WORLD_TAGS 2

/* The device that frames by a device really leave by. */
enum device world_device_xmit(enum device dev);

#endif
