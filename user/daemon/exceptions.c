// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel has learnt of single destinations, of which it tells only who asks: it is asked
 * about a destination when a hint says that something may have been learnt, or when its route
 * has changed. What questions miss a dump of everything finds (exceptions_dump.c), which costs
 * more. Both have their rate, so that a flood of hints or changes costs no more than that.
 */
#include "exceptions.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../netlink/parse.h"

#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

/*
 * Questions, and what comes of them, take at most a 50th of a CPU after a burst, and a 200th while
 * hints are lost: what a flood has the kernel learn it forgets soon. When the burst is used up,
 * some at a time, since it takes time, too, to wake up for them.
 */
#define QUESTIONS_PART 50
#define QUESTIONS_FLOOD_PART 200
#define QUESTIONS_BURST_NS (30 * NS_PER_MS) /* of CPU time, as the next */
#define QUESTIONS_AT_ONCE_NS NS_PER_MS

#define SURVEY_TRIES 8 /* for each hop of a multipath route */

#define EXPIRE_MAX 1024 /* in one run */

/*
 * The kernel announces a device's new MTU, then goes through all exceptions (rt6_mtu_change), and
 * then through with it: IPv6 takes the MTU over. How long that takes hangs on how many routes there
 * are, so that is looked for, every so often; but not for ever, since an operator may have set
 * net.ipv6.conf.DEV.mtu to something else at once.
 */
#define MTU_LOOK_NS (20 * NS_PER_MS)
#define MTU_LOOK_MAX_NS (10 * NS_PER_S)

/*
 * A dump takes at most a 100th of a CPU if one is wanted, a 200th if not, and a 300th while there
 * are no exceptions. Between two of them: so many times poll_ms, which is also for how long what
 * nobody announces may go unnoticed.
 */
#define DUMP_PART_WANTED 100
#define DUMP_PART 200
#define DUMP_PART_IDLE 300
#define DUMP_GAP_WANTED 2
#define DUMP_GAP 10

uint64_t exceptions_cpu_ns(void)
{
	return util_cpu_ns();
}

struct learnt_world exceptions_world(struct sync *sync)
{
	return (struct learnt_world){
		.view = &sync->view,
		.resolve = sync->resolve,
		.nexthops = sync->nexthops,
		.mode = sync->config->exceptions,
	};
}

static void tell_in(struct sync *sync, uint32_t table, const union sixlane_addr *dst,
		    const struct fib_exception *exception)
{
	/* -ENOSPC is counted by the FIB, and reported from there */
	if (fib_set_exception(sync->fib, FIB_KERNEL, table, dst, exception) == -ENOMEM)
		exceptions_want(sync);
}

void exceptions_tell(struct sync *sync, uint32_t table, const union sixlane_addr *dst,
		     const struct fib_exception *exception)
{
	const struct learnt_world world = exceptions_world(sync);
	const uint32_t looked_in = learnt_table(&world, table);

	if (exception && exception->has_hop && !exception->punt)
		ports_need(sync, exception->hop.ifindex);
	tell_in(sync, looked_in, dst, exception);
	/* By a rule of its own packets may look there, too. */
	if (looked_in != table)
		tell_in(sync, table, dst, exception);
}

void exceptions_lack(struct sync *sync, uint32_t table, const union sixlane_addr *dst, bool asked)
{
	const struct learnt_world world = exceptions_world(sync);
	const uint32_t looked_in = learnt_table(&world, table);

	fib_lose_exception(sync->fib, looked_in, dst, asked);
	if (looked_in != table)
		fib_lose_exception(sync->fib, table, dst, asked);
}

/* --- questions ----------------------------------------------------------------------------- */

uint64_t exceptions_hints_again_ns(const struct sync *sync)
{
	return sync->exceptions->hints_again_ns;
}

void exceptions_flooded(struct sync *sync, bool flooded)
{
	sync->exceptions->flooded = flooded;
}

/*
 * cpu_ns: CPU time at which the question began; that at its end is returned. Who has used up what
 * there was lets the others go first: a flood of hints is not to have doubts wait until it is over.
 */
