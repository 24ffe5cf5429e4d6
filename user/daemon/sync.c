// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dump all tables, replay the notifications that came meanwhile, then follow. When something may
 * have been missed (an overrun, an inconsistent dump, a message that does not fit the stores) all
 * tables are dumped again and what the dump lacks is removed. The datapath forwards by the old
 * entries meanwhile.
 */
#include "daemon.h"

#include <errno.h>
#include <string.h>

#include "apply.h"
#include "audit.h"
#include "operator.h"
#include "parity.h"
#include "ports.h"
#include "requests.h"

#define REFRESH_INTERVAL_NS NS_PER_S
#define RETRY_INTERVAL_NS NS_PER_S

/*
 * Links or neighbours may change during every dump, which the kernel then calls inconsistent. After
 * so many in a row a dump is used, but nothing is swept, and another one follows.
 */
#define MAX_INTERRUPTED 4

/* Everything in sl_meta that only the CLI reads. */
static void write_statistics(struct sync *sync)
{
	const struct statistics *statistics = &sync->statistics;
	struct sixlane_meta *meta = sync->maps->meta;
	struct fib_stats stats;

	fib_get_stats(sync->fib, &stats);
	meta->generation = statistics->generation;
	meta->routes = stats.routes;
	meta->next_hops = stats.next_hops;
	meta->neighbours = stats.neighbours;
	meta->sources = stats.sources;
	meta->buckets = stats.buckets;
	meta->routes_missing = stats.missing;
	meta->overruns = statistics->overruns;
	meta->sync_ns = statistics->sync_ns;
	meta->synced_at = statistics->synced_at;
	meta->malformed = statistics->malformed;
	meta->bypassed = sync->config->bypass;
	meta->max_routes = sync->config->max_routes;
	meta->exceptions = stats.exceptions;
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
	audit_write_meta(sync->audit, meta);
	parity_write_meta(sync, meta);
	exceptions_write_meta(sync, meta);
}

/* --- one full synchronisation ----------------------------------------------------------- */

static int dump_all(struct sync *sync)
{
	static int (*const dumps[])(struct sync * sync) = {
		dump_features, dump_netconf,   dump_rules,  dump_addrs,
		dump_neighs,   dump_next_hops, dump_routes,
	};
	int ret = dump_links(sync);

	if (!ret)
		guard_apply_start(sync);
	sync->schedule.wanted &= ~(SCHEDULE_FEATURES | SCHEDULE_NEXT_HOPS);
	for (size_t i = 0; !ret && i < ARRAY_SIZE(dumps); i++)
		ret = dumps[i](sync);
	return ret;
}

static void mark(struct stores *stores)
{
	links_mark(&stores->links);
	addrs_mark(&stores->addrs);
	neighs_mark(stores->neighs);
	nexthops_mark(stores->nexthops);
	rib_mark(stores->rib);
}

/* Remove what the dump did not contain. */
static void sweep(struct sync *sync)
{
	struct stores *stores = &sync->stores;

	for (size_t i = 0; i < stores->links.n; i++)
		if (stores->links.devices[i].generation != stores->links.generation)
			ports_removed(&sync->stores, &stores->links.devices[i], false);
	links_sweep(&stores->links);
	addrs_sweep(&stores->addrs);
	neighs_sweep(stores->neighs);
	nexthops_sweep(stores->nexthops);
	rib_sweep(stores->rib);
}

/*
 * Apply the notifications that came during the dump. Some report what the dump already contained.
 * Applied in their order they end in the same state, so one that does not fit is no reason for
 * another dump at once.
 */
static void replay_queue(struct sync *sync)
{
	bool all;

	sync->schedule.dumping = false;
	sync->schedule.replaying = true;
	all = sockets_replay(sync);
	sync->schedule.replaying = false;
	if (all)
		return;
	sync->statistics.overruns++;
	schedule_tables(&sync->schedule, 0);
}

/*
 * ret: of the dump. Only a complete and consistent dump proves that what it lacks is gone. False:
 * it is not to be used.
 */
static bool finish_dump(struct sync *sync, int ret)
{
	sync->schedule.interrupted = ret == -EINTR ? sync->schedule.interrupted + 1 : 0;
	if (!ret && !sync->schedule.dump_damaged) {
		sweep(sync);
		return true;
	}
	if (ret == -EINTR && sync->schedule.interrupted < MAX_INTERRUPTED) {
		schedule_tables(&sync->schedule, 0);
		return false;
	}
	schedule_tables(&sync->schedule, SCHEDULE_LATER_NS);
	if (ret == -EINTR)
		return true;
	log_warning_limited("cannot read the kernel's tables: %s; sixlaned tries again in a second",
			    sync->schedule.dump_damaged
				    ? "a message was malformed, or memory ran out"
				    : strerror(-ret));
	return false;
}

