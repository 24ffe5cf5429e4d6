// SPDX-License-Identifier: GPL-2.0-only
/* All of a measurement of NICs, from the agent's hello to the devices' restoring. See nic.h. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "../../cli/print.h"
#include "../../lib/ethtool.h"
#include "../../lib/log.h"
#include "nic.h"

#define MOST_TRIALS 3 /* of the highest rate */

const struct nic_measure nic_measures[] = {
	{ "ndr", 200, true, nic_measure_ndr },
	{ "throughput", 100, false, nic_measure_throughput },
	{ "flood", 10, true, nic_measure_flood },
	{ "latency", 30, true, nic_measure_latency },
	{ "burst", 80, true, nic_measure_bursts },
	{ "churn", 20, true, nic_measure_churn },
	{ "slave", 20, true, nic_measure_slave },
	{ "next-hop", 20, true, nic_measure_next_hop },
	{ "restart", 20, true, nic_measure_restart },
};
const size_t nic_n_measures = ARRAY_SIZE(nic_measures);

double nic_base_pps(const struct nic_bench *bench, const char **note)
{
	*note = NULL;
	if (!bench->has_ndr)
		*note = "of the highest rate: that without loss is not known";
	else if (bench->is_ndr_limited)
		*note = "of the highest rate that was tried, which is without loss";
	return bench->has_ndr ? bench->ndr_pps : bench->most_pps;
}

int nic_skip(const struct nic_bench *bench, const char *measure)
{
	log_warning("%s: no %s, which is of a part of the rate without loss: there is none",
		    bench->engine->name, measure);
	return 0;
}

/* --- the rounds ----------------------------------------------------------------------------- */

/* What the generator sends at the most, which may be less than it is asked for: so it is asked more
 * than once. */
static int find_most(struct nic_bench *bench)
{
	const double asked = bench->options->most_pps;
	const struct nic_trial trial = { .pps = asked, .seconds = bench->options->trial_s };
	struct nic_outcome outcome = { 0 };
	int ret = 0;

	bench->most_pps = 0;
	for (int i = 0; i < MOST_TRIALS && !ret && (asked <= 0 || bench->most_pps < asked); i++) {
		ret = nic_trial_run(bench, &trial, &outcome);
		bench->most_pps = fmax(bench->most_pps, outcome.pps);
		if (asked > 0 && bench->most_pps > asked * NIC_RATE_TOLERANCE)
			bench->most_pps = asked;
	}
	if (ret || bench->most_pps > 0)
		return ret;
	return bench_bad(-ENODATA,
			 "the generator has sent nothing within %g s: a longer --trial, a higher "
			 "--rate, or see to it",
			 trial.seconds);
}

static bool is_asked(const struct nic_options *options, const struct nic_measure *measure)
{
	for (size_t i = 0; i < options->n_measures; i++)
		if (options->measures[i] == measure)
			return true;
	return false;
}

void nic_progress(struct nic_bench *bench, double part)
{
	unsigned int steps = (unsigned int)(part * bench->measure->weight);

	if (steps <= bench->steps)
		return;
	bench_progress_step(&bench->progress, steps - bench->steps);
	bench->steps = steps;
}

/* In the order of the list, in which each finds what it needs of those before. */
static int measure_all(struct nic_bench *bench)
{
	int ret = 0;

	for (size_t i = 0; i < nic_n_measures && !ret; i++) {
		if (!is_asked(bench->options, &nic_measures[i]))
			continue;
		bench->measure = &nic_measures[i];
		bench->steps = 0;
		ret = bench_interrupted() ? -EINTR : nic_measures[i].run(bench);
		if (!ret)
			nic_progress(bench, 1);
	}
	return ret;
}

static int measure_size(struct nic_bench *bench, uint32_t size)
{
	bench->size = size;
	bench->has_ndr = bench->is_ndr_limited = false;
	bench->ndr_pps = 0;
	return find_most(bench) ?: measure_all(bench);
}

static int measure_turn(struct nic_bench *bench, const struct nic_engine *engine)
{
	const struct nic_options *options = bench->options;
	int ret;

	if (options->n_sizes)
		bench->size = options->sizes[0];
	ret = nic_turn_begin(bench, engine);
	if (!options->n_sizes)
		return ret ?: measure_size(bench, bench->size);
	for (size_t i = 0; i < options->n_sizes && !ret; i++)
		ret = measure_size(bench, options->sizes[i]);
	return ret;
}

static size_t total_weight(const struct nic_options *options)
{
	size_t weight = 0;

	for (size_t i = 0; i < options->n_measures; i++)
		weight += options->measures[i]->weight;
	return weight * (options->n_sizes ?: 1) * options->n_engines * options->rounds;
}

static int measure_rounds(struct nic_bench *bench)
{
	const struct nic_options *options = bench->options;
	int ret = 0;

	bench_progress_begin(&bench->progress, "nic", total_weight(options));
	for (uint32_t round = 0; round < options->rounds && !ret; round++)
		for (size_t i = 0; i < options->n_engines && !ret; i++)
			ret = measure_turn(
				bench, options->engines[bench_turn(round, options->n_engines, i)]);
	bench_progress_end(&bench->progress);
	return ret;
}

/* --- what it needs -------------------------------------------------------------------------- */

