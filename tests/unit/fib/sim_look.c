// SPDX-License-Identifier: GPL-2.0-only
/* Lookups in the simulated maps as the datapath does them, and comparison with a target. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "sim_maps.h"

/* --- lookups ---------------------------------------------------------------------------------- */

static const struct sim_route *match(const struct sim_trie *trie, uint32_t table,
				     const union sixlane_addr *addr)
{
	const struct prefix host = { .addr = *addr, .len = 128 };
	const struct sim_route *best = NULL;

	for (size_t i = 0; i < trie->n; i++) {
		const struct sixlane_route_key *key = &trie->routes[i].key;
		const struct prefix prefix = sim_prefix(key);

		if (key->table == htonl(table) && key->prefix_len >= SIXLANE_TABLE_BITS &&
		    prefix_covers(&prefix, &host) &&
		    (!best || key->prefix_len > best->key.prefix_len))
			best = &trie->routes[i];
	}
	return best;
}

static void take(const struct sim *sim, const struct sim_route *route, struct sim_found *found)
{
	uint32_t id = route ? sixlane_route_next_hop(route->value) : SIXLANE_MAX_NEXT_HOPS;

	found->next_hop = id < SIXLANE_MAX_NEXT_HOPS ? &sim->next_hops[id] : NULL;
	found->len = route ? sixlane_route_len(route->value) : 0;
}

static void take_all(const struct sim *sim, const struct sim_route *route,
		     const union sixlane_addr *src, struct sim_found *found)
{
	take(sim, route, found);
	found->flags = route->value >> SIXLANE_ROUTE_FLAGS_SHIFT << SIXLANE_ROUTE_FLAGS_SHIFT;
	if (found->next_hop && found->next_hop->nh_entry.type == SIXLANE_NH_SOURCES)
		take(sim, match(&sim->sources, found->next_hop->nh_entry.source_table, src), found);
}

const struct sixlane_exception *sim_exception(const struct sim *sim, const union sixlane_addr *dst)
{
	for (size_t i = 0; i < sim->n_exceptions; i++) {
		if (!memcmp(&sim->exceptions[i].dst, dst, sizeof(*dst)))
			return &sim->exceptions[i].value;
	}
	return NULL;
}

enum sim_effect sim_effect(const struct sim *sim, uint32_t table, const union sixlane_addr *dst,
			   const struct sim_found *found, const struct sixlane_exception **value)
{
	*value = NULL;
	if (!(found->flags & SIXLANE_ROUTE_EXCEPTIONS))
		return SIM_NO_EFFECT;
	*value = sim_exception(sim, dst);
	if (!*value || (*value)->table != table)
		return SIM_NO_EFFECT;
	return (*value)->flags & SIXLANE_EXCEPTION_OBSERVE ? SIM_OBSERVED : SIM_APPLIED;
}

bool sim_find(const struct sim *sim, uint32_t table, const union sixlane_addr *dst,
	      const union sixlane_addr *src, struct sim_found *found)
{
	const struct sim_route *route = match(&sim->routes, table, dst);

	if (!route)
		return false;
	take_all(sim, route, src, found);
	return true;
}

uint32_t sim_value(const struct sim *sim, uint32_t table, const union sixlane_addr *dst)
{
	const struct sim_route *route = match(&sim->routes, table, dst);

	return route ? route->value : 0;
}

int sim_find_compiled(const struct sim *sim, uint32_t table, const union sixlane_addr *dst,
		      const union sixlane_addr *src, struct sim_found *found, bool *has)
{
	struct sim_route route;
	int err = compiled_find(&sim->view, table, dst, &route.value);

	if (err)
		return err;
	*has = route.value != 0;
	if (*has)
		take_all(sim, &route, src, found);
	return 0;
}

uint32_t sim_verdict(const struct sim_found *found)
{
	if (!found->next_hop)
		return SIXLANE_PUNT_SOURCE_ROUTE;
	return found->next_hop->nh_entry.type < SIXLANE_N_VERDICTS ? found->next_hop->nh_entry.type
								   : SIXLANE_FORWARD;
}

