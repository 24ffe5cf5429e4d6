// SPDX-License-Identifier: GPL-2.0-only
/*
 * The measurement of exceptions: a router for each table, on which entries are counted first, and
 * then packets are timed. In each round the kernel learns all exceptions and forgets them, so that
 * the same packets are timed with and without them.
 */
#include "exceptions.h"

#include <errno.h>

#include "../progress.h"
#include "exceptions_learn.h"

const char *const exceptions_engines[EXCEPTIONS_N_ENGINES] = { "compiled", "trie", "kernel" };

/* By one of sixlane's engines, which look exceptions up alike, and by the kernel. */
static const char *const traffic_engines[] = { "compiled", "kernel" };

/* What is timed in a round. */
#define RUNS_OF_ROUND (EXCEPTIONS_N_ENGINES * PEERS_N_LISTS * EXCEPTIONS_N_STATES)

struct bench {
	const struct exceptions_options *options;
	struct bench_result *result;
	struct bench_progress progress;
};

/* All with one router. */
struct group {
	struct bench *bench;
	struct forward_router router;
	struct forward_source source;
	struct learner learner;
	struct peers peers;
	union sixlane_addr *targets; /* GEN_TARGETS: what is sent to next */
	struct exceptions_found found;
};

/* --- packets -------------------------------------------------------------------------------- */

/* So many packets, to n destinations from this one on and then again from the first one. */
struct load {
	const union sixlane_addr *list;
	size_t n, first;
	uint32_t packets;
	bool learnt; /* there are all exceptions */
};

/* Returns how many of the packets are to meet an exception. */
static uint32_t aim(struct group *group, const struct load *load)
{
	bool has_any = load->learnt && load->list == group->peers.all;
	uint32_t excepted = 0;

	for (size_t i = 0; i < GEN_TARGETS; i++) {
		size_t at = (load->first + i) % load->n;

		group->targets[i] = load->list[at];
		excepted += has_any && i < load->packets && at < group->peers.n_excepted;
	}
	return excepted;
}

struct tally {
	uint64_t forwarded, hits;
};

static int read_tally(const struct group *group, struct tally *out)
{
	const struct maps *maps = &group->router.daemon.maps;
	struct sixlane_counters counters;
	int ret = maps_counters(maps, group->router.slot, &counters);

	if (ret)
		return bench_fail(ret, "sixlane's counters");
	out->forwarded = counters.verdicts[SIXLANE_FORWARD].packets +
			 counters.verdicts[SIXLANE_PASS_CHECKSUM].packets;
	return exceptions_count_ours(maps, NULL, &out->hits);
}

/* Every packet to a destination with an exception has met it, and no other packet has. */
static int check_hits(const struct tally *before, const struct tally *after, uint32_t packets,
		      uint32_t excepted)
{
	/* with those that warm up */
	uint64_t wanted = (after->forwarded - before->forwarded) / packets * excepted;
	uint64_t hits = after->hits - before->hits;

	if (hits == wanted)
		return 0;
	return bench_bad(
		-EPROTO,
		"%llu packets matched an exception in sixlane instead of %llu: the result would be meaningless",
		(unsigned long long)hits, (unsigned long long)wanted);
}

static int run(struct group *group, const char *engine, const struct load *load, double *ns)
{
	static const struct forward_pattern pattern = { .kind = FORWARD_RANDOM };
	const struct forward_run asked = { .engine = forward_engine_named(engine),
					   .pattern = &pattern,
					   .addresses = group->targets,
					   .count = load->packets };
	uint32_t excepted = aim(group, load);
	struct forward_figures figures = { 0 };
	struct tally before = { 0 }, after = { 0 };
	int ret = bench_interrupted() ? -EINTR : read_tally(group, &before);

	ret = ret ?: forward_run(&group->router, &group->source, &asked, &figures)
			     ?: read_tally(group, &after)
			     ?: check_hits(&before, &after, load->packets, excepted);
	if (ret)
		return ret;
	*ns = figures.ns;
	bench_progress_step(&group->bench->progress, 1);
	return 0;
}

/* --- entries -------------------------------------------------------------------------------- */

static int count(struct group *group)
{
	struct exceptions_found *found = &group->found;
	int ret = exceptions_count_all(&group->router.daemon.maps, &found->counts[found->n_counts]);

	found->n_counts += !ret;
	return ret;
}

/* Of a run to all destinations, or to the next ones of many. */
static uint32_t part_packets(uint32_t destinations)
{
	if (destinations < FORWARD_COUNT_MIN)
		return FORWARD_COUNT_MIN;
	return destinations < GEN_TARGETS ? destinations : GEN_TARGETS;
}

static size_t n_parts(uint32_t destinations)
{
	return (destinations + GEN_TARGETS - 1) / GEN_TARGETS;
}

static int send_to_all(struct group *group, bool learnt)
{
	struct load load = { .list = group->peers.all,
			     .n = group->peers.n,
			     .packets = part_packets(group->bench->options->destinations),
			     .learnt = learnt };
	double ns;
	int ret = 0;

	for (; load.first < load.n && !ret; load.first += load.packets)
		for (size_t e = 0; e < ARRAY_SIZE(traffic_engines) && !ret; e++)
			ret = run(group, traffic_engines[e], &load, &ns);
	return ret;
}

/* --- rounds --------------------------------------------------------------------------------- */

