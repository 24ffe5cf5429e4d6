// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state machine: subscribe, dump, replay what came meanwhile, then follow. Whatever may have
 * been missed (an overrun, a dump that the kernel calls inconsistent, a message that does not fit
 * what is known) leads to the one remedy: dump again at once, and sweep what was not seen, while
 * the datapath goes on forwarding by what it has.
 */
#include "sync.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "state.h"

#define NS_PER_MS 1000000u
#define NS_PER_S 1000000000ull
#define KEEP_INTERVAL_NS NS_PER_S
#define RETRY_INTERVAL_NS NS_PER_S

/*
 * Devices or neighbours may change under every dump of theirs, which the kernel then calls
 * inconsistent. After so many in a row they are taken as they are, but nothing is swept, and a
 * later dump is to settle it.
 */
#define MAX_INTERRUPTED 4

static int take_message(const struct nlmsghdr *nlh, void *ctx)
{
	apply_message(ctx, nlh);
	return 0;
}

static int take_genl_message(const struct nlmsghdr *nlh, void *ctx)
{
	apply_genl_message(ctx, nlh);
	return 0;
}

void sync_want(struct sync *sync, uint64_t delay_ns)
{
	uint64_t next_ns = util_now_ns() + delay_ns;

	if (!sync->wanted || next_ns < sync->next_sync_ns)
		sync->next_sync_ns = next_ns;
	sync->wanted = true;
}

/* --- one full synchronisation ----------------------------------------------------------- */

static int dump_rules(struct sync *sync)
{
	int ret;

	rules_clear(&sync->rules);
	ret = request_rules(sync, take_message);
	sync->rules_known = !ret && !sync->dump_damaged;
	return ret;
}

static int dump_next_hops(struct sync *sync)
{
	int ret = request_next_hops(sync, take_message);

	if (!ret && nexthops_any_resilient(sync->nexthops))
		ret = request_next_hop_buckets(sync, take_message);
	return ret;
}

/*
 * When routes change under a dump, fib6's walker starts over and skips as many entries as it had
 * told. After deletions these are not the same any more: it leaves some out and does not say so.
 * The kernel reader finds those. Without it, dump again on top, until a round had no deletion under
 * it, or brought nothing but what was announced as new since the round before.
 */
#define MAX_ROUNDS 4

static int dump_routes(struct sync *sync)
{
	size_t added_before = sync->queue.routes_added;

	for (unsigned int round = 0; round < MAX_ROUNDS; round++) {
		size_t routes = rib_routes(sync->rib), added = sync->queue.routes_added;
		size_t deleted = sync->queue.routes_deleted;
		int ret;

		rib_dump_again(sync->rib);
		ret = request_routes(sync, take_message);
		if (ret || sync->queue.routes_deleted == deleted || audit_reader(sync->audit))
			return ret;
		if (round &&
		    rib_routes(sync->rib) <= routes + sync->queue.routes_added - added_before)
			return 0;
		added_before = added;
	}
	log_debug("the routes changed during each of the last %u dumps", MAX_ROUNDS);
	return 0;
}

static int dump_all(struct sync *sync)
{
	int ret = request_links(sync, take_message);

	if (!ret)
		guarding_start(sync);
	if (!ret)
		ret = request_features(sync, take_genl_message);
	sync->features_wanted = false;
	if (!ret)
		ret = request_netconf(sync, take_message);
	if (!ret)
		ret = dump_rules(sync);
	if (!ret)
		ret = request_addrs(sync, take_message);
	if (!ret)
		ret = request_neighs(sync, take_message);
	sync->next_hops_wanted = false;
	if (!ret)
		ret = dump_next_hops(sync);
	return ret ? ret : dump_routes(sync);
}

static void sweep(struct sync *sync)
{
	for (size_t i = 0; i < sync->links.n; i++)
		if (sync->links.devices[i].generation != sync->links.generation)
			ports_gone(sync, &sync->links.devices[i], false);
	links_sweep(&sync->links);
	addrs_sweep(&sync->addrs);
	neighs_sweep(sync->neighs, NULL, NULL);
	nexthops_sweep(sync->nexthops);
	rib_sweep(sync->rib);
}

