// SPDX-License-Identifier: GPL-2.0-only
/* What `sixlane bench nic` measures, as its command line says it: see bench_nic.h. */
#include "bench_nic.h"

#include <errno.h>
#include <string.h>

#include "../bench/generator/generator.h"
#include "../lib/input.h"
#include "../netlink/socket_link.h"

#define ROUNDS 3u
#define TRIAL_S 1.0
#define TRIALS_OF_A_RATE 20 /* that sum up, by default */
#define WIDTH_PERCENT 0.5
#define CHURN_RATE 1000u
#define MOST_CHURN 100000u
#define MOST_SECONDS 3600.0
#define MOST_PPS 1e9
#define FRAME_MIN 64u
#define FRAME_MAX 9216u

/* Wang, netdev 2017: a flood of SYNs into two bonded NICs of eight queues each. */
#define WANG_NICS 2u
#define WANG_QUEUES 8u

void nic_measure_begin(struct nic_args *args, int argc, char **argv)
{
	struct nic_options *nic = &args->nic;

	cmd_bench_begin(&args->options, ROUNDS, argc, argv);
	nic->trial_s = TRIAL_S;
	nic->width = WIDTH_PERCENT / 100;
}

/* --- options one by one --------------------------------------------------------------------- */

static int take_real(const char *option, double least, double most, double *out)
{
	char *end;
	double number = strtod(optarg, &end);

	if (end == optarg || *end || !(number >= least && number <= most))
		return cmd_usage(&cmd_bench_nic, "--%s takes a number from %g to %g, not \"%s\"",
				 option, least, most, optarg);
	*out = number;
	return CMD_OK;
}

static int take_width(struct nic_options *nic)
{
	double percent = 0;
	int rc = take_real("width", 0.01, 50, &percent);

	if (!rc)
		nic->width = percent / 100;
	return rc;
}

static const char *engine_name(size_t i)
{
	return nic_engines[i].name;
}

static const char *measure_name(size_t i)
{
	return nic_measures[i].name;
}

/* what no route covers does not come back */
static const char *pattern_name(size_t i)
{
	return i == GENERATOR_MISS ? NULL : generator_pattern_names[i];
}

static int add_engine(struct nic_options *nic, const char *name)
{
	size_t i = 0;
	int rc =
		cmd_bench_choose(&cmd_bench_nic, "an engine", name, nic_n_engines, engine_name, &i);

	for (size_t k = 0; k < nic->n_engines && !rc; k++)
		if (nic->engines[k] == &nic_engines[i])
			return CMD_OK;
	if (!rc)
		nic->engines[nic->n_engines++] = &nic_engines[i];
	return rc;
}

static int add_measure(struct nic_options *nic, const char *name)
{
	size_t i = 0;
	int rc = cmd_bench_choose(&cmd_bench_nic, "a measure", name, nic_n_measures, measure_name,
				  &i);

	for (size_t k = 0; k < nic->n_measures && !rc; k++)
		if (nic->measures[k] == &nic_measures[i])
			return CMD_OK;
	if (!rc)
		nic->measures[nic->n_measures++] = &nic_measures[i];
	return rc;
}

static int add_number(uint32_t *list, size_t *n, uint32_t number, const char *what)
{
	return cmd_bench_add_number(&cmd_bench_nic, list, n, NIC_MOST, number, what);
}

static int add_size(struct nic_options *nic)
{
	uint32_t size = 0;
	int rc = cmd_bench_range(&cmd_bench_nic, "size", optarg, FRAME_MIN, FRAME_MAX, &size);

	return rc ?: add_number(nic->sizes, &nic->n_sizes, size, "sizes");
}

static int add_churn(struct nic_options *nic)
{
	uint32_t rate = 0;
	int rc = cmd_bench_number(&cmd_bench_nic, "churn", optarg, MOST_CHURN, &rate);

	return rc ?: add_number(nic->churn_rates, &nic->n_churn_rates, rate, "rates of changes");
}

