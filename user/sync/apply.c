// SPDX-License-Identifier: GPL-2.0-only
/*
 * One netlink message into the stores that it belongs to, and from there into the FIB. While
 * sync->quiet is set only the stores are filled, and apply_all() brings the FIB after them in one
 * go.
 */
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../netlink/parse.h"
#include "state.h"

/* --- routes ------------------------------------------------------------------------------ */

static bool linkdown_ignored(void *ctx, uint32_t ifindex)
{
	return links_ignored(ctx, ifindex);
}

static void set_prefix(struct sync *sync, const struct prefix *dst)
{
	struct fib_target target;
	bool found = resolve_prefix(sync->rib, dst, linkdown_ignored, &sync->links, &target);

	if (found && target.verdict == SIXLANE_FORWARD)
		ports_need(sync, target.ifindex);
	if (fib_set(sync->fib, dst, found ? &target : NULL) == -ENOMEM)
		sync_want(sync, SYNC_LATER_NS);
}

/*
 * Longer prefixes before shorter ones: where both are new, no packet leaves by the shorter one for
 * the time until the longer one is written.
 */
static void set_table_under(struct sync *sync, uint32_t table, const struct prefix *prefix)
{
	const struct radix *radix = rib_table(sync->rib, table);

	if (!radix)
		return;
	for (const struct radix_node *node = radix_last_under(radix, prefix); node;
	     node = radix_prev_under(node, prefix))
		set_prefix(sync, &node->prefix);
}

void apply_route_changed(void *ctx, uint32_t table, const struct prefix *dst)
{
	struct sync *sync = ctx;

	if (sync->quiet || (table != RT_TABLE_MAIN && table != RT_TABLE_LOCAL))
		return;
	/* the local table is asked first, whatever the lengths: it decides on all that is below */
	if (table == RT_TABLE_LOCAL && dst->len < 128) {
		set_table_under(sync, RT_TABLE_LOCAL, dst);
		set_table_under(sync, RT_TABLE_MAIN, dst);
	}
	set_prefix(sync, dst);
}

void apply_all_routes(struct sync *sync)
{
	static const struct prefix everything;

	set_table_under(sync, RT_TABLE_LOCAL, &everything);
	set_table_under(sync, RT_TABLE_MAIN, &everything);
}

void apply_note(struct sync *sync, const char *what, int ret)
{
	if (!ret || ret == -ENOMSG)
		return;
	if (ret == -EBADMSG) {
		sync->malformed++;
		sync->dump_malformed = true;
		log_warning_limited(
			"the kernel sent a malformed %s message; ignored, asking for everything anew",
			what);
	}
	/* what does not fit after a dump does not need one at once: with a busy feed that had no
	 * end */
	sync_want(sync, sync->replaying || ret == -ENOMEM ? SYNC_LATER_NS : 0);
}

static int apply_route(struct sync *sync, const struct nlmsghdr *nlh)
{
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct route route;
	int ret = parse_route(nlh, &route, hops);

	if (ret)
		return ret;
	if (!sync->dumping && route.table == RT_TABLE_LOCAL && route.type == RTN_MULTICAST)
		apply_ipv6_toggled(sync, &route);
	if (nlh->nlmsg_type == RTM_NEWROUTE)
		return rib_add(sync->rib, &route, sync->dumping ? 0 : nlh->nlmsg_flags);
	ret = rib_del(sync->rib, &route);
	/* a withdrawal from before the dump, of what the dump therefore did not tell */
	return ret == -EAGAIN && sync->replaying ? 0 : ret;
}

static bool uses_next_hop(const struct route *route, void *ctx)
{
	return route->next_hop_id == *(const uint32_t *)ctx;
}

/* With net.ipv4.nexthop_compat_mode=0 nothing else says that the routes of a next hop went with it.
 */
static int apply_next_hop_gone(struct sync *sync, const struct nlmsghdr *nlh)
{
	uint32_t id;
	int ret = parse_next_hop_id(nlh, &id);

	if (!ret)
		rib_prune(sync->rib, uses_next_hop, &id);
	return ret;
}

/*
 * An address with a lifetime gives its prefix's route one, for which there is no message: ask anew.
 */