static uint64_t note_cost(struct exceptions *exceptions, bool hint, uint64_t cpu_ns,
			  uint64_t now_ns)
{
	const int64_t part = exceptions->flooded ? QUESTIONS_FLOOD_PART : QUESTIONS_PART;
	const uint64_t end_ns = exceptions_cpu_ns();
	int64_t *left_ns = &exceptions->questions_left_ns;
	uint64_t again_ns;

	*left_ns += (int64_t)(now_ns - exceptions->questions_at_ns) / part;
	if (*left_ns > (int64_t)QUESTIONS_BURST_NS)
		*left_ns = QUESTIONS_BURST_NS;
	*left_ns -= (int64_t)(end_ns - cpu_ns);
	exceptions->questions_at_ns = now_ns;
	again_ns = now_ns + (uint64_t)(((int64_t)QUESTIONS_AT_ONCE_NS - *left_ns) * part);
	if (*left_ns < 0) {
		exceptions->hints_again_ns = exceptions->doubts_again_ns = again_ns;
		*(hint ? &exceptions->hints_again_ns : &exceptions->doubts_again_ns) +=
			QUESTIONS_AT_ONCE_NS / 2 * (uint64_t)part;
	}
	return end_ns;
}

struct answer {
	bool heard;
	bool has_exception;
	uint32_t table;
	struct route_hop hop; /* by which a packet would go */
	struct route_exception exception;
	uint64_t told_after_ns;
};

static int take_answer(const struct nlmsghdr *nlh, void *ctx)
{
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct answer *answer = ctx;
	struct route route;

	if (parse_route(nlh, &route, hops))
		return 0;
	answer->heard = true;
	answer->table = route.table;
	if (route.n_hops)
		answer->hop = hops[0];
	answer->has_exception = !parse_exception(nlh, &answer->exception);
	return 0;
}

/* A kernel that answers with an error, such as "unreachable", has not heard of an exception. */
static void ask(struct sync *sync, const union sixlane_addr *dst, const union sixlane_addr *src,
		uint32_t oif, struct answer *answer)
{
	*answer = (struct answer){ .told_after_ns = util_now_ns() };
	if (request_destination(sync, dst, src, oif, take_answer, answer))
		answer->heard = false;
	if (answer->has_exception)
		apply_note_unknown(sync, SYNC_ROUTE, answer->exception.unknown_attr);
}

/* As what a question about dst must be asked for the kernel to look it up in this table. */
static uint32_t device_of(const struct sync *sync, uint32_t table)
{
	for (size_t i = 0; i < sync->links.n; i++) {
		const struct device *device = &sync->links.devices[i];

		if (device->has_link && device->link.vrf_table == table)
			return device->ifindex;
	}
	return 0;
}

static bool is_from(struct sync *sync, const struct answer *answer, uint32_t table)
{
	const struct learnt_world world = exceptions_world(sync);

	return answer->heard && learnt_table(&world, answer->table) == learnt_table(&world, table);
}

static void log_answer(const struct answer *answer, const union sixlane_addr *dst)
{
	const struct route_exception *told = &answer->exception;
	char address[INET6_ADDRSTRLEN], via[INET6_ADDRSTRLEN] = "the link";

	inet_ntop(AF_INET6, dst, address, sizeof(address));
	if (!answer->has_exception) {
		log_debug("%s in table %u: no exception", address, answer->table);
		return;
	}
	if (told->hop.has_gateway)
		inet_ntop(AF_INET6, &told->hop.gateway, via, sizeof(via));
	log_debug("%s in table %u: exception by %s, device %u, mtu %u%s, ends in %u ms", address,
		  answer->table, via, told->hop.ifindex, told->mtu,
		  told->mtu_locked ? " locked" : "", told->lifetime_ms);
}

/* What an answer says of dst, as a whole or at one of several hops. */
static enum learnt understand(struct sync *sync, const union sixlane_addr *dst,
			      const struct answer *answer, struct fib_exception *exception)
{
	const struct learnt_world world = exceptions_world(sync);

	sync->exceptions->settled++;
	log_answer(answer, dst);
	if (!answer->has_exception)
		return LEARNT_NOTHING;
	return learnt_answered(&world, &answer->exception, answer->told_after_ns, exception);
}

static void heed_one(struct sync *sync, const union sixlane_addr *dst, const struct answer *answer)
{
	struct fib_exception exception;
	bool learnt = understand(sync, dst, answer, &exception) != LEARNT_NOTHING;

	exceptions_tell(sync, answer->table, dst, learnt ? &exception : NULL);
	/* of a route that is not expressed; it may count in another table */
	if (answer->has_exception && !learnt)
		exceptions_lack(sync, answer->table, dst, true);
}

