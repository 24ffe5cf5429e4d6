/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A naive model of what a fib is given: prefixes of some tables, next-hop objects, exceptions, VLAN
 * devices. It is small enough to be compared with the simulated maps at every write. Knows no fib.
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

/* The target of a prefix, or of a source there. */
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
	size_t n_sources; /* not 0: the source decides, and leaf does not count */
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
	uint32_t table; /* in which its route has the flag, if flagged */
	bool flagged;
	bool there;
	struct fib_exception value; /* as given to the fib, if there */
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
	struct sim *sim;		/* also the source of random numbers */
	struct model_state now, before; /* before: the operation under way */
	struct model_probe probes[N_PROBES];
	bool syncing; /* in a synchronisation */
};

/* Choose prefixes, of which none is there yet, and probes. */
void model_init(struct model *model, struct sim *sim);

union sixlane_addr model_random_addr(struct model *model);
struct fib_hop model_random_hop(struct model *model);
/* A random target for a slot. */
void model_random_content(struct model *model, struct model_slot *slot);
struct model_object model_random_object(struct model *model, const struct model_object *old);

/* The longest prefix of state that covers a destination. NULL: none. */
const struct model_slot *model_match(const struct model_state *state, uint32_t table,
				     const union sixlane_addr *dst);

/* Arguments for fib_set() and fib_set_object(); they point into leaf and object. */
struct fib_target model_target(const struct model_leaf *leaf);
struct fib_object model_object(const struct model_object *object);

/*
 * Whether a probe that found this in the maps (NULL: no route) agrees with state. Unless exact,
 * objects may have their meaning of before, and members of groups may be punted.
 */
bool model_agrees(const struct model *model, const struct model_state *state,
		  const struct model_probe *probe, const struct sim_found *found, bool exact);

/* A random exception of a destination whose route is in this table. */
struct fib_exception model_random_exception(struct model *model, uint32_t table);
/*
 * Whether a probe, whose route agrees with state, meets the exception that state has, if any.
 * excused: an exception that is gone may still be there.
 */
bool model_exception_agrees(const struct model *model, const struct model_state *state,
			    const struct model_probe *probe, const struct sim_found *found,
			    bool excused);

/* Whether the device (0: any) has this tag. */
bool model_has_tag(const struct model_state *state, uint32_t ifindex, uint32_t lower,
		   union sixlane_tag tag);

#endif
