// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane bench lookup: what lookups cost, by sixlane and by others (user/bench). Touches no map
 * of a sixlane that runs here.
 */
#include <errno.h>
#include <string.h>

#include "cmd_bench.h"
#include "log.h"

#define MOST_RATE 1000000u

struct args {
	struct cmd_bench_options options;
	struct cmd_bench_tables tables;
	struct bench_lookup lookup;
	const struct bench_engine *engines[16];
};

static int add_engine(struct args *args, const char *name)
{
	for (size_t i = 0; i < bench_n_engines; i++) {
		if (strcmp(bench_engines[i]->name, name) != 0)
			continue;
		for (size_t k = 0; k < args->lookup.n_engines; k++)
			if (args->engines[k] == bench_engines[i])
				return CMD_OK;
		args->engines[args->lookup.n_engines++] = bench_engines[i];
		return CMD_OK;
	}
	return cmd_usage(&cmd_bench_lookup, "\"%s\" is not an engine", name);
}

static int add_threads(struct args *args, const char *word)
{
	struct bench_lookup *lookup = &args->lookup;
	uint32_t n;
	int rc = cmd_bench_threads(&cmd_bench_lookup, word, &n);

	if (rc)
		return rc;
	if (lookup->n_threads == ARRAY_SIZE(lookup->threads))
		return cmd_usage(&cmd_bench_lookup, "too many numbers of threads");
	lookup->threads[lookup->n_threads++] = n;
	return CMD_OK;
}

static int add_mode(struct args *args, const char *name)
{
	for (int mode = 0; mode < BENCH_N_MODES; mode++)
		if (!strcmp(bench_mode_names[mode], name)) {
			args->lookup.modes[mode] = true;
			return CMD_OK;
		}
	return cmd_usage(&cmd_bench_lookup, "\"%s\" is not a mode", name);
}

static int take_option(struct args *args, int option)
{
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
		return cmd_bench_number(&cmd_bench_lookup, "changes a second", optarg, MOST_RATE,
					&args->lookup.writer_rate);
	default:
		return cmd_bench_take_option(&cmd_bench_lookup, &args->options, option);
	}
}

static void set_defaults(struct args *args)
{
	struct bench_lookup *lookup = &args->lookup;

	if (!args->tables.n)
		cmd_bench_add_table(&cmd_bench_lookup, &args->tables, "10k", false);
	if (!lookup->n_engines)
		for (size_t i = 0; i < bench_n_engines; i++)
			add_engine(args, bench_engines[i]->name);
	if (!lookup->n_threads)
		lookup->threads[lookup->n_threads++] = 1;
	if (!lookup->modes[BENCH_INDEPENDENT] && !lookup->modes[BENCH_DEPENDENT])
		lookup->modes[BENCH_INDEPENDENT] = lookup->modes[BENCH_DEPENDENT] = true;
}

static int parse_args(struct args *args, int argc, char **argv)
{
	static const struct option known[] = {
		CMD_BENCH_OPTIONS,
		CMD_BENCH_TABLE_OPTIONS,
		{ "engine", required_argument, NULL, 'e' },
		{ "threads", required_argument, NULL, 'n' },
		{ "mode", required_argument, NULL, 'm' },
		{ "writer", required_argument, NULL, 'w' },
		{ 0 },
	};
	int option, rc = CMD_OK;

	opterr = 0;
	while (!rc && (option = getopt_long(argc, argv, "", known, NULL)) >= 0)
		rc = take_option(args, option);
	if (!rc && optind < argc)
		rc = cmd_usage(&cmd_bench_lookup, "\"%s\" is too much", argv[optind]);
	if (!rc)
		set_defaults(args);
	return rc;
}

static int measure(struct args *args, const struct cmd_options *options)
{
	struct bench_lookup *lookup = &args->lookup;
	struct bench_result *result = NULL;
	int rc = cmd_bench_make_tables(&cmd_bench_lookup, &args->tables, args->options.seed);

	rc = rc ?: cmd_bench_open_result("lookup", &args->options, options, &result);
	if (rc)
		return rc;
	lookup->tables = args->tables.at;
	lookup->n_tables = args->tables.n;
	lookup->rounds = args->options.rounds;
	return cmd_bench_end_result(result, bench_lookup_run(lookup, result));
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
	args->lookup.engines = args->engines;
	rc = parse_args(args, argc, argv) ?: cmd_bench_need_root(&cmd_bench_lookup);
	rc = rc ?: measure(args, options);
	cmd_bench_free_tables(&args->tables);
	free(args);
	return rc;
}

const struct cmd cmd_bench_lookup = {
	.name = "bench lookup",
	.args = CMD_BENCH_TABLE_ARGS " [--engine NAME]... [--mode MODE]... [--threads N]... "
				     "[--writer N] " CMD_BENCH_ARGS,
	.help = "what lookups cost, by sixlane's engines and others in turn",
	.run = run,
};