/*
 * Notifications that came during the dump. Some speak of what the dump has already told: applying
 * them again in their order ends in the same state, so that one that does not fit is no reason for
 * yet another dump.
 */
static void replay_queue(struct sync *sync)
{
	sync->dumping = false;
	sync->replaying = true;
	for (size_t at = 0; at < sync->queue.used;) {
		const struct nlmsghdr *nlh = (const void *)(sync->queue.bytes + at);

		apply_message(sync, nlh);
		at += NLMSG_ALIGN(nlh->nlmsg_len);
	}
	sync->replaying = false;
	if (sync->queue.overflow) {
		sync->overruns++;
		sync_want(sync, 0);
	}
	queue_clear(&sync->queue);
}

static void count_interrupted(struct sync *sync, int ret)
{
	if (ret != -EINTR) {
		sync->interrupted = 0;
		return;
	}
	sync->interrupted++;
}

/* As fib6_ifup() needs it: lo is up, has IPv6, and a route by it. */
static bool has_loopback(const struct sync *sync)
{
	static const struct prefix loopback = { .addr.bytes = { [15] = 1 }, .len = 128 };
	const struct rib_dest *dest = rib_find(sync->rib, RT_TABLE_LOCAL, &loopback);
	const struct rib_route *route = dest ? dest->routes : NULL;

	return route && !route->next_hop_id && route->n_hops == 1 &&
	       route->hops[0].ifindex == LOOPBACK_IFINDEX;
}

void sync_renew_cached(struct sync *sync)
{
	int ret;

	if (!nexthops_count(sync->nexthops))
		return;
	ret = has_loopback(sync) ? loader_touch(LOOPBACK_IFINDEX) : -ENETDOWN;
	if (!ret) {
		nexthops_cache_flushed(sync->nexthops);
		return;
	}
	nexthops_cache_set_stale(sync->nexthops);
	log_warning_limited(
		"routes with next-hop objects pass to the kernel until a route is added: cannot flush the routes that the kernel cached: %s%s",
		strerror(-ret), ret == -ENETDOWN ? " (lo has no ::1)" : "");
}

/* Only a dump that is whole, understood and consistent says that what it lacks is gone. */
static bool finish_dump(struct sync *sync, int ret)
{
	count_interrupted(sync, ret);
	if (!ret && !sync->dump_damaged) {
		sweep(sync);
		return true;
	}
	if (ret == -EINTR && sync->interrupted < MAX_INTERRUPTED) {
		sync_want(sync, 0);
		return false;
	}
	sync_want(sync, SYNC_LATER_NS);
	if (ret == -EINTR)
		return true;
	log_warning_limited("cannot read the kernel's tables: %s; sixlaned tries again in a second",
			    sync->dump_damaged ? "a message was malformed, or memory ran out"
					       : strerror(-ret));
	return false;
}

static void report_sync(struct sync *sync, uint64_t start_ns)
{
	struct fib_stats stats;

	sync->sync_ns = util_now_ns() - start_ns;
	sync->synced_at = (uint64_t)time(NULL);
	sync->generation++;
	fib_get_stats(sync->fib, &stats);
	log_info("%s: %llu routes, %llu next hops, %llu neighbours in %llu ms (generation %llu)",
		 sync->in_sync ? "in sync" : "tables read, but they changed meanwhile",
		 (unsigned long long)stats.routes, (unsigned long long)stats.next_hops,
		 (unsigned long long)stats.neighbours,
		 (unsigned long long)(sync->sync_ns / NS_PER_MS),
		 (unsigned long long)sync->generation);
}

