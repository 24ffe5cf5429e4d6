// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose an exception is, as far as the routes show it, and what it comes to for the FIB: a Path MTU
 * of packets by the hop that it is kept at (rt6_find_cached_rt), or a redirect to another hop.
 */
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "learnt.h"

#define NS_PER_MS 1000000ull

/* Ends that are told anew differ by some milliseconds: within one grain they are the same. */
#define EXPIRY_GRAIN_NS (100 * NS_PER_MS)
/* By so much they may be later: by a grain, and by what it took the kernel's word to come here. */
#define EXPIRY_SLACK_NS (3 * EXPIRY_GRAIN_NS)

/*
 * A redirect has no end. The kernel collects it at some time without a word: with the default
 * net.ipv6.route.gc_interval after 30 to 60 seconds, and with a long one, or none, much later. So
 * the kernel is asked about one that no dump has told of for so long; and where nobody is there to
 * ask, packets heed it no longer than the lease, and are the kernel's then.
 */
#define REDIRECT_CONFIRM_NS (30000 * NS_PER_MS)
#define REDIRECT_LEASE_NS (90000 * NS_PER_MS)

/* By what packets to a destination are forwarded. */
struct owner {
	struct prefix prefix;
	bool forwards, by_source;
	bool hidden;  /* its next hops are not expressed */
	bool unknown; /* for lack of memory */
	size_t n_hops;
	const struct fib_hop *hops;	     /* of the route, or … */
	const struct route_hop *object_hops; /* … of its next-hop object */
};

static struct fib_hop hop_of(const struct route_hop *told)
{
	return (struct fib_hop){
		.gateway = told->gateway,
		.ifindex = told->ifindex,
		.has_gateway = told->has_gateway,
	};
}

bool learnt_is_hop(const struct fib_hop *hop, const struct route_hop *told)
{
	return hop->ifindex == told->ifindex && hop->has_gateway == told->has_gateway &&
	       (!hop->has_gateway || !memcmp(&hop->gateway, &told->gateway, sizeof(hop->gateway)));
}

static struct fib_hop owner_hop(const struct owner *owner, size_t i)
{
	return owner->object_hops ? hop_of(&owner->object_hops[i]) : owner->hops[i];
}

static bool owner_has(const struct owner *owner, const struct route_hop *told)
{
	for (size_t i = 0; i < owner->n_hops; i++) {
		struct fib_hop hop = owner_hop(owner, i);

		if (learnt_is_hop(&hop, told))
			return true;
	}
	return false;
}

/* --- the owner ----------------------------------------------------------------------------- */

static const struct radix_node *match(const struct learnt_world *world, uint32_t table,
				      const struct prefix *dst)
{
	const struct radix *radix = rib_table(world->view->rib, table);

	return radix ? radix_match(radix, dst) : NULL;
}

static void take_object(const struct learnt_world *world, uint32_t id, struct owner *owner)
{
	struct nexthop_view view = { 0 };

	owner->forwards = nexthops_view(world->nexthops, id, &view) && !view.mixed &&
			  view.kind != NEXT_HOP_BLACKHOLE && view.kind != NEXT_HOP_OTHER;
	owner->object_hops = view.hops;
	owner->hidden = !owner->forwards && view.kind != NEXT_HOP_BLACKHOLE;
	owner->n_hops = owner->forwards ? view.n_hops : 0;
}

static void take_target(const struct learnt_world *world, const struct fib_target *target,
			struct owner *owner)
{
	owner->forwards = target->verdict == SIXLANE_FORWARD;
	owner->hidden = fib_hides_hops(target->verdict);
	if (!owner->forwards)
		return;
	owner->by_source = target->kind == FIB_SOURCES;
	owner->hops = target->hops;
	/* those after the first only say which packets are passed */
	owner->n_hops = target->kind == FIB_FIRST ? 1 : target->n_hops;
	if (target->kind == FIB_OBJECT)
		take_object(world, target->object, owner);
}

uint32_t learnt_table(const struct learnt_world *world, uint32_t table)
{
	return table == RT_TABLE_LOCAL && world->view->local_first ? RT_TABLE_MAIN : table;
}

/* What table local has for it, NULL if packets look in this table alone. */
static const struct radix_node *match_over(const struct learnt_world *world, uint32_t table,
					   const struct prefix *dst)
{
	bool overlaid = world->view->local_first && learnt_table(world, table) == RT_TABLE_MAIN;

	return overlaid ? match(world, RT_TABLE_LOCAL, dst) : NULL;
}

