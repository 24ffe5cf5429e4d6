/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that the maps say, as one plain struct: a test arranges it, the harness writes it to the
 * maps, the model reads it. Slots and ids are the maps' own. Knows no libbpf.
 *
 * The default world: packets for 2001:db8:2::/48 that come in by DEV_IN leave by DEV_OUT to a
 * gateway.
 */
#ifndef TESTS_BPF_WORLD_H
#define TESTS_BPF_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "../../bpf/sixlane.h"

/* Real devices, made by the harness, since BPF_PROG_TEST_RUN takes no others as ingress. */
enum device {
	DEV_IN,
	DEV_OUT,
	DEV_ALT,
	DEV_GENERIC,  /* its program runs in generic mode */
	DEV_STRANGER, /* has no slot */
	N_DEVICES
};

enum neighbour {
	NEIGH_GATEWAY, /* fe80::1 on DEV_OUT */
	NEIGH_HOST,    /* FRAME_DST on DEV_OUT, known to the index */
	NEIGH_ALT,     /* fe80::1 on DEV_ALT */
	NEIGH_SILENT,  /* fe80::2 on DEV_OUT, unresolved */
	N_NEIGHBOURS
};

enum next_hop {
	NH_GATEWAY = 1,
	NH_ON_LINK, /* DEV_OUT */
	NH_ALT,	    /* by NEIGH_ALT */
	NH_SILENT,
	NH_LOCKED,    /* NH_GATEWAY with mtu lock 1400 */
	NH_BACK,      /* out of DEV_IN */
	NH_FATE = 64, /* + verdict: a route with a fate of its own */
	WORLD_NEXT_HOPS = NH_FATE + SIXLANE_MAX_VERDICTS
};

#define WORLD_PORTS 32
#define WORLD_NEIGHBOURS 8
#define WORLD_INDEX 8
#define WORLD_ROUTES 160

struct world {
	struct sixlane_meta meta;
	struct sixlane_port ports[WORLD_PORTS];
	struct sixlane_next_hop next_hops[WORLD_NEXT_HOPS];
	struct sixlane_neigh neighbours[WORLD_NEIGHBOURS];
	struct {
		uint32_t ifindex, slot;
	} port_index[WORLD_INDEX];
	size_t n_port_index;
	struct {
		struct sixlane_neigh_key key;
		uint32_t slot;
	} neigh_index[WORLD_INDEX];
	size_t n_neigh_index;
	struct {
		struct sixlane_route_key key;
		uint32_t value;
	} routes[WORLD_ROUTES];
	size_t n_routes;
};

/* ifindex of each device and nothing routed yet. */
void world_init(struct world *world, const uint32_t ifindex[N_DEVICES]);

/* "2001:db8::/32"; table 0: main. */
void world_add_route(struct world *world, const char *prefix, uint32_t table, uint32_t next_hop);

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

extern const uint8_t world_device_mac[N_DEVICES][6];
extern const uint8_t world_neigh_mac[N_NEIGHBOURS][6];
enum device world_neigh_device(enum neighbour neigh);

#endif