/* What is known of the hops of a multipath route, one by one. */
struct survey {
	struct sync *sync;
	uint32_t table;
	const union sixlane_addr *dst;
	struct fib_hop hops[LEARNT_MAX_HOPS];
	size_t n, n_seen, n_learnt;
	bool seen[LEARNT_MAX_HOPS];
	struct fib_exception learnt; /* of all that are seen and have one */
};

/* True: this hop was not seen yet. Of a redirect nobody knows at which hop it is kept. */
static bool note_hop(struct survey *survey, const struct route_hop *hop)
{
	bool any = false;

	for (size_t i = 0; i < survey->n && i < LEARNT_MAX_HOPS; i++) {
		if (!learnt_is_hop(&survey->hops[i], hop))
			continue;
		any = true;
		if (survey->seen[i])
			continue;
		survey->seen[i] = true;
		survey->n_seen++;
		return true;
	}
	return !any;
}

static void survey_answer(struct survey *survey, const struct answer *answer)
{
	struct fib_exception one;

	if (!is_from(survey->sync, answer, survey->table) || !note_hop(survey, &answer->hop))
		return;
	if (understand(survey->sync, survey->dst, answer, &one) == LEARNT_NOTHING)
		return;
	if (survey->n_learnt++)
		learnt_merge(&survey->learnt, &one);
	else
		survey->learnt = one;
}

static void survey_ask(struct survey *survey, const union sixlane_addr *src, uint32_t oif)
{
	struct answer answer;

	ask(survey->sync, survey->dst, src, oif, &answer);
	survey_answer(survey, &answer);
}

/*
 * Of a route's hops a question by a device falls upon the first one by it; by a source it falls
 * upon any, of a group in any case. False: what holds at some is not known, and the kernel decides
 * for as long as what is known holds.
 */
static bool survey_hops(struct survey *survey, bool by_device)
{
	union sixlane_addr source = { .bytes = { 1 } }; /* of 100::/64, which nobody has */
	const size_t tries = SURVEY_TRIES * survey->n;
	bool whole;

	for (size_t i = 0; by_device && i < survey->n && i < LEARNT_MAX_HOPS; i++)
		if (!survey->seen[i])
			survey_ask(survey, NULL, survey->hops[i].ifindex);
	/* a member that discards has nothing to tell, and does not answer */
	for (size_t i = 0; i < survey->n && i < LEARNT_MAX_HOPS; i++) {
		survey->n_seen += !survey->hops[i].ifindex && !survey->seen[i];
		survey->seen[i] |= !survey->hops[i].ifindex;
	}
	for (size_t i = 0; i < tries && survey->n_seen < survey->n; i++) {
		source.bytes[15] = (uint8_t)i;
		survey_ask(survey, &source, 0);
	}
	whole = survey->n_seen == survey->n;
	survey->learnt.punt |= !whole;
	if (survey->n_learnt || whole)
		exceptions_tell(survey->sync, survey->table, survey->dst,
				survey->n_learnt ? &survey->learnt : NULL);
	return whole;
}

static bool settle_one(struct sync *sync, uint32_t table, const union sixlane_addr *dst)
{
	struct answer answer;

	ask(sync, dst, NULL, device_of(sync, table), &answer);
	if (!is_from(sync, &answer, table))
		return false;
	heed_one(sync, dst, &answer);
	return true;
}

bool exceptions_settle(struct sync *sync, uint32_t table, const union sixlane_addr *dst)
{
	struct survey survey = { .sync = sync, .table = table, .dst = dst };
	const struct learnt_world world = exceptions_world(sync);

	switch (learnt_paths(&world, table, dst, survey.hops, &survey.n)) {
	case LEARNT_BY_SEVERAL:
		return survey_hops(&survey, true);
	case LEARNT_BY_GROUP:
		if (survey_hops(&survey, false))
			return true;
		break;
	case LEARNT_BY_ONE:
	case LEARNT_BY_HIDDEN:
		if (settle_one(sync, table, dst))
			return true;
		break;
	case LEARNT_BY_SOURCE:
		break;
	}
	exceptions_want(sync);
	return false;
}

