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

static void set_routes_of_all(struct sync *sync)
{
	static const struct prefix everything;

	set_table_under(sync, RT_TABLE_LOCAL, &everything);
	set_table_under(sync, RT_TABLE_MAIN, &everything);
}

static void note_result(struct sync *sync, const char *what, int ret)
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
	/* what disable_ipv6=1 on a device does say: its multicast route goes */
	if (nlh->nlmsg_type == RTM_DELROUTE && route.table == RT_TABLE_LOCAL &&
	    route.type == RTN_MULTICAST)
		sync->next_poll_ns = 0;
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

/* --- devices ----------------------------------------------------------------------------- */

static void device_changed(struct sync *sync, uint32_t ifindex, bool was_ignored)
{
	if (sync->quiet)
		return;
	ports_update(sync, ifindex);
	/* ignore_routes_with_linkdown: routes by this device come or go without a message */
	if (links_ignored(&sync->links, ifindex) != was_ignored)
		set_routes_of_all(sync);
}

/* All routes of a device, as fib6_ifdown removes them; multipath ones are announced in any case. */
static bool uses_device(const struct route *route, void *ctx)
{
	uint32_t ifindex = *(const uint32_t *)ctx;

	return route->n_hops == 1 && !route->next_hop_id && route->hops[0].ifindex == ifindex;
}

static bool skip_notify_on_dev_down(void)
{
	_cleanup_fclose_ FILE *file =
		fopen("/proc/sys/net/ipv6/route/skip_notify_on_dev_down", "re");
	int value = 0;

	return file && fscanf(file, "%d", &value) == 1 && value;
}

/*
 * With net.ipv6.route.skip_notify_on_dev_down=1 the kernel removes the routes of a device that goes
 * down without a word. The link message comes before it has done so, so that a dump at
 * once might still see them: forget them here, and look again a moment later.
 */
#define AFTER_DOWN_NS 200000000u

static void note_up_down(struct sync *sync, const struct link *link)
{
	const struct device *device = links_find(&sync->links, link->ifindex);
	bool was_up = device && device->has_link && (device->link.flags & IFF_UP);
	uint32_t ifindex = link->ifindex;

	if (sync->quiet || was_up == !!(link->flags & IFF_UP) || !skip_notify_on_dev_down())
		return;
	if (was_up)
		rib_prune(sync->rib, uses_device, &ifindex);
	sync_want(sync, AFTER_DOWN_NS);
}

/* Its features may have been announced before an old device of that ifindex was seen to go. */
static void note_new(struct sync *sync, const struct link *link)
{
	const struct device *device = links_find(&sync->links, link->ifindex);

	if (!device || !device->has_link)
		sync->features_wanted = true;
}

/* IPv6 takes a larger MTU over only after the device's announcement, and does not announce it. */
static void note_mtu(struct sync *sync, const struct link *link)
{
	const struct device *device = links_find(&sync->links, link->ifindex);

	if (device && device->has_link && device->link.mtu != link->mtu)
		sync->next_poll_ns = 0;
}

static int apply_link(struct sync *sync, const struct nlmsghdr *nlh)
{
	struct link_ipv6 ipv6;
	struct link link;
	bool link_changed = false, ipv6_changed = false, was_ignored;
	int ret = parse_link(nlh, &link);
	int ipv6_ret = parse_link_ipv6(nlh, &ipv6);

	if (ret && ret != -ENOMSG)
		return ret;
	if (ipv6_ret && ipv6_ret != -ENOMSG)
		return ipv6_ret;
	if (ret && ipv6_ret)
		return -ENOMSG;
	was_ignored = links_ignored(&sync->links, ret ? ipv6.ifindex : link.ifindex);
	if (!ret) {
		note_new(sync, &link);
		note_up_down(sync, &link);
		note_mtu(sync, &link);
	}
	if (!ret && links_set(&sync->links, &link, &link_changed))
		return -ENOMEM;
	if (ipv6_ret)
		ipv6_changed = links_clear_ipv6(&sync->links, link.ifindex);
	else if (links_set_ipv6(&sync->links, &ipv6, &ipv6_changed))
		return -ENOMEM;
	if (link_changed || ipv6_changed)
		device_changed(sync, ret ? ipv6.ifindex : link.ifindex, was_ignored);
	return 0;
}

static int apply_link_gone(struct sync *sync, const struct nlmsghdr *nlh)
{
	struct link link;
	int ret = parse_link(nlh, &link);

	if (ret)
		return ret;
	links_delete(&sync->links, link.ifindex);
	rib_prune(sync->rib, uses_device, &link.ifindex);
	if (!sync->quiet)
		ports_update_all(sync);
	return 0;
}

static int apply_netconf(struct sync *sync, const struct nlmsghdr *nlh)
{
	struct netconf netconf;
	int ret = parse_netconf(nlh, &netconf);

	if (ret)
		return ret;
	if (nlh->nlmsg_type == RTM_DELNETCONF) {
		if (netconf.ifindex > 0 &&
		    links_clear_ipv6(&sync->links, (uint32_t)netconf.ifindex))
			device_changed(sync, (uint32_t)netconf.ifindex, false);
		return 0;
	}
	if (links_set_netconf(&sync->links, &netconf) && !sync->quiet)
		ports_update_all(sync);
	/* a device's own values are not all told here: force_forwarding is announced without its
	 * value */
	sync->next_poll_ns = 0;
	return 0;
}

void apply_genl_message(struct sync *sync, const struct nlmsghdr *nlh)
{
	uint32_t ifindex;
	uint64_t features;
	bool changed;
	int ret;

	if (nlh->nlmsg_type != sync->netdev_family)
		return;
	ret = parse_netdev(nlh, &ifindex, &features);
	/* may come before the link itself, by another socket: kept until then */
	if (!ret) {
		ret = links_set_features(&sync->links, ifindex, features, &changed);
		if (!ret && changed && !sync->quiet)
			ports_update(sync, ifindex);
	}
	note_result(sync, "device", ret);
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
	if (rule.l3mdev) /* speaks only of ports in a VRF, whose packets all pass */
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
		note_result(sync, "route", apply_route(sync, nlh));
		break;
	case RTM_NEWLINK:
		note_result(sync, "link", apply_link(sync, nlh));
		break;
	case RTM_DELLINK:
		note_result(sync, "link", apply_link_gone(sync, nlh));
		break;
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		note_result(sync, "neighbour", apply_neigh(sync, nlh));
		break;
	case RTM_NEWNETCONF:
	case RTM_DELNETCONF:
		note_result(sync, "netconf", apply_netconf(sync, nlh));
		break;
	case RTM_NEWRULE:
	case RTM_DELRULE:
		if (sync->dumping)
			note_result(sync, "rule", apply_rule(sync, nlh));
		else
			rules_changed(sync);
		break;
	case RTM_DELNEXTHOP:
		note_result(sync, "next-hop", apply_next_hop_gone(sync, nlh));
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
	set_routes_of_all(sync);
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
