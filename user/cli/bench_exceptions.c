// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane bench exceptions: entries of many destinations, of which few have a Path MTU of their
 * own, and what packets pay for those (user/bench/exceptions). In namespaces of its own: touches
 * no sixlane that runs here.
 */
#include "../bench/exceptions/exceptions.h"
#include "../lib/log.h"
#include "bench.h"

#define ROUNDS 8u
/* As in Lau's figures. */
#define DESTINATIONS 300000u
#define EXCEPTIONS 1000u
#define MOST_DESTINATIONS 10000000u
#define PACKETS 32768u

struct args {
	struct cmd_bench_options options;
	struct cmd_bench_tables tables;
	struct exceptions_options exceptions;
};

/* --- arguments ------------------------------------------------------------------------------ */

static int take_option(void *ctx, int option)
{
	struct args *args = ctx;

	switch (option) {
	case 't':
	case 'f':
		return cmd_bench_add_table(&cmd_bench_exceptions, &args->tables, optarg,
					   option == 'f');
	case 'd':
		return cmd_bench_number(&cmd_bench_exceptions, "destinations", optarg,
					MOST_DESTINATIONS, &args->exceptions.destinations);
	case 'x':
		return cmd_bench_number(&cmd_bench_exceptions, "exceptions", optarg,
					EXCEPTIONS_MOST_PACKETS, &args->exceptions.exceptions);
	case 'c':
		return cmd_bench_range(&cmd_bench_exceptions, "count", optarg, FORWARD_COUNT_MIN,
				       EXCEPTIONS_MOST_PACKETS, &args->exceptions.packets);
	default:
		return cmd_bench_take_option(&cmd_bench_exceptions, &args->options, option);
	}
}

static int parse_args(struct args *args, int argc, char **argv)
{
	static const struct option known[] = {
		CMD_BENCH_OPTIONS,
		CMD_BENCH_TABLE_OPTIONS,
		{ "destinations", required_argument, NULL, 'd' },
		{ "exceptions", required_argument, NULL, 'x' },
		{ "count", required_argument, NULL, 'c' },
		{ 0 },
	};
	const struct exceptions_options *exceptions = &args->exceptions;
	int rc = cmd_bench_parse(known, argc, argv, take_option, args);

	rc = rc ?: cmd_bench_check_end(&cmd_bench_exceptions, argc, argv);
	if (!rc && exceptions->exceptions > exceptions->destinations)
		return cmd_usage(&cmd_bench_exceptions,
				 "%u exceptions are more than the %u destinations",
				 exceptions->exceptions, exceptions->destinations);
	if (!rc && exceptions->exceptions > exceptions->packets)
		return cmd_usage(&cmd_bench_exceptions,
				 "%u packets of a run are too few to go to %u exceptions: --count",
				 exceptions->packets, exceptions->exceptions);
	if (!rc && !args->tables.n_names)
		rc = cmd_bench_add_table(&cmd_bench_exceptions, &args->tables, "10k", false);
	return rc;
}

/* --- the command ---------------------------------------------------------------------------- */

static int measure(struct args *args, const struct cmd_options *options)
{
	struct exceptions_options *exceptions = &args->exceptions;
	struct bench_result *result = NULL;
	int rc = cmd_bench_open_tables(&cmd_bench_exceptions, "exceptions", &args->tables,
				       &args->options, options, &result);

	if (rc)
		return rc;
	exceptions->tables = args->tables.at;
	exceptions->n_tables = args->tables.n;
	exceptions->rounds = args->options.rounds;
	exceptions->seed = args->options.seed;
	return cmd_bench_end_result(result, exceptions_measure(exceptions, result));
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	struct args *args = calloc(1, sizeof(*args));
	int rc;

	if (!args) {
		log_error("out of memory");
		return CMD_FAILED;
	}
	cmd_bench_begin(&args->options, ROUNDS, argc, argv);
	args->exceptions.destinations = DESTINATIONS;
	args->exceptions.exceptions = EXCEPTIONS;
	args->exceptions.packets = PACKETS;
	rc = parse_args(args, argc, argv) ?: cmd_bench_need_root(&cmd_bench_exceptions);
	rc = rc ?: measure(args, options);
	cmd_bench_free_tables(&args->tables);
	free(args);
	return rc;
}

static const char help[] =
	"measure the entries and the cost of exceptions, in sixlane and in the kernel\n"
	"\n"
	"A few of many destinations have another Path MTU. Packets go to all destinations, through\n"
	"sixlane and through the kernel; then the kernel learns the Path MTUs from ICMPv6.\n"
	"Both count their route and exception entries four times: before, with traffic, with the\n"
	"exceptions learned, and with them forgotten.\n"
	"\n"
	"Each round then measures ns a packet to three kinds of destinations: with an exception (hit),\n"
	"on the same routes (same-route), and on other routes (elsewhere). It does so without exceptions\n"
	"(none) and with all of them (learned), and shows the difference (added). It also measures the\n"
	"time from the ICMPv6 message to the entry, for one exception and for all others at once.";

const struct cmd cmd_bench_exceptions = {
	.name = "bench exceptions",
	.args = CMD_BENCH_TABLE_ARGS
	" [--destinations N] [--exceptions N] [--count N] " CMD_BENCH_ARGS,
	.help = help,
	.run = run,
};
