// SPDX-License-Identifier: GPL-2.0-only
/*
 * One netlink message into the stores that it belongs to, and from there into the FIB. While
 * sync->quiet is set only the stores are filled, and apply_all() brings the FIB after them in one
 * go.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../netlink/parse.h"
#include "../resolve/affected.h"
#include "state.h"

#define NS_PER_MS 1000000u

/* --- routes ------------------------------------------------------------------------------ */

/* Every device that a target leads to must be known to the datapath. */
static void need_ports(struct sync *sync, const struct fib_target *target)
{
	for (size_t i = 0; i < target->n_hops; i++)
		ports_need(sync, target->hops[i].ifindex);
	for (size_t i = 0; i < target->n_sources; i++) {
		const struct fib_target *by_source = &target->sources[i].target;

		for (size_t j = 0; j < by_source->n_hops; j++)
			ports_need(sync, by_source->hops[j].ifindex);
	}
}

static void set_prefix(void *ctx, uint32_t table, const struct prefix *dst)
{
	struct sync *sync = ctx;
	const struct fib_target *target = NULL;
	int ret = resolve_prefix(sync->resolve, table, dst, &target);

	if (ret > 0)
		need_ports(sync, target);
	exceptions_route_changes(sync, table, dst, ret > 0 ? target : NULL);
	if (ret >= 0)
		ret = fib_set(sync->fib, table, dst,
			      parity_target(sync, table, dst, ret ? target : NULL));
	if (ret == -ENOMEM)
		sync_want(sync, SYNC_LATER_NS);
}

void apply_prefix(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	set_prefix(sync, table, dst);
}

void apply_route_changed(void *ctx, uint32_t table, const struct prefix *dst)
{
	struct sync *sync = ctx;

	audit_note_change(sync, table, dst);
	if (!sync->quiet)
		resolve_affected(sync->resolve, table, dst, set_prefix, sync);
}

void apply_all_routes(struct sync *sync)
{
	resolve_each(sync->resolve, set_prefix, sync);
}

void apply_routes_of(struct sync *sync, uint32_t table)
{
	resolve_each_in(sync->resolve, table, set_prefix, sync);
}

void apply_note(struct sync *sync, const char *what, int ret)
{
	if (!ret || ret == -ENOMSG)
		return;
	if (ret == -EBADMSG) {
		sync->malformed++;
		sync->dump_damaged = true;
		log_warning_limited(
			"the kernel sent a malformed %s message; sixlaned ignores it and reads all tables again",
			what);
	}
	/* what found no room in memory is not gone */
	if (ret == -ENOMEM)
		sync->dump_damaged = true;
	/* what does not fit after a dump does not need one at once: with a busy feed that had no
	 * end */
	sync_want(sync, sync->replaying || ret == -ENOMEM ? SYNC_LATER_NS : 0);
}

/* Attributes are few: those from 63 on share a bit. */
void apply_note_unknown(struct sync *sync, enum sync_object object, uint16_t unknown_attr)
{
	static const char *const names[] = {
		[SYNC_ROUTE] = "route",		[SYNC_NEXT_HOP] = "next hop",
		[SYNC_RULE] = "rule",		[SYNC_DEVICE] = "device's XDP program",
		[SYNC_NEIGHBOUR] = "neighbour", [SYNC_ADDRESS] = "address",
	};
	uint64_t *reported = &sync->unknown_reported[object];
	unsigned int attr = unknown_attr - 1u;
	uint64_t bit = 1ull << (attr < 63 ? attr : 63);

	if (!unknown_attr || *reported & bit)
		return;
	*reported |= bit;
	log_warning(
		"a %s has an unsupported attribute (number %u, or one nested in it): packets that depend on it pass to the kernel",
		names[object], attr);
}

/*
 * A route has come just now: fib6 has a new serial number. With one that takes another's place a
 * packet may still meet the old one afterwards, and nexthop_replace_notify() tells of routes in
 * these words by which nothing has changed. Queued messages may be older than what a dump has
 * shown.
 */