static int apply_address(struct sync *sync, const struct nlmsghdr *nlh)
{
	bool finite;
	int ret = parse_address_lifetime(nlh, &finite);

	if (!ret && finite)
		sync_want(sync, sync->replaying ? SYNC_LATER_NS : 0);
	return ret;
}

/* --- neighbours -------------------------------------------------------------------------- */

static void set_neigh(void *ctx, const struct neigh *neigh)
{
	struct sync *sync = ctx;

	int ret = fib_set_neigh(sync->fib, neigh->ifindex, &neigh->addr,
				neigh_usable(neigh) ? neigh->mac : NULL);

	if (ret == -ENOSPC)
		log_warning_limited(
			"more than %u neighbours: packets to the others pass to the kernel",
			SIXLANE_MAX_NEIGHBOURS - 1);
	else if (ret)
		sync_want(sync, SYNC_LATER_NS);
}

static int apply_neigh(struct sync *sync, const struct nlmsghdr *nlh)
{
	struct neigh neigh;
	int ret = parse_neigh(nlh, &neigh);

	if (ret || neigh.addr.bytes[0] == 0xff)
		return ret;
	if (nlh->nlmsg_type == RTM_DELNEIGH) {
		neigh.state = NUD_NONE;
		neighs_delete(sync->neighs, neigh.ifindex, &neigh.addr);
	} else {
		ret = neighs_set(sync->neighs, &neigh);
	}
	if (!ret && !sync->quiet)
		set_neigh(sync, &neigh);
	return ret;
}

/* --- rules ------------------------------------------------------------------------------- */

#define RULE_PRIORITY_MAIN 32766u

static int apply_rule(struct sync *sync, const struct nlmsghdr *nlh)
{
	struct rule rule;
	bool plain;
	int ret = parse_rule(nlh, &rule);

	if (ret)
		return ret;
	if (rule.l3mdev && !rule.selective) /* of ports in a VRF, whose packets all pass */
		return 0;
	plain = !rule.selective && rule.action == FR_ACT_TO_TBL;
	if (plain && rule.priority == 0 && rule.table == RT_TABLE_LOCAL)
		sync->rules_seen |= 1;
	else if (plain && rule.priority == RULE_PRIORITY_MAIN && rule.table == RT_TABLE_MAIN)
		sync->rules_seen |= 2;
	else
		sync->rules_default = false;
	return 0;
}

/* In doubt punt at once; the list is then read anew as a whole. */
static void rules_changed(struct sync *sync)
{
	sync->rules_wanted = true;
	sync->rules_default = false;
	apply_meta(sync);
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
			rules_changed(sync);
		break;
	case RTM_NEWPREFIX: /* a router advertisement may have given a known prefix a lifetime */
		sync_want(sync, sync->replaying ? SYNC_LATER_NS : 0);
		break;
	case RTM_NEWADDR:
		apply_note(sync, "address", apply_address(sync, nlh));
		break;
	case RTM_DELNEXTHOP:
		apply_note(sync, "next-hop", apply_next_hop_gone(sync, nlh));
		break;
	default: /* of the groups that we joined, but of no consequence here */
		break;
	}
}

void apply_all(struct sync *sync)
{
	fib_sync_begin(sync->fib);
	ports_update_all(sync);
	neighs_each(sync->neighs, set_neigh, sync);
	apply_all_routes(sync);
	fib_sync_end(sync->fib);
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
	meta->routes_missing = stats.missing;
	meta->overruns = sync->overruns;
	meta->sync_ns = sync->sync_ns;
	meta->synced_at = sync->synced_at;
	meta->malformed = sync->malformed;
	meta->max_routes = sync->config->max_routes;
	/* maps that an earlier daemon completed go on forwarding while this one reads the tables */
	if (sync->complete || (meta->flags & SIXLANE_META_READY))
		flags |= SIXLANE_META_READY;
	if (sync->config->pass_all)
		flags |= SIXLANE_META_PASS_ALL;
	if (!sync->complete && !sync->rules_wanted)
		flags |= meta->flags & SIXLANE_META_RULES;
	else if (!sync->rules_default)
		flags |= SIXLANE_META_RULES;
	if (sync->in_sync && !sync->rules_wanted)
		flags |= SIXLANE_META_IN_SYNC;
	__atomic_store_n(&meta->flags, flags, __ATOMIC_RELEASE);
}