/* False: none, or no memory to find out. */
static bool find_owner(const struct learnt_world *world, uint32_t table,
		       const union sixlane_addr *dst, struct owner *owner)
{
	const struct prefix whole = { .addr = *dst, .len = 128 };
	const struct radix_node *over = match_over(world, table, &whole), *node;
	const struct fib_target *target;
	int found;

	table = learnt_table(world, table);
	node = match(world, table, &whole);
	*owner = (struct owner){ 0 };
	while (node || over) {
		bool longer = over && (!node || over->prefix.len > node->prefix.len);
		const struct radix_node **next = longer ? &over : &node;

		owner->prefix = (*next)->prefix;
		found = resolve_prefix(world->resolve, table, &owner->prefix, &target);
		if (found > 0)
			take_target(world, target, owner);
		owner->unknown = found < 0;
		if (found)
			return found > 0;
		*next = radix_cover(*next);
	}
	return false;
}

/* --- who may have it ------------------------------------------------------------------------- */

/* By a redirect it would lead out by the same device. */
static bool hop_may_have(const struct route_hop *hop, const struct route_hop *told)
{
	return hop->ifindex == told->ifindex;
}

static bool object_may_have(const struct learnt_world *world, uint32_t id,
			    const struct route_hop *told)
{
	struct nexthop_view view;

	if (!nexthops_view(world->nexthops, id, &view))
		return true;
	for (uint32_t i = 0; i < view.n_hops; i++)
		if (hop_may_have(&view.hops[i], told))
			return true;
	return false;
}

/* What is kept at a hop of an object is told once for each route by it, in that route's words. */
static bool may_have(const struct learnt_world *world, const struct rib_route *route,
		     const struct route_exception *told)
{
	if (told->has_src != (route->src.len != 0))
		return false;
	if (route->next_hop_id)
		return object_may_have(world, route->next_hop_id, &told->hop);
	if (route->metric != told->metric || route->protocol != told->protocol ||
	    route->type != told->type)
		return false;
	for (uint16_t i = 0; i < route->n_hops; i++)
		if (hop_may_have(&route->hops[i], &told->hop))
			return true;
	return route->truncated;
}

struct candidates {
	size_t n;
	bool first; /* one is what the owner's prefix goes by if nothing is wrong with it … */
	bool owner; /* … or at least at that prefix */
};

static struct candidates find_candidates(const struct learnt_world *world,
					 const struct route_exception *told,
					 const struct owner *owner)
{
	const struct prefix whole = { .addr = told->dst, .len = 128 };
	const struct radix_node *node = match(world, told->table, &whole);
	struct candidates found = { 0 };

	for (; node; node = radix_cover(node)) {
		const struct rib_dest *dest = (const struct rib_dest *)node;
		bool at_owner = node->prefix.len == owner->prefix.len, first = true;

		for (const struct rib_route *r = dest->routes; r; r = r->next) {
			bool may = may_have(world, r, told);

			found.n += may;
			found.owner |= may && at_owner;
			found.first |= may && at_owner && first;
			first &= r->src.len != 0;
		}
	}
	return found;
}

/* --- what it comes to ------------------------------------------------------------------------ */

static void take_end(const struct route_exception *told, uint64_t told_after_ns,
		     struct fib_exception *out)
{
	uint64_t end_ns = told_after_ns + REDIRECT_LEASE_NS;

	if (told->expires)
		end_ns = told_after_ns + told->lifetime_ms * NS_PER_MS;
	out->expires_ns = end_ns - end_ns % EXPIRY_GRAIN_NS;
	if (told->expires)
		out->gone_ns = out->expires_ns + EXPIRY_SLACK_NS;
	else
		out->confirm_ns = told_after_ns + REDIRECT_CONFIRM_NS;
}

/*
 * A Path MTU always ends, and a redirect of one that says an MTU keeps it and its end. One without
 * an end to a hop that packets take anyhow changes nothing, or is a Path MTU in its last moment.
 */
static enum learnt express(const struct learnt_world *world, const struct owner *owner,
			   const struct route_exception *told, uint64_t told_after_ns,
			   struct fib_exception *out)
{
	const bool own = owner_has(owner, &told->hop), several = owner->n_hops > 1;

