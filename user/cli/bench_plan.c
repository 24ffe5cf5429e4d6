// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane bench plan: what to expect of faster ports and more CPUs, from what a packet costs.
 * Measures nothing.
 */
#include <string.h>

#include "../bench/plan.h"
#include "bench.h"
#include "print.h"

#define MOST_LISTED 32
#define MOST_CPUS 4096u
#define MOST_PORTS 1024u
#define MOST_NS 1e9
#define MOST_CYCLES 1e10
#define MOST_GHZ 100.0
#define MOST_GBIT 10000u

struct numbers {
	uint32_t at[MOST_LISTED];
	size_t n;
};

struct args {
	struct cmd_bench_options options;
	double ns, cycles, ghz;
	const char *from, *engine;
	struct numbers rates, sizes; /* Gbit/s, bytes */
	struct plan plan;
};

/* --- arguments ------------------------------------------------------------------------------ */

/* A decimal number above 0, without sign or exponent. */
static int set_decimal(const char *option, double max, double *out)
{
	char *end;
	double number = strtod(optarg, &end);

	if (!*optarg || optarg[strspn(optarg, "0123456789.")] || *end || !(number > 0) ||
	    number > max)
		return cmd_usage(&cmd_bench_plan,
				 "--%s takes a number above 0, up to %.0f, not \"%s\"", option, max,
				 optarg);
	*out = number;
	return CMD_OK;
}

static int add_number(const char *option, const char *word, uint32_t least, uint32_t most,
		      struct numbers *out)
{
	uint32_t number;

	if (!cmd_parse_number(word, most, &number) || number < least)
		return cmd_usage(&cmd_bench_plan, "--%s takes numbers from %u to %u, not \"%s\"",
				 option, least, most, word);
	for (size_t i = 0; i < out->n; i++)
		if (out->at[i] == number)
			return CMD_OK;
	if (out->n == ARRAY_SIZE(out->at))
		return cmd_usage(&cmd_bench_plan, "more than %d --%s", MOST_LISTED, option);
	out->at[out->n++] = number;
	return CMD_OK;
}

/* "10,25,100"; the argument is taken apart in place. */
static int add_numbers(const char *option, uint32_t least, uint32_t most, struct numbers *out)
{
	char *rest = optarg, *word;
	int rc = CMD_OK;

	while (!rc && (word = strsep(&rest, ",")))
		rc = add_number(option, word, least, most, out);
	return rc;
}

static int take_option(void *ctx, int option)
{
	struct args *args = ctx;
	switch (option) {
	case 'n':
		return set_decimal("ns", MOST_NS, &args->ns);
	case 'c':
		return set_decimal("cycles", MOST_CYCLES, &args->cycles);
	case 'g':
		return set_decimal("ghz", MOST_GHZ, &args->ghz);
	case 'f':
		args->from = optarg;
		return CMD_OK;
	case 'e':
		args->engine = optarg;
		return CMD_OK;
	case 'C':
		return cmd_bench_number(&cmd_bench_plan, "cores", optarg, MOST_CPUS,
					&args->plan.cpus);
	case 'p':
		return cmd_bench_number(&cmd_bench_plan, "ports", optarg, MOST_PORTS,
					&args->plan.ports);
	case 'R':
		return add_numbers("rate", 1, MOST_GBIT, &args->rates);
	case 'S':
		return add_numbers("sizes", PLAN_LEAST_FRAME, PLAN_MOST_FRAME, &args->sizes);
	case 'o':
		return cmd_bench_take_option(&cmd_bench_plan, &args->options, option);
	default:
		return cmd_usage(&cmd_bench_plan, "unknown or incomplete option");
	}
}

static void set_defaults(struct args *args)
{
	static const struct numbers rates = { { 10, 25, 100, 400 }, 4 };
	/* RFC 2544 has these for Ethernet, up to 1518 */
	static const struct numbers sizes = { { 64, 128, 256, 512, 1024, 1280, 1518, 9000 }, 8 };

	if (!args->rates.n)
		args->rates = rates;
	if (!args->sizes.n)
		args->sizes = sizes;
	if (!args->plan.cpus)
		args->plan.cpus = bench_n_cpus();
	if (!args->plan.ports)
		args->plan.ports = 2;
}

