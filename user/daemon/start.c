// SPDX-License-Identifier: GPL-2.0-only
/* Puts the daemon together and takes it apart: see daemon.h. Knows which message goes where. */
#include "daemon.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../guard/uppers.h"
#include "../loader/flows.h"
#include "apply.h"
#include "audit.h"
#include "operator.h"
#include "parity.h"
#include "ports.h"
#include "watchdog.h"

static const struct sockets_handler handlers[SOCKETS_N_TYPES] = {
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

static int new_stores(struct sync *sync)
{
	struct stores *stores = &sync->stores;

	stores->rib = rib_new(apply_route_changed, sync);
	stores->neighs = neighs_new();
	stores->nexthops = nexthops_new(apply_next_hop_changed, sync);
	stores->view = (struct resolve_view){ .rib = stores->rib, .links = &stores->links };
	stores->resolve = resolve_new(&stores->view);
	stores->port_names = port_names_new(sync->config);
	if (!stores->rib || !stores->neighs || !stores->nexthops || !stores->resolve ||
	    !stores->port_names)
		return -ENOMEM;
	stores->view.kernel_read = sync->audit->reader != NULL;
	port_names_publish(stores->port_names);
	nexthops_set_rib(stores->nexthops, stores->rib);
	return 0;
}

static void free_stores(struct stores *stores)
{
	port_names_free(stores->port_names);
	links_clear(&stores->links);
	addrs_clear(&stores->addrs);
	neighs_free(stores->neighs);
	nexthops_free(stores->nexthops);
	rules_clear(&stores->rules);
	resolve_free(stores->resolve);
	rib_free(stores->rib);
}

static int allocate(struct sync *sync)
{
	struct fib_writer writer = maps_writer(sync->maps);
	int ret;

	sync->fib = fib_new(&writer, sync->config->max_routes);
	sync->refresh.used = calloc(SIXLANE_MAX_NEIGHBOURS / 64, sizeof(*sync->refresh.used));
	sync->exceptions = exceptions_new();
	sync->guard.flows = loader_flows_new();
	if (!sync->fib || !sync->refresh.used || !sync->exceptions || !sync->audit ||
	    !sync->guard.flows)
		return -ENOMEM;
	ret = new_stores(sync);
	if (!ret)
		ret = guard_new(sync->config->bypass, sync->config->rcvbuf_bytes,
				&sync->guard.guard);
	return ret ? ret : operator_new(sync);
}

static void report_bypass(uint32_t bypass)
{
	for (int cause = 0; cause < GUARD_N_CAUSES; cause++)
		if (bypass >> cause & 1)
			log_warning("%s is bypassed: it does not see forwarded packets",
				    guard_cause_names[cause]);
}

/* Rate per CPU of Packet Too Big from XDP; the burst is a tenth of it. */
static void set_answers(struct sync *sync)
{
	struct sixlane_meta *meta = sync->maps->meta;
	const uint32_t rate = sync->config->answer_rate;

	__atomic_store_n(&meta->answer_burst, rate < 10 ? 1 : rate / 10, __ATOMIC_RELAXED);
	__atomic_store_n(&meta->answer_ns, rate ? NS_PER_S / rate : 0, __ATOMIC_RELAXED);
}

/* Returns ret, a -errno, and says in err what cannot be done. */
static int fail(char *err, int ret, const char *what)
{
	snprintf(err, LOADER_ERR, "cannot %s: %s", what, strerror(-ret));
	return ret;
}

static int start(struct sync *sync, char *err)
{
	int ret = allocate(sync);

	if (ret) {
		snprintf(err, LOADER_ERR, "out of memory");
		return ret;
	}
	ret = sockets_open(&sync->sockets, sync->config->rcvbuf_bytes);
	if (ret)
		return fail(err, ret, "open netlink sockets");
	report_bypass(sync->config->bypass);
	ret = maps_adopt(sync->maps, sync->fib);
	if (ret == -EINVAL)
		log_warning(
			"the pinned maps are inconsistent; sixlaned rewrites the wrong entries");
	else if (ret)
		return fail(err, ret, "read the pinned maps");
	if (sync->maps->no_fib)
		log_warning(
			"no compiled FIB: the kernel refuses membarrier(), as with nohz_full=; lookups use the slower LPM trie");
	ret = maps_ring_open(sync->maps, LOADER_ICMP_EVENTS, sizeof(struct sixlane_icmp_event),
			     &sync->icmp_events.ring);
	if (ret)
		return fail(err, ret, "read the ICMP events of the datapath");
	ret = parity_new(sync);
	if (ret)
		return fail(err, ret, "read the samples of the datapath");
	set_answers(sync);
	sync->schedule.quiet = true;
	return ports_attach(sync, err);
}

int daemon_new(const struct config *config, struct maps *maps, const struct loader_maps *fds,
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
	sync->sockets.handlers = handlers;
	sync->sockets.apply_features = apply_features;
	/* before anything changes: it takes 100 ms, during which the old maps still apply */
	sync->audit = audit_new();
	sync->guard.due_ns = UINT64_MAX;
	/* flags of an earlier daemon do not hold any more; its count continues */
	__atomic_fetch_and(&maps->meta->flags, ~(SIXLANE_META_IN_SYNC | SIXLANE_META_GUARDED),
			   __ATOMIC_RELEASE);
	sync->statistics.generation = maps->meta->generation;
	ret = start(sync, err);
	if (ret) {
		daemon_free(sync);
		return ret;
	}
	*out = sync;
	return 0;
}

void daemon_free(struct sync *sync)
{
	if (!sync)
		return;
	sockets_close(&sync->sockets);
	watchdog_free(sync->guard.watchdog);
	guard_free(sync->guard.guard);
	loader_flows_free(sync->guard.flows);
	maps_ring_close(sync->icmp_events.ring);
	parity_free(sync->parity);
	operator_free(sync->operator);
	exceptions_free(sync->exceptions);
	audit_free(sync->audit);
	uppers_free(sync->uppers);
	free_stores(&sync->stores);
	fib_verify_end(&sync->verify.run);
	fib_free(sync->fib);
	free(sync->refresh.used);
	free(sync);
}

int daemon_teardown(struct sync *sync)
{
	char err[LOADER_ERR];
	int ret;

	__atomic_store_n(&sync->maps->meta->flags, 0, __ATOMIC_RELEASE);
	ret = ports_detach_all(sync->fds);
	if (ret)
		return ret;
	ret = loader_unpin(err);
	if (ret)
		log_error("%s", err);
	return ret;
}