static void report_sync(struct sync *sync, uint64_t start_ns)
{
	struct fib_stats stats;

	sync->statistics.sync_ns = util_now_ns() - start_ns;
	sync->statistics.synced_at = (uint64_t)time(NULL);
	sync->statistics.generation++;
	fib_get_stats(sync->fib, &stats);
	log_info("%s: %llu routes, %llu next hops, %llu neighbours in %llu ms (generation %llu)",
		 sync->schedule.in_sync ? "in sync" : "tables read, but they changed meanwhile",
		 (unsigned long long)stats.routes, (unsigned long long)stats.next_hops,
		 (unsigned long long)stats.neighbours,
		 (unsigned long long)(sync->statistics.sync_ns / NS_PER_MS),
		 (unsigned long long)sync->statistics.generation);
}

static void begin_dump(struct schedule *schedule)
{
	schedule->dump_damaged = false;
	schedule->dumping = true;
}

/* All stores into the FIB; what the stores lack is deleted there. */
static void apply_all(struct sync *sync)
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

static void apply_tables(struct sync *sync)
{
	audit_read_all(sync);
	apply_all(sync);
	ports_check_strips(sync);
	ports_check_uppers(sync, true);
}

/* The first synchronisation is complete: read the kernel's exceptions. */
static void start_exceptions(struct sync *sync)
{
	exceptions_start(sync);
	audit_read_all(sync);
	exceptions_check(sync);
}

static uint64_t poll_interval_ns(const struct config *config)
{
	return (uint64_t)config->poll_ms * NS_PER_MS;
}

static void synchronise(struct sync *sync)
{
	struct schedule *schedule = &sync->schedule;
	uint64_t start_ns = util_now_ns(), cpu_ns = util_cpu_ns();
	const bool again = schedule->complete;
	bool usable;

	if (schedule->wanted & SCHEDULE_TABLES)
		schedule->in_sync = false;
	schedule->wanted &= ~(SCHEDULE_TABLES | SCHEDULE_RULES);
	begin_dump(schedule);
	schedule->quiet = true;
	operator_reread(sync->operator);
	write_statistics(sync);
	meta_update(sync);
	mark(&sync->stores);
	meta_read_settings(sync->maps, &sync->stores);
	/* a message from now on may ask for an earlier poll */
	schedule->next_poll_ns = start_ns + poll_interval_ns(sync->config);
	sync->sockets.sent_after_ns = start_ns;
	usable = finish_dump(sync, dump_all(sync));
	if (usable) {
		links_clear_stale(&sync->stores.links);
		apply_flush_cached_routes(&sync->stores);
	}
	replay_queue(sync);
	if (usable || again)
		apply_tables(sync);
	/* From here on messages go to the FIB: start_exceptions() applies some. */
	schedule->quiet = !usable && !again;
	if (usable && !again)
		start_exceptions(sync);
	schedule->in_sync = usable && !(schedule->wanted & SCHEDULE_TABLES);
	if (usable) {
		schedule->complete = true;
		report_sync(sync, start_ns);
		port_names_report(sync->stores.port_names, &sync->stores.links);
	}
	if (!(schedule->wanted & SCHEDULE_TABLES))
		schedule->next_sync_ns = audit_dump_due_ns(sync, util_cpu_ns() - cpu_ns);
	/* before the CLI sees the new generation: a build takes long */
	compile_run(sync);
	write_statistics(sync);
	meta_update(sync);
}

/* --- following --------------------------------------------------------------------------- */

/* Settings that no notification announces: net.ipv6.conf.DEV.{mtu,disable_ipv6,...}. */
static void poll_settings(struct sync *sync)
{
	int ret = dump_links(sync);

	if (ret && ret != -EINTR)
		log_warning_limited("cannot read the settings of devices: %s", strerror(-ret));
	ports_check_strips(sync);
	ports_check_uppers(sync, true);
	meta_read_settings(sync->maps, &sync->stores);
	guard_poll(sync->guard.guard);
	guard_apply_run(sync);
	if (sync->guard.policies_error)
		guard_apply_all(sync);
}

static void read_features(struct sync *sync)
{
	int ret = dump_features(sync);

	sync->schedule.wanted &= ~SCHEDULE_FEATURES;
	if (ret)
		log_warning_limited("cannot query which devices accept redirected frames: %s",
				    strerror(-ret));
}

static void read_rules(struct sync *sync)
{
	sync->schedule.wanted &= ~SCHEDULE_RULES;
	begin_dump(&sync->schedule);
	if (dump_rules(sync))
		schedule_tables(&sync->schedule, SCHEDULE_LATER_NS);
	sync->schedule.dumping = false;
	if (!sync->schedule.quiet)
		apply_rules(sync);
	replay_queue(sync);
}

/* The kernel does not report what happens to next-hop objects of a device that goes down. */
static void read_next_hops(struct sync *sync)
{
	sync->schedule.wanted &= ~SCHEDULE_NEXT_HOPS;
	begin_dump(&sync->schedule);
	nexthops_mark(sync->stores.nexthops);
	if (dump_next_hops(sync) || sync->schedule.dump_damaged)
		schedule_tables(&sync->schedule, SCHEDULE_LATER_NS);
	else
		nexthops_sweep(sync->stores.nexthops);
	replay_queue(sync);
}