/* A packet's cost has one source. */
static int check_source(const struct args *args)
{
	if ((args->ns > 0) + (args->cycles > 0) + !!args->from != 1)
		return cmd_usage(
			&cmd_bench_plan,
			"the cost of a packet is needed: --ns N, or --cycles N --ghz F, or --from FILE, which `sixlane bench forward --output DIR` writes");
	if ((args->cycles > 0) != (args->ghz > 0))
		return cmd_usage(&cmd_bench_plan, "--cycles needs --ghz, and --ghz needs --cycles");
	return args->engine && !args->from ? cmd_usage(&cmd_bench_plan, "--engine is one of --from")
					   : CMD_OK;
}

static int parse_args(struct args *args, int argc, char **argv)
{
	static const struct option known[] = {
		{ "ns", required_argument, NULL, 'n' },
		{ "cycles", required_argument, NULL, 'c' },
		{ "ghz", required_argument, NULL, 'g' },
		{ "from", required_argument, NULL, 'f' },
		{ "engine", required_argument, NULL, 'e' },
		{ "cores", required_argument, NULL, 'C' },
		{ "ports", required_argument, NULL, 'p' },
		{ "rate", required_argument, NULL, 'R' },
		{ "sizes", required_argument, NULL, 'S' },
		{ "output", required_argument, NULL, 'o' },
		{ 0 },
	};
	int rc = cmd_bench_parse(known, argc, argv, take_option, args);

	rc = rc ?: cmd_bench_check_end(&cmd_bench_plan, argc, argv);
	rc = rc ?: check_source(args);
	set_defaults(args);
	return rc;
}

static int make_plan(struct args *args)
{
	struct plan *plan = &args->plan;

	plan->scaling = 1;
	if (args->from)
		return plan_read_rows(plan, args->from, args->engine) ? CMD_FAILED : CMD_OK;
	plan->n_costs = 1;
	plan->costs[0].frame_bytes = PLAN_LEAST_FRAME;
	plan->costs[0].ns = args->ns > 0 ? args->ns : args->cycles / args->ghz;
	snprintf(plan->source, sizeof(plan->source), "what was given");
	return CMD_OK;
}

/* --- rows ----------------------------------------------------------------------------------- */

static int add_row(struct bench_result *result, struct bench_row row, const char *mode,
		   const char *unit, double value)
{
	row.mode = mode;
	row.unit = unit;
	row.values = &value;
	row.n = 1;
	return bench_result_add(result, &row);
}

static int add_cell(struct bench_result *result, const struct plan *plan, uint32_t gbit,
		    uint32_t bytes)
{
	struct plan_cell cell = plan_cell_of(plan, gbit, bytes);
	char table[64], note[sizeof(plan->source) + 64];
	struct bench_row row = {
		.bench = "plan",
		.engine = "plan",
		.table = table,
		.threads = plan->cpus,
		.frame_bytes = bytes,
		.note = note,
	};

	snprintf(table, sizeof(table), "%u x %uG", plan->ports, gbit);
	snprintf(note, sizeof(note), "%s the limit; extrapolated from %s",
		 cell.is_line_limit ? "the line is" : "the CPUs are", plan->source);
	return add_row(result, row, "line", "Mpps", cell.total / 1e6)
		       ?: add_row(result, row, "expected", "Mpps", cell.expected / 1e6)
		       ?: add_row(result, row, "cpus", "CPUs", cell.cpus)
		       ?: add_row(result, row, "queues", "queues", cell.queues);
}

static int write_rows(const struct args *args, const struct cmd_options *options)
{
	struct bench_result_options form = {
		.name = "plan",
		.output = args->options.output,
		.command = args->options.command,
		.cmd = options,
		.is_silent = !options->json,
	};
	struct bench_result *result;
	int ret = bench_result_new(&form, &result);

	if (ret)
		return CMD_FAILED;
	for (size_t r = 0; r < args->rates.n && !ret; r++)
		for (size_t s = 0; s < args->sizes.n && !ret; s++)
			ret = add_cell(result, &args->plan, args->rates.at[r], args->sizes.at[s]);
	return cmd_bench_end_result(result, ret);
}

