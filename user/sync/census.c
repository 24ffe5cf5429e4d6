// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether the kernel has routes that its dumps do not tell: fib6_dump_node() goes on behind the
 * last hop of a multipath set, and leaves out what stands between the hops. But it counts them.
 *
 * Both counts are compared when no notification waits to be read. A route is not counted and
 * announced in one step, so that only what came twice is believed; sets are punted at once.
 *
 * The kernel's count is not exact for ever: since Linux 6.16 changes of two tables at a time can
 * lose one. It is then off until the namespace ends, and sets that a dump has told are punted in
 * vain.
 */
#include <poll.h>

#include "state.h"

#define STATS "/proc/net/rt6_stats"
#define CONFIRM_NS 50000000u

/* fib_rt_entries of rt6_stats_seq_show(), the fourth number. 0, which no kernel has: unreadable. */
static int64_t kernel_entries(void)
{
	_cleanup_fclose_ FILE *file = fopen(STATS, "re");
	unsigned int entries;

	return file && fscanf(file, "%*x %*x %*x %x", &entries) == 1 ? entries : 0;
}

static bool notifications_wait(const struct sync *sync)
{
	struct pollfd pfd = { .fd = nl_socket_fd(sync->notify), .events = POLLIN };

	return poll(&pfd, 1, 0) != 0;
}

static void report(const struct sync *sync, int64_t kernel)
{
	if (!rib_dumps_hide(sync->rib))
		log_info("the kernel has told all of its routes");
	else if (!kernel)
		log_warning(
			"cannot read " STATS
			", which tells whether dumps of routes are whole: multipath routes that were read at once are left to the kernel until it can be read");
	else
		log_warning(
			"the kernel counts %lld routes, hops of multipath routes one by one, and has told %zu: some may stand between the hops of a multipath route, which its dumps leave out; multipath routes that were read from a dump are left to the kernel; delete those routes, or delete the multipath route and add it again",
			(long long)kernel, rib_entries(sync->rib));
}

/* What is missing may also be what changed under the dump: another one tells. */
static void settle(struct sync *sync, int64_t kernel)
{
	struct sync_census *census = &sync->census;
	const int64_t before = census->settled;

	census->settled = census->missing;
	if (census->missing && census->missing != before)
		sync_want(sync, SYNC_LATER_NS);
	if (!census->missing != !before)
		report(sync, kernel);
}

void census_run(struct sync *sync)
{
	struct sync_census *census = &sync->census;
	const bool hid = rib_dumps_hide(sync->rib);
	int64_t kernel, missing;

	if (!census->wanted || util_now_ns() < census->next_ns)
		return;
	kernel = kernel_entries();
	if (notifications_wait(sync))
		return;
	missing = kernel - (int64_t)rib_entries(sync->rib);
	census->wanted = !census->seen || missing != census->missing;
	census->seen = true;
	census->missing = missing;
	census->next_ns = util_now_ns() + CONFIRM_NS;
	/* Back to XDP only when it is confirmed, but for the first tables, which are yet to be
	 * written. */
	rib_set_dumps_hide(sync->rib, missing || (hid && census->wanted && sync->complete));
	if (rib_dumps_hide(sync->rib) != hid && !sync->quiet)
		apply_all_routes(sync);
	if (!census->wanted)
		settle(sync, kernel);
}

void census_start(struct sync *sync)
{
	sync->census.wanted = true;
	sync->census.seen = false;
	sync->census.next_ns = 0;
	if (!sync->complete)
		rib_set_dumps_hide(sync->rib, true); /* unless it turns out at once */
	census_run(sync);
}