/* Whether the kernel has one, as far as it has told. */
static bool heed(struct sync *sync, const struct sixlane_hint *hint, const struct answer *answer)
{
	struct survey survey = { .sync = sync, .table = answer->table, .dst = &hint->dst };
	const struct learnt_world world = exceptions_world(sync);
	enum learnt_paths paths =
		learnt_paths(&world, answer->table, &hint->dst, survey.hops, &survey.n);
	bool whole = true;

	switch (paths) {
	case LEARNT_BY_ONE:
		heed_one(sync, &hint->dst, answer);
		break;
	case LEARNT_BY_SEVERAL:
	case LEARNT_BY_GROUP:
		survey_answer(&survey, answer);
		whole = survey_hops(&survey, paths == LEARNT_BY_SEVERAL);
		if (!whole && paths == LEARNT_BY_GROUP)
			exceptions_want(sync);
		break;
	case LEARNT_BY_SOURCE: /* the kernel decides about all of them */
		whole = answer->has_exception;
		if (whole)
			heed_one(sync, &hint->dst, answer);
		exceptions_want(sync);
		break;
	case LEARNT_BY_HIDDEN: /* the answer may be another's */
		whole = answer->has_exception;
		heed_one(sync, &hint->dst, answer);
		if (!whole)
			exceptions_lack(sync, answer->table, &hint->dst, false);
		break;
	}
	return answer->has_exception || survey.n_learnt || !whole;
}

void exceptions_hint(struct sync *sync, const struct sixlane_hint *hint)
{
	const struct device *port = links_find(&sync->links, hint->ifindex);
	const struct device *vrf = port ? links_vrf(&sync->links, port) : NULL;
	const struct learnt_world world = exceptions_world(sync);
	const uint64_t now_ns = util_now_ns(), cpu_ns = exceptions_cpu_ns();
	struct answer answer;

	ask(sync, &hint->dst, &hint->src, vrf ? vrf->ifindex : 0, &answer);
	if (answer.heard && heed(sync, hint, &answer))
		fib_share_exception(sync->fib, learnt_table(&world, answer.table), &hint->dst);
	note_cost(sync->exceptions, true, cpu_ns, now_ns);
}

/* Those whose route has changed. */
static void ask_doubts(struct sync *sync)
{
	struct exceptions *exceptions = sync->exceptions;
	const uint64_t now_ns = util_now_ns();
	uint64_t cpu_ns = exceptions_cpu_ns();
	union sixlane_addr dst;
	uint32_t table;

	while (now_ns >= exceptions->doubts_again_ns &&
	       fib_exception_in_doubt(sync->fib, &table, &dst)) {
		exceptions_settle(sync, table, &dst);
		cpu_ns = note_cost(exceptions, false, cpu_ns, now_ns);
	}
	exceptions->doubts_left = fib_has_doubts(sync->fib);
	if (exceptions->doubts_left)
		exceptions_want(sync);
}

void exceptions_mtu_changes(struct sync *sync)
{
	const uint64_t now_ns = util_now_ns();

	sync->exceptions->mtu_look_ns = now_ns + MTU_LOOK_NS;
	sync->exceptions->mtu_until_ns = now_ns + MTU_LOOK_MAX_NS;
}

/* Until it is over the kernel applies what it did before, as is done here. */
static void look_at_mtu(struct sync *sync, uint64_t now_ns)
{
	struct exceptions *exceptions = sync->exceptions;

	if (now_ns < exceptions->mtu_look_ns)
		return;
	if (now_ns < exceptions->mtu_until_ns && links_mtu_moves(&sync->links)) {
		sync->next_poll_ns = 0;
		exceptions->mtu_look_ns = now_ns + MTU_LOOK_NS;
		return;
	}
	exceptions->mtu_look_ns = UINT64_MAX;
	links_mtu_forget(&sync->links);
	fib_doubt_exceptions(sync->fib, 0, NULL);
}

/* --- when ------------------------------------------------------------------------------------ */

void exceptions_want(struct sync *sync)
{
	sync->exceptions->dump_wanted = true;
}

