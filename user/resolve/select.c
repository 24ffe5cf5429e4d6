// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the routes of one node to one target: which route fib6 selects (rt6_select, find_rr_leaf,
 * rt6_score_route), and what it means for the datapath. If the selection depends on anything
 * unknown here, the target is a PUNT.
 *
 * Time is not read here: the datapath compares expires_ns, and punts from then on.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"
#include "select.h"

/* --- memory ---------------------------------------------------------------------------------- */

int resolve_reserve(struct resolve_array *array, size_t n, size_t size)
{
	size_t capacity = array->capacity ? array->capacity : 16;
	void *items;

	if (n <= array->capacity)
		return 0;
	while (capacity < n)
		capacity *= 2;
	items = reallocarray(array->items, capacity, size);
	if (!items)
		return -ENOMEM;
	array->items = items;
	array->capacity = capacity;
	return 0;
}

void resolve_clear(struct resolve *resolve)
{
	resolve->n_items = 0;
	resolve->n_hops = 0;
	resolve->n_hops_gathered = 0;
}

int resolve_gather(struct resolve *resolve, const struct rib_dest *dest, uint8_t cover, bool all)
{
	uint32_t order = 0;
	int ret;

	for (const struct rib_route *r = dest->routes; r; r = r->next) {
		struct resolve_item item = { .route = r, .order = order, .cover = cover };

		order++;
		if (r->src.len && !all)
			continue;
		ret = resolve_reserve(&resolve->items, resolve->n_items + 1, sizeof(item));
		if (ret)
			return ret;
		((struct resolve_item *)resolve->items.items)[resolve->n_items++] = item;
		resolve->n_hops_gathered += r->n_hops;
	}
	return resolve_reserve(&resolve->hops, resolve->n_hops_gathered, sizeof(struct fib_hop));
}

/* --- one route ------------------------------------------------------------------------------ */

static bool is_reject(const struct rib_route *route)
{
	return route->type == RTN_BLACKHOLE || route->type == RTN_UNREACHABLE ||
	       route->type == RTN_PROHIBIT || route->type == RTN_THROW;
}

/*
 * find_match(): a route is unusable when all its devices lost their carrier. Rejects are on the
 * loopback device, fib6_ifdown() spares local and anycast routes, and next-hop objects are deleted
 * with their carrier.
 */
static bool is_usable(const struct links *links, const struct rib_route *route)
{
	if (is_reject(route) || route->type == RTN_LOCAL || route->type == RTN_ANYCAST)
		return true;
	if (!route->n_hops || route->truncated || route->next_hop_id)
		return true;
	for (uint16_t i = 0; i < route->n_hops; i++) {
		if (!links_ignored(links, route->hops[i].ifindex))
			return true;
	}
	return false;
}

static enum sixlane_verdict verdict_of_type(uint8_t type)
{
	static const enum sixlane_verdict verdicts[] = {
		[RTN_UNSPEC] = SIXLANE_PUNT_ROUTE,
		[RTN_UNICAST] = SIXLANE_FORWARD,
		[RTN_LOCAL] = SIXLANE_PASS_LOCAL,
		[RTN_BROADCAST] = SIXLANE_PUNT_ROUTE,
		[RTN_ANYCAST] = SIXLANE_PASS_ANYCAST,
		[RTN_MULTICAST] = SIXLANE_PASS_MULTICAST,
		[RTN_BLACKHOLE] = SIXLANE_DROP_BLACKHOLE,
		[RTN_UNREACHABLE] = SIXLANE_PASS_UNREACHABLE,
		[RTN_PROHIBIT] = SIXLANE_PASS_PROHIBIT,
		[RTN_THROW] = SIXLANE_PASS_THROW,
	};

	return type < ARRAY_SIZE(verdicts) ? verdicts[type] : SIXLANE_PUNT_ROUTE;
}

/*
 * Other types are left to the kernel, since routes by one object may share a cached route
 * (rib/nexthops.h). A blackhole has that type, or its object discards. Without a device
 * (net.ipv4.nexthop_compat_mode=0) both look the same.
 */
static enum sixlane_verdict verdict_by_object(const struct rib_route *route)
{
	return route->type == RTN_UNICAST || rib_route_is_by_discard(route)
		       ? SIXLANE_FORWARD
		       : SIXLANE_PUNT_NEXT_HOP_OBJECT;
}

