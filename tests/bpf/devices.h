/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The devices, neighbours and next hops of the default world: numbers, MACs, tags. Knows neither
 * maps nor routes.
 */
#ifndef TESTS_BPF_DEVICES_H
#define TESTS_BPF_DEVICES_H

#include <stdint.h>

#include "../../bpf/abi/sixlane.h"

enum device {
	/* Real ones, made by the harness: BPF_PROG_TEST_RUN takes no others as ingress. */
	DEV_IN,
	DEV_OUT,
	DEV_ALT,
	DEV_GENERIC,  /* its program runs in generic mode */
	DEV_SLAVE,    /* of DEV_BOND, active, with its MAC */
	DEV_BACKUP,   /* of DEV_BOND, not in use */
	DEV_STRANGER, /* has no slot */
	N_REAL_DEVICES,

	/* Others, which are but entries in the maps. _10: 802.1Q 10 on the device; _AD30: 802.1ad
	 * 30. A second number is an 802.1Q tag in that.
	 */
	DEV_BOND = N_REAL_DEVICES,
	DEV_IN_10,
	DEV_IN_10_20,
	DEV_IN_AD30,
	DEV_IN_AD30_40,
	DEV_OUT_10,
	DEV_OUT_AD30,
	DEV_OUT_AD30_40,
	DEV_BOND_10,
	N_DEVICES
};

enum neighbour {
	NEIGH_GATEWAY, /* fe80::1 on DEV_OUT */
	NEIGH_HOST,    /* FRAME_DST on DEV_OUT, known to the index */
	NEIGH_ALT,     /* fe80::1 on DEV_ALT */
	NEIGH_SILENT,  /* fe80::2 on DEV_OUT, unresolved */
	NEIGH_BOND,    /* fe80::1 on the device of that name, here and below */
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

/* Above those of a new namespace (lo, sit0 …), below WORLD_PORTS, and no slot of the default world.
 */
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
	NH_ENTRY = 64,		       /* + verdict: a route with a next-hop entry of its own */
	WORLD_NEXT_HOPS = NH_ENTRY + SIXLANE_MAX_VERDICTS
};
_Static_assert((int)NH_SOURCES < (int)NH_GROUP, "ids of next hops");

static inline uint32_t world_port_slot(enum device dev)
{
	return dev == DEV_STRANGER ? 0 : (uint32_t)dev + 1;
}

static inline uint32_t world_neigh_slot(enum neighbour neigh)
{
	return (uint32_t)neigh + 1;
}

/* Source and hop limit of answers by a device. */
const union sixlane_addr *world_source(enum device dev);
#define WORLD_HOP_LIMIT(dev) ((uint8_t)(100 + (dev)))

extern const uint8_t world_device_mac[N_DEVICES][6];
extern const uint8_t world_neigh_mac[N_NEIGHBOURS][6];
enum device world_neigh_device(enum neighbour neigh);

/* As for frame_push(). */
const uint32_t *world_device_tags(enum device dev);
#define WORLD_TAGS 2

/* The device that a VLAN device lies on, and the one below all VLAN devices, perhaps itself. */
enum device world_device_lower(enum device dev);
enum device world_device_xmit(enum device dev);

#endif
