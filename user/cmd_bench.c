// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane bench lookup: what lookups cost, by sixlane and by others (user/bench). Touches no map
 * of a sixlane that runs here.
 */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "bench/bench.h"
#include "cmd.h"
#include "log.h"

#define MOST_TABLES 32
#define MOST_ROUNDS 1000u
#define MOST_THREADS 256u
#define MOST_RATE 1000000u

struct args {
	struct bench_lookup lookup;
	struct bench_table tables[MOST_TABLES];
	/* names or paths, until all arguments are understood */
	const char *names[MOST_TABLES];
	bool is_file[MOST_TABLES];
	const struct bench_engine *engines[16];
	char command[1024];
};

/* --- arguments ------------------------------------------------------------------------------ */

static int add_table(struct args *args, const char *name, bool is_file)
{
	if (args->lookup.n_tables == MOST_TABLES)
		return cmd_usage(&cmd_bench, "more than %d tables", MOST_TABLES);
	args->names[args->lookup.n_tables] = name;
	args->is_file[args->lookup.n_tables++] = is_file;
	return CMD_OK;
}

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
	return cmd_usage(&cmd_bench, "\"%s\" is not an engine", name);
}

static int add_threads(struct args *args, const char *word)
{
	struct bench_lookup *lookup = &args->lookup;
	uint32_t n;

	if (!cmd_parse_number(word, MOST_THREADS, &n) || !n || n > bench_n_cpus())
		return cmd_usage(&cmd_bench,
				 "\"%s\" threads: from 1 to %u, the CPUs that there are", word,
				 bench_n_cpus());
	if (lookup->n_threads == ARRAY_SIZE(lookup->threads))
		return cmd_usage(&cmd_bench, "too many numbers of threads");
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
	return cmd_usage(&cmd_bench, "\"%s\" is not a mode", name);
}

static int set_number(const char *what, const char *word, uint32_t max, uint32_t *out)
{
	if (!cmd_parse_number(word, max, out) || !*out)
		return cmd_usage(&cmd_bench, "\"%s\" %s: from 1 to %u", word, what, max);
	return CMD_OK;
}

static int take_option(struct args *args, int option)
{
	uint32_t number = 0;
	int rc;

	switch (option) {
	case 't':
		return add_table(args, optarg, false);
	case 'f':
		return add_table(args, optarg, true);
	case 'e':
		return add_engine(args, optarg);
	case 'n':
		return add_threads(args, optarg);
	case 'm':
		return add_mode(args, optarg);
	case 'r':
		rc = set_number("rounds", optarg, MOST_ROUNDS, &number);
		args->lookup.rounds = number;
		return rc;
	case 's':
		rc = set_number("as a seed", optarg, UINT32_MAX, &number);
		args->lookup.seed = number;
		return rc;
	case 'w':
		return set_number("changes a second", optarg, MOST_RATE, &args->lookup.writer_rate);
	default:
		return cmd_usage(&cmd_bench, "unknown or incomplete option");
	}
}

static void set_defaults(struct args *args)
{
	struct bench_lookup *lookup = &args->lookup;

	if (!lookup->n_tables)
		add_table(args, "10k", false);
	if (!lookup->n_engines)
		for (size_t i = 0; i < bench_n_engines; i++)
			add_engine(args, bench_engines[i]->name);
	if (!lookup->n_threads)
		lookup->threads[lookup->n_threads++] = 1;
	if (!lookup->modes[BENCH_INDEPENDENT] && !lookup->modes[BENCH_DEPENDENT])
		lookup->modes[BENCH_INDEPENDENT] = lookup->modes[BENCH_DEPENDENT] = true;
}

/* By which the same rows can be had again. */
static void keep_command(struct args *args, int argc, char **argv)
{
	size_t used = (size_t)snprintf(args->command, sizeof(args->command), "sixlane bench");

	for (int i = 0; i < argc && used < sizeof(args->command); i++)
		used += (size_t)snprintf(args->command + used, sizeof(args->command) - used, " %s",
					 argv[i]);
}

static int parse_args(struct args *args, int argc, char **argv)
{
	static const struct option known[] = {
		{ "table", required_argument, NULL, 't' },
		{ "file", required_argument, NULL, 'f' },
		{ "engine", required_argument, NULL, 'e' },
		{ "threads", required_argument, NULL, 'n' },
		{ "mode", required_argument, NULL, 'm' },
		{ "writer", required_argument, NULL, 'w' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 's' },
		{ 0 },
	};
	int option, rc = CMD_OK;

	opterr = 0;
	while (!rc && (option = getopt_long(argc, argv, "", known, NULL)) >= 0)
		rc = take_option(args, option);
	if (!rc && optind < argc)
		rc = cmd_usage(&cmd_bench, "\"%s\" is too much", argv[optind]);
	if (!rc)
		set_defaults(args);
	return rc;
}

/* --- the command ---------------------------------------------------------------------------- */

static int make_tables(struct args *args)
{
	uint64_t seed = args->lookup.seed;

	for (size_t i = 0; i < args->lookup.n_tables; i++) {
		const char *name = args->names[i];
		bool is_file = args->is_file[i];
		int ret = is_file ? bench_table_file(name, seed, &args->tables[i])
				  : bench_table_named(name, seed, &args->tables[i]);

		if (ret == -ENOENT && !is_file)
			return cmd_usage(&cmd_bench, "\"%s\" is not a table; there are %s", name,
					 bench_table_names);
		if (ret)
			return CMD_FAILED;
	}
	return CMD_OK;
}

/* argv[0] is "lookup". */
static int run_lookup(const struct cmd_options *options, int argc, char **argv)
{
	struct args *args = calloc(1, sizeof(*args));
	int rc;

	if (!args) {
		log_error("out of memory");
		return CMD_FAILED;
	}
	args->lookup.rounds = 9;
	args->lookup.seed = 1;
	args->lookup.tables = args->tables;
	args->lookup.engines = args->engines;
	args->lookup.command = args->command;
	keep_command(args, argc, argv);
	rc = parse_args(args, argc, argv);
	if (!rc && geteuid() != 0) {
		log_error("bench lookup needs root (BPF programs, network namespaces)");
		rc = CMD_FAILED;
	}
	rc = rc ?: make_tables(args);
	if (!rc && bench_lookup_run(&args->lookup, options))
		rc = CMD_FAILED;
	for (size_t i = 0; i < args->lookup.n_tables; i++)
		bench_table_free(&args->tables[i]);
	free(args);
	return rc;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	if (!argc)
		return cmd_usage(&cmd_bench, "bench what? lookup");
	if (strcmp(argv[0], "lookup") != 0)
		return cmd_usage(&cmd_bench, "\"%s\" is not a bench; there is lookup", argv[0]);
	return run_lookup(options, argc, argv);
}

const struct cmd cmd_bench = {
	.name = "bench",
	.args = "lookup [--table NAME|--file FILE]... [--engine NAME]... [--mode MODE] [--threads N]... "
		"[--writer N] "
		"[--rounds N] [--seed N]",
	.help = "what lookups cost, by sixlane's engines and others in turn",
	.run = run,
};
