// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane bench forward: what forwarding costs, by sixlane and by others (user/bench/forward),
 * on one machine and without a NIC. In namespaces of its own: touches no sixlane that runs here.
 */
#include <errno.h>
#include <string.h>

#include "../bench/forward/forward.h"
#include "../lib/log.h"
#include "bench.h"

#define ROUNDS 12u
#define COUNT 200000u
#define MOST_COUNT 100000000u
#define SIZE 64u

struct args {
	struct cmd_bench_options options;
	struct cmd_bench_tables tables;
	struct forward forward;
};

/* --- arguments ------------------------------------------------------------------------------ */

static int too_many(const char *what)
{
	return cmd_usage(&cmd_bench_forward, "more than %u %s", FORWARD_MOST, what);
}

static const char *engine_name(size_t i)
{
	return forward_engines[i].name;
}

static int add_engine(struct forward *forward, const char *name)
{
	size_t i = 0;
	int rc = cmd_bench_choose(&cmd_bench_forward, "an engine", name, forward_n_engines,
				  engine_name, &i);

	for (size_t k = 0; k < forward->n_engines && !rc; k++)
		if (forward->engines[k] == &forward_engines[i])
			return CMD_OK;
	if (!rc)
		forward->engines[forward->n_engines++] = &forward_engines[i];
	return rc;
}

static int add_threads(struct forward *forward, const char *word)
{
	return cmd_bench_add_threads(&cmd_bench_forward, forward->threads, &forward->n_threads,
				     ARRAY_SIZE(forward->threads), word);
}

static int add_size(struct forward *forward, const char *word)
{
	uint32_t size = 0;
	int rc = cmd_bench_range(&cmd_bench_forward, "size", word, FORWARD_SIZE_MIN,
				 FORWARD_SIZE_MAX, &size);

	return rc
		       ?: cmd_bench_add_number(&cmd_bench_forward, forward->sizes,
					       &forward->n_sizes, ARRAY_SIZE(forward->sizes), size,
					       "sizes");
}

static int add_pattern(struct forward *forward, const char *word)
{
	struct forward_pattern pattern;

	if (forward_pattern_parse(word, &pattern))
		return cmd_usage(&cmd_bench_forward,
				 "\"%s\" is not a pattern: random, zipf, zipf:S (0 to 10), flow, "
				 "miss",
				 word);
	for (size_t i = 0; i < forward->n_patterns; i++)
		if (forward_pattern_is(&forward->patterns[i], &pattern))
			return CMD_OK;
	if (forward->n_patterns == FORWARD_MOST)
		return too_many("patterns");
	forward->patterns[forward->n_patterns++] = pattern;
	return CMD_OK;
}

static int take_option(void *ctx, int option)
{
	struct args *args = ctx;
	switch (option) {
	case 't':
	case 'f':
		return cmd_bench_add_table(&cmd_bench_forward, &args->tables, optarg,
					   option == 'f');
	case 'e':
		return add_engine(&args->forward, optarg);
	case 'n':
		return add_threads(&args->forward, optarg);
	case 'z':
		return add_size(&args->forward, optarg);
	case 'p':
		return add_pattern(&args->forward, optarg);
	case 'c':
		return cmd_bench_range(&cmd_bench_forward, "count", optarg, FORWARD_COUNT_MIN,
				       MOST_COUNT, &args->forward.count);
	default:
		return cmd_bench_take_option(&cmd_bench_forward, &args->options, option);
	}
}

static void set_defaults(struct args *args)
{
	struct forward *forward = &args->forward;
	bool is_chosen = forward->n_engines;

	if (!args->tables.n_names)
		cmd_bench_add_table(&cmd_bench_forward, &args->tables, "10k", false);
	for (size_t i = 0; i < forward_n_engines && !is_chosen; i++)
		if (forward_engines[i].by_default)
			forward->engines[forward->n_engines++] = &forward_engines[i];
	if (!forward->n_threads) {
		add_threads(forward, "1");
		add_threads(forward, "all");
	}
	if (!forward->n_sizes)
		forward->sizes[forward->n_sizes++] = SIZE;
	if (!forward->n_patterns)
		forward->n_patterns++; /* random */
}