static enum sixlane_verdict verdict_by_hops(const struct rib_route *route)
{
	if (route->truncated)
		return SIXLANE_PUNT_MULTIPATH;
	for (uint16_t i = 0; i < route->n_hops; i++) {
		if (!route->hops[i].ifindex)
			return SIXLANE_PUNT_ROUTE;
	}
	return route->n_hops ? SIXLANE_FORWARD : SIXLANE_PUNT_ROUTE;
}

/* The kernel changes lifetimes, and routes of router advertisements, without a message. */
static bool is_unread(const struct resolve *resolve, const struct rib_route *route)
{
	return !resolve->view->kernel_read && rib_route_is_transient(route);
}

/* Checks that apply to rejects, too, come first. Only a forward can expire. */
static enum sixlane_verdict verdict_of(const struct resolve *resolve, const struct rib_route *route)
{
	enum sixlane_verdict verdict;

	if (route->unknown)
		return SIXLANE_PUNT_ROUTE;
	if (route->next_hop_id)
		verdict = verdict_by_object(route);
	else
		verdict = verdict_of_type(route->type);
	if (route->encap && !route->next_hop_id)
		return SIXLANE_PUNT_ENCAP;
	if (is_unread(resolve, route) ||
	    (route->expires && (!route->expires_ns || verdict != SIXLANE_FORWARD)))
		return SIXLANE_PUNT_EXPIRES;
	if (verdict != SIXLANE_FORWARD || route->next_hop_id)
		return verdict;
	return verdict_by_hops(route);
}

/* --- targets ------------------------------------------------------------------------------ */

static void set_verdict(struct fib_target *out, enum sixlane_verdict verdict)
{
	memset(out, 0, sizeof(*out));
	out->verdict = verdict;
}

/* Append a hop to the target. */
static void push_hop(struct resolve *resolve, struct fib_target *out, const struct route_hop *from,
		     bool weighted)
{
	struct fib_hop *hop = (struct fib_hop *)resolve->hops.items + resolve->n_hops++;

	if (!out->n_hops)
		out->hops = hop;
	out->n_hops++;
	memset(hop, 0, sizeof(*hop));
	hop->ifindex = from->ifindex;
	hop->has_gateway = from->has_gateway;
	hop->gateway = from->gateway;
	if (weighted)
		hop->weight = from->weight ? from->weight : 1;
}

/* The target of a single route. */
static void set_route(struct resolve *resolve, struct fib_target *out,
		      const struct rib_route *route)
{
	set_verdict(out, verdict_of(resolve, route));
	if (out->verdict != SIXLANE_FORWARD)
		return;
	out->mtu = route->mtu;
	out->mtu_locked = route->mtu && route->mtu_locked;
	if (route->expires)
		out->expires_ns = route->expires_ns;
	if (route->next_hop_id) {
		out->kind = FIB_OBJECT;
		out->object = route->next_hop_id;
		out->own_source = rib_object_sources(resolve->view->rib);
		return;
	}
	out->kind = route->n_hops > 1 ? FIB_HASHED : FIB_ONE;
	out->own_source = route->own_source;
	for (uint16_t i = 0; i < route->n_hops; i++)
		push_hop(resolve, out, &route->hops[i], out->kind == FIB_HASHED);
}

/* --- several routes ------------------------------------------------------------------------ */

/* Properties of the usable routes of a list. */
struct summary {
	const struct rib_route *best; /* the first of the highest preference */
	size_t n;
	bool objects;
	bool unread;  /* the preference of one may have changed without a message */
	bool unknown; /* an unknown attribute of one may affect the selection */
	/* A set is stale, or its hops are unlike: fib6 treats each hop as a route. */
	bool stale;
};

static struct summary summarize(const struct resolve *resolve, const struct resolve_item *items,
				size_t n)
{
	struct summary summary = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct rib_route *route = items[i].route;

		summary.stale |= route->stale || route->unlike;
		if (!is_usable(resolve->view->links, route))
			continue;
		summary.n++;
		summary.objects |= route->next_hop_id != 0;
		summary.unknown |= route->unknown;
		summary.unread |= is_unread(resolve, route);
		if (!summary.best || route->preference > summary.best->preference)
			summary.best = route;
	}
	return summary;
}

static bool has_hop_by(const struct fib_target *target, uint32_t ifindex)
{
	for (size_t i = 0; i < target->n_hops; i++) {
		if (target->hops[i].ifindex == ifindex)
			return true;
	}
	return false;
}

/* rt6_score_route() compares with the VRF of a packet's port, the datapath with the port. */
static bool is_vrf(const struct links *links, uint32_t ifindex)
{
	const struct device *device = links_find(links, ifindex);

	return device && device->has_link && !strcmp(device->link.kind, "vrf");
}

