// SPDX-License-Identifier: GPL-2.0-only
/*
 * sixlane bench nic: devices made ready for a measurement (user/bench/nic), or told why they
 * cannot be, and measured. --check changes nothing; --hold leaves all set until Ctrl-C, for
 * generators that are started by hand.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "../bench/progress.h"
#include "../lib/log.h"
#include "bench_nic.h"
#include "print.h"

#define MOST_QUEUES 256u
#define MOST_RING 65536u
#define MOST_MTU 65535u
#define MOST_USECS 10000u
#define MIIMON_MS 50

/* --- arguments ------------------------------------------------------------------------------ */

static int add(int ret, const char *what)
{
	switch (ret) {
	case 0:
		return CMD_OK;
	case -EEXIST:
		return cmd_usage(&cmd_bench_nic, "\"%s\" names a device twice", what);
	case -E2BIG:
		return cmd_usage(&cmd_bench_nic, "\"%s\" is one too many", what);
	case -ENAMETOOLONG:
		return cmd_usage(&cmd_bench_nic, "\"%s\" is no device's name", what);
	default:
		return cmd_usage(&cmd_bench_nic, "\"%s\" is not of the form NAME=DEV,DEV...", what);
	}
}

static const char *mode_name(size_t i)
{
	return nic_bond_modes[i];
}

static const char *hash_name(size_t i)
{
	return nic_bond_policies[i];
}

static int take_mode(struct nic_args *args, const char *name)
{
	if (!nic_bond_parse_mode(name, &args->bond.mode))
		return CMD_OK;
	return cmd_bench_unknown(&cmd_bench_nic, "a mode in which bonds have native XDP", name,
				 nic_bond_n_modes, mode_name);
}

static int take_hash(struct nic_args *args, const char *name)
{
	if (!nic_bond_parse_policy(name, &args->bond.policy))
		return CMD_OK;
	return cmd_bench_unknown(&cmd_bench_nic, "a hash", name, nic_bond_n_policies, hash_name);
}

static int take_number(const char *option, uint32_t max, unsigned int *out)
{
	return cmd_bench_number(&cmd_bench_nic, option, optarg, max, out);
}

/* With less the kernel takes IPv6 off the device, and its addresses for good. */
#define LEAST_MTU 1280u
static int take_mtu(unsigned int *out)
{
	return cmd_bench_range(&cmd_bench_nic, "mtu", optarg, LEAST_MTU, MOST_MTU, out);
}

/* 0 is one as well. */
static int take_usecs(struct nic_want *want)
{
	uint32_t usecs;
	int rc = cmd_bench_range(&cmd_bench_nic, "usecs", optarg, 0, MOST_USECS, &usecs);

	if (!rc)
		want->usecs = (int)usecs;
	return rc;
}

static int take_option(void *ctx, int option)
{
	struct nic_args *args = ctx;
	struct nic_machine *machine = &args->nic.machine;

	switch (option) {
	case 'c':
		args->check = true;
		return CMD_OK;
	case 'h':
		args->hold = true;
		return CMD_OK;
	case 'i':
		machine->isolate = true;
		return CMD_OK;
	case 'F':
		machine->force = true;
		return CMD_OK;
	case 'l':
		machine->force_login = true;
		return CMD_OK;
	case 'q':
		return take_number("queues", MOST_QUEUES, &machine->want.queues);
	case 'd':
		return take_number("ring", MOST_RING, &machine->want.ring);
	case 'u':
		return take_mtu(&machine->want.mtu);
	case 'e':
		return take_usecs(&machine->want);
	case 'b':
		return add(nic_machine_add_bond(machine, optarg), optarg);
	case 'm':
		return take_mode(args, optarg);
	case 'x':
		return take_hash(args, optarg);
	default:
		args->measures = true;
		return nic_measure_take(args, option);
	}
}