static unsigned int dump_part(const struct sync *sync)
{
	struct fib_stats stats;

	fib_get_stats(sync->fib, &stats);
	if (sync->exceptions->dump_wanted)
		return DUMP_PART_WANTED;
	return stats.exceptions || stats.exceptions_missing ? DUMP_PART : DUMP_PART_IDLE;
}

static uint64_t dump_due_ns(const struct sync *sync)
{
	const struct exceptions *exceptions = sync->exceptions;
	uint64_t gap_ns = sync->config->poll_ms * NS_PER_MS, rest_ns, rate_ns;

	if (!exceptions->dumped)
		return 0;
	gap_ns *= exceptions->dump_wanted ? DUMP_GAP_WANTED : DUMP_GAP;
	rest_ns = exceptions->dump_end_ns + gap_ns;
	rate_ns = exceptions->dump_begin_ns + exceptions->dump_cost_ns * dump_part(sync);
	return rest_ns > rate_ns ? rest_ns : rate_ns;
}

/* fib_retry() tries again with those that failed, every second. */
static enum missing_reason reason_of(const struct fib_stats *stats)
{
	if (stats->exceptions_missing)
		return MISSING_BOUND;
	return stats->exceptions_failed ? MISSING_FAILED : MISSING_NONE;
}

static void report_missing(struct sync *sync)
{
	struct exceptions *exceptions = sync->exceptions;
	enum missing_reason reason;
	struct fib_stats stats;

	fib_get_stats(sync->fib, &stats);
	reason = reason_of(&stats);
	if (reason == exceptions->reported)
		return;
	exceptions->reported = reason;
	if (reason == MISSING_FAILED)
		log_warning_limited(
			"cannot write %llu exceptions (Path MTUs, redirects): kernel memory or next-hop entries ran out; packets to their destinations pass to the kernel; sixlaned tries again every second",
			(unsigned long long)stats.exceptions_failed);
	else if (reason == MISSING_BOUND)
		log_warning_limited(
			"more exceptions (Path MTUs, redirects) than max_exceptions (%u): packets to the other destinations pass to the kernel; raise max_exceptions, or find the sender of the ICMPv6 messages",
			sync->config->max_exceptions);
	else
		log_info("all exceptions fit again");
}

void exceptions_run(struct sync *sync)
{
	struct exceptions *exceptions = sync->exceptions;
	uint64_t now_ns = util_now_ns(), cpu_ns;

	look_at_mtu(sync, now_ns);
	ask_doubts(sync);
	sync->exceptions->dump_wanted |= fib_wants_exceptions(sync->fib);
	now_ns = util_now_ns();
	exceptions_dump_run(sync, now_ns, now_ns >= dump_due_ns(sync));
	cpu_ns = exceptions_cpu_ns();
	fib_exceptions_expire(sync->fib, util_now_ns(), EXPIRE_MAX, &exceptions->next_expire_ns);
	/* of many at once, since a dump has found them gone */
	exceptions->dump_cost_ns += exceptions_cpu_ns() - cpu_ns;
	/* what the dump has left out, and what is to be confirmed */
	ask_doubts(sync);
	report_missing(sync);
}

uint64_t exceptions_due_ns(const struct sync *sync)
{
	const struct exceptions *exceptions = sync->exceptions;
	uint64_t next_ns =
		exceptions->dump.socket ? exceptions->dump.next_piece_ns : dump_due_ns(sync);

	if (exceptions->next_expire_ns < next_ns)
		next_ns = exceptions->next_expire_ns;
	if (exceptions->mtu_look_ns < next_ns)
		next_ns = exceptions->mtu_look_ns;
	if (exceptions->doubts_left && exceptions->doubts_again_ns < next_ns)
		next_ns = exceptions->doubts_again_ns;
	return next_ns;
}

void exceptions_restart(struct sync *sync)
{
	sync->exceptions->dump_wanted |= sync->exceptions->dump.wanted;
	exceptions_dump_abort(sync->exceptions);
	sync->exceptions->dumped = false;
}

struct exceptions *exceptions_new(void)
{
	struct exceptions *exceptions = calloc(1, sizeof(*exceptions));

	if (exceptions)
		exceptions->next_expire_ns = exceptions->mtu_look_ns = UINT64_MAX;
	return exceptions;
}

void exceptions_free(struct exceptions *exceptions)
{
	if (!exceptions)
		return;
	exceptions_dump_abort(exceptions);
	free(exceptions);
}