static int take_pattern(struct nic_options *nic)
{
	size_t i = 0;
	int rc = cmd_bench_choose(&cmd_bench_nic, "a pattern", optarg, GENERATOR_N_PATTERNS,
				  pattern_name, &i);

	if (!rc)
		nic->pattern = pattern_name(i);
	return rc;
}

static int take_table(struct nic_args *args, bool is_file)
{
	if (args->tables.n_names)
		return cmd_usage(&cmd_bench_nic, "more than one table");
	if (is_file)
		/* what was read from standard input is in no file */
		args->nic.table_file = input_is_stdin(optarg) ? NULL : optarg;
	return cmd_bench_add_table(&cmd_bench_nic, &args->tables, optarg, is_file);
}

int nic_measure_take(struct nic_args *args, int option)
{
	struct nic_options *nic = &args->nic;

	switch (option) {
	case 't':
	case 'f':
		return take_table(args, option == 'f');
	case 'I':
		nic->in = nl_link_own_name(optarg, nic->in_name);
		return CMD_OK;
	case 'O':
		nic->out = nl_link_own_name(optarg, nic->out_name);
		return CMD_OK;
	case 'g':
		nic->generator = optarg;
		return CMD_OK;
	case 'P':
		nic->prefixes = optarg;
		return CMD_OK;
	case 'n':
		return add_engine(nic, optarg);
	case 'M':
		return add_measure(nic, optarg);
	case 'z':
		return add_size(nic);
	case 'p':
		return take_pattern(nic);
	case 'T':
		return take_real("trial", 0.01, MOST_SECONDS, &nic->trial_s);
	case 'S':
		return take_real("sum", 0.01, MOST_SECONDS, &nic->sum_s);
	case 'W':
		return take_width(nic);
	case 'R':
		return take_real("rate", 1, MOST_PPS, &nic->most_pps);
	case 'C':
		return add_churn(nic);
	case 'H':
		nic->hides_losses = true;
		return CMD_OK;
	default:
		return cmd_bench_take_option(&cmd_bench_nic, &args->options, option);
	}
}

/* --- all of them ---------------------------------------------------------------------------- */

static const struct nic_bond_want *find_bond(const struct nic_options *nic, const char *name)
{
	for (size_t i = 0; i < nic->machine.n_bonds; i++)
		if (!strcmp(nic->machine.bonds[i].name, name))
			return &nic->machine.bonds[i];
	return NULL;
}

static bool is_slave(const struct nic_options *nic, const char *name)
{
	for (size_t i = 0; i < nic->machine.n_bonds; i++)
		for (size_t k = 0; k < nic->machine.bonds[i].n_slaves; k++)
			if (!strcmp(nic->machine.bonds[i].slaves[k], name))
				return true;
	return false;
}

/* Each is a bond of the command line, or a device of it that is in none. */
static int check_port(const struct nic_options *nic, const char *option, const char *name)
{
	if (!name)
		return cmd_usage(&cmd_bench_nic, "%s needs a device or bond", option);
	if (find_bond(nic, name))
		return CMD_OK;
	for (size_t i = 0; i < nic->machine.n_devs; i++)
		if (!strcmp(nic->machine.devs[i], name) && !is_slave(nic, name))
			return CMD_OK;
	return cmd_usage(&cmd_bench_nic, "%s %s: not a --bond of this command, nor one of its DEVs",
			 option, name);
}

static int set_wang(struct nic_args *args)
{
	struct nic_options *nic = &args->nic;
	const struct nic_bond_want *bond = find_bond(nic, nic->in);

	if (!bond || bond->n_slaves != WANG_NICS)
		return cmd_usage(&cmd_bench_nic, "wang: --in is a bond of %u NICs", WANG_NICS);
	if (nic->pattern)
		return cmd_usage(&cmd_bench_nic, "wang: its pattern is syn");
	nic->pattern = generator_pattern_names[GENERATOR_SYN];
	if (!nic->machine.want.queues)
		nic->machine.want.queues = WANG_QUEUES;
	return nic->n_measures ? CMD_OK : add_measure(nic, "flood");
}

