// SPDX-License-Identifier: GPL-2.0-only
/*
 * The safety net: all that the kernel has learnt, in a dump of all routes, since one of exceptions
 * alone would walk all routes in one go with softirqs switched off (fib6_dump_table): 80 ms with a
 * full table. In pieces, between which notifications and questions have their turn.
 *
 * What it leaves out need not be gone. It may be at another hop than the first of a multipath route
 * (fib6_dump_node() goes on behind the last one); routes were withdrawn under it (see dump_routes()
 * in sync.c); or exceptions were. In the middle of a route's exceptions the kernel goes on where it
 * was by counting them (rt6_nh_dump_exceptions), and those that are collected or flushed meanwhile
 * have others left out, of which it says nothing. So it is asked about each, unless no datagram
 * can have ended in the middle of some. Of those about which it cannot be asked a dump that is
 * whole says that they are gone.
 */
#include <errno.h>
#include <search.h>
#include <string.h>

#include "../netlink/parse.h"
#include "exceptions.h"

/*
 * A piece takes so much CPU time; and a dump that has taken as much as four of them goes on with a
 * tenth of a CPU. While hints are lost, all of it takes a 200th.
 */
#define PIECE_NS 5000000u
#define AT_ONCE_NS (4 * PIECE_NS)
#define PART 10
#define FLOOD_PART 200

/* What was told of a destination by a group so far. */
struct seen {
	struct sixlane_exception_key key;
	struct fib_exception exception;
	bool settled;
};

static int compare_seen(const void *a, const void *b)
{
	return memcmp(&((const struct seen *)a)->key, &((const struct seen *)b)->key,
		      sizeof(((const struct seen *)a)->key));
}

static void forget_seen(struct exceptions_dump *dump)
{
	tdestroy(dump->seen, free);
	dump->seen = NULL;
	dump->n_seen = 0;
}

/* The same one, told for another route by the same next-hop object. */
static bool is_same(const struct fib_exception *a, const struct fib_exception *b)
{
	return a->mtu == b->mtu && a->mtu_locked == b->mtu_locked && a->punt == b->punt &&
	       a->under.ifindex == b->under.ifindex &&
	       a->under.has_gateway == b->under.has_gateway &&
	       !memcmp(&a->under.gateway, &b->under.gateway, sizeof(a->under.gateway));
}

/* What is told of a group for one destination. NULL: no memory. *anew: it is the first. */
static struct seen *get_seen(struct sync *sync, const struct route_exception *told,
			     const struct fib_exception *exception, bool *anew)
{
	struct exceptions_dump *dump = &sync->exceptions->dump;
	struct seen *seen = calloc(1, sizeof(*seen)), **found;

	if (!seen || dump->n_seen >= sync->config->max_exceptions) {
		free(seen);
		return NULL;
	}
	*seen = (struct seen){ .key = { .dst = told->dst, .table = told->table },
			       .exception = *exception };
	found = tsearch(seen, &dump->seen, compare_seen);
	*anew = found && *found == seen;
	if (*anew)
		dump->n_seen++;
	else
		free(seen);
	return found ? *found : NULL;
}

/* Settled: questions have shown all that holds, whatever else is told of it. */
static void tell_of_group(struct sync *sync, const struct route_exception *told, bool certain,
			  struct fib_exception *exception)
{
	bool anew = false;
	struct seen *seen = get_seen(sync, told, exception, &anew);

	if (seen && seen->settled)
		return;
	if (!certain || !seen) {
		bool settled = exceptions_settle(sync, told->table, &told->dst);

		if (seen)
			seen->settled = settled;
		if (settled)
			return;
		exception->punt = true;
	}
	if (seen && !anew && !is_same(&seen->exception, exception))
		learnt_merge(&seen->exception, exception);
	else if (seen)
		seen->exception.punt |= exception->punt;
	exceptions_tell(sync, told->table, &told->dst, seen ? &seen->exception : exception);
}