static void synchronise(struct sync *sync)
{
	uint64_t start_ns = util_now_ns(), cpu_ns = util_cpu_ns();
	bool usable;
	int ret;

	if (sync->wanted)
		sync->in_sync = false;
	sync->wanted = false;
	sync->rules_wanted = false;
	sync->dump_damaged = false;
	sync->dumping = sync->quiet = true;
	operator_want(sync);
	apply_meta(sync);
	links_mark(&sync->links);
	addrs_mark(&sync->addrs);
	neighs_mark(sync->neighs);
	nexthops_mark(sync->nexthops);
	rib_mark(sync->rib);
	settings_read(sync);
	/* sooner, if a message from now on wants it */
	sync->next_poll_ns = start_ns + (uint64_t)sync->config->poll_ms * NS_PER_MS;
	sync->told_after_ns = start_ns;
	ret = dump_all(sync);
	usable = finish_dump(sync, ret);
	if (usable) {
		links_clear_stale(&sync->links);
		sync_renew_cached(sync);
	}
	replay_queue(sync);
	if (usable || sync->complete) {
		audit_read_all(sync);
		apply_all(sync);
		tags_check(sync);
		owners_check(sync, true);
	}
	/* first: exceptions_start() reads notifications, too, and apply_all() was before it */
	sync->quiet = !usable && !sync->complete;
	if (usable && !sync->complete)
		exceptions_start(sync);
	sync->in_sync = usable && !sync->wanted;
	if (usable) {
		sync->complete = true;
		report_sync(sync, start_ns);
		names_report(sync->names, &sync->links);
	}
	if (!sync->wanted)
		sync->next_sync_ns = audit_dump_due_ns(sync, util_cpu_ns() - cpu_ns);
	/* Before anybody hears of it, and before exceptions are asked for: it takes its time. */
	compile_run(sync);
	apply_meta(sync);
}

/* --- following --------------------------------------------------------------------------- */

bool sync_follow(struct sync *sync)
{
	uint64_t start_ns = util_now_ns();
	int ret = nl_socket_read(sync->notify, take_message, sync);
	const bool all = ret >= 0 && ret < NL_SOCKET_READ_MAX;

	sync->told_after_ns = start_ns;
	if (ret < 0) {
		sync->overruns++;
		sync_want(sync, 0);
		log_warning_limited(
			"the kernel dropped notifications (%s): reading all tables again; raise rcvbuf if this repeats",
			strerror(-ret));
	}
	if (!sync->genl_notify)
		return all;
	ret = nl_socket_read(sync->genl_notify, take_genl_message, sync);
	if (ret < 0)
		sync_want(sync, 0);
	return all;
}

/* Settings that the kernel does not announce: net.ipv6.conf.DEV.{mtu,disable_ipv6,…}. */
static void poll_settings(struct sync *sync)
{
	int ret = request_links(sync, take_message);

	if (ret && ret != -EINTR)
		log_warning_limited("cannot read the settings of devices: %s", strerror(-ret));
	tags_check(sync);
	owners_check(sync, true);
	settings_read(sync);
	guard_poll(sync->guard);
	guarding_run(sync);
	if (sync->policies_failed)
		guarding_apply(sync);
}

static void read_features(struct sync *sync)
{
	int ret = request_features(sync, take_genl_message);

	sync->features_wanted = false;
	if (ret)
		log_warning_limited("cannot query which devices accept redirected frames: %s",
				    strerror(-ret));
}

static void read_rules(struct sync *sync)
{
	sync->rules_wanted = false;
	sync->dump_damaged = false;
	sync->dumping = true;
	if (dump_rules(sync))
		sync_want(sync, SYNC_LATER_NS);
	sync->dumping = false;
	if (!sync->quiet)
		apply_rules(sync);
	replay_queue(sync);
}

/* What the kernel does to next-hop objects of a device that goes down it does without a word. */
static void read_next_hops(struct sync *sync)
{
	sync->next_hops_wanted = false;
	sync->dump_damaged = false;
	sync->dumping = true;
	nexthops_mark(sync->nexthops);
	if (dump_next_hops(sync) || sync->dump_damaged)
		sync_want(sync, SYNC_LATER_NS);
	else
		nexthops_sweep(sync->nexthops);
	replay_queue(sync);
}

/* Say it when routes begin to find no room, and when all have found some again. */
static void report_missing(struct sync *sync)
{
	struct fib_stats stats;

	fib_get_stats(sync->fib, &stats);
	if (!stats.missing == !sync->reported_missing)
		return;
	sync->reported_missing = stats.missing;
	if (stats.missing)
		log_warning_limited(
			"%llu routes do not fit (max_routes %u, %llu in use): they and their covering routes pass to the kernel; raise max_routes or filter routes",
			(unsigned long long)stats.missing, sync->config->max_routes,
			(unsigned long long)stats.routes);
	else
		log_info("all routes fit again");
}

