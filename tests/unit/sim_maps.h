/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The maps as a fib's writer sees them, simulated: a trie that fills up and fails as told, hashes,
 * arrays, grace periods. Checks at every write what fib.h promises, and fails the test at once:
 * nothing is named before it is written, nothing changes while it is named or before a grace
 * period has passed since. Knows nothing of how the fib works.
 */
#ifndef TEST_SIM_MAPS_H
#define TEST_SIM_MAPS_H

#include "../../user/fib/fib.h"

#define SIM_MAX_ROUTES 4096

struct sim_route {
	struct sixlane_route_key key;
	uint32_t value;
};

/* When something was last named, in grace periods; 0: never. */
struct sim_use {
	uint32_t until;
};

struct sim_index {
	struct sixlane_neigh_key key; /* ports: ifindex only */
	uint32_t slot;
};

struct sim {
	struct sim_route routes[SIM_MAX_ROUTES];
	size_t n_routes;
	struct sixlane_next_hop *next_hops; /* [SIXLANE_MAX_NEXT_HOPS] */
	struct sixlane_neigh *neighs;	    /* [SIXLANE_MAX_NEIGHBOURS] */
	struct sixlane_port *ports;	    /* [SIXLANE_MAX_PORTS] */
	struct sim_use *next_hop_use, *neigh_use, *port_use;
	struct sim_index *neigh_index, *port_index;
	size_t n_neigh_index, n_port_index;
	uint32_t epoch; /* grace periods so far + 1 */

	/* What goes wrong. */
	size_t capacity;					/* routes that the trie holds */
	bool full_refuses_replace;				/* as older kernels do */
	unsigned int enomem, set_fails, del_fails, index_fails; /* one in so many; 0: never */
	bool grace_fails;
	uint64_t random;

	/* What was done. */
	unsigned long route_writes, array_writes, index_writes, graces;
	void (*written)(void *ctx); /* after every write that packets could see; may be NULL */
	void *ctx;
};

struct sim *sim_new(void);
void sim_free(struct sim *sim);
struct fib_writer sim_writer(struct sim *sim);

/* As maps_adopt(). */
void sim_adopt(struct sim *sim, struct fib *fib);

/* What the datapath would do: false if there is no route. */
bool sim_lookup(const struct sim *sim, const union sixlane_addr *addr, struct fib_target *out);

/* MAC of an on-link neighbour as the datapath finds it, 0: unresolved. */
uint64_t sim_neigh_mac(const struct sim *sim, uint32_t ifindex, const union sixlane_addr *addr);
/* The same of a gateway, by the slots that next hops name. */
uint64_t sim_gateway_mac(const struct sim *sim, const union sixlane_addr *dst);

uint32_t sim_random(struct sim *sim, uint32_t n);

#endif