static int parse_args(struct nic_args *args, int argc, char **argv)
{
	static const struct option known[] = {
		{ "check", no_argument, NULL, 'c' },
		{ "hold", no_argument, NULL, 'h' },
		{ "isolate", no_argument, NULL, 'i' },
		{ "force", no_argument, NULL, 'F' },
		{ "force-login", no_argument, NULL, 'l' },
		{ "queues", required_argument, NULL, 'q' },
		{ "ring", required_argument, NULL, 'd' },
		{ "mtu", required_argument, NULL, 'u' },
		{ "usecs", required_argument, NULL, 'e' },
		{ "bond", required_argument, NULL, 'b' },
		{ "mode", required_argument, NULL, 'm' },
		{ "hash", required_argument, NULL, 'x' },
		NIC_MEASURE_OPTIONS,
		{ 0 },
	};
	int rc;

	if (argc > 1 && !strcmp(argv[1], "wang")) {
		args->preset = argv[1];
		args->measures = true;
		argv++;
		argc--;
	}
	rc = cmd_bench_parse(known, argc, argv, take_option, args);

	for (int i = optind; !rc && i < argc; i++)
		rc = add(nic_machine_add(&args->nic.machine, argv[i]), argv[i]);
	if (!rc && !args->nic.machine.n_devs)
		rc = cmd_usage(&cmd_bench_nic, "devices are needed");
	if (!rc && args->check + args->hold + args->measures > 1)
		rc = cmd_usage(&cmd_bench_nic,
			       "one of --check, --hold, or the options of a measurement is needed");
	for (size_t i = 0; i < args->nic.machine.n_bonds; i++)
		args->nic.machine.bonds[i].bond = args->bond;
	if (!rc && !args->check && !args->hold)
		rc = nic_measure_check(args);
	return rc;
}

static void set_defaults(struct nic_args *args)
{
	struct nic_want *want = &args->nic.machine.want;

	args->bond = (struct nic_bond){ .mode = 0, .policy = 0, .miimon_ms = MIIMON_MS };
	nic_bond_parse_mode("balance-xor", &args->bond.mode);
	nic_bond_parse_policy("layer3+4", &args->bond.policy);
	want->usecs = -1;
	want->cpus = args->cpus;
	want->n_cpus = bench_n_cpus();
	if (want->n_cpus > ARRAY_SIZE(args->cpus))
		want->n_cpus = ARRAY_SIZE(args->cpus);
	for (unsigned int i = 0; i < want->n_cpus; i++)
		args->cpus[i] = (unsigned int)bench_cpu(i);
}

/* --- what is done --------------------------------------------------------------------------- */

static void show_device(const json_t *object)
{
	const json_t *commands = json_object_get(object, "commands"), *command;
	size_t i;

	printf("%s:\n", json_string_value(json_object_get(object, "device")));
	json_array_foreach(commands, i, command)
	{
		printf("\t%s\n", json_string_value(command));
	}
}

static void show_plan(const json_t *list)
{
	const json_t *object;
	size_t i;

	json_array_foreach(list, i, object)
	{
		show_device(object);
	}
}

static int check(const struct nic_args *args, const struct cmd_options *options)
{
	json_t *list = json_array();
	int rc = CMD_FAILED;

	if (!nic_machine_check(&args->nic.machine) && !nic_machine_plan(&args->nic.machine, list)) {
		if (options->json)
			return print_json(options, list);
		show_plan(list);
		rc = print_flush();
	}
	json_decref(list);
	return rc;
}

