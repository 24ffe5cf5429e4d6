// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane bench lookup: what lookups cost, by sixlane and by others (user/bench/lookup). Touches no
 * map of a sixlane that runs here.
 */
#include <errno.h>
#include <string.h>

#include "../bench/progress.h"
#include "../lib/log.h"
#include "bench.h"

#define MOST_RATE 1000000u

/* Of one measurement: all sides of it are there at once. */
struct args {
	struct cmd_bench_options options;
	struct cmd_bench_tables tables;
	struct bench_lookup lookup;
	const struct bench_engine *engines[16];
	const char *preset;   /* in place of all options but some; NULL: none */
	uint32_t most_routes; /* larger tables are left out */
};

#define FOUR "--engine compiled --engine trie --engine kernel6 --engine kernel4 --mode independent"
#define THREE "--engine compiled --engine trie --engine kernel6 --mode independent"
#define KUBECEK                                                               \
	FOUR " --threads doubled --table 1 --table 10 --table 100 --table 1k" \
	     " --table 10k --table 100k --table 1m --pattern "
#define SIZES(table) \
	" --table " table ":1k --table " table ":10k --table " table ":100k --table " table ":1m"

/* The experiments of papers: the arguments of measurements, one after the other, of a million
 * routes at once at most. */
static const struct preset {
	const char *name;
	const char *measurements[8];
} presets[] = {
	/* Michal Kubecek, IPv6 route lookup performance and scaling, netdev 1.1, 2016 */
	{ "kubecek", { KUBECEK "hit", KUBECEK "miss", KUBECEK "fallback" } },
	/* Vincent Bernat, IPv6 route lookup on Linux, 2017 */
	{ "bernat",
	  { FOUR " --table full-view", THREE SIZES("dense-48"), THREE SIZES("dense-48-4"),
	    THREE SIZES("dense-48-16"), THREE SIZES("hosts-108") } },
	{ "writers",
	  { FOUR " --table 10k --table full-view --writer 100 --writer 1000 --writer 10000" } },
};

static const char *engine_name(size_t i)
{
	return bench_engines[i]->name;
}

static const char *mode_name(size_t i)
{
	return bench_mode_names[i];
}

static const char *pattern_name(size_t i)
{
	return bench_pattern_names[i];
}

static const char *preset_name(size_t i)
{
	return presets[i].name;
}

static int add_engine(struct args *args, const char *name)
{
	size_t i = 0;
	int rc = cmd_bench_choose(&cmd_bench_lookup, "an engine", name, bench_n_engines,
				  engine_name, &i);

	for (size_t k = 0; k < args->lookup.n_engines && !rc; k++)
		if (args->engines[k] == bench_engines[i])
			return CMD_OK;
	if (!rc)
		args->engines[args->lookup.n_engines++] = bench_engines[i];
	return rc;
}

static int add_threads(struct args *args, const char *word)
{
	struct bench_lookup *lookup = &args->lookup;

	return cmd_bench_add_threads(&cmd_bench_lookup, lookup->threads, &lookup->n_threads,
				     ARRAY_SIZE(lookup->threads), word);
}

static int add_mode(struct args *args, const char *name)
{
	size_t mode = 0;
	int rc = cmd_bench_choose(&cmd_bench_lookup, "a mode", name, BENCH_N_MODES, mode_name,
				  &mode);

	if (!rc)
		args->lookup.modes[mode] = true;
	return rc;
}

static int add_writer(struct args *args, const char *word)
{
	struct bench_lookup *lookup = &args->lookup;
	uint32_t rate = 0;
	int rc = cmd_bench_number(&cmd_bench_lookup, "writer", word, MOST_RATE, &rate);

	return rc
		       ?: cmd_bench_add_number(
				  &cmd_bench_lookup, lookup->writer_rates, &lookup->n_writer_rates,
				  ARRAY_SIZE(lookup->writer_rates), rate, "rates of changes");
}

static int add_pattern(struct args *args, const char *name)
{
	size_t pattern = 0;
	int rc = cmd_bench_choose(&cmd_bench_lookup, "a pattern", name, BENCH_N_PATTERNS,
				  pattern_name, &pattern);

	if (!rc)
		args->tables.patterns[pattern] = true;
	return rc;
}

