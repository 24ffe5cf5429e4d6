// SPDX-License-Identifier: GPL-2.0-only
/* sixlane bench: what sixlane and others cost (user/bench). Which bench, and what all have in
 * common. */
#include "bench.h"

#include <errno.h>
#include <string.h>

#include "../bench/progress.h"
#include "../lib/log.h"

#define MOST_ROUNDS 1000u
#define MOST_THREADS 256u

static const struct cmd *const benches[] = { &cmd_bench_lookup,
					     &cmd_bench_forward,
					     &cmd_bench_exceptions,
					     &cmd_bench_nic,
					     &cmd_bench_generator,
					     &cmd_bench_plan,
					     NULL };

/* --- options -------------------------------------------------------------------------------- */

/* A word as a shell takes it for one; what does not fit is left out. Bytes used by now. */
static size_t add_word(char *out, size_t used, size_t size, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "%+,-./:=@_";

	if (*word && !word[strspn(word, plain)])
		return used + (size_t)snprintf(out + used, size - used, " %s", word);
	used += (size_t)snprintf(out + used, size - used, " '");
	for (; *word && used < size; word++)
		used += (size_t)snprintf(out + used, size - used, *word == '\'' ? "'\\''" : "%c",
					 *word);
	return used < size ? used + (size_t)snprintf(out + used, size - used, "'") : used;
}

void cmd_bench_begin(struct cmd_bench_options *options, uint32_t rounds, int argc, char **argv)
{
	size_t used, size = sizeof(options->command);

	*options = (struct cmd_bench_options){ .rounds = rounds, .seed = 1 };
	used = (size_t)snprintf(options->command, size, "sixlane bench");
	for (int i = 0; i < argc && used < size; i++)
		used = add_word(options->command, used, size, argv[i]);
}

int cmd_bench_range(const struct cmd *cmd, const char *option, const char *word, uint32_t min,
		    uint32_t max, uint32_t *out)
{
	uint32_t number;

	if (!cmd_parse_number(word, max, &number) || number < min)
		return cmd_usage(cmd, "--%s takes a number from %u to %u, not \"%s\"", option, min,
				 max, word);
	*out = number;
	return CMD_OK;
}

int cmd_bench_number(const struct cmd *cmd, const char *option, const char *word, uint32_t max,
		     uint32_t *out)
{
	return cmd_bench_range(cmd, option, word, 1, max, out);
}

int cmd_bench_add_number(const struct cmd *cmd, uint32_t *list, size_t *n, size_t max,
			 uint32_t number, const char *what)
{
	for (size_t i = 0; i < *n; i++)
		if (list[i] == number)
			return CMD_OK;
	if (*n == max)
		return cmd_usage(cmd, "more than %zu %s", max, what);
	list[(*n)++] = number;
	return CMD_OK;
}

int cmd_bench_add_threads(const struct cmd *cmd, uint32_t *list, size_t *n, size_t max,
			  const char *word)
{
	uint32_t all = bench_n_cpus() < MOST_THREADS ? bench_n_cpus() : MOST_THREADS, first = all;
	int rc = CMD_OK;

	if (!strcmp(word, "doubled"))
		first = 1;
	else if (strcmp(word, "all") != 0) {
		if (!cmd_parse_number(word, all, &first) || !first)
			return cmd_usage(
				cmd,
				"--threads takes a number from 1 to %u, \"all\", or \"doubled\" "
				"(1, 2, 4 and so on, and all), not \"%s\"",
				all, word);
		all = first;
	}
	for (uint32_t threads = first; threads < all && !rc; threads *= 2)
		rc = cmd_bench_add_number(cmd, list, n, max, threads, "numbers of threads");
	return rc ?: cmd_bench_add_number(cmd, list, n, max, all, "numbers of threads");
}

int cmd_bench_unknown(const struct cmd *cmd, const char *what, const char *word, size_t n,
		      const char *(*name)(size_t i))
{
	char names[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < n && used < sizeof(names); i++)
		if (name(i))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 used ? ", " : "", name(i));
	return cmd_usage(cmd, "\"%s\" is not %s; there are %s", word, what, names);
}

int cmd_bench_choose(const struct cmd *cmd, const char *what, const char *word, size_t n,
		     const char *(*name)(size_t i), size_t *out)
{
	for (size_t i = 0; i < n; i++)
		if (name(i) && !strcmp(name(i), word)) {
			*out = i;
			return CMD_OK;
		}
	return cmd_bench_unknown(cmd, what, word, n, name);
}

int cmd_bench_take_option(const struct cmd *cmd, struct cmd_bench_options *options, int option)
{
	switch (option) {
	case 'r':
		return cmd_bench_number(cmd, "rounds", optarg, MOST_ROUNDS, &options->rounds);
	case 's':
		return cmd_bench_number(cmd, "seed", optarg, UINT32_MAX, &options->seed);
	case 'o':
		options->output = optarg;
		return CMD_OK;
	default:
		return cmd_usage(cmd, "unknown or incomplete option");
	}
}

int cmd_bench_parse(const struct option *known, int argc, char **argv,
		    int (*take)(void *ctx, int option), void *ctx)
{
	int option, rc = CMD_OK;

	opterr = 0;
	optind = 0; /* from the start: others may have been parsed before */
	while (!rc && (option = getopt_long(argc, argv, "", known, NULL)) >= 0)
		rc = take(ctx, option);
	return rc;
}