static void tell(struct sync *sync, const struct route_exception *told)
{
	const struct exceptions_dump *dump = &sync->exceptions->dump;
	const struct learnt_world world = exceptions_world(sync);
	struct fib_hop hops[LEARNT_MAX_HOPS];
	struct fib_exception exception;
	enum learnt learnt = learnt_told(&world, told, dump->told_after_ns, &exception);
	size_t n;

	if (learnt == LEARNT_NOTHING) {
		exceptions_lack(sync, told->table, &told->dst, false);
		return;
	}
	if (learnt == LEARNT_ONLY && !dump->stale) {
		exceptions_tell(sync, told->table, &told->dst, &exception);
	} else if (learnt_paths(&world, told->table, &told->dst, hops, &n) == LEARNT_BY_GROUP) {
		tell_of_group(sync, told, learnt == LEARNT_ONE_HOP && !dump->stale, &exception);
	} else if (!exceptions_settle(sync, told->table, &told->dst)) {
		exception.punt = true;
		exceptions_tell(sync, told->table, &told->dst, &exception);
	} else {
		exceptions_lack(sync, told->table, &told->dst, false);
	}
}

static int take_told(const struct nlmsghdr *nlh, void *ctx)
{
	struct sync *sync = ctx;
	struct route_exception told;
	int ret = parse_exception(nlh, &told);

	sync->exceptions->dump.last = nlh;
	if (ret == -ENOMSG) /* a route */
		return 0;
	if (ret)
		return ret;
	apply_note_unknown(sync, SYNC_ROUTE, told.unknown_attr);
	sync->exceptions->dump.n_told++;
	tell(sync, &told);
	return 0;
}

/* --- pieces and rounds --------------------------------------------------------------------- */

void exceptions_dump_abort(struct exceptions *exceptions)
{
	nl_socket_free(exceptions->dump.socket);
	forget_seen(&exceptions->dump);
	exceptions->dump = (struct exceptions_dump){ 0 };
}

static void end(struct exceptions *exceptions)
{
	exceptions->dump_begin_ns = exceptions->dump.begin_ns;
	exceptions->dump_end_ns = util_now_ns();
	exceptions->dump_cost_ns = exceptions->dump.cost_ns;
	exceptions->dumped = true;
	exceptions_dump_abort(exceptions);
}

static void fail(struct sync *sync, int err)
{
	log_warning_limited(
		"cannot read the kernel's route exceptions (Path MTUs, redirects): %s; sixlaned tries again later",
		strerror(-err));
	end(sync->exceptions);
	exceptions_want(sync);
}

/* How much has become known, or doubtful, otherwise than by dumps; or has gone unknown. */
static uint64_t count_news(const struct sync *sync)
{
	struct fib_stats stats;

	fib_get_stats(sync->fib, &stats);
	return sync->exceptions->settled + stats.exceptions_doubted + sync->withdrawals;
}

static void begin(struct sync *sync)
{
	struct exceptions_dump *dump = &sync->exceptions->dump;
	int ret;

	dump->wanted = sync->exceptions->dump_wanted;
	sync->exceptions->dump_wanted = false;
	dump->withdrawals = sync->withdrawals;
	dump->news = count_news(sync);
	dump->begin_ns = dump->told_after_ns = util_now_ns();
	ret = nl_socket_new(NETLINK_ROUTE, 0, &dump->socket);
	if (!ret)
		ret = request_exceptions(dump->socket);
	if (ret)
		fail(sync, ret);
	else
		sync->exceptions->split_before &= fib_exceptions_begin(sync->fib, FIB_KERNEL);
}

/*
 * Of a route that has several hops by itself a dump never tells all, and by which route of those
 * by source there may be more nobody knows.
 */
static bool is_gone(void *ctx, uint32_t table, const union sixlane_addr *dst, enum fib_doubt doubt)
{
	struct sync *sync = ctx;
	const struct learnt_world world = exceptions_world(sync);
	struct fib_hop hops[LEARNT_MAX_HOPS];
	size_t n;

	switch (learnt_paths(&world, table, dst, hops, &n)) {
	case LEARNT_BY_SEVERAL:
		return false;
	case LEARNT_BY_SOURCE:
		return doubt == FIB_DOUBTED_ASKED;
	default:
		return doubt == FIB_DOUBTED_ASKED ||
		       (!sync->exceptions->dump.split && doubt != FIB_DOUBTED_SINCE);
	}
}