/* --- comparing -------------------------------------------------------------------------------- */

bool sim_same_hop(const struct fib_hop *a, const struct fib_hop *b)
{
	if (a->ifindex != b->ifindex)
		return false;
	if (!a->ifindex)
		return true;
	return a->has_gateway == b->has_gateway &&
	       (!a->has_gateway || !memcmp(&a->gateway, &b->gateway, sizeof(a->gateway)));
}

bool sim_entry_is(const struct sim *sim, union sixlane_nh_entry nh_entry, const struct fib_hop *hop)
{
	const struct sixlane_neigh *neigh = &sim->neighs[nh_entry.neighbour];
	struct fib_hop found = { 0 };

	if (nh_entry.type != SIXLANE_FORWARD)
		return nh_entry.type == SIXLANE_DROP_BLACKHOLE && !hop->ifindex;
	found.ifindex = sim->ports[nh_entry.port].ifindex;
	found.has_gateway = nh_entry.neighbour != 0;
	found.gateway = neigh->key.addr;
	if (found.has_gateway)
		assert_int_equal(neigh->key.ifindex, found.ifindex);
	return hop->ifindex && sim_same_hop(&found, hop);
}

static bool member_is_hop(const struct sim *sim, uint32_t id, const struct fib_hop *hop)
{
	return sim_entry_is(sim, sim->next_hops[id].nh_entry, hop);
}

static bool member_is_punted(const struct sim *sim, uint32_t id)
{
	return sim->next_hops[id].nh_entry.type == SIXLANE_PUNT_MAP_FULL;
}

/* The share of a hop, or of punts (NULL), in a group whose buckets are 2^32 each. */
static uint64_t mass_of(const struct sim *sim, union sixlane_nh_entry group,
			const struct fib_hop *hop)
{
	uint64_t mass = 0;

	for (uint32_t i = group.first_bucket; i < group.first_bucket + group.n_buckets; i++) {
		const union sixlane_nh_bucket bucket = sim->buckets[i];

		if (hop ? member_is_hop(sim, bucket.below, hop)
			: member_is_punted(sim, bucket.below))
			mass += bucket.bound;
		if (hop ? member_is_hop(sim, bucket.above, hop)
			: member_is_punted(sim, bucket.above))
			mass += (1ull << 32) - bucket.bound;
	}
	return mass;
}

/* The sum of the weights of hops that are equal to hop, and of all hops. */
static double weight_of(const struct fib_hop *hops, size_t n, const struct fib_hop *hop,
			double *total)
{
	double weight = 0;

	*total = 0;
	for (size_t i = 0; i < n; i++) {
		weight += sim_same_hop(&hops[i], hop) ? hops[i].weight : 0;
		*total += hops[i].weight;
	}
	return weight;
}

/* Each hop has its share of the hashes to within 2^-31, and no other has any. */
static bool does_hashed(const struct sim *sim, union sixlane_nh_entry nh_entry,
			const struct fib_hop *hops, size_t n, bool punted)
{
	double whole = nh_entry.n_buckets * 4294967296.0, tolerance = whole / 2147483648.0;
	double lacking = 0, total;

	if (nh_entry.type != SIXLANE_NH_GROUP)
		return false;
	for (size_t i = 0; i < n; i++) {
		double weight = weight_of(hops, n, &hops[i], &total);
		double want = weight / total * whole;
		double is = (double)mass_of(sim, nh_entry, &hops[i]);

		if (is > want + tolerance || (is < want - tolerance && !punted))
			return false;
		lacking += (want - is) * hops[i].weight / weight;
	}
	return lacking <= (double)mass_of(sim, nh_entry, NULL) + tolerance * (double)n;
}

