// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the daemon is made of, put together and taken apart: sockets and their subscriptions, the
 * stores, and what the maps hold from before.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../guard/uppers.h"
#include "../lib/kernel.h"
#include "../loader/flows.h"
#include "state.h"

#define NS_PER_S 1000000000ull

static const unsigned int groups[] = {
	RTNLGRP_LINK,	      RTNLGRP_NEIGH,	   RTNLGRP_IPV6_IFADDR,
	RTNLGRP_IPV6_ROUTE,   RTNLGRP_IPV6_IFINFO, RTNLGRP_IPV6_RULE,
	RTNLGRP_IPV6_NETCONF, RTNLGRP_NEXTHOP,	   RTNLGRP_IPV6_PREFIX,
};

static int subscribe(struct sync *sync)
{
	int ret = nl_socket_new(NETLINK_ROUTE, sync->config->rcvbuf_bytes, &sync->notify);

	if (!ret)
		ret = nl_socket_new(NETLINK_ROUTE, 0, &sync->dump);
	for (size_t i = 0; !ret && i < ARRAY_SIZE(groups); i++)
		ret = nl_socket_join(sync->notify, groups[i]);
	sync->old_bonds = kernel_before(5, 18);
	return ret ? ret : request_netdev_family(sync);
}

static int allocate(struct sync *sync)
{
	struct fib_writer writer = maps_writer(sync->maps);
	int ret;

	sync->rib = rib_new(apply_route_changed, sync);
	sync->neighs = neighs_new();
	sync->nexthops = nexthops_new(apply_next_hop_changed, sync);
	sync->view = (struct resolve_view){ .rib = sync->rib, .links = &sync->links };
	sync->resolve = resolve_new(&sync->view);
	sync->fib = fib_new(&writer, sync->config->max_routes);
	sync->used = calloc(SIXLANE_MAX_NEIGHBOURS / 64, sizeof(*sync->used));
	sync->exceptions = exceptions_new();
	sync->names = names_new(sync->config);
	sync->flows = loader_flows_new();
	if (!sync->rib || !sync->neighs || !sync->nexthops || !sync->resolve || !sync->fib ||
	    !sync->used || !sync->exceptions || !sync->audit || !sync->names || !sync->flows)
		return -ENOMEM;
	sync->view.kernel_read = audit_reader(sync->audit) != NULL;
	names_publish(sync->names);
	nexthops_set_rib(sync->nexthops, sync->rib);
	ret = guard_new(sync->config->bypass, sync->config->rcvbuf_bytes, &sync->guard);
	return ret ? ret : operator_new(sync);
}

static void say_bypassed(uint32_t bypass)
{
	for (int cause = 0; cause < GUARD_N_CAUSES; cause++)
		if (bypass >> cause & 1)
			log_warning("%s is bypassed: it does not see forwarded packets",
				    guard_cause_names[cause]);
}

/* A CPU may answer so many packets a second, a tenth of that at once. */
static void set_answers(struct sync *sync)
{
	struct sixlane_meta *meta = sync->maps->meta;
	const uint32_t rate = sync->config->answer_rate;

	__atomic_store_n(&meta->answer_burst, rate < 10 ? 1 : rate / 10, __ATOMIC_RELAXED);
	__atomic_store_n(&meta->answer_ns, rate ? NS_PER_S / rate : 0, __ATOMIC_RELAXED);
}

static int start(struct sync *sync, char *err)
{
	int ret = allocate(sync);

	if (ret) {
		snprintf(err, LOADER_ERR, "out of memory");
		return ret;
	}
	ret = subscribe(sync);
	if (ret) {
		snprintf(err, LOADER_ERR, "cannot open netlink sockets: %s", strerror(-ret));
		return ret;
	}
	say_bypassed(sync->config->bypass);
	ret = maps_adopt(sync->maps, sync->fib);
	if (ret == -EINVAL) {
		log_warning(
			"the pinned maps are inconsistent; sixlaned rewrites the wrong entries");
	} else if (ret) {
		snprintf(err, LOADER_ERR, "cannot read the pinned maps: %s", strerror(-ret));
		return ret;
	}
	if (sync->maps->no_fib)
		log_warning(
			"no compiled FIB: the kernel refuses membarrier(), as with nohz_full=; lookups use the slower LPM trie");
	ret = maps_ring_open(sync->maps, LOADER_ICMP_EVENTS, sizeof(struct sixlane_icmp_event),
			     &sync->icmp_events.ring);
	if (ret) {
		snprintf(err, LOADER_ERR, "cannot read the ICMP events of the datapath: %s",
			 strerror(-ret));
		return ret;
	}
	ret = parity_new(sync);
	if (ret) {
		snprintf(err, LOADER_ERR, "cannot read the samples of the datapath: %s",
			 strerror(-ret));
		return ret;
	}
	set_answers(sync);
	sync->quiet = true;
	return ports_attach(sync, err);
}

int sync_new(const struct config *config, struct maps *maps, const struct loader_maps *fds,
	     struct sync **out, char *err)
{
	struct sync *sync = calloc(1, sizeof(*sync));
	int ret;

	if (!sync) {
		snprintf(err, LOADER_ERR, "out of memory");
		return -ENOMEM;
	}
	sync->config = config;
	sync->maps = maps;
	sync->fds = fds;
	/* first: it takes a tenth of a second, in which packets go on by the maps as they are */
	sync->audit = audit_new();
	sync->guard_due_ns = UINT64_MAX;
	/* what an earlier daemon said of itself holds no more; its count goes on */
	__atomic_fetch_and(&maps->meta->flags, ~(SIXLANE_META_IN_SYNC | SIXLANE_META_GUARDED),
			   __ATOMIC_RELEASE);
	sync->generation = maps->meta->generation;
	ret = start(sync, err);
	if (ret) {
		sync_free(sync);
		return ret;
	}
	*out = sync;
	return 0;
}

void sync_free(struct sync *sync)
{
	if (!sync)
		return;
	nl_socket_free(sync->notify);
	nl_socket_free(sync->dump);
	nl_socket_free(sync->genl_notify);
	nl_socket_free(sync->genl);
	alarm_free(sync->alarm);
	guard_free(sync->guard);
	loader_flows_free(sync->flows);
	maps_ring_close(sync->icmp_events.ring);
	parity_free(sync->parity);
	operator_free(sync->operator);
	exceptions_free(sync->exceptions);
	audit_free(sync->audit);
	uppers_free(sync->uppers);
	names_free(sync->names);
	queue_clear(&sync->queue);
	links_clear(&sync->links);
	addrs_clear(&sync->addrs);
	neighs_free(sync->neighs);
	nexthops_free(sync->nexthops);
	rules_clear(&sync->rules);
	resolve_free(sync->resolve);
	rib_free(sync->rib);
	fib_verify_end(&sync->verify.run);
	fib_free(sync->fib);
	free(sync->used);
	free(sync);
}

int sync_teardown(struct sync *sync)
{
	char err[LOADER_ERR];
	int ret;

	__atomic_store_n(&sync->maps->meta->flags, 0, __ATOMIC_RELEASE);
	ret = ports_detach_all(sync);
	if (ret)
		return ret;
	ret = loader_unpin(err);
	if (ret)
		log_error("%s", err);
	return ret;
}