static int check_engines(const struct forward *forward)
{
	for (size_t i = 0; i < forward->n_engines; i++)
		if (forward_has_flows(forward) && !forward->engines[i]->is_sixlane)
			return cmd_usage(
				&cmd_bench_forward,
				"flowtable is measured beside compiled, trie and rules only");
	return CMD_OK;
}

static int parse_args(struct args *args, int argc, char **argv)
{
	static const struct option known[] = {
		CMD_BENCH_OPTIONS,
		CMD_BENCH_TABLE_OPTIONS,
		{ "engine", required_argument, NULL, 'e' },
		{ "threads", required_argument, NULL, 'n' },
		{ "size", required_argument, NULL, 'z' },
		{ "pattern", required_argument, NULL, 'p' },
		{ "count", required_argument, NULL, 'c' },
		{ 0 },
	};
	int rc = cmd_bench_parse(known, argc, argv, take_option, args);

	rc = rc ?: cmd_bench_check_end(&cmd_bench_forward, argc, argv);
	if (!rc)
		set_defaults(args);
	return rc ?: check_engines(&args->forward);
}

/* --- the command ---------------------------------------------------------------------------- */

static int measure(struct args *args, const struct cmd_options *options)
{
	struct forward *forward = &args->forward;
	struct bench_result *result = NULL;
	int rc = cmd_bench_open_tables(&cmd_bench_forward, "forward", &args->tables, &args->options,
				       options, &result);

	if (rc)
		return rc;
	forward->tables = args->tables.at;
	forward->n_tables = args->tables.n;
	forward->rounds = args->options.rounds;
	forward->seed = args->options.seed;
	return cmd_bench_end_result(result, forward_measure(forward, result));
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
	args->forward.count = COUNT;
	rc = parse_args(args, argc, argv) ?: cmd_bench_need_root(&cmd_bench_forward);
	rc = rc ?: measure(args, options);
	cmd_bench_free_tables(&args->tables);
	free(args);
	return rc;
}

static const char help[] =
	"measure the cost of forwarding, by sixlane and others in turn, without a NIC\n"
	"\n"
	"Engines by default: compiled and trie (sixlane), kernel, fib (bpf_fib_lookup, as xdp-forward\n"
	"uses it), floor (a bare redirect: the cost of generator, veth and sink).\n"
	"Engines by name only:\n"
	"  bare       one lookup in an LPM trie\n"
	"  load       one load from as much memory as the compiled FIB has\n"
	"  least      load, and the checks that every router needs\n"
	"  rules      compiled, with accepting netfilter rules in the shape of Docker's\n"
	"  flowtable  compiled, with a firewall whose flowtable has the flow (Linux 6.11); it needs\n"
	"             --pattern flow, compares with sixlane's engines only, and uses packet sockets\n"
	"Patterns: random (default), zipf or zipf:S, flow, miss.\n"
	"\n"
	"Rows: ns a packet on one CPU, Mpps on all CPUs, and p50 and p99 of the latency in ns.\n"
	"The latency runs from the generator's timestamp in the packet to the sink. It includes the\n"
	"rest of the batch of 64, veth and the sink.\n"
	"\n"
	"Sizes are those of RFC 2544, with the Ethernet FCS. Frames below 66 bytes carry no UDP (next\n"
	"header 59), and those below 72 bytes carry no timestamp. Packet sockets send frames over 1518\n"
	"bytes, to all engines alike, because BPF test runs cannot send them.\n"
	"Ratios are of Mpps: above 1 the first engine is faster.\n"
	"\n"
	"Defaults: table 10k, 64 bytes, one CPU and all CPUs, 200000 packets a CPU, 12 rounds.";

const struct cmd cmd_bench_forward = {
	.name = "bench forward",
	.args = CMD_BENCH_TABLE_ARGS
	" [--engine NAME]... [--threads N|all|doubled]... [--size BYTES]... "
	"[--pattern PATTERN]... [--count N] " CMD_BENCH_ARGS,
	.help = help,
	.run = run,
};