static bool does_first(const struct sim *sim, union sixlane_nh_entry nh_entry,
		       const struct fib_hop *hops, size_t n, bool punted)
{
	if (nh_entry.type != SIXLANE_NH_EQUAL_METRIC || nh_entry.n_buckets != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint32_t id = sim->buckets[nh_entry.first_bucket + i].below;

		if (!member_is_hop(sim, id, &hops[i]) && !(punted && member_is_punted(sim, id)))
			return false;
	}
	return true;
}

/* A single hop is an entry of its own or, if it expires, a group of one; no group discards. */
static bool does_one(const struct sim *sim, union sixlane_nh_entry nh_entry,
		     const struct fib_hop *hop, bool expires, bool punted)
{
	const struct fib_hop one = { .gateway = hop->gateway,
				     .ifindex = hop->ifindex,
				     .weight = 1,
				     .has_gateway = hop->has_gateway };

	if (expires && !hop->ifindex)
		return nh_entry.type == SIXLANE_PUNT_EXPIRES;
	if (expires || nh_entry.type == SIXLANE_NH_GROUP)
		return nh_entry.n_buckets == 1 && does_hashed(sim, nh_entry, &one, 1, punted);
	return sim_entry_is(sim, nh_entry, hop);
}

static bool bucket_is(const struct sim *sim, uint32_t id, const struct fib_object *object, size_t i)
{
	if (!object || object->n_buckets <= i)
		return false;
	if (object->buckets[i] >= object->n_hops)
		return sim->next_hops[id].nh_entry.type == SIXLANE_PUNT_MULTIPATH;
	return member_is_hop(sim, id, &object->hops[object->buckets[i]]);
}

static bool does_buckets(const struct sim *sim, union sixlane_nh_entry nh_entry,
			 const struct fib_object *object, const struct fib_object *also,
			 bool punted)
{
	if (nh_entry.type != SIXLANE_NH_GROUP || nh_entry.n_buckets != object->n_buckets)
		return false;
	if (also && also->n_buckets != object->n_buckets)
		also = NULL;
	for (size_t i = 0; i < object->n_buckets; i++) {
		const union sixlane_nh_bucket bucket = sim->buckets[nh_entry.first_bucket + i];

		if (bucket.below != bucket.above)
			return false;
		if (!bucket_is(sim, bucket.below, object, i) &&
		    !bucket_is(sim, bucket.below, also, i) &&
		    !(punted && member_is_punted(sim, bucket.below)))
			return false;
	}
	return true;
}

static bool does_object(const struct sim *sim, const struct sixlane_next_hop *next_hop,
			const struct fib_object *object, const struct fib_object *also, bool punted)
{
	static const struct fib_hop discard;
	const bool expires = next_hop->expires_ns != 0;
	const union sixlane_nh_entry nh_entry = next_hop->nh_entry;

	if (!(next_hop->flags & SIXLANE_NEXT_HOP_OBJECT))
		return false;
	if (!object)
		return nh_entry.type == SIXLANE_PUNT_NEXT_HOP_OBJECT;
	if (object->verdict == SIXLANE_DROP_BLACKHOLE)
		return does_one(sim, nh_entry, &discard, expires, punted);
	if (object->verdict != SIXLANE_FORWARD)
		return nh_entry.type == object->verdict;
	if (object->n_hops == 1 && !object->hops->ifindex)
		return does_one(sim, nh_entry, object->hops, expires, punted);
	if (object->n_buckets)
		return does_buckets(sim, nh_entry, object, also, punted);
	if (object->n_hops == 1)
		return does_one(sim, nh_entry, object->hops, expires, punted);
	return does_hashed(sim, nh_entry, object->hops, object->n_hops, punted);
}

/* All hops discard, so the target is a verdict. */
static bool discards(const struct fib_target *target)
{
	bool any = target->kind == FIB_OBJECT ||
		   (target->kind == FIB_EQUAL_METRIC && target->n_hops > 1);

	for (size_t i = 0; i < target->n_hops; i++)
		any |= target->hops[i].ifindex != 0;
	return !any;
}