static bool due(uint64_t now_ns, uint64_t *next_ns, uint64_t interval_ns)
{
	if (now_ns < *next_ns)
		return false;
	*next_ns = now_ns + interval_ns;
	return true;
}

static bool may_learn(const struct sync *sync)
{
	return sync->complete && !sync->quiet;
}

static uint64_t earliest(const struct sync *sync)
{
	uint64_t next_ns = sync->complete ? sync->next_poll_ns : UINT64_MAX;

	/* wanted by a message that was read in the midst of something else */
	if (sync->rules_wanted ||
	    (sync->complete && (sync->next_hops_wanted || sync->features_wanted ||
				sync->addrs_wanted || sync->owners_wanted)))
		return 0;
	next_ns = util_earlier(util_earlier(next_ns, sync->next_retry_ns), sync->guard_due_ns);
	next_ns = util_earlier(next_ns, sync->next_sync_ns);
	if (sync->complete)
		next_ns =
			util_earlier(next_ns, util_earlier(audit_due_ns(sync), sync->next_keep_ns));
	if (may_learn(sync)) {
		next_ns = util_earlier(next_ns, exceptions_due_ns(sync));
		next_ns = util_earlier(
			next_ns, util_earlier(icmp_events_due_ns(sync), operator_due_ns(sync)));
		next_ns = util_earlier(next_ns, parity_due_ns(sync));
	}
	return next_ns;
}

int sync_run(struct sync *sync)
{
	uint64_t now_ns, next_ns, verify_ns, compile_ns;

	sync->behind = !sync_follow(sync);
	/* first, since the guard may take tens of milliseconds */
	if (sync->complete)
		audit_run(sync);
	guarding_run(sync);
	now_ns = util_now_ns();
	if (sync->rules_wanted)
		read_rules(sync);
	if (sync->complete && sync->next_hops_wanted)
		read_next_hops(sync);
	if (sync->complete && sync->features_wanted)
		read_features(sync);
	if (sync->complete && sync->addrs_wanted)
		ports_update_sources(sync);
	if (sync->complete && sync->owners_wanted)
		owners_check(sync, false);
	if (sync->complete &&
	    due(now_ns, &sync->next_poll_ns, (uint64_t)sync->config->poll_ms * NS_PER_MS))
		poll_settings(sync);
	/* before that every neighbour is unknown, and would be asked for though it is permanent */
	if (sync->complete && due(now_ns, &sync->next_keep_ns, KEEP_INTERVAL_NS))
		keeper_run(sync);
	if (due(now_ns, &sync->next_retry_ns, RETRY_INTERVAL_NS))
		fib_retry(sync->fib);
	if (now_ns >= sync->next_sync_ns)
		synchronise(sync);
	if (may_learn(sync)) {
		icmp_events_run(sync);
		operator_run(sync);
		exceptions_run(sync);
		parity_run(sync);
	}
	if (sync->wanted)
		sync->in_sync = false;
	verify_ns = verify_run(sync); /* may drop it */
	compile_ns = compile_run(sync);
	apply_meta(sync);
	report_missing(sync);
	now_ns = util_now_ns();
	next_ns = util_earlier(earliest(sync), util_earlier(verify_ns, compile_ns));
	return next_ns <= now_ns ? 0 : (int)((next_ns - now_ns) / NS_PER_MS) + 1;
}

void sync_fds(const struct sync *sync, int fds[SYNC_FDS])
{
	fds[0] = nl_socket_fd(sync->notify);
	fds[1] = sync->genl_notify ? nl_socket_fd(sync->genl_notify) : -1;
	fds[2] = may_learn(sync) ? icmp_events_fd(sync) : -1;
	fds[3] = may_learn(sync) ? operator_fd(sync) : -1;
	fds[4] = may_learn(sync) ? parity_fd(sync) : -1;
	guard_fds(sync->guard, fds + 5);
}
