/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arguments of `sixlane bench nic`: devices (bench_nic.c) and what is measured of them
 * (bench_nic_measure.c).
 */
#ifndef USER_CLI_BENCH_NIC_H
#define USER_CLI_BENCH_NIC_H

#include "../bench/nic/nic.h"
#include "bench.h"

struct nic_args {
	struct nic_options nic;
	struct nic_bond bond; /* of all of them */
	struct cmd_bench_options options;
	struct cmd_bench_tables tables;
	const char *preset;	    /* NULL: none */
	bool check, hold, measures; /* one of them */
	unsigned int cpus[256];
};

/* For a list of getopt_long(), and how the usage tells them. */
#define NIC_MEASURE_OPTIONS                                                                 \
	CMD_BENCH_OPTIONS, CMD_BENCH_TABLE_OPTIONS, { "in", required_argument, NULL, 'I' }, \
		{ "out", required_argument, NULL, 'O' },                                    \
		{ "generator", required_argument, NULL, 'g' },                              \
		{ "prefixes", required_argument, NULL, 'P' },                               \
		{ "engine", required_argument, NULL, 'n' },                                 \
		{ "measure", required_argument, NULL, 'M' },                                \
		{ "size", required_argument, NULL, 'z' },                                   \
		{ "pattern", required_argument, NULL, 'p' },                                \
		{ "trial", required_argument, NULL, 'T' },                                  \
		{ "sum", required_argument, NULL, 'S' },                                    \
		{ "width", required_argument, NULL, 'W' },                                  \
		{ "rate", required_argument, NULL, 'R' },                                   \
		{ "churn", required_argument, NULL, 'C' },                                  \
	{                                                                                   \
		"hidden-losses", no_argument, NULL, 'H'                                     \
	}
#define NIC_MEASURE_ARGS                                                                     \
	"--in DEV --out DEV --generator COMMAND [--prefixes FILE] "                          \
	"[--table NAME|--file FILE] [--engine kernel|trie|compiled]... [--measure NAME]... " \
	"[--size BYTES]... "                                                                 \
	"[--pattern random|flow|syn] [--trial S] [--sum S] [--width PERCENT] [--rate PPS] "  \
	"[--churn N]... [--hidden-losses] " CMD_BENCH_ARGS

void nic_measure_begin(struct nic_args *args, int argc, char **argv);
/* One of these options. CMD_OK or CMD_USAGE (said). */
int nic_measure_take(struct nic_args *args, int option);
/* When all options are there. CMD_OK or CMD_USAGE (said). */
int nic_measure_check(struct nic_args *args);
/* An exit code. */
int nic_measure_run(struct nic_args *args, const struct cmd_options *options);

#endif