static bool is_by_fib6_add(const struct sync *sync, const struct nlmsghdr *nlh,
			   const struct route *route)
{
	return nlh->nlmsg_type == RTM_NEWROUTE && nlh->nlmsg_flags & NLM_F_CREATE &&
	       !route->cloned && !sync->dumping && !sync->replaying;
}

/* What a dump says of addresses is all of it. */
static int apply_unannounced(struct sync *sync, const struct nlmsghdr *nlh,
			     const struct route *route, const struct route_hop *hops)
{
	bool changed;
	int ret;

	if (sync->dumping || nlh->nlmsg_type != RTM_NEWROUTE || route->type != RTN_LOCAL ||
	    route->protocol != RTPROT_KERNEL || route->dst.len != 128 || !route->n_hops)
		return 0;
	ret = addrs_set_unannounced(&sync->addrs, hops[0].ifindex, &route->dst.addr, &changed);
	sync->addrs_wanted |= changed;
	return ret;
}

/*
 * The kernel tells a route that ends within a hundredth of a second, or has just ended, as one that
 * does not. When one of this level that is known ends; 0: there is none.
 */
static uint64_t known_end_ns(const struct sync *sync, const struct route *route)
{
	const struct rib_dest *dest =
		rib_unsteady(sync->rib) ? rib_find(sync->rib, route->table, &route->dst) : NULL;
	const struct rib_route *known = dest ? dest->routes : NULL;

	while (known && !(known->expires && known->metric == route->metric &&
			  prefix_equal(&known->src, &route->src)))
		known = known->next;
	return known ? known->expires_ns : 0;
}

/* Whether that is now, by what was told: without a kernel reader such a route ends as it was. */
#define LAPSE_NS 2000000000u

static bool lapses_now(uint64_t end_ns)
{
	const uint64_t now_ns = util_now_ns();

	return end_ns + LAPSE_NS > now_ns && end_ns < now_ns + LAPSE_NS;
}

static void set_lifetime(const struct sync *sync, struct route *route, uint64_t end_ns)
{
	if (route->expires)
		route->expires_ns = sync->told_after_ns + route->lifetime_ms * (uint64_t)NS_PER_MS;
	else if (!audit_reader(sync->audit) && lapses_now(end_ns)) {
		route->expires = true;
		route->expires_ns = end_ns;
	}
}

/* What a message does not tell is read from the kernel's own table. ret, or what is left of it. */
static int read_rest(struct sync *sync, const struct nlmsghdr *nlh, const struct route *route,
		     int ret, bool lapses)
{
	const bool added = nlh->nlmsg_type == RTM_NEWROUTE;

	if (sync->dumping)
		return ret == -EINPROGRESS ? 0 : ret;
	/* a withdrawal from before the dump, of what the dump therefore did not tell */
	if (ret == -EAGAIN && !added && sync->replaying && !route->unknown)
		return 0;
	/* ndisc_router_discovery() sets lifetime, MTU and hop limit after the message */
	if (added && route->protocol == RTPROT_RA)
		audit_read_soon(sync, route->table, &route->dst);
	if ((ret == -EAGAIN || ret == -EINPROGRESS || lapses) &&
	    audit_read(sync, route->table, &route->dst))
		return 0;
	return ret == -EINPROGRESS ? 0 : ret;
}