/* --- for people ----------------------------------------------------------------------------- */

static void print_basis(const struct plan *plan)
{
	printf("What a packet costs a CPU, from %s:", plan->source);
	for (size_t i = 0; i < plan->n_costs; i++) {
		printf("%s %.1f ns", i ? "," : "", plan->costs[i].ns);
		if (plan->n_costs > 1)
			printf(" (%u bytes)", plan->costs[i].frame_bytes);
	}
	printf("%s\n", plan->n_costs > 1 ? "" : " at any size");
	for (size_t i = 0; i < plan->n_costs; i++)
		if (*plan->costs[i].note)
			printf("With %u bytes: %s.\n", plan->costs[i].frame_bytes,
			       plan->costs[i].note);
	if (plan->scaling_cpus)
		printf("Each of several CPUs does %.0f %% of what one alone does, measured with %u.\n",
		       plan->scaling * 100, plan->scaling_cpus);
	else
		printf("Several CPUs are taken to do as much each as one alone; that was not "
		       "measured.\n");
	printf("%u CPUs; %u ports, full duplex: each receives all that the line takes, and sends "
	       "as much.\n",
	       plan->cpus, plan->ports);
}

static void print_cell(const struct plan *plan, uint32_t gbit, uint32_t bytes)
{
	struct plan_cell cell = plan_cell_of(plan, gbit, bytes);

	printf("%4uG %6u %12.3f %12.3f %12.3f %5.0f %% %7.0f %7.0f  %s\n", gbit, bytes,
	       cell.line / 1e6, cell.total / 1e6, cell.expected / 1e6,
	       100 * cell.expected / cell.total, cell.cpus, cell.queues,
	       cell.is_line_limit ? "line" : "CPU");
}

static int print_plan(const struct args *args)
{
	const struct plan *plan = &args->plan;

	print_basis(plan);
	printf("\nMillions of packets a second:\n%5s %6s %12s %12s %12s %7s %7s %7s  %s\n", "line",
	       "frame", "a port", "all ports", "expected", "", "CPUs", "queues", "limit");
	for (size_t r = 0; r < args->rates.n; r++)
		for (size_t s = 0; s < args->sizes.n; s++)
			print_cell(plan, args->rates.at[r], args->sizes.at[s]);
	putchar('\n');
	for (size_t r = 0; r < args->rates.n; r++) {
		uint32_t least = plan_least_at_line(plan, args->rates.at[r]);

		if (least)
			printf("%uG: the line is the limit from frames of %u bytes on\n",
			       args->rates.at[r], least);
		else
			printf("%uG: the CPUs are the limit at any size\n", args->rates.at[r]);
	}
	puts("\nCPUs, and queues of each port: for all that the lines take, from flows that spread\n"
	     "evenly over the queues; a single flow has one of them.\n"
	     "This is a linear extrapolation, not a measurement. It knows no limit of NICs, PCIe or\n"
	     "memory. What was measured without NICs holds the cost of making the packets, and no\n"
	     "driver's.");
	return print_flush();
}

/* --- the command ---------------------------------------------------------------------------- */

static int run(const struct cmd_options *options, int argc, char **argv)
{
	struct args args = { 0 };
	int rc;

	cmd_bench_begin(&args.options, 1, argc, argv);
	rc = parse_args(&args, argc, argv) ?: make_plan(&args);
	if (!rc && (options->json || args.options.output))
		rc = write_rows(&args, options);
	return rc ?: options->json ? rc : print_plan(&args);
}

const struct cmd cmd_bench_plan = {
	.name = "bench plan",
	.args = "--ns N|--cycles N --ghz F|--from FILE [--engine NAME] [--cores N] [--ports N] "
		"[--rate GBIT[,GBIT]...] [--sizes BYTES[,BYTES]...] [--output DIR]",
	.help = "estimate the speed of faster ports and more CPUs from the cost of a packet",
	.run = run,
};
