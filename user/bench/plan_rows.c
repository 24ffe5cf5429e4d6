// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a packet costs, out of rows that `sixlane bench forward` wrote: those of one engine that
 * were forwarded, without a writer. Packets that find no route are the kernel's, and say nothing.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "../lib/input.h"
#include "bench.h"
#include "machine.h"
#include "plan.h"

#define HOW "`sixlane bench forward --output DIR` makes DIR/forward.json"

/* What is taken for figures: packets a second, and CPUs. */
#define LEAST_RATE 1.0
#define MOST_THREADS 4096

struct rows {
	const json_t *all;
	const char *path, *engine;
};

/* --- one row -------------------------------------------------------------------------------- */

static const char *text_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

static json_int_t number_of(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

/* Those of latency have a mode. */
static bool is_forwarded(const json_t *row, const char *engine)
{
	json_int_t threads = number_of(row, "threads");

	return !strcmp(text_of(row, "bench"), "forward") &&
	       !strcmp(text_of(row, "engine"), engine) && !*text_of(row, "mode") &&
	       strcmp(text_of(row, "pattern"), "miss") != 0 && !number_of(row, "writer_rate") &&
	       threads > 0 && threads <= MOST_THREADS;
}

/* Packets a second of all its threads together; 0: the row is of something else. */
static double rate_of(const json_t *row, const char *engine)
{
	double median = json_number_value(json_object_get(row, "median"));
	double threads = (double)number_of(row, "threads"), rate = 0;

	if (!is_forwarded(row, engine) || !(median > 0))
		return 0;
	if (!strcmp(text_of(row, "unit"), "Mpps"))
		rate = median * 1e6;
	else if (!strcmp(text_of(row, "unit"), "ns"))
		rate = threads * 1e9 / median;
	return rate >= LEAST_RATE && isfinite(rate) ? rate : 0;
}

/* Apart from the threads. */
static bool is_same(const json_t *a, const json_t *b)
{
	static const char *const keys[] = { "table", "pattern", "unit" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(text_of(a, keys[i]), text_of(b, keys[i])) != 0)
			return false;
	return number_of(a, "frame_bytes") == number_of(b, "frame_bytes") &&
	       number_of(a, "routes") == number_of(b, "routes");
}

/* --- all of them ---------------------------------------------------------------------------- */

/* The cost of a size, or a new one in its place. NULL: no room. */
static struct plan_cost *cost_at(struct plan *plan, uint32_t frame_bytes)
{
	size_t at = 0;

	while (at < plan->n_costs && plan->costs[at].frame_bytes < frame_bytes)
		at++;
	if (at < plan->n_costs && plan->costs[at].frame_bytes == frame_bytes)
		return &plan->costs[at];
	if (plan->n_costs == PLAN_MOST_COSTS)
		return NULL;
	memmove(&plan->costs[at + 1], &plan->costs[at],
		(plan->n_costs++ - at) * sizeof(plan->costs[0]));
	plan->costs[at] = (struct plan_cost){ .frame_bytes = frame_bytes };
	return &plan->costs[at];
}

static int take_costs(struct plan *plan, const struct rows *rows)
{
	struct plan_cost *cost;
	json_t *row;
	size_t i;

	json_array_foreach(rows->all, i, row)
	{
		double rate = rate_of(row, rows->engine);
		json_int_t bytes = number_of(row, "frame_bytes");

		if (rate <= 0 || number_of(row, "threads") != 1)
			continue;
		if (bytes < PLAN_LEAST_FRAME || bytes > PLAN_MOST_FRAME)
			return bench_bad(-EINVAL, "%s: row %zu: no frame is %lld bytes long",
					 rows->path, i + 1, (long long)bytes);
		cost = cost_at(plan, (uint32_t)bytes);
		if (!cost)
			return bench_bad(-E2BIG, "%s: more than %d sizes of frames", rows->path,
					 PLAN_MOST_COSTS);
		if (1e9 / rate <= cost->ns)
			continue;
		cost->ns = 1e9 / rate;
		snprintf(cost->note, sizeof(cost->note), "%s", text_of(row, "note"));
	}
	return 0;
}

/* Of what one CPU does, what each of several does; 0: it was not measured alone. */
static double scaling_of(const struct rows *rows, const json_t *many)
{
	double threads = (double)number_of(many, "threads");
	json_t *row;
	size_t i;

	json_array_foreach(rows->all, i, row)
	{
		double alone = rate_of(row, rows->engine);

		if (alone > 0 && number_of(row, "threads") == 1 && is_same(row, many))
			return rate_of(many, rows->engine) / (threads * alone);
	}
	return 0;
}

/* With as many CPUs as were tried, at the size and pattern that scaled worst. */
static void take_scaling(struct plan *plan, const struct rows *rows)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows->all, i, row)
	{
		json_int_t threads = number_of(row, "threads");
		double scaling;

		if (rate_of(row, rows->engine) <= 0 || threads < 2 || threads < plan->scaling_cpus)
			continue;
		scaling = fmin(scaling_of(rows, row), 1);
		if (scaling <= 0)
			continue;
		if (threads > plan->scaling_cpus || scaling < plan->scaling)
			plan->scaling = scaling;
		plan->scaling_cpus = (unsigned int)threads;
	}
}