static int learn(struct group *group)
{
	const struct peers *peers = &group->peers;
	struct exceptions_found *found = &group->found;
	double one_ms, rest_ms = 0;
	int ret = learn_all(&group->learner, peers->all, 1, &one_ms);

	if (!ret && peers->n_excepted > 1)
		ret = learn_all(&group->learner, peers->all + 1, peers->n_excepted - 1, &rest_ms);
	if (ret)
		return ret;
	found->one_ms.ns[found->one_ms.n++] = one_ms;
	found->rest_ms.ns[found->rest_ms.n++] = rest_ms;
	return 0;
}

static int forget(struct group *group)
{
	return learn_forget(&group->learner, group->peers.all, group->peers.n_excepted);
}

static int measure_state(struct group *group, size_t round, enum exceptions_state state)
{
	const struct peers *peers = &group->peers;
	const size_t n = EXCEPTIONS_N_ENGINES * PEERS_N_LISTS;
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		size_t at = bench_turn(round, n, i);
		size_t list = at / EXCEPTIONS_N_ENGINES, engine = at % EXCEPTIONS_N_ENGINES;
		struct exceptions_series *series = &group->found.cost[engine][list][state];
		const struct load load = { .list = peers->lists[list],
					   .n = peers->n_excepted,
					   .packets = group->bench->options->packets,
					   .learnt = state == EXCEPTIONS_ALL };

		ret = run(group, exceptions_engines[engine], &load, &series->ns[series->n]);
		series->n += !ret;
	}
	return ret;
}

static int measure_rounds(struct group *group)
{
	int ret = 0;

	for (size_t round = 0; round < group->bench->options->rounds && !ret; round++)
		ret = measure_state(group, round, EXCEPTIONS_NONE) ?: learn(group)
			      ?: measure_state(group, round, EXCEPTIONS_ALL) ?: forget(group);
	return ret;
}

static int measure(void *ctx)
{
	struct group *group = ctx;

	return count(group) ?: send_to_all(group, false) ?: count(group) ?: learn(group)
		       ?: send_to_all(group, true) ?: count(group) ?: forget(group)
		       ?: count(group) ?: measure_rounds(group);
}

/* --- one table ------------------------------------------------------------------------------ */

/* rounds: with those that are learnt to be counted. */
static int series_new(struct exceptions_series *series, size_t rounds)
{
	series->ns = calloc(rounds + 1, sizeof(*series->ns));
	return series->ns ? 0 : -ENOMEM;
}

/* To all series in turn. */
static struct exceptions_series *series_at(struct exceptions_found *found, size_t i)
{
	const size_t of_list = EXCEPTIONS_N_STATES, of_engine = of_list * PEERS_N_LISTS;

	if (i < RUNS_OF_ROUND)
		return &found->cost[i / of_engine][i % of_engine / of_list][i % of_list];
	if (i == RUNS_OF_ROUND)
		return &found->one_ms;
	return i == RUNS_OF_ROUND + 1 ? &found->rest_ms : NULL;
}

static int make_room(struct group *group)
{
	struct exceptions_series *series;
	int ret = 0;

	group->targets = calloc(GEN_TARGETS, sizeof(*group->targets));
	for (size_t i = 0; (series = series_at(&group->found, i)) && !ret; i++)
		ret = series_new(series, group->bench->options->rounds);
	return ret || !group->targets ? bench_fail(-ENOMEM, "bench") : 0;
}

static int open_group(struct group *group, const struct bench_table *table)
{
	const struct exceptions_options *options = group->bench->options;

	return make_room(group)
		       ?: peers_choose(table, options->destinations, options->exceptions,
				       options->seed, &group->peers)
		       ?: forward_router_open(table, false, false, &group->router)
		       ?: forward_source_open(&group->router, EXCEPTIONS_FRAME_BYTES, 1,
					      &group->source)
		       ?: learn_open(&group->router, &group->learner);
}

static void close_group(struct group *group)
{
	struct exceptions_series *series;

	learn_close(&group->learner);
	if (group->router.table) {
		forward_source_close(&group->source);
		forward_router_close(&group->router);
	}
	peers_free(&group->peers);
	for (size_t i = 0; (series = series_at(&group->found, i)); i++)
		free(series->ns);
	free(group->targets);
}

static int measure_table(struct bench *bench, const struct bench_table *table)
{
	struct group group = { .bench = bench, .learner = { .fd = -1 } };
	int ret, reported;

	ret = open_group(&group, table) ?: forward_on_one_cpu(measure, &group);
	bench_progress_end(&bench->progress);
	reported = exceptions_report(bench->options, table, &group.found, bench->result);
	close_group(&group);
	return ret ?: reported;
}

int exceptions_measure(const struct exceptions_options *options, struct bench_result *result)
{
	struct bench bench = { .options = options, .result = result };
	size_t runs = 2 * ARRAY_SIZE(traffic_engines) * n_parts(options->destinations) +
		      (size_t)RUNS_OF_ROUND * options->rounds;
	int ret = 0;

	bench_interrupt_catch();
	bench_progress_begin(&bench.progress, "bench exceptions", runs * options->n_tables);
	for (size_t i = 0; i < options->n_tables && !ret; i++)
		ret = measure_table(&bench, &options->tables[i]);
	bench_progress_end(&bench.progress);
	return ret;
}