static int take_option(void *ctx, int option)
{
	struct args *args = ctx;

	if (args->preset && !strchr("rsox", option))
		return cmd_usage(
			&cmd_bench_lookup,
			"an experiment takes only --rounds, --seed, --output and --most-routes");
	switch (option) {
	case 't':
	case 'f':
		return cmd_bench_add_table(&cmd_bench_lookup, &args->tables, optarg, option == 'f');
	case 'e':
		return add_engine(args, optarg);
	case 'n':
		return add_threads(args, optarg);
	case 'm':
		return add_mode(args, optarg);
	case 'w':
		return add_writer(args, optarg);
	case 'p':
		return add_pattern(args, optarg);
	case 'x':
		return cmd_bench_number(&cmd_bench_lookup, "most-routes", optarg, UINT32_MAX,
					&args->most_routes);
	default:
		return cmd_bench_take_option(&cmd_bench_lookup, &args->options, option);
	}
}

static void set_defaults(struct args *args)
{
	struct bench_lookup *lookup = &args->lookup;

	if (!args->tables.n_names)
		cmd_bench_add_table(&cmd_bench_lookup, &args->tables, "10k", false);
	if (!lookup->n_engines)
		for (size_t i = 0; i < bench_n_engines; i++)
			add_engine(args, bench_engines[i]->name);
	if (!lookup->n_threads)
		lookup->threads[lookup->n_threads++] = 1;
	if (!lookup->modes[BENCH_INDEPENDENT] && !lookup->modes[BENCH_DEPENDENT])
		lookup->modes[BENCH_INDEPENDENT] = lookup->modes[BENCH_DEPENDENT] = true;
}

/* What is not measured beside a writer is not to pass for it. */
static int check_writers(const struct bench_lookup *lookup)
{
	bool alone = !lookup->n_threads, changes = !lookup->n_engines;

	for (size_t i = 0; i < lookup->n_threads; i++)
		alone |= lookup->threads[i] == 1;
	for (size_t i = 0; i < lookup->n_engines; i++)
		changes |= lookup->engines[i]->change != NULL;
	if (!lookup->n_writer_rates || (alone && changes))
		return CMD_OK;
	if (alone)
		return cmd_usage(&cmd_bench_lookup, "--writer: none of these engines has routes "
						    "that can be changed; compiled, trie, kernel6 "
						    "and kernel4 have");
	return cmd_usage(&cmd_bench_lookup,
			 "--writer is measured with one thread: add --threads 1");
}

static int parse_options(struct args *args, int argc, char **argv)
{
	static const struct option known[] = {
		CMD_BENCH_OPTIONS,
		CMD_BENCH_TABLE_OPTIONS,
		{ "engine", required_argument, NULL, 'e' },
		{ "threads", required_argument, NULL, 'n' },
		{ "mode", required_argument, NULL, 'm' },
		{ "writer", required_argument, NULL, 'w' },
		{ "pattern", required_argument, NULL, 'p' },
		{ "most-routes", required_argument, NULL, 'x' },
		{ 0 },
	};
	int rc;

	args->lookup.engines = args->engines;
	rc = cmd_bench_parse(known, argc, argv, take_option, args);
	rc = rc ?: cmd_bench_check_end(&cmd_bench_lookup, argc, argv);
	return rc ?: check_writers(&args->lookup);
}

/* A preset, or options. argv[0] is "lookup". */
static int parse_args(struct args *args, int argc, char **argv)
{
	if (argc > 1 && argv[1][0] != '-') {
		args->preset = argv[1];
		argc--;
		argv++;
	}
	return parse_options(args, argc, argv);
}

/* --- measuring ------------------------------------------------------------------------------ */

static int measure(struct args *args, struct bench_result *result)
{
	struct bench_lookup *lookup = &args->lookup;
	int rc;

	set_defaults(args);
	args->tables.most_routes = args->most_routes;
	rc = cmd_bench_make_tables(&cmd_bench_lookup, &args->tables, args->options.seed);
	if (rc || !args->tables.n)
		return rc;
	lookup->tables = args->tables.at;
	lookup->n_tables = args->tables.n;
	lookup->rounds = args->options.rounds;
	return bench_lookup_run(lookup, result);
}