	if (!owner->forwards ||
	    (own && !told->expires && !several && !owner->by_source && !told->unknown_attr))
		return LEARNT_NOTHING;
	*out = (struct fib_exception){ 0 };
	take_end(told, told_after_ns, out);
	if (told->expires) {
		out->mtu = told->mtu;
		out->mtu_locked = told->mtu_locked;
	}
	out->observe = world->mode == CONFIG_EXCEPTIONS_OBSERVE;
	out->punt = told->unknown_attr || owner->by_source ||
		    (several && !(own && told->expires)) ||
		    (told->expires && told->mtu < IPV6_MIN_MTU);
	if (!own) {
		out->has_hop = true;
		out->hop = hop_of(&told->hop);
	} else if (world->mode != CONFIG_EXCEPTIONS_ALWAYS) {
		out->has_under = true;
		out->under = hop_of(&told->hop);
	}
	return several ? LEARNT_ONE_HOP : LEARNT_ONLY;
}

/* The kernel's packets, as long as nobody knows better. */
static enum learnt without_owner(const struct owner *owner, const struct route_exception *told,
				 uint64_t told_after_ns, struct fib_exception *out)
{
	*out = (struct fib_exception){ .punt = true };
	take_end(told, told_after_ns, out);
	return owner->unknown ? LEARNT_UNCERTAIN : LEARNT_NOTHING;
}

enum learnt learnt_told(const struct learnt_world *world, const struct route_exception *told,
			uint64_t told_after_ns, struct fib_exception *out)
{
	const struct prefix whole = { .addr = told->dst, .len = 128 };
	struct candidates candidates;
	struct owner owner;
	enum learnt learnt;

	if (!find_owner(world, told->table, &told->dst, &owner))
		return without_owner(&owner, told, told_after_ns, out);
	learnt = express(world, &owner, told, told_after_ns, out);
	if (learnt == LEARNT_NOTHING)
		return learnt;
	/* Which of the two tables decides hangs on more than the longest prefix. */
	if (match_over(world, told->table, &whole))
		return LEARNT_UNCERTAIN;
	candidates = find_candidates(world, told, &owner);
	/* By source, packets may go on to a shorter prefix. */
	if (candidates.n && !candidates.owner && !owner.by_source)
		return LEARNT_NOTHING;
	/* The kernel's packet in either case; and a redirect is rare enough to ask about each. */
	if (out->punt || (candidates.n == 1 && candidates.first && !out->has_hop))
		return learnt;
	return LEARNT_UNCERTAIN;
}

enum learnt learnt_answered(const struct learnt_world *world, const struct route_exception *told,
			    uint64_t told_after_ns, struct fib_exception *out)
{
	struct owner owner;

	if (!find_owner(world, told->table, &told->dst, &owner))
		return without_owner(&owner, told, told_after_ns, out);
	return express(world, &owner, told, told_after_ns, out);
}

enum learnt_paths learnt_paths(const struct learnt_world *world, uint32_t table,
			       const union sixlane_addr *dst, struct fib_hop hops[LEARNT_MAX_HOPS],
			       size_t *n)
{
	struct owner owner;

	*n = 0;
	if (!find_owner(world, table, dst, &owner))
		return owner.unknown ? LEARNT_BY_SOURCE : LEARNT_BY_ONE;
	if (owner.by_source)
		return LEARNT_BY_SOURCE;
	if (owner.hidden)
		return LEARNT_BY_HIDDEN;
	if (owner.n_hops <= 1)
		return LEARNT_BY_ONE;
	*n = owner.n_hops;
	for (size_t i = 0; i < owner.n_hops && i < LEARNT_MAX_HOPS; i++)
		hops[i] = owner_hop(&owner, i);
	return owner.object_hops ? LEARNT_BY_GROUP : LEARNT_BY_SEVERAL;
}

/* Whatever the hop (CONFIG_EXCEPTIONS_ALWAYS), the smaller Path MTU holds for both. */
void learnt_merge(struct fib_exception *exception, const struct fib_exception *other)
{
	bool by_hop =
		exception->has_hop || exception->has_under || other->has_hop || other->has_under;

	exception->punt |= other->punt || by_hop;
	if (other->mtu < exception->mtu) {
		exception->mtu = other->mtu;
		exception->mtu_locked = other->mtu_locked;
	}
	if (other->expires_ns > exception->expires_ns)
		exception->expires_ns = other->expires_ns;
	if (other->gone_ns > exception->gone_ns)
		exception->gone_ns = other->gone_ns;
	/* with that of a Path MTU: the kernel is asked again, and its end is not lost */
	if (other->confirm_ns &&
	    (!exception->confirm_ns || other->confirm_ns < exception->confirm_ns))
		exception->confirm_ns = other->confirm_ns;
}