/* Signals are let in only while there is nothing to do but wait for them. */
static void wait_for_interrupt(void)
{
	sigset_t two, before;

	sigemptyset(&two);
	sigaddset(&two, SIGINT);
	sigaddset(&two, SIGTERM);
	sigprocmask(SIG_BLOCK, &two, &before);
	while (!bench_interrupted())
		sigsuspend(&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void show_counts(const struct nic_run *run)
{
	printf("%-15s %14s %14s %14s\n", "device", "received", "missed", "sent");
	for (size_t i = 0; i < run->n; i++) {
		const struct nic_counts *counts = &run->ports[i].counts;

		printf("%-15s %14" PRIu64 " %14" PRIu64 " %14" PRIu64 "\n", run->ports[i].name,
		       counts->rx + counts->xdp_rx, counts->rx_missed, counts->tx + counts->xdp_tx);
	}
}

static void warn_of_faults(const struct nic_run *run)
{
	struct nic_fault faults[8];
	size_t n = nic_counts_check(run, faults, ARRAY_SIZE(faults));
	char text[NIC_FAULT_LEN];

	for (size_t i = 0; i < n && i < ARRAY_SIZE(faults); i++) {
		nic_fault_text(&faults[i], text);
		log_warning("counts do not add up: %s", text);
	}
}

/* What went in and out meanwhile, to be held against what a generator says. */
static int hold_ready(const struct nic_machine *machine)
{
	static struct nic_run before, after; /* too large for the stack */
	const char *back;

	if (nic_machine_count(machine, &before))
		return CMD_FAILED;
	puts("ready; Ctrl-C sets all back");
	if (print_flush())
		return CMD_FAILED;
	wait_for_interrupt();
	if (nic_machine_count(machine, &after))
		return CMD_FAILED;
	back = nic_run_subtract(&after, &before);
	if (back) {
		log_error("%s: its counters went back meanwhile", back);
		return CMD_FAILED;
	}
	show_counts(&after);
	warn_of_faults(&after);
	return print_flush() ?: BENCH_INTERRUPTED;
}

static int hold(const struct nic_machine *machine)
{
	struct nic_setup *setup = NULL;
	int rc = CMD_FAILED, ret = nic_machine_check(machine);

	if (ret)
		return CMD_FAILED;
	bench_interrupt_catch();
	ret = nic_setup_begin(&setup) ?: nic_machine_setup(machine, setup);
	if (!ret)
		rc = hold_ready(machine);
	else if (ret == -EINTR)
		rc = BENCH_INTERRUPTED;
	return nic_setup_end(setup) ? CMD_FAILED : rc;
}

static int perform(struct nic_args *args, const struct cmd_options *options)
{
	if (args->check)
		return check(args, options);
	return args->hold ? hold(&args->nic.machine) : nic_measure_run(args, options);
}

static int run(const struct cmd_options *options, int argc, char **argv)
{
	struct nic_args *args = calloc(1, sizeof(*args));
	int rc;

	if (!args) {
		log_error("out of memory");
		return CMD_FAILED;
	}
	set_defaults(args);
	nic_measure_begin(args, argc, argv);
	rc = parse_args(args, argc, argv) ?: cmd_bench_need_root(&cmd_bench_nic);
	rc = rc ?: perform(args, options);
	cmd_bench_free_tables(&args->tables);
	free(args);
	return rc;
}

static const char help[] =
	"measure a router of real NICs: throughput without loss, latency, loss during changes\n"
	"\n"
	"The command sets up the devices and bonds, moves them into a network namespace, routes through\n"
	"them, and restores them. --generator is the command of an agent that sends into --in and counts\n"
	"what leaves by --out: `bench generator` (here or by ssh), or the TRex agent in tests/trex.\n"
	"\n"
	"Measures by default:\n"
	"  ndr, pdr   rates without loss, and with 0.5 % of it (MLRsearch, RFC 9971)\n"
	"  flood      what is forwarded of the highest rate\n"
	"  latency    at 10, 50 and 90 % of ndr\n"
	"  burst      back-to-back frames (RFC 9004)\n"
	"  churn      loss while routes change\n"
	"  slave      loss while a slave leaves its bond and returns\n"
	"  next-hop   loss when a next hop fails\n"
	"  restart    loss when sixlaned restarts\n"
	"Measure by name only: throughput (RFC 2544, by bisection).\n"
	"A row is INVALID if the counters of NICs, bonds, queues, verdicts and generator do not add up.\n"
	"\n"
	"wang: the experiment of 2017, a flood of SYNs into a bond of two NICs with eight queues each.\n"
	"--check only shows what would be done, with --isolate as for a measurement. --hold sets up the\n"
	"devices for generators that are started by hand.";

const struct cmd cmd_bench_nic = {
	.name = "bench nic",
	.args = "[wang|--check [--isolate]|--hold [--isolate]] [--bond NAME=DEV,DEV...]... [--mode MODE] [--hash HASH] "
		"[--queues N] [--ring N] [--usecs N] [--mtu N] [--force] [--force-login] [DEV]... " NIC_MEASURE_ARGS,
	.help = help,
	.run = run,
};