static int apply_route(struct sync *sync, const struct nlmsghdr *nlh)
{
	const bool object_sources = rib_object_sources(sync->rib);
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct route route;
	uint64_t end_ns = 0;
	int ret = parse_route(nlh, &route, hops);

	if (ret)
		return ret;
	if (nlh->nlmsg_type == RTM_NEWROUTE)
		apply_note_unknown(sync, SYNC_ROUTE, route.unknown_attr);
	if (nlh->nlmsg_type == RTM_NEWROUTE && !route.expires)
		end_ns = known_end_ns(sync, &route);
	set_lifetime(sync, &route, end_ns);
	if (!sync->dumping && route.table == RT_TABLE_LOCAL && route.type == RTN_MULTICAST)
		apply_ipv6_toggled(sync, &route);
	if (nlh->nlmsg_type == RTM_NEWROUTE)
		/* Calls apply_route_changed() for what is new (start.c).
		 * fib6_info_hw_flags_set() notifies without any flag, as if it were a dump. */
		ret = rib_add(sync->rib, &route,
			      sync->dumping ? 0 : nlh->nlmsg_flags | NLM_F_CREATE);
	else
		ret = rib_del(sync->rib, &route);
	if (ret != -ENOMEM) {
		const int error = apply_unannounced(sync, nlh, &route, hops);

		ret = error ? error : ret;
	}
	/* what was learnt of a route goes with it, also if the same takes its place */
	if (!sync->dumping)
		exceptions_route_changed(sync, route.table, &route.dst);
	/* the first route of that kind changes all others by objects, once and for all */
	if (!object_sources && rib_object_sources(sync->rib) && !sync->quiet)
		apply_all_routes(sync);
	if (is_by_fib6_add(sync, nlh, &route))
		nexthops_cache_flushed(sync->nexthops);
	return read_rest(sync, nlh, &route, ret, end_ns != 0);
}

/* --- neighbours -------------------------------------------------------------------------- */

static void set_neigh(void *ctx, const struct neigh *neigh)
{
	struct sync *sync = ctx;

	int ret = fib_set_neigh(sync->fib, neigh->ifindex, &neigh->addr,
				neigh_usable(neigh) ? neigh->mac : NULL);

	if (ret == -ENOSPC)
		log_warning_limited(
			"there are more than %u neighbours: packets to the others pass to the kernel",
			SIXLANE_MAX_NEIGHBOURS - 1);
	else if (ret)
		sync_want(sync, SYNC_LATER_NS);
}

static int apply_neigh(struct sync *sync, const struct nlmsghdr *nlh)
{
	const struct neigh *known;
	struct neigh neigh;
	int ret = parse_neigh(nlh, &neigh);

	if (ret || neigh.addr.bytes[0] == 0xff)
		return ret;
	apply_note_unknown(sync, SYNC_NEIGHBOUR, neigh.unknown_attr);
	if (nlh->nlmsg_type == RTM_DELNEIGH)
		neigh.state = NUD_NONE;
	known = neighs_find(sync->neighs, neigh.ifindex, &neigh.addr);
	if (known && ((neigh_usable(known) && !neigh_usable(&neigh)) ||
		      known->flags & ~neigh.flags & NTF_ROUTER))
		exceptions_neighbour_changes(sync, neigh.ifindex, &neigh.addr);
	if (nlh->nlmsg_type == RTM_DELNEIGH)
		neighs_delete(sync->neighs, neigh.ifindex, &neigh.addr);
	else
		ret = neighs_set(sync->neighs, &neigh);
	if (!ret && !sync->quiet)
		set_neigh(sync, &neigh);
	return ret;
}

/* --- all --------------------------------------------------------------------------------- */

void apply_message(struct sync *sync, const struct nlmsghdr *nlh)
{
	switch (nlh->nlmsg_type) {
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		apply_note(sync, "route", apply_route(sync, nlh));
		break;
	case RTM_NEWLINK:
		apply_note(sync, "link", apply_link(sync, nlh));
		break;
	case RTM_DELLINK:
		apply_note(sync, "link", apply_link_gone(sync, nlh));
		break;
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		apply_note(sync, "neighbour", apply_neigh(sync, nlh));
		break;
	case RTM_NEWNETCONF:
	case RTM_DELNETCONF:
		apply_note(sync, "netconf", apply_netconf(sync, nlh));
		break;
	case RTM_NEWRULE:
	case RTM_DELRULE:
		if (sync->dumping)
			apply_note(sync, "rule", apply_rule(sync, nlh));
		else
			apply_rules_changed(sync);
		break;
	case RTM_NEWPREFIX:
		apply_note(sync, "prefix", apply_advertised(sync, nlh));
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		apply_note(sync, "address", apply_address(sync, nlh));
		break;
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP:
		apply_note(sync, "next-hop", apply_next_hop(sync, nlh));
		break;
	case RTM_NEWNEXTHOPBUCKET:
		apply_note(sync, "next-hop bucket", apply_next_hop_bucket(sync, nlh));
		break;
	default: /* of the groups that we joined, but of no consequence here */
		break;
	}
}