#define MOST_WORDS 64

/* words: the arguments of a measurement, which are taken apart. */
static int measure_words(const struct args *like, char *words, struct bench_result *result)
{
	char *argv[MOST_WORDS] = { "lookup" }, *rest = words;
	struct args *args = calloc(1, sizeof(*args));
	int argc = 1, ret;

	if (!args)
		return bench_fail(-ENOMEM, "bench");
	while (argc < MOST_WORDS - 1 && (argv[argc] = strsep(&rest, " ")))
		argc++;
	args->options = like->options;
	args->most_routes = like->most_routes;
	ret = parse_options(args, argc, argv) ?: measure(args, result);
	cmd_bench_free_tables(&args->tables);
	free(args);
	return ret;
}

static size_t count_measurements(const struct preset *preset)
{
	size_t n = 0;

	while (n < ARRAY_SIZE(preset->measurements) && preset->measurements[n])
		n++;
	return n;
}

static int measure_preset(const struct args *args, const struct preset *preset,
			  struct bench_result *result)
{
	size_t n = count_measurements(preset);
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		char words[1024];

		bench_progress_part(i + 1, n);
		snprintf(words, sizeof(words), "%s", preset->measurements[i]);
		ret = measure_words(args, words, result);
	}
	return ret;
}

/* A preset leaves out what is too large in part. */
static int check_measured(const struct args *args, const struct bench_result *result)
{
	if (result->n)
		return CMD_OK;
	return bench_bad(-ENOENT,
			 "all tables have more than %u routes, so none is measured: raise "
			 "--most-routes, or choose a smaller table",
			 args->most_routes);
}

static const struct preset *find_preset(const char *name)
{
	size_t i = 0;

	return cmd_bench_choose(&cmd_bench_lookup, "an experiment", name, ARRAY_SIZE(presets),
				preset_name, &i)
		       ? NULL
		       : &presets[i];
}

static int measure_all(struct args *args, const struct cmd_options *options)
{
	const struct preset *preset = args->preset ? find_preset(args->preset) : NULL;
	struct bench_result *result = NULL;
	int rc;

	if (args->preset && !preset)
		return CMD_USAGE;
	rc = cmd_bench_need_root(&cmd_bench_lookup)
		     ?: cmd_bench_open_result(args->preset ?: "lookup", &args->options, options,
					      &result);
	if (rc)
		return rc;
	rc = preset ? measure_preset(args, preset, result) : measure(args, result);
	rc = rc ?: check_measured(args, result);
	return cmd_bench_end_result(result, rc);
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	struct args *args = calloc(1, sizeof(*args));
	int rc;

	if (!args) {
		log_error("out of memory");
		return CMD_FAILED;
	}
	cmd_bench_begin(&args->options, 12, argc, argv);
	rc = parse_args(args, argc, argv) ?: measure_all(args, options);
	cmd_bench_free_tables(&args->tables);
	free(args);
	return rc;
}

static const char help[] =
	"measure the cost of lookups, by sixlane's engines and others in turn\n"
	"\n"
	"Engines: compiled, trie, load, load-user, compiled-load, compiled-chunks, kernel6, kernel4,\n"
	"dpdk-fib6, dpdk-lpm6. Modes: independent, dependent. Patterns: hit (default), miss, fallback.\n"
	"\n"
	"Defaults: all engines, both modes, table 10k, one thread, 12 rounds. --writer N changes N\n"
	"routes a second during lookups of one thread.\n"
	"\n"
	"Ratios between engines are of times: below 1 the first engine is faster. Ratios between numbers\n"
	"of threads, and with changes to without, are of rates.";

const struct cmd cmd_bench_lookup = {
	.name = "bench lookup",
	.args = "{ kubecek | bernat | writers | " CMD_BENCH_TABLE_ARGS
		" [--engine NAME]... [--mode MODE]... [--pattern PATTERN]... "
		"[--threads N|all|doubled]... [--writer N]... } "
		"[--most-routes N] " CMD_BENCH_ARGS,
	.help = help,
	.run = run,
};