static bool is_doubtful(void *ctx, uint32_t table, const union sixlane_addr *dst,
			enum fib_doubt doubt)
{
	(void)ctx;
	(void)table;
	(void)dst;
	(void)doubt;
	return false;
}

/*
 * In the middle of a route's exceptions: also behind the route itself, since those that have
 * expired are counted, but not told.
 */
static bool may_be_split(struct sync *sync)
{
	const struct nlmsghdr *last = sync->exceptions->dump.last;
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct route route;

	return last && (parse_route(last, &route, hops) || route.cloned ||
			fib_has_exceptions(sync->fib, route.table, &route.dst));
}

/*
 * All that was announced while it was read has been applied. What one that is split has left out
 * the next one tells, unless that leaves out the same, or what was missing before it was not before
 * the first.
 */
static void finish(struct sync *sync)
{
	struct exceptions *exceptions = sync->exceptions;
	struct exceptions_dump *dump = &exceptions->dump;
	const bool whole = !dump->interrupted && dump->withdrawals == sync->withdrawals;
	const bool complete = whole && (!dump->split || exceptions->split_before);
	const uint64_t begin_ns = exceptions_cpu_ns();

	if (whole)
		exceptions->split_before = !complete;
	exceptions->dump_wanted |= dump->wanted && !complete;
	fib_exceptions_end(sync->fib, FIB_KERNEL, complete, whole ? is_gone : is_doubtful, sync);
	sync->maps->meta->exception_dumps++;
	dump->cost_ns += exceptions_cpu_ns() - begin_ns;
	log_debug("read %zu exceptions in %llu ms of CPU time", dump->n_told,
		  (unsigned long long)dump->cost_ns / 1000000);
	end(sync->exceptions);
}

/*
 * The kernel put each datagram down when the one before was read: the first of a piece before all
 * that happened since the last piece. Of what is older than an answer or a doubt the kernel is
 * asked, so that it neither brings back what an answer has done away with, nor settles a doubt of a
 * later change. Within a piece no change is heard of; and answers are about destinations that
 * may have several exceptions, all of which are uncertain, whichever datagram they stand in.
 */
static void read_piece(struct sync *sync)
{
	struct exceptions_dump *dump = &sync->exceptions->dump;
	const uint64_t begin_ns = exceptions_cpu_ns();
	uint64_t cost_ns, end_ns;
	int ret;

	dump->stale = dump->news != count_news(sync);
	do {
		const uint64_t now_ns = util_now_ns();

		ret = nl_socket_dump_next(dump->socket, take_told, sync);
		dump->split |= ret == 1 && may_be_split(sync);
		dump->told_after_ns = now_ns;
		dump->stale = false;
		cost_ns = exceptions_cpu_ns() - begin_ns;
	} while (ret == 1 && cost_ns < PIECE_NS);
	end_ns = util_now_ns();
	dump->news = count_news(sync);
	dump->cost_ns += cost_ns;
	if (ret == 1 && (sync->exceptions->flooded || dump->cost_ns > AT_ONCE_NS))
		dump->next_piece_ns =
			end_ns + cost_ns * (sync->exceptions->flooded ? FLOOD_PART : PART);
	dump->interrupted = ret == -EINTR;
	dump->over = ret == 0 || dump->interrupted;
	if (ret < 0 && !dump->interrupted)
		fail(sync, ret);
}

void exceptions_dump_run(struct sync *sync, uint64_t now_ns, bool due)
{
	struct exceptions_dump *dump = &sync->exceptions->dump;

	if (dump->over && !sync->behind)
		finish(sync);
	else if (dump->over)
		return;
	else if (dump->socket && now_ns >= dump->next_piece_ns)
		read_piece(sync);
	else if (!dump->socket && due)
		begin(sync);
}