/* Log when routes no longer fit, and when all fit again. */
static void report_missing(struct sync *sync)
{
	struct fib_stats stats;

	fib_get_stats(sync->fib, &stats);
	if (!stats.missing == !sync->statistics.reported_missing)
		return;
	sync->statistics.reported_missing = stats.missing;
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

/* Exceptions and samples mean something only beside a FIB that is filled. */
static bool fib_is_filled(const struct schedule *schedule)
{
	return schedule->complete && !schedule->quiet;
}

/* What is done before the first synchronisation, too, and what only after it. */
static const uint32_t wanted_early = SCHEDULE_RULES,
		      wanted_late = SCHEDULE_NEXT_HOPS | SCHEDULE_FEATURES | SCHEDULE_SOURCES |
				    SCHEDULE_UPPERS;

static uint64_t earliest(const struct sync *sync)
{
	const struct schedule *schedule = &sync->schedule;
	const uint32_t wanted = schedule->complete ? wanted_early | wanted_late : wanted_early;
	uint64_t next_ns = util_earlier(schedule->next_retry_ns, sync->guard.due_ns);

	/* a message asked for it that was read between other work */
	if (schedule->wanted & wanted)
		return 0;
	next_ns = util_earlier(next_ns, schedule->next_sync_ns);
	if (schedule->complete) {
		next_ns = util_earlier(next_ns, schedule->next_poll_ns);
		next_ns = util_earlier(next_ns, schedule->next_refresh_ns);
		next_ns = util_earlier(next_ns, audit_due_ns(sync));
	}
	if (fib_is_filled(&sync->schedule)) {
		next_ns = util_earlier(next_ns, exceptions_due_ns(sync));
		next_ns = util_earlier(next_ns, exceptions_fresh_read_due_ns(&sync->icmp_events));
		next_ns = util_earlier(next_ns, operator_due_ns(sync));
		next_ns = util_earlier(next_ns, parity_due_ns(sync));
	}
	return next_ns;
}

/* Carry out what messages asked for since the last call. */
static void run_wanted(struct sync *sync)
{
	const struct schedule *schedule = &sync->schedule;

	if (schedule->wanted & SCHEDULE_RULES)
		read_rules(sync);
	if (!schedule->complete)
		return;
	if (schedule->wanted & SCHEDULE_NEXT_HOPS)
		read_next_hops(sync);
	if (schedule->wanted & SCHEDULE_FEATURES)
		read_features(sync);
	if (schedule->wanted & SCHEDULE_SOURCES) {
		sync->schedule.wanted &= ~SCHEDULE_SOURCES;
		ports_write_all(sync);
	}
	if (schedule->wanted & SCHEDULE_UPPERS)
		ports_check_uppers(sync, false);
}

int sync_run(struct sync *sync)
{
	struct schedule *schedule = &sync->schedule;
	uint64_t now_ns, next_ns, verify_ns, compile_ns;

	schedule->backlog = !sockets_follow(sync);
	/* before the guard, which may take tens of milliseconds */
	if (schedule->complete)
		audit_run(sync);
	guard_apply_run(sync);
	now_ns = util_now_ns();
	run_wanted(sync);
	if (schedule->complete &&
	    due(now_ns, &schedule->next_poll_ns, poll_interval_ns(sync->config)))
		poll_settings(sync);
	/* Before that no neighbour is known, and permanent ones would be resolved anew. */
	if (schedule->complete && due(now_ns, &schedule->next_refresh_ns, REFRESH_INTERVAL_NS))
		neigh_refresh_run(sync);
	if (due(now_ns, &schedule->next_retry_ns, RETRY_INTERVAL_NS))
		fib_retry(sync->fib);
	if (now_ns >= schedule->next_sync_ns)
		synchronise(sync);
	if (fib_is_filled(&sync->schedule)) {
		exceptions_fresh_read(sync);
		operator_run(sync);
		exceptions_run(sync);
		parity_run(sync);
	}
	if (schedule->wanted & SCHEDULE_TABLES)
		schedule->in_sync = false;
	verify_ns = verify_run(sync); /* may drop the compiled FIB */
	compile_ns = compile_run(sync);
	write_statistics(sync);
	meta_update(sync);
	report_missing(sync);
	now_ns = util_now_ns();
	next_ns = util_earlier(earliest(sync), util_earlier(verify_ns, compile_ns));
	return next_ns <= now_ns ? 0 : (int)((next_ns - now_ns) / NS_PER_MS) + 1;
}

void sync_fds(const struct sync *sync, int fds[SYNC_FDS])
{
	fds[0] = nl_socket_fd(sync->sockets.notify);
	fds[1] = sync->sockets.genl_notify ? nl_socket_fd(sync->sockets.genl_notify) : -1;
	fds[2] = fib_is_filled(&sync->schedule) ? exceptions_fresh_fd(&sync->icmp_events) : -1;
	fds[3] = fib_is_filled(&sync->schedule) ? operator_fd(sync->operator) : -1;
	fds[4] = fib_is_filled(&sync->schedule) ? parity_fd(sync->parity) : -1;
	guard_fds(sync->guard.guard, fds + 5);
}
