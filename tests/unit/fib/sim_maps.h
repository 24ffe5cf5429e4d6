/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Simulated maps behind a fib's writer: tries that fill up, writes that fail on demand, grace
 * periods. They check the invariants of fib.h at every write, and fail the test at once: nothing is
 * named before it is written; nothing changes while it is named, nor until a grace period has
 * passed after that. They know nothing of how the fib works.
 */
#ifndef TEST_SIM_MAPS_H
#define TEST_SIM_MAPS_H

#include "../../../user/fib/fib.h"

#define SIM_MAX_ROUTES 4096
#define SIM_MAX_EXCEPTIONS 2048

struct sim_route {
	struct sixlane_route_key key;
	uint32_t value;
};

static inline struct prefix sim_prefix(const struct sixlane_route_key *key)
{
	return (struct prefix){ key->addr, (uint8_t)(key->prefix_len - SIXLANE_TABLE_BITS) };
}

struct sim_trie {
	struct sim_route routes[SIM_MAX_ROUTES];
	size_t n, capacity;
	unsigned long writes;
};

/* Whether packets can reach something. */
struct sim_use {
	uint32_t until; /* the epoch in which they last could; 0: never */
	uint32_t mark;	/* equal to sim->mark: they can now */
};

struct sim_index {
	struct sixlane_neigh_key key; /* ports: ifindex only */
	uint32_t slot;
};

struct sim_vlan {
	struct sixlane_vlan_key key;
	uint32_t slot;
};

struct sim_exception {
	union sixlane_addr dst;
	struct sixlane_exception value;
};

struct sim {
	struct sim_trie routes, sources;
	struct sim_exception exceptions[SIM_MAX_EXCEPTIONS];
	size_t n_exceptions, exceptions_capacity;
	struct sixlane_next_hop *next_hops; /* [SIXLANE_MAX_NEXT_HOPS] */
	union sixlane_nh_bucket *buckets;   /* [SIXLANE_MAX_NH_BUCKETS] */
	struct sixlane_neigh *neighs;	    /* [SIXLANE_MAX_NEIGHBOURS] */
	struct sixlane_port *ports;	    /* [SIXLANE_MAX_PORTS] */
	struct sim_use *next_hop_use, *bucket_use, *source_use, *neigh_use, *port_use;
	struct sim_index *neigh_index, *port_index;
	struct sim_vlan vlans[256];
	size_t n_neigh_index, n_port_index, n_vlans;
	struct compiled_view view; /* the compiled FIB, with memory of its own */
	uint32_t epoch;		   /* grace periods so far + 1 */
	uint32_t mark;
	bool stale; /* something has changed since sim_use_refresh() */
	bool gaps;

	/* Failures on demand. */
	bool full_refuses_replace;				/* as older kernels do */
	unsigned int enomem, set_fails, del_fails, index_fails; /* one in so many; 0: never */
	unsigned int exception_fails, chunk_fails;
	bool grace_fails;
	uint64_t random;

	/* Counters. */
	unsigned long exception_writes, array_writes, entry_writes, bucket_writes, index_writes,
		gaps_writes, graces;
	unsigned long index_errors;
	void (*written)(void *ctx); /* after every write that packets could see; may be NULL */
	void *ctx;
};

struct sim *sim_new(void);
void sim_free(struct sim *sim);
struct fib_writer sim_writer(struct sim *sim);

/* What maps_adopt() does, from the simulated maps. */
void sim_adopt(struct sim *sim, struct fib *fib);

/* If there is a compiled FIB, it agrees with the trie: at an address; at the edges of all prefixes.
 */
void sim_fib_check_at(const struct sim *sim, uint32_t table, const union sixlane_addr *addr);
void sim_fib_check(const struct sim *sim);

uint32_t sim_random(struct sim *sim, uint32_t n);

/* --- sim_look.c: lookups as in the datapath --------------------------------------------------- */

/* The result of a lookup. */
struct sim_found {
	const struct sixlane_next_hop *next_hop; /* NULL: no entry for its source */
	uint32_t len;				 /* prefix length in the last value */
	uint32_t flags;				 /* of the route: SIXLANE_ROUTE_* */
};

/* False: the table has no route. */
bool sim_find(const struct sim *sim, uint32_t table, const union sixlane_addr *dst,
	      const union sixlane_addr *src, struct sim_found *found);

/* The same by the compiled FIB. 0, and *has as sim_find(); or -ENODATA: it does not answer. */
int sim_find_compiled(const struct sim *sim, uint32_t table, const union sixlane_addr *dst,
		      const union sixlane_addr *src, struct sim_found *found, bool *has);
/* The trie's value; 0: the table has no route. */
uint32_t sim_value(const struct sim *sim, uint32_t table, const union sixlane_addr *dst);

/* SIXLANE_FORWARD: by one or several next hops. */
uint32_t sim_verdict(const struct sim_found *found);

/*
 * Whether what was found is target (not FIB_SOURCES): the same hops with the same weights, MTU and
 * expiry. object is what the target's object means. A bucket may also be as in the object `also`,
 * unless that is NULL. punted: members of groups may be punted.
 */
bool sim_does(const struct sim *sim, const struct sim_found *found, const struct fib_target *target,
	      const struct fib_object *object, const struct fib_object *also, bool punted);

/* What sl_exceptions does to a packet, if nothing has expired. */
enum sim_effect { SIM_NO_EFFECT, SIM_APPLIED, SIM_OBSERVED };
/*
 * For a packet to dst that has found this route in this table. *value: the entry of dst; NULL: it
 * has none, or the route has no flag.
 */
enum sim_effect sim_effect(const struct sim *sim, uint32_t table, const union sixlane_addr *dst,
			   const struct sim_found *found, const struct sixlane_exception **value);
/* The entry of a destination, whatever the flags of routes; NULL: none. */
const struct sixlane_exception *sim_exception(const struct sim *sim, const union sixlane_addr *dst);
/* Regardless of weights; all hops that discard are equal. */
bool sim_same_hop(const struct fib_hop *a, const struct fib_hop *b);
/* Whether a next-hop entry leads by this hop alone. */
bool sim_entry_is(const struct sim *sim, union sixlane_nh_entry nh_entry,
		  const struct fib_hop *hop);

/* MAC of an on-link neighbour as the datapath finds it, 0: unresolved. */
uint64_t sim_neigh_mac(const struct sim *sim, uint32_t ifindex, const union sixlane_addr *addr);
/* The same for the gateway of a single next hop. */
uint64_t sim_gateway_mac(const struct sim *sim, const struct sim_found *found);
/* The device that receives frames with this tag, 0: none. */
uint32_t sim_vlan_ifindex(const struct sim *sim, uint32_t lower, union sixlane_tag tag);

#endif