void apply_hold(struct sync *sync)
{
	if (sync->held)
		return;
	sync->held = true;
	apply_meta(sync);
}

void apply_all(struct sync *sync)
{
	apply_rules(sync);
	fib_sync_begin(sync->fib);
	ports_update_all(sync);
	neighs_each(sync->neighs, set_neigh, sync);
	apply_all_next_hops(sync);
	apply_all_routes(sync);
	fib_sync_end(sync->fib);
	sync->held = false;
}

/* Whether every packet is to be punted because of the rules. */
static uint32_t rules_flag(const struct sync *sync)
{
	/* the earlier daemon's word, until this one has read them */
	if (!sync->held && !sync->complete && !sync->rules_wanted)
		return sync->maps->meta->flags & SIXLANE_META_RULES;
	if (sync->held || !sync->rules_ready || !sync->program.expressible)
		return SIXLANE_META_RULES;
	return 0;
}

void apply_meta(struct sync *sync)
{
	struct sixlane_meta *meta = sync->maps->meta;
	struct fib_stats stats;
	uint32_t flags = 0;

	fib_get_stats(sync->fib, &stats);
	meta->generation = sync->generation;
	meta->routes = stats.routes;
	meta->next_hops = stats.next_hops;
	meta->neighbours = stats.neighbours;
	meta->sources = stats.sources;
	meta->buckets = stats.buckets;
	meta->routes_missing = stats.missing;
	meta->overruns = sync->overruns;
	meta->sync_ns = sync->sync_ns;
	meta->synced_at = sync->synced_at;
	meta->malformed = sync->malformed;
	meta->bypassed = sync->config->bypass;
	audit_tell(sync->audit, meta);
	parity_tell(sync, meta);
	meta->max_routes = sync->config->max_routes;
	meta->exceptions = stats.exceptions;
	exceptions_tell(sync, meta);
	meta->max_exceptions = sync->config->max_exceptions;
	meta->fib_chunk_bytes = stats.compiled.chunk_bytes;
	meta->fib_used_bytes = stats.compiled.used_bytes;
	meta->fib_free_bytes = stats.compiled.free_bytes;
	meta->fib_nodes = stats.compiled.nodes;
	meta->fib_builds = stats.compiled.builds;
	meta->fib_failures = stats.compiled.failures;
	meta->fib_replans = stats.compiled.replans;
	meta->fib_build_ns = stats.compiled.build_ns;
	meta->fib_built_at = sync->compile.built_at;
	/* maps that an earlier daemon completed go on forwarding while this one reads the tables */
	if (sync->complete || (meta->flags & SIXLANE_META_READY))
		flags |= SIXLANE_META_READY;
	flags |= guarding_flags(sync);
	if (sync->config->pass_all)
		flags |= SIXLANE_META_PASS_ALL;
	if (sync->config->answer_too_big)
		flags |= SIXLANE_META_ANSWER;
	if (sync->flow_labels)
		flags |= SIXLANE_META_FLOW_LABEL;
	if (sync->config->exceptions == CONFIG_EXCEPTIONS_OBSERVE)
		flags |= SIXLANE_META_OBSERVE;
	flags |= rules_flag(sync);
	flags |= meta->flags & SIXLANE_META_GAPS; /* the FIB's own */
	if (sync->in_sync && !sync->rules_wanted && !sync->next_hops_wanted)
		flags |= SIXLANE_META_IN_SYNC;
	maps_set_flags(sync->maps, flags);
	/* raised since: the other thread has cleared it in what was there before */
	if (flags & SIXLANE_META_GUARDED && alarm_is_raised(sync->alarm))
		__atomic_fetch_and(&meta->flags, ~SIXLANE_META_GUARDED, __ATOMIC_SEQ_CST);
}
