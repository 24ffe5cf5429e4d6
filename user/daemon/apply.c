// SPDX-License-Identifier: GPL-2.0-only
/* See apply.h. A file for each kind of object does the work; this one only dispatches. */
#include "apply.h"

#include <linux/rtnetlink.h>

#include "apply_address.h"
#include "apply_link.h"
#include "apply_neigh.h"
#include "apply_nexthop.h"
#include "apply_prefix.h"
#include "apply_route.h"
#include "apply_rule.h"
#include "daemon.h"
#include "ports.h"
#include "report.h"

static const struct {
	int (*apply)(struct sync *sync, const struct nlmsghdr *nlh); /* 0 or -errno */
	const char *object;
} handlers[] = {
	[RTM_NEWROUTE] = { apply_route, "route" },
	[RTM_DELROUTE] = { apply_route, "route" },
	[RTM_NEWLINK] = { apply_link, "link" },
	[RTM_DELLINK] = { apply_link_gone, "link" },
	[RTM_NEWNEIGH] = { apply_neigh, "neighbour" },
	[RTM_DELNEIGH] = { apply_neigh, "neighbour" },
	[RTM_NEWNETCONF] = { apply_netconf, "netconf" },
	[RTM_DELNETCONF] = { apply_netconf, "netconf" },
	[RTM_NEWRULE] = { apply_rule, "rule" },
	[RTM_DELRULE] = { apply_rule, "rule" },
	[RTM_NEWPREFIX] = { apply_advertised, "prefix" },
	[RTM_NEWADDR] = { apply_address, "address" },
	[RTM_DELADDR] = { apply_address, "address" },
	[RTM_NEWNEXTHOP] = { apply_next_hop, "next-hop" },
	[RTM_DELNEXTHOP] = { apply_next_hop, "next-hop" },
	[RTM_NEWNEXTHOPBUCKET] = { apply_next_hop_bucket, "next-hop bucket" },
};

int apply_message(const struct nlmsghdr *nlh, void *ctx)
{
	const unsigned int type = nlh->nlmsg_type;
	int ret;

	/* other types come from groups that we joined, and are of no consequence here */
	if (type >= ARRAY_SIZE(handlers) || !handlers[type].apply)
		return 0;
	ret = handlers[type].apply(ctx, nlh);
	if (ret)
		report_message(ctx, handlers[type].object, ret);
	return 0;
}

int apply_genl_message(const struct nlmsghdr *nlh, void *ctx)
{
	struct sync *sync = ctx;

	if (nlh->nlmsg_type == sync->sockets.netdev_family)
		report_message(sync, "device", apply_features(sync, nlh));
	return 0;
}

void apply_all(struct sync *sync)
{
	apply_rules(sync);
	fib_sync_begin(sync->fib);
	ports_update_all(sync);
	apply_all_neighs(sync);
	apply_all_next_hops(sync);
	apply_all_prefixes(sync);
	fib_sync_end(sync->fib);
	sync->schedule.held = false;
}