/* --- the file ------------------------------------------------------------------------------- */

static bool has_engine(const json_t *all, const char *engine)
{
	json_t *row;
	size_t i;

	json_array_foreach(all, i, row)
	{
		if (rate_of(row, engine) > 0 && number_of(row, "threads") == 1)
			return true;
	}
	return false;
}

static int choose_engine(struct rows *rows)
{
	/* the fastest one first: it is what a sixlane uses by itself */
	static const char *const ours[] = { "sixlane", "compiled", "trie" };

	for (size_t i = 0; i < ARRAY_SIZE(ours) && !rows->engine; i++)
		if (has_engine(rows->all, ours[i]))
			rows->engine = ours[i];
	if (rows->engine && has_engine(rows->all, rows->engine))
		return 0;
	return bench_bad(-ENODATA, "%s has no row of bench forward of %s with one thread: " HOW,
			 rows->path, rows->engine ? rows->engine : "sixlane");
}

/* What is measured on an emulated CPU would look like a forecast. */
static int check_rows(const struct rows *rows)
{
	json_t *row;
	size_t i;

	if (!json_is_array(rows->all))
		return bench_bad(-EINVAL, "%s is not a list of rows: " HOW, rows->path);
	json_array_foreach(rows->all, i, row)
	{
		if (json_is_true(json_object_get(row, "emulated")))
			return bench_bad(-EINVAL,
					 "%s: row %zu was measured on an emulated CPU, whose times "
					 "mean nothing: run bench forward on a real one",
					 rows->path, i + 1);
	}
	return 0;
}

static int take_rows(struct plan *plan, struct rows *rows)
{
	const json_t *first = json_array_get(rows->all, 0);
	int ret = check_rows(rows) ?: choose_engine(rows) ?: take_costs(plan, rows);

	if (ret)
		return ret;
	take_scaling(plan, rows);
	snprintf(plan->source, sizeof(plan->source), "%s, %s, measured on %s", rows->path,
		 rows->engine, text_of(first, "cpu"));
	return 0;
}

int plan_read_rows(struct plan *plan, const char *path, const char *engine)
{
	struct rows rows = { .path = input_name(path), .engine = engine };
	_cleanup_fclose_ FILE *file = input_open(path);
	json_error_t error;
	json_t *all;
	int ret;

	if (!file)
		return bench_bad(-errno, "%s: %s; " HOW, path, strerror(errno));
	all = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
	if (!all && ferror(file))
		return bench_bad(-EIO, "%s: %s; " HOW, rows.path, strerror(errno));
	if (!all)
		return bench_bad(-EINVAL, "%s:%d: %s; " HOW, rows.path, error.line, error.text);
	rows.all = all;
	ret = take_rows(plan, &rows);
	json_decref(all);
	return ret;
}