int cmd_bench_check_end(const struct cmd *cmd, int argc, char **argv)
{
	return optind < argc ? cmd_usage(cmd, "unexpected argument \"%s\"", argv[optind]) : CMD_OK;
}

int cmd_bench_need_root(const struct cmd *cmd)
{
	if (geteuid() == 0)
		return CMD_OK;
	log_error("%s needs root (BPF programs, network namespaces)", cmd->name);
	return CMD_FAILED;
}

/* --- results -------------------------------------------------------------------------------- */

int cmd_bench_open_result(const char *name, const struct cmd_bench_options *options,
			  const struct cmd_options *common, struct bench_result **out)
{
	struct bench_result_options result = {
		.name = name,
		.output = options->output,
		.command = options->command,
		.seed = options->seed,
		.cmd = common,
	};

	return bench_result_new(&result, out) ? CMD_FAILED : CMD_OK;
}

int cmd_bench_end_result(struct bench_result *result, int error)
{
	bool failed = error && error != -EINTR;

	if (failed && !result->n) {
		bench_result_free(result);
		return error == CMD_USAGE ? CMD_USAGE : CMD_FAILED;
	}
	/* What was measured before an error is right nevertheless. */
	if (bench_result_end(result) || failed)
		return CMD_FAILED;
	return error ? BENCH_INTERRUPTED : CMD_OK;
}

/* --- tables --------------------------------------------------------------------------------- */

int cmd_bench_add_table(const struct cmd *cmd, struct cmd_bench_tables *tables, const char *name,
			bool is_file)
{
	for (size_t i = 0; i < tables->n_names; i++)
		if (tables->is_file[i] == is_file && !strcmp(tables->names[i], name))
			return CMD_OK;
	if (tables->n_names == CMD_BENCH_MOST_TABLES)
		return cmd_usage(cmd, "more than %d tables", CMD_BENCH_MOST_TABLES);
	tables->names[tables->n_names] = name;
	tables->is_file[tables->n_names++] = is_file;
	return CMD_OK;
}

/* The next one. */
static int make_table(const struct cmd *cmd, struct cmd_bench_tables *tables, size_t i,
		      enum bench_pattern pattern, uint64_t seed)
{
	struct bench_table *out = &tables->at[tables->n];
	const char *name = tables->names[i];
	bool is_file = tables->is_file[i];
	int ret;

	if (tables->most_routes && !is_file && bench_table_routes(name) > tables->most_routes)
		return CMD_OK; /* a million takes seconds */
	ret = is_file ? bench_table_file(name, seed, out) : bench_table_named(name, seed, out);
	if (ret == -ENOENT && !is_file)
		return cmd_usage(cmd, "\"%s\" is not a table; there are %s", name,
				 bench_table_names);
	if (ret)
		return CMD_FAILED;
	if (tables->most_routes && out->n > tables->most_routes) {
		bench_table_free(out);
		return CMD_OK;
	}
	tables->n++;
	return bench_table_set_pattern(out, pattern) ? CMD_FAILED : CMD_OK;
}

int cmd_bench_make_tables(const struct cmd *cmd, struct cmd_bench_tables *tables, uint64_t seed)
{
	bool any = false;
	int rc = CMD_OK;

	for (enum bench_pattern pattern = 0; pattern < BENCH_N_PATTERNS; pattern++)
		any |= tables->patterns[pattern];
	tables->patterns[BENCH_HIT] |= !any;
	for (enum bench_pattern pattern = 0; pattern < BENCH_N_PATTERNS; pattern++)
		for (size_t i = 0; i < tables->n_names && tables->patterns[pattern] && !rc; i++)
			rc = make_table(cmd, tables, i, pattern, seed);
	return rc;
}

int cmd_bench_open_tables(const struct cmd *cmd, const char *name, struct cmd_bench_tables *tables,
			  const struct cmd_bench_options *options, const struct cmd_options *common,
			  struct bench_result **out)
{
	return cmd_bench_make_tables(cmd, tables, options->seed)
		       ?: cmd_bench_open_result(name, options, common, out);
}

void cmd_bench_free_tables(struct cmd_bench_tables *tables)
{
	for (size_t i = 0; i < tables->n; i++)
		bench_table_free(&tables->at[i]);
}

/* --- the command ---------------------------------------------------------------------------- */

static const char *last_word(const struct cmd *bench)
{
	return strrchr(bench->name, ' ') + 1;
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	for (const struct cmd *const *bench = benches; argc && *bench; bench++)
		if (!strcmp(last_word(*bench), argv[0]))
			return (*bench)->run(options, argc, argv);
	return argc ? cmd_usage(&cmd_bench, "\"%s\" is not a bench", argv[0])
		    : cmd_usage(&cmd_bench, "a bench is needed");
}

const struct cmd cmd_bench = {
	.name = "bench",
	.args = "lookup|forward|exceptions|nic|generator|plan [OPTION]...",
	.help = "measure lookups, forwarding and exceptions of sixlane and others; estimate the speed with NICs",
	.run = run,
	.subcommands = benches,
};
