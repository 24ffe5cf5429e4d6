/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A model of what the kernel may tell a fib, small enough to be compared with what the simulated
 * maps do at every write: prefixes of some tables, next-hop objects, VLAN devices. Knows no fib.
 */
#ifndef TEST_FIB_MODEL_H
#define TEST_FIB_MODEL_H

#include "sim_maps.h"

#define N_PREFIXES 96
#define N_PROBES 48
#define N_EXCEPTIONS 20
#define N_OBJECTS 5
#define N_HOPS 5
#define N_SOURCES 4
#define N_BUCKETS 12
#define FIRST_VLAN_PORT 20u
#define N_VLAN_PORTS 4u

/* What a prefix, or a source there, leads to. */
struct model_leaf {
	uint32_t verdict, mtu, object;
	enum fib_kind kind;
	bool mtu_locked, own_source;
	uint64_t expires_ns;
	size_t n_hops;
	struct fib_hop hops[N_HOPS];
};

struct model_source {
	struct prefix src;
	uint8_t dst_len;
	struct model_leaf leaf;
};

struct model_slot {
	uint32_t table;
	struct prefix dst;
	bool there;
	struct model_leaf leaf;
	size_t n_sources; /* not 0: by source instead */
	struct model_source sources[N_SOURCES];
};

struct model_object {
	bool there;
	uint32_t verdict;
	size_t n_hops, n_buckets;
	struct fib_hop hops[N_HOPS];
	uint16_t buckets[N_BUCKETS];
};

struct model_exception {
	union sixlane_addr dst;
	uint32_t table; /* in which it is marked … */
	bool marked;
	bool there;
	struct fib_exception told; /* … and which it is told of */
};

struct model_state {
	struct model_slot slots[N_PREFIXES];
	struct model_exception exceptions[N_EXCEPTIONS]; /* of the first probes */
	struct model_object objects[N_OBJECTS];
	struct sixlane_port vlans[N_VLAN_PORTS];
};

struct model_probe {
	uint32_t table;
	union sixlane_addr dst, src;
};

struct model {
	struct sim *sim;		/* the source of chance, too */
	struct model_state now, before; /* the operation under way */
	struct model_probe probes[N_PROBES];
	bool syncing; /* the fib is told everything anew */
};

/* Prefixes, of which none is there yet, and probes. */
void model_init(struct model *model, struct sim *sim);

union sixlane_addr model_random_addr(struct model *model);
struct fib_hop model_random_hop(struct model *model);
/* What slot leads to, if it is there. */
void model_random_content(struct model *model, struct model_slot *slot);
struct model_object model_random_object(struct model *model, const struct model_object *old);

/* The prefix of state that a destination is under. NULL: none. */
const struct model_slot *model_match(const struct model_state *state, uint32_t table,
				     const union sixlane_addr *dst);

/* In the fib's words; they point into what they are made from. */
struct fib_target model_target(const struct model_leaf *leaf);
struct fib_object model_object(const struct model_object *object);

/*
 * Whether a probe meets in the maps what state says; found NULL: no route. Unless exact, objects
 * may mean what they did before, and members of groups may be punted.
 */
bool model_agrees(const struct model *model, const struct model_state *state,
		  const struct model_probe *probe, const struct sim_found *found, bool exact);

/* What a destination may have in a table. */
struct fib_exception model_random_exception(struct model *model, uint32_t table);
/*
 * Whether a probe that has found its route as state has it meets the exception that state has, if
 * any. excused: one that is gone may be there still.
 */
bool model_excepts(const struct model *model, const struct model_state *state,
		   const struct model_probe *probe, const struct sim_found *found, bool excused);

/* Whether the device (0: any) is to take this tag off. */
bool model_claims(const struct model_state *state, uint32_t ifindex, uint32_t lower,
		  union sixlane_tag tag);

#endif