/*
 * A later route of equal score wins for packets that come in by its device. These are passed, so
 * that only the devices of its hops matter. False: they are unknown, or too many.
 */
static bool add_devices(struct resolve *resolve, struct fib_target *out,
			const struct rib_route *route)
{
	size_t known = out->n_hops;

	if (!route->n_hops || route->truncated || (route->expires && !route->expires_ns))
		return false;
	for (uint16_t i = 0; i < route->n_hops; i++) {
		const struct route_hop *hop = &route->hops[i];

		if (has_hop_by(out, hop->ifindex))
			continue;
		if (!hop->ifindex || out->n_hops == SIXLANE_MAX_EQUAL_METRIC ||
		    is_vrf(resolve->view->links, hop->ifindex))
			return false;
		push_hop(resolve, out, hop, false);
		out->kind = FIB_EQUAL_METRIC;
	}
	if (out->n_hops > known && route->expires &&
	    (!out->expires_ns || route->expires_ns < out->expires_ns))
		out->expires_ns = route->expires_ns;
	return true;
}

/*
 * Add a route that scores as high as best, which comes first. False: that cannot be expressed.
 *
 * When a set lost hops, the RIB does not know where the others stand among routes of their metric.
 */
static bool add_equal(struct resolve *resolve, struct fib_target *out, const struct rib_route *best,
		      const struct rib_route *route)
{
	if (best->set && best->metric == route->metric)
		return false;
	if (is_reject(route)) /* on the loopback device, where no packet comes in */
		return true;
	switch (out->verdict) {
	case SIXLANE_FORWARD:
		/* Whichever hop of a set wins, fib6 then hashes over all of them. */
		return out->kind != FIB_HASHED && add_devices(resolve, out, route);
	case SIXLANE_DROP_BLACKHOLE:
	case SIXLANE_PASS_THROW:
		return false; /* packets that come in by that device are forwarded instead */
	default:
		return true; /* all packets are passed */
	}
}

/* Several routes of one score: the first, but the one by the ingress device wins over it. */
static bool set_first(struct resolve *resolve, struct fib_target *out, const struct rib_route *best,
		      const struct resolve_item *items, size_t n)
{
	set_route(resolve, out, best);
	for (size_t i = 0; i < n; i++) {
		const struct rib_route *route = items[i].route;

		if (route != best && route->preference == best->preference &&
		    is_usable(resolve->view->links, route) && !add_equal(resolve, out, best, route))
			return false;
	}
	return true;
}

/* The best of a list by score, regardless of metrics. False: none is usable. */
static bool set_best(struct resolve *resolve, struct fib_target *out,
		     const struct resolve_item *items, size_t n)
{
	struct summary summary = summarize(resolve, items, n);

	if (summary.stale) {
		set_verdict(out, SIXLANE_PUNT_EQUAL_METRIC);
		return true;
	}
	if (!summary.n)
		return false;
	if (summary.n == 1)
		set_route(resolve, out, summary.best);
	else if (summary.unread)
		set_verdict(out, SIXLANE_PUNT_EXPIRES);
	/* __find_rr_leaf() stops at an object that discards, which cannot be seen here. */
	else if (summary.objects || summary.unknown ||
		 !set_first(resolve, out, summary.best, items, n))
		set_verdict(out, SIXLANE_PUNT_EQUAL_METRIC);
	return true;
}

/*
 * find_rr_leaf(): first the routes of the lowest metric. If none is usable, all others together, by
 * preference and ingress device, without regard to their metrics.
 */
bool resolve_select(struct resolve *resolve, const struct resolve_item *items, size_t n,
		    struct fib_target *out)
{
	size_t lowest = 0;

	while (lowest < n && items[lowest].route->metric == items[0].route->metric)
		lowest++;
	return set_best(resolve, out, items, lowest) ||
	       set_best(resolve, out, items + lowest, n - lowest);
}

bool resolve_plain_usable(const struct resolve *resolve, const struct rib_dest *dest)
{
	for (const struct rib_route *r = dest->routes; r; r = r->next) {
		if (!r->src.len && is_usable(resolve->view->links, r))
			return true;
	}
	return false;
}

bool resolve_has(const struct rib_dest *dest, bool by_source)
{
	for (const struct rib_route *r = dest->routes; r; r = r->next) {
		if (by_source == (r->src.len != 0))
			return true;
	}
	return false;
}

int resolve_compare(const struct prefix *a, const struct prefix *b)
{
	int order = memcmp(a->addr.bytes, b->addr.bytes, sizeof(a->addr.bytes));

	return order ? order : a->len - b->len;
}