static bool is_locked(const struct sixlane_next_hop *next_hop)
{
	return next_hop->flags & SIXLANE_NEXT_HOP_LOCKED;
}

/* The flag has no meaning where there are several hops. */
static bool source_is_right(const struct sixlane_next_hop *next_hop,
			    const struct fib_target *target)
{
	const bool own = next_hop->flags & SIXLANE_NEXT_HOP_NO_ANSWER;

	if (next_hop->nh_entry.type == SIXLANE_FORWARD || target->kind == FIB_OBJECT)
		return own == target->own_source;
	return next_hop->nh_entry.type < SIXLANE_N_VERDICTS || !own;
}

bool sim_does(const struct sim *sim, const struct sim_found *found, const struct fib_target *target,
	      const struct fib_object *object, const struct fib_object *also, bool punted)
{
	const struct sixlane_next_hop *next_hop = found->next_hop;

	if (!next_hop)
		return false;
	if (target->verdict != SIXLANE_FORWARD)
		return next_hop->nh_entry.type == target->verdict && !next_hop->flags;
	if (discards(target) && target->expires_ns)
		return next_hop->nh_entry.type == SIXLANE_PUNT_EXPIRES && !next_hop->flags;
	if (next_hop->expires_ns != target->expires_ns)
		return false;
	/* For a packet that is dropped the MTU does not matter. */
	if ((next_hop->mtu != target->mtu || is_locked(next_hop) != target->mtu_locked) &&
	    next_hop->nh_entry.type != SIXLANE_DROP_BLACKHOLE)
		return false;
	if (!source_is_right(next_hop, target))
		return false;
	if (target->kind == FIB_OBJECT)
		return does_object(sim, next_hop, object, also, punted);
	if (next_hop->flags & SIXLANE_NEXT_HOP_OBJECT)
		return false;
	if (target->n_hops == 1)
		return does_one(sim, next_hop->nh_entry, target->hops, target->expires_ns != 0,
				punted);
	if (target->kind == FIB_EQUAL_METRIC)
		return does_first(sim, next_hop->nh_entry, target->hops, target->n_hops, punted);
	/* Equal hops are merged. */
	return does_hashed(sim, next_hop->nh_entry, target->hops, target->n_hops, punted) ||
	       (next_hop->nh_entry.type < SIXLANE_N_VERDICTS &&
		does_one(sim, next_hop->nh_entry, target->hops, false, punted));
}

/* --- neighbours and ports --------------------------------------------------------------------- */

uint64_t sim_neigh_mac(const struct sim *sim, uint32_t ifindex, const union sixlane_addr *addr)
{
	const struct sixlane_neigh_key key = { .addr = *addr, .ifindex = ifindex };

	for (size_t i = 0; i < sim->n_neigh_index; i++) {
		if (!memcmp(&sim->neigh_index[i].key, &key, sizeof(key)))
			return sim->neighs[sim->neigh_index[i].slot].mac.word;
	}
	return 0;
}

uint64_t sim_gateway_mac(const struct sim *sim, const struct sim_found *found)
{
	const union sixlane_nh_entry nh_entry = found->next_hop->nh_entry;

	return nh_entry.type == SIXLANE_FORWARD && nh_entry.neighbour
		       ? sim->neighs[nh_entry.neighbour].mac.word
		       : 0;
}

uint32_t sim_vlan_ifindex(const struct sim *sim, uint32_t lower, union sixlane_tag tag)
{
	for (size_t i = 0; i < sim->n_vlans; i++) {
		const struct sim_vlan *vlan = &sim->vlans[i];
		const struct sixlane_port *port = &sim->ports[vlan->slot];

		if (vlan->key.lower == lower && vlan->key.tag.word == tag.word &&
		    port->lower == lower && port->tag.word == tag.word)
			return port->ifindex;
	}
	return 0;
}
