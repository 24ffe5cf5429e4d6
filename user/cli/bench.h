/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the commands `sixlane bench NAME` share: their options and tables. One a file,
 * bench_NAME.c; bench.c calls them.
 */
#ifndef USER_CLI_BENCH_H
#define USER_CLI_BENCH_H

#include <getopt.h>

#include "../bench/bench.h"
#include "../bench/result.h"
#include "cmd.h"

/* Named "bench lookup" …; argv begins with the last word of that. */
extern const struct cmd cmd_bench_exceptions, cmd_bench_forward, cmd_bench_generator,
	cmd_bench_lookup, cmd_bench_nic, cmd_bench_plan;

/* --- options of all ------------------------------------------------------------------------- */

struct cmd_bench_options {
	uint32_t rounds;
	uint32_t seed;
	const char *output; /* directory of the files; NULL: none */
	char command[4096]; /* for a shell, by which the same rows can be had again */
};

/* For a list of getopt_long(), and how its usage tells them. */
#define CMD_BENCH_OPTIONS                                                                     \
	{ "rounds", required_argument, NULL, 'r' }, { "seed", required_argument, NULL, 's' }, \
	{                                                                                     \
		"output", required_argument, NULL, 'o'                                        \
	}
#define CMD_BENCH_ARGS "[--rounds N] [--seed N] [--output DIR]"

/* Defaults, and the command line, of which argv[0] is the name. */
void cmd_bench_begin(struct cmd_bench_options *options, uint32_t rounds, int argc, char **argv);
/* One of these options, by its letter and optarg; any other is unknown. CMD_OK or CMD_USAGE (said).
 */
int cmd_bench_take_option(const struct cmd *cmd, struct cmd_bench_options *options, int option);
/*
 * Options one by one to take(), by their letters and optarg, until one is not understood; what is
 * no option begins at optind then. CMD_OK, or what take() said.
 */
int cmd_bench_parse(const struct option *known, int argc, char **argv,
		    int (*take)(void *ctx, int option), void *ctx);
/* Nothing but options was given. CMD_OK or CMD_USAGE (said). */
int cmd_bench_check_end(const struct cmd *cmd, int argc, char **argv);
/* name: of the files. CMD_OK, or CMD_FAILED (said). */
int cmd_bench_open_result(const char *name, const struct cmd_bench_options *options,
			  const struct cmd_options *common, struct bench_result **out);
/* error: what the measurement ended with, which was said: -errno or an exit code. CMD_OK, CMD_USAGE
 * or CMD_FAILED (said); BENCH_INTERRUPTED after -EINTR; with the rows until then. */
int cmd_bench_end_result(struct bench_result *result, int error);

/* A number from 1 to max. CMD_OK or CMD_USAGE (said); option: its name without dashes. */
int cmd_bench_number(const struct cmd *cmd, const char *option, const char *word, uint32_t max,
		     uint32_t *out);
/* One from min to max. */
int cmd_bench_range(const struct cmd *cmd, const char *option, const char *word, uint32_t min,
		    uint32_t max, uint32_t *out);
/* One more number of at most max; that which is there already is one. CMD_OK or CMD_USAGE (said);
 * what: "sizes". */
int cmd_bench_add_number(const struct cmd *cmd, uint32_t *list, size_t *n, size_t max,
			 uint32_t number, const char *what);
/* CPUs at once, of those that there are; "all"; or "doubled": 1, 2, 4 and so on, and all. */
int cmd_bench_add_threads(const struct cmd *cmd, uint32_t *list, size_t *n, size_t max,
			  const char *word);
/* Which of n names a word is, in out. A name is NULL where there is none of that number. CMD_OK or
 * CMD_USAGE (said, with the names); what: "an engine". */
int cmd_bench_choose(const struct cmd *cmd, const char *what, const char *word, size_t n,
		     const char *(*name)(size_t i), size_t *out);
/* CMD_USAGE (said) of a word that is none of them. */
int cmd_bench_unknown(const struct cmd *cmd, const char *what, const char *word, size_t n,
		      const char *(*name)(size_t i));
/* CMD_FAILED (said) without root. */
int cmd_bench_need_root(const struct cmd *cmd);

/* --- tables --------------------------------------------------------------------------------- */

#define CMD_BENCH_MOST_TABLES 32

/* Each of the names or files by each of the patterns, pattern by pattern. */
struct cmd_bench_tables {
	struct bench_table at[CMD_BENCH_MOST_TABLES * BENCH_N_PATTERNS];
	size_t n;
	bool patterns[BENCH_N_PATTERNS]; /* none: hits */
	uint32_t most_routes;		 /* tables of more are left out; 0: none is */
	const char *names[CMD_BENCH_MOST_TABLES];
	bool is_file[CMD_BENCH_MOST_TABLES];
	size_t n_names;
};

#define CMD_BENCH_TABLE_OPTIONS                      \
	{ "table", required_argument, NULL, 't' },   \
	{                                            \
		"file", required_argument, NULL, 'f' \
	}
#define CMD_BENCH_TABLE_ARGS "[--table NAME|--file FILE]..."

/* That which is there already is one. CMD_OK or CMD_USAGE (said). */
int cmd_bench_add_table(const struct cmd *cmd, struct cmd_bench_tables *tables, const char *name,
			bool is_file);
/* All of them. CMD_OK, CMD_USAGE or CMD_FAILED (said). */
int cmd_bench_make_tables(const struct cmd *cmd, struct cmd_bench_tables *tables, uint64_t seed);
/* And the result that takes what is measured of them: see cmd_bench_open_result(). */
int cmd_bench_open_tables(const struct cmd *cmd, const char *name, struct cmd_bench_tables *tables,
			  const struct cmd_bench_options *options, const struct cmd_options *common,
			  struct bench_result **out);
void cmd_bench_free_tables(struct cmd_bench_tables *tables);

#endif
