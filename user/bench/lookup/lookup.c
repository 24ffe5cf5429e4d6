// SPDX-License-Identifier: GPL-2.0-only
/*
 * The measurement: every engine is filled with every table and its answers are checked; then all
 * of them are measured in turn, round for round, since the speed of a machine drifts.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "../bench.h"
#include "../memory.h"
#include "../progress.h"
#include "../result.h"

#define ROUND_NS 20e6 /* of one side */
#define MOST_LOOKUPS (BENCH_ADDRESSES * 64u)

struct run {
	const struct bench_lookup *lookup;
	struct bench_side *sides;
	struct bench_series *series;
	size_t n_sides, n_series;
	struct bench_progress progress;
};

/* --- sides ---------------------------------------------------------------------------------- */

static bool is_right(const struct bench_engine *engine, uint32_t found, uint32_t wanted)
{
	if (engine->no_lookup)
		return found;
	return engine->any_answer ? !found == !wanted : found == wanted;
}

static int check(struct bench_side *side)
{
	_cleanup_free_ uint32_t *found = calloc(BENCH_ADDRESSES, sizeof(*found));
	const uint32_t *wanted = side->table->expected;
	char text[INET6_ADDRSTRLEN];
	int ret = found ? side->engine->answers(side, found) : -ENOMEM;

	if (ret)
		return ret;
	for (size_t i = 0; i < BENCH_ADDRESSES; i++) {
		if (is_right(side->engine, found[i], wanted[i]))
			continue;
		inet_ntop(side->engine->ipv4 ? AF_INET : AF_INET6, &side->table->addresses->at[i],
			  text, sizeof(text));
		return bench_bad(-EPROTO, "%s, table %s: the route to %s is number %u, not %u",
				 side->engine->name, side->table->name, text, wanted[i], found[i]);
	}
	return 0;
}

/* -ENOENT with nothing said: it is not to be had here. */
static int open_side(struct bench_side *side)
{
	int ret = 0;

	if (side->engine->ipv4) {
		ret = bench_table_ipv4(side->table, &side->own_table);
		side->table = &side->own_table;
	}
	ret = ret ?: side->engine->open(side) ?: check(side);
	if (!ret && side->engine->depth)
		ret = side->engine->depth(side, &side->depth);
	/* Which does not hang on what is looked up. */
	return ret ?: side->table->pattern == BENCH_HIT ? bench_changes(side) : 0;
}

static void close_side(struct bench_side *side)
{
	if (side->state)
		side->engine->close(side);
	bench_table_free(&side->own_table);
	free(side->change_ns);
}

static unsigned int most_threads(const struct bench_lookup *lookup)
{
	unsigned int most = 1;

	for (size_t t = 0; t < lookup->n_threads; t++)
		most = lookup->threads[t] > most ? lookup->threads[t] : most;
	return most;
}

/* The next one. */
static int add_open_side(struct run *run, const struct bench_engine *engine,
			 const struct bench_table *table)
{
	struct bench_side *side = &run->sides[run->n_sides];
	int ret;

	if (bench_interrupted())
		return -EINTR;
	*side = (struct bench_side){ .engine = engine,
				     .table = table,
				     .threads = most_threads(run->lookup) };
	ret = open_side(side);
	if (ret == -ENOENT && engine->is_optional) {
		bench_bad(ret,
			  "%s is left out: bench-dpdk is not there (it is built where libdpdk-dev "
			  "is installed)",
			  engine->name);
		close_side(side);
		return 0;
	}
	run->n_sides++;
	bench_progress_step(&run->progress, table->n);
	return ret;
}

static size_t count_routes(const struct bench_lookup *lookup)
{
	size_t n = 0;

	for (size_t i = 0; i < lookup->n_tables; i++)
		n += lookup->tables[i].n;
	return n * lookup->n_engines;
}

/* Of all sides, since all are there at once. */
static int check_memory(const struct bench_lookup *lookup)
{
	uint64_t bytes = 0;

	for (size_t t = 0; t < lookup->n_tables; t++)
		for (size_t e = 0; e < lookup->n_engines; e++)
			bytes += lookup->engines[e]->route_bytes * lookup->tables[t].n;
	return bench_memory_check("the routes of all tables", "the kernel's tables", bytes);
}

static int open_sides(struct run *run)
{
	const struct bench_lookup *lookup = run->lookup;
	int ret = check_memory(lookup);

	if (ret)
		return ret;
	run->sides = calloc(lookup->n_tables * lookup->n_engines, sizeof(*run->sides));
	if (!run->sides)
		return bench_fail(-ENOMEM, "bench");
	bench_progress_begin(&run->progress, "routes, all engines filled", count_routes(lookup));
	for (size_t t = 0; t < lookup->n_tables; t++)
		for (size_t e = 0; e < lookup->n_engines && !ret; e++)
			ret = add_open_side(run, lookup->engines[e], &lookup->tables[t]);
	bench_progress_end(&run->progress);
	return ret;
}

/* --- rounds --------------------------------------------------------------------------------- */

static int measure(struct bench_series *series, struct bench_time *time)
{
	struct bench_side *side = series->side;

	return side->engine->measure(side, series->mode, series->threads, series->lookups, time);
}