/* For a generator of this machine, a file that ends with this process; another one has its own. */
static int write_prefixes(struct nic_bench *bench)
{
	const struct nic_options *options = bench->options;
	_cleanup_fclose_ FILE *file = NULL;
	int copy;

	if (options->prefixes || options->table_file)
		return 0;
	bench->prefixes_fd = memfd_create("sixlane-prefixes", MFD_CLOEXEC);
	copy = bench->prefixes_fd < 0 ? -1 : dup(bench->prefixes_fd);
	file = copy < 0 ? NULL : fdopen(copy, "w");
	if (!file)
		return bench_fail(-errno, "the table's prefixes");
	for (size_t i = 0; i < options->table->n; i++) {
		char text[PRINT_PREFIX_LEN];

		print_prefix(&options->table->prefixes[i].addr, options->table->prefixes[i].len,
			     false, text);
		fprintf(file, "%s\n", text);
	}
	snprintf(bench->prefixes, sizeof(bench->prefixes), "/proc/%d/fd/%d", (int)getpid(),
		 bench->prefixes_fd);
	return fflush(file) ? bench_fail(-errno, "the table's prefixes") : 0;
}

static int find_size(struct nic_bench *bench)
{
	bool syn = !strcmp(bench->options->pattern, "syn");

	bench->size = syn ? bench->generator.least_syn_bytes : bench->generator.least_frame_bytes;
	if (!bench->size && !bench->options->n_sizes)
		return bench_bad(-EINVAL,
				 "the generator does not say which frames are its least: --size");
	return 0;
}

static int open_agent(struct nic_bench *bench)
{
	return nic_agent_start(bench->options->generator, &bench->agent)
		       ?: nic_agent_hello(bench->agent, &bench->generator)
		       ?: find_size(bench);
}

/* Its MTU has room for all sizes. */
static int check_sizes(const struct nic_options *options, const struct nic_state *state)
{
	for (size_t i = 0; i < options->n_sizes; i++)
		if (options->sizes[i] > state->mtu + BENCH_ETHERNET_BYTES)
			return bench_bad(
				-EMSGSIZE,
				"%s: its MTU of %u is too small for frames of %u bytes; use --mtu %u",
				state->dev, state->mtu, options->sizes[i],
				options->sizes[i] - BENCH_ETHERNET_BYTES);
	return 0;
}

static int open_machine(struct nic_bench *bench)
{
	const struct nic_machine *machine = &bench->options->machine;
	int ret = nic_machine_setup(machine, bench->setup);

	for (size_t i = 0; i < machine->n_devs && !ret; i++) {
		struct nic_state state;

		ret = nic_state_read(machine->devs[i], &state);
		if (ret)
			return bench_fail(ret, "cannot read the state of %s", machine->devs[i]);
		ret = check_sizes(bench->options, &state);
		bench->queues = nic_state_rx_queues(&state);
	}
	return ret;
}

static int open_router(struct nic_bench *bench)
{
	const struct nic_options *options = bench->options;
	const struct nic_agent_facts *generator = &bench->generator;
	uint8_t macs[NIC_NEXT_HOPS][6];

	for (size_t i = 0; i < NIC_NEXT_HOPS; i++)
		memcpy(macs[i], generator->rx_macs[i % generator->n_rx], sizeof(macs[i]));
	return nic_router_open(options->in, options->out, macs, options->table, &bench->router);
}

static int open_all(struct nic_bench *bench)
{
	const struct nic_options *options = bench->options;

	/* The one that restores is forked before there is anybody who holds what it waits for; the
	 * agent, while this process is in the machine's own namespace. */
	return nic_setup_begin(&bench->setup) ?: nic_machine_check(&options->machine)
		       ?: bench_daemon_check_memory(options->table)
		       ?: open_agent(bench)
		       ?: write_prefixes(bench)
		       ?: open_machine(bench)
		       ?: open_router(bench);
}

/* 0, or what went wrong in restoring. */
static int close_all(struct nic_bench *bench)
{
	int ret;

	bench_daemon_end(&bench->daemon);
	nic_router_close(&bench->router);
	ret = nic_setup_end(bench->setup);
	nic_agent_end(bench->agent);
	util_close(&bench->prefixes_fd);
	nic_figures_free(bench);
	return ret;
}

static bool has_veth(const struct nic_machine *machine)
{
	char driver[32];
	bool found = false;

	for (size_t i = 0; i < machine->n_devs; i++) {
		ethtool_driver(machine->devs[i], driver);
		found |= !strcmp(driver, "veth");
	}
	return found;
}

int nic_measure(const struct nic_options *options, struct bench_result *result)
{
	struct nic_bench *bench = calloc(1, sizeof(*bench)); /* too large for the stack */
	int ret, second;

	if (!bench)
		return bench_fail(-ENOMEM, "bench");
	bench->options = options;
	bench->prefixes_fd = -1;
	bench->is_veth = has_veth(&options->machine);
	bench_interrupt_catch();
	ret = open_all(bench) ?: measure_rounds(bench);
	/* what was measured before an error, or an interrupt, is right nevertheless */
	second = bench->n_figures ? nic_report(bench, result) : 0;
	ret = ret ?: second;
	second = close_all(bench);
	free(bench);
	return ret && ret != -EINTR ? ret : second ?: ret;
}
