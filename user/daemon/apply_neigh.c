// SPDX-License-Identifier: GPL-2.0-only
#include "apply_neigh.h"

#include <errno.h>
#include <linux/rtnetlink.h>

#include "../netlink/parse.h"
#include "daemon.h"
#include "exceptions.h"
#include "report.h"
#include "schedule.h"

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
		schedule_tables(&sync->schedule, SCHEDULE_LATER_NS);
}

int apply_neigh(struct sync *sync, const struct nlmsghdr *nlh)
{
	const struct neigh *known;
	struct neigh neigh;
	int ret = parse_neigh(nlh, &neigh);

	if (ret || neigh.addr.bytes[0] == 0xff)
		return ret;
	report_unknown_attr(&sync->statistics, REPORT_NEIGHBOUR, neigh.unknown_attr);
	if (nlh->nlmsg_type == RTM_DELNEIGH)
		neigh.state = NUD_NONE;
	known = neighs_find(sync->stores.neighs, neigh.ifindex, &neigh.addr);
	if (known && ((neigh_usable(known) && !neigh_usable(&neigh)) ||
		      known->flags & ~neigh.flags & NTF_ROUTER))
		exceptions_neigh_changed(sync, neigh.ifindex, &neigh.addr);
	if (nlh->nlmsg_type == RTM_DELNEIGH)
		neighs_delete(sync->stores.neighs, neigh.ifindex, &neigh.addr);
	else
		ret = neighs_set(sync->stores.neighs, &neigh);
	if (!ret && !sync->schedule.quiet)
		set_neigh(sync, &neigh);
	return ret;
}

void apply_all_neighs(struct sync *sync)
{
	neighs_each(sync->stores.neighs, set_neigh, sync);
}