static bool is_wanted(const struct nic_options *nic, int (*run)(struct nic_bench *bench))
{
	for (size_t i = 0; i < nic->n_measures; i++)
		if (nic->measures[i]->run == run)
			return true;
	return false;
}

/* What was asked for by name, and cannot be: by default it is left out. */
static int check_measures(const struct nic_options *nic)
{
	bool sixlane = !nic->n_engines;

	for (size_t i = 0; i < nic->n_engines; i++)
		sixlane |= nic->engines[i]->is_sixlane;
	if (is_wanted(nic, nic_measure_slave) && !nic_bond_that_loses(nic))
		return cmd_usage(&cmd_bench_nic,
				 "slave: neither --in nor --out is a bond of two devices or more");
	if (is_wanted(nic, nic_measure_restart) && !sixlane)
		return cmd_usage(&cmd_bench_nic, "restart: of no engine but sixlane's");
	return CMD_OK;
}

static void set_defaults(struct nic_options *nic)
{
	bool all_measures = !nic->n_measures, all_engines = !nic->n_engines;

	for (size_t i = 0; i < nic_n_measures && all_measures; i++)
		if (nic_measures[i].is_by_default)
			nic->measures[nic->n_measures++] = &nic_measures[i];
	for (size_t i = 0; i < nic_n_engines && all_engines; i++)
		nic->engines[nic->n_engines++] = &nic_engines[i];
	if (!nic->pattern)
		nic->pattern = generator_pattern_names[GENERATOR_RANDOM];
	if (!nic->n_churn_rates)
		nic->churn_rates[nic->n_churn_rates++] = CHURN_RATE;
	if (nic->sum_s <= 0)
		nic->sum_s = TRIALS_OF_A_RATE * nic->trial_s;
}

int nic_measure_check(struct nic_args *args)
{
	struct nic_options *nic = &args->nic;
	int rc = check_port(nic, "--in", nic->in) ?: check_port(nic, "--out", nic->out);

	if (!rc && !strcmp(nic->in, nic->out))
		rc = cmd_usage(&cmd_bench_nic, "--in and --out are the same");
	if (!rc && !nic->generator)
		rc = cmd_usage(
			&cmd_bench_nic,
			"--generator is needed: the command that sends and counts (such as \"sixlane bench generator --tx DEV --rx DEV\", or by ssh)");
	if (!rc && nic->sum_s > 0 && nic->sum_s < nic->trial_s)
		rc = cmd_usage(&cmd_bench_nic, "--sum is less than one --trial");
	if (!rc && nic->machine.isolate)
		rc = cmd_usage(&cmd_bench_nic, "--isolate: a measurement does so in any case");
	if (!rc && args->preset)
		rc = set_wang(args);
	rc = rc ?: check_measures(nic);
	/* what a whole table is routed to is not to be the machine's own routes */
	nic->machine.isolate = true;
	if (!rc)
		set_defaults(nic);
	return rc;
}

int nic_measure_run(struct nic_args *args, const struct cmd_options *options)
{
	struct bench_result *result = NULL;
	struct nic_options *nic = &args->nic;
	int rc = CMD_OK;

	if (!args->tables.n_names)
		rc = cmd_bench_add_table(&cmd_bench_nic, &args->tables, "10k", false);
	rc = rc
		     ?: cmd_bench_open_tables(&cmd_bench_nic, args->preset ?: "nic", &args->tables,
					      &args->options, options, &result);
	if (rc)
		return rc;
	nic->table = &args->tables.at[0];
	nic->rounds = args->options.rounds;
	nic->seed = args->options.seed;
	return cmd_bench_end_result(result, nic_measure(nic, result));
}
