// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the routes at a prefix to the one fate of its packets. Pure: asks only the RIB and the
 * caller's word on links. Where the kernel would choose by something that is not at hand (a
 * packet's source, a hash, the order of equal routes), the answer is a PUNT.
 */
#include <linux/rtnetlink.h>
#include <string.h>

#include "../util.h"
#include "resolve.h"

static bool is_reject(uint8_t type)
{
	return type == RTN_BLACKHOLE || type == RTN_UNREACHABLE || type == RTN_PROHIBIT ||
	       type == RTN_THROW;
}

/*
 * find_match: a route whose devices have all lost their carrier does not count. Rejects stand on
 * the loopback device, and fib6_ifdown leaves local and anycast routes out.
 */
static bool usable(const struct rib_route *route, resolve_linkdown_fn ignored, void *ctx)
{
	if (is_reject(route->type) || route->type == RTN_LOCAL || route->type == RTN_ANYCAST)
		return true;
	if (!route->n_hops || route->truncated)
		return true;
	for (uint16_t i = 0; i < route->n_hops; i++) {
		if (!ignored || !ignored(ctx, route->hops[i].ifindex))
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

/* What stops even a reject from being expressed comes first: a blackhole may expire too. */
static enum sixlane_verdict verdict_of(const struct rib_route *route)
{
	enum sixlane_verdict verdict;

	if (route->next_hop_id)
		return SIXLANE_PUNT_NEXT_HOP_OBJECT;
	if (route->encap)
		return SIXLANE_PUNT_ENCAP;
	if (route->expires)
		return SIXLANE_PUNT_EXPIRES;
	verdict = verdict_of_type(route->type);
	if (verdict != SIXLANE_FORWARD)
		return verdict;
	if (route->n_hops > 1 || route->truncated)
		return SIXLANE_PUNT_MULTIPATH;
	if (!route->n_hops || !route->hops[0].ifindex)
		return SIXLANE_PUNT_ROUTE;
	return SIXLANE_FORWARD;
}

static void set_target(struct fib_target *out, enum sixlane_verdict verdict,
		       const struct rib_route *route)
{
	memset(out, 0, sizeof(*out));
	out->verdict = verdict;
	if (verdict != SIXLANE_FORWARD)
		return;
	out->ifindex = route->hops[0].ifindex;
	out->has_gateway = route->hops[0].has_gateway;
	if (out->has_gateway)
		out->gateway = route->hops[0].gateway;
	out->mtu = route->mtu;
}

static bool any_source_specific(const struct rib_dest *dest)
{
	for (const struct rib_route *r = dest->routes; r; r = r->next)
		if (r->src.len)
			return true;
	return false;
}

/*
 * find_rr_leaf: the first metric alone, and if nothing there is usable, all others at once by a
 * score in which the port that the packet came in by and the router preference count, not the
 * metric.
 */
bool resolve_dest(const struct rib_dest *dest, resolve_linkdown_fn ignored, void *ctx,
		  struct fib_target *out)
{
	const struct rib_route *best = NULL;

	if (any_source_specific(dest)) {
		set_target(out, SIXLANE_PUNT_SOURCE_ROUTE, NULL);
		return true;
	}
	for (const struct rib_route *r = dest->routes; r; r = r->next) {
		if (best && r->metric != best->metric && best->metric == dest->routes->metric)
			break;
		if (!usable(r, ignored, ctx))
			continue;
		if (best) {
			set_target(out, SIXLANE_PUNT_EQUAL_METRIC, NULL);
			return true;
		}
		best = r;
	}
	if (!best)
		return false;
	set_target(out, verdict_of(best), best);
	return true;
}

/* The fate by the longest usable prefix of a table that covers node, node itself included. */
static const struct radix_node *longest_usable(const struct radix_node *node,
					       resolve_linkdown_fn ignored, void *ctx,
					       struct fib_target *out)
{
	while (node &&
	       !resolve_dest(container_of(node, const struct rib_dest, node), ignored, ctx, out))
		node = radix_cover(node);
	return node;
}

/*
 * Above a throw in the local table, any other route of that table stays out of reach for what
 * the throw covers, though in the datapath's one table its prefix covers it too.
 */
static bool thrown(const struct radix_node *node, resolve_linkdown_fn ignored, void *ctx)
{
	struct fib_target target;

	return longest_usable(radix_cover(node), ignored, ctx, &target) != NULL;
}

bool resolve_prefix(const struct rib *rib, const struct prefix *dst, resolve_linkdown_fn ignored,
		    void *ctx, struct fib_target *out)
{
	const struct radix *local = rib_table(rib, RT_TABLE_LOCAL);
	const struct rib_dest *main_dest = rib_find(rib, RT_TABLE_MAIN, dst);
	const struct radix_node *node = local ? radix_match(local, dst) : NULL;
	struct fib_target target;

	/* An entry for it would outlive its reason, since nothing announces it again. */
	if (!main_dest && !(node && node->prefix.len == dst->len))
		return false;
	node = longest_usable(node, ignored, ctx, &target);
	if (node && target.verdict != SIXLANE_PASS_THROW) {
		*out = target;
		return true;
	}
	if (main_dest && resolve_dest(main_dest, ignored, ctx, out))
		return true;
	if (!node || !thrown(node, ignored, ctx))
		return false;
	*out = target;
	return true;
}
