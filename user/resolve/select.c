// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the routes of one node to one fate: which of them fib6 takes (rt6_select, find_rr_leaf,
 * rt6_score_route) and what that comes to for the datapath. Where the kernel would choose by
 * something that neither knows, the answer is a PUNT.
 *
 * Time does not count here: the datapath compares expires_ns itself and punts from then on.
 */
#include <linux/rtnetlink.h>
#include <string.h>

#include "resolve_internal.h"

/* --- what one route comes to -------------------------------------------------------------- */

static bool is_reject(const struct rib_route *route)
{
	return route->type == RTN_BLACKHOLE || route->type == RTN_UNREACHABLE ||
	       route->type == RTN_PROHIBIT || route->type == RTN_THROW;
}

/*
 * find_match(): a route whose devices have all lost their carrier does not count. Rejects stand on
 * the loopback device, fib6_ifdown() leaves local and anycast routes out, and next-hop objects
 * go with their carrier.
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
	switch (type) {
	case RTN_UNICAST:
		return SIXLANE_FORWARD;
	case RTN_LOCAL:
		return SIXLANE_PASS_LOCAL;
	case RTN_ANYCAST:
		return SIXLANE_PASS_ANYCAST;
	case RTN_MULTICAST:
		return SIXLANE_PASS_MULTICAST;
	case RTN_BLACKHOLE:
		return SIXLANE_DROP_BLACKHOLE;
	case RTN_UNREACHABLE:
		return SIXLANE_PASS_UNREACHABLE;
	case RTN_PROHIBIT:
		return SIXLANE_PASS_PROHIBIT;
	case RTN_THROW:
		return SIXLANE_PASS_THROW;
	default:
		return SIXLANE_PUNT_ROUTE;
	}
}

/*
 * Types of their own are up to the kernel, since routes by one object may share a cached one
 * (nexthops_set_rib). A blackhole is one, or is by an object that discards; where it names no
 * device (net.ipv4.nexthop_compat_mode=0) nothing tells which.
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

/* The kernel changes lifetimes, and all of what routers advertise, without a message. */
static bool is_unread(const struct resolve *resolve, const struct rib_route *route)
{
	return !resolve->view->kernel_read && rib_route_is_transient(route);
}

/* What stops even a reject from being expressed comes first: only a forward can expire. */
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

/* One more hop of the target that is being built. */
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

/* By one route that stands alone. */
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

/* What the usable ones of a list have in common. */
struct contest {
	const struct rib_route *best; /* the first of the highest preference */
	size_t n;
	bool objects;
	bool unread;  /* the preference of one may be another by now */
	bool unknown; /* what is not known of one may count in the choice */
	/* A set is not all known, or its hops are unlike: to fib6 each is a route of its own. */
	bool stale;
};

static struct contest hold_contest(const struct resolve *resolve, const struct resolve_item *items,
				   size_t n)
{
	struct contest contest = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct rib_route *route = items[i].route;

		contest.stale |= route->stale || route->unlike;
		if (!is_usable(resolve->view->links, route))
			continue;
		contest.n++;
		contest.objects |= route->next_hop_id != 0;
		contest.unknown |= route->unknown;
		contest.unread |= is_unread(resolve, route);
		if (!contest.best || route->preference > contest.best->preference)
			contest.best = route;
	}
	return contest;
}

static bool has_hop_by(const struct fib_target *target, uint32_t ifindex)
{
	for (size_t i = 0; i < target->n_hops; i++) {
		if (target->hops[i].ifindex == ifindex)
			return true;
	}
	return false;
}

/*
 * Packets of a VRF's port come in by the VRF as rt6_score_route() sees it, and the datapath
 * compares with the port.
 */
static bool is_vrf(const struct links *links, uint32_t ifindex)
{
	const struct device *device = links_find(links, ifindex);

	return device && device->has_link && !strcmp(device->link.kind, "vrf");
}

/*
 * A route after the first wins for packets that come in by its device, and those are passed, so
 * that of all its hops only the devices count. False: they are not known, or too many.
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
 * route scores as best does, which stands before it. False: that cannot be expressed.
 *
 * Of a set that has lost hops, the RIB knows no more which of those that are left stand before the
 * other routes of their metric.
 */
static bool add_rival(struct resolve *resolve, struct fib_target *out, const struct rib_route *best,
		      const struct rib_route *route)
{
	if (best->set && best->metric == route->metric)
		return false;
	if (is_reject(route)) /* on the loopback device, by which nothing comes in */
		return true;
	switch (out->verdict) {
	case SIXLANE_FORWARD:
		/* Whichever hop of a set wins, fib6 then chooses among all of them by hash. */
		return out->kind != FIB_HASHED && add_devices(resolve, out, route);
	case SIXLANE_DROP_BLACKHOLE:
	case SIXLANE_PASS_THROW:
		return false; /* not what becomes of packets that come in by that device */
	default:
		return true; /* all of them are passed */
	}
}

/* Several routes of one score: the first of them, but the one by the ingress device before it. */
static bool set_first(struct resolve *resolve, struct fib_target *out, const struct rib_route *best,
		      const struct resolve_item *items, size_t n)
{
	set_route(resolve, out, best);
	for (size_t i = 0; i < n; i++) {
		const struct rib_route *route = items[i].route;

		if (route != best && route->preference == best->preference &&
		    is_usable(resolve->view->links, route) && !add_rival(resolve, out, best, route))
			return false;
	}
	return true;
}

/* The best of a list by score, metrics aside. False: none is usable. */
static bool set_best(struct resolve *resolve, struct fib_target *out,
		     const struct resolve_item *items, size_t n)
{
	struct contest contest = hold_contest(resolve, items, n);

	if (contest.stale) {
		set_verdict(out, SIXLANE_PUNT_EQUAL_METRIC);
		return true;
	}
	if (!contest.n)
		return false;
	if (contest.n == 1)
		set_route(resolve, out, contest.best);
	else if (contest.unread)
		set_verdict(out, SIXLANE_PUNT_EXPIRES);
	/* __find_rr_leaf() stops at an object that discards, which is not known here. */
	else if (contest.objects || contest.unknown ||
		 !set_first(resolve, out, contest.best, items, n))
		set_verdict(out, SIXLANE_PUNT_EQUAL_METRIC);
	return true;
}

/*
 * find_rr_leaf(): the lowest metric alone, and if nothing there is usable all others at once, by a
 * score in which preference and ingress device count, but no metric.
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