static int measure_beside(struct bench_series *series, size_t round, struct bench_time *time)
{
	struct bench_writer *writer = NULL;
	int ended, ret;

	if (!series->writer_rate)
		return measure(series, time);
	ret = bench_writer_begin(series->side, series->writer_rate, &writer);
	if (ret)
		return ret;
	ret = measure(series, time);
	ended = bench_writer_end(writer, &series->rate[round]);
	return ret ?: ended;
}

/* Which also warms it up: how many lookups take about ROUND_NS, but all addresses at least. */
static int calibrate(struct bench_series *series)
{
	struct bench_time time;
	int ret;

	series->lookups = BENCH_ADDRESSES;
	ret = measure(series, &time);
	if (ret)
		return ret;
	while (series->lookups < MOST_LOOKUPS && 2 * series->lookups * time.gross_ns < ROUND_NS)
		series->lookups *= 2;
	return 0;
}

static int measure_one(struct run *run, struct bench_series *series, size_t round)
{
	struct bench_time time;
	int ret = bench_interrupted() ? -EINTR : measure_beside(series, round, &time);

	/* A signal also ends the measurement under way. */
	if (ret)
		return bench_interrupted() ? -EINTR : ret;
	series->gross[round] = time.gross_ns;
	series->ns[round] = time.gross_ns - time.dry_ns;
	series->elapsed[round] = time.elapsed_ns - time.dry_ns / series->threads;
	series->rounds = round + 1;
	bench_progress_step(&run->progress, 1);
	return 0;
}

static int measure_round(struct run *run, size_t round)
{
	int ret = 0;

	for (size_t i = 0; i < run->n_series && !ret; i++)
		ret = measure_one(run, &run->series[bench_turn(round, run->n_series, i)], round);
	return ret;
}

static int measure_rounds(struct run *run)
{
	size_t rounds = run->lookup->rounds;
	int ret = 0;

	bench_progress_begin(&run->progress, "lookups, all sides in turn", rounds * run->n_series);
	for (size_t round = 0; round < rounds && !ret; round++)
		ret = measure_round(run, round);
	bench_progress_end(&run->progress);
	return ret;
}

static int add_series(struct run *run, struct bench_side *side, enum bench_mode mode,
		      unsigned int threads, uint32_t writer_rate)
{
	struct bench_series *series = &run->series[run->n_series];

	*series = (struct bench_series){
		.side = side, .mode = mode, .threads = threads, .writer_rate = writer_rate
	};
	series->rate = calloc(run->lookup->rounds, sizeof(double));
	series->gross = calloc(run->lookup->rounds, sizeof(double));
	series->ns = calloc(run->lookup->rounds, sizeof(double));
	series->elapsed = calloc(run->lookup->rounds, sizeof(double));
	run->n_series++;
	if (!series->gross || !series->ns || !series->elapsed || !series->rate)
		return bench_fail(-ENOMEM, "bench");
	return calibrate(series);
}

/* By one thread also beside writers, if the engine has one. */
static int add_side(struct run *run, struct bench_side *side, enum bench_mode mode,
		    unsigned int threads)
{
	const struct bench_lookup *lookup = run->lookup;
	int ret;

	if (threads > 1 && side->engine->user_space)
		return 0;
	ret = add_series(run, side, mode, threads, 0);
	if (threads > 1 || !side->engine->change)
		return ret;
	for (size_t i = 0; i < lookup->n_writer_rates && !ret; i++)
		ret = add_series(run, side, mode, threads, lookup->writer_rates[i]);
	return ret;
}

static int make_series(struct run *run)
{
	const struct bench_lookup *lookup = run->lookup;
	int ret = 0;

	if (!run->n_sides)
		return bench_bad(-ENOENT, "nothing to measure");
	run->series =
		calloc(run->n_sides * (lookup->n_threads + lookup->n_writer_rates) * BENCH_N_MODES,
		       sizeof(*run->series));
	if (!run->series)
		return bench_fail(-ENOMEM, "bench");
	for (size_t t = 0; t < lookup->n_threads; t++)
		for (int mode = 0; mode < BENCH_N_MODES; mode++)
			for (size_t i = 0; i < run->n_sides && lookup->modes[mode] && !ret; i++)
				ret = add_side(run, &run->sides[i], mode, lookup->threads[t]);
	return ret;
}

static void clean(struct run *run)
{
	for (size_t i = 0; i < run->n_series; i++) {
		free(run->series[i].gross);
		free(run->series[i].ns);
		free(run->series[i].elapsed);
		free(run->series[i].rate);
	}
	for (size_t i = 0; i < run->n_sides; i++)
		close_side(&run->sides[i]);
	free(run->series);
	free(run->sides);
}

/* Once more, where routes came and went. */
static int check_again(struct run *run)
{
	int ret = 0;

	for (size_t i = 0; i < run->n_sides && !ret && run->lookup->n_writer_rates; i++)
		ret = check(&run->sides[i]);
	return ret;
}

int bench_lookup_run(const struct bench_lookup *lookup, struct bench_result *result)
{
	struct run run = { .lookup = lookup };
	int ret, reported = 0;

	bench_interrupt_catch();
	ret = bench_pin(0) ?: open_sides(&run) ?: make_series(&run);
	if (!ret)
		ret = measure_rounds(&run) ?: check_again(&run);
	if (!ret || ret == -EINTR)
		reported = bench_lookup_report(lookup, run.series, run.n_series, result);
	clean(&run);
	return reported ?: ret;
}
