// SPDX-License-Identifier: GPL-2.0-only
/* All of a measurement of NICs, from the agent's hello to the devices' restoring. See nic.h. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "../log.h"
#include "../print.h"
#include "nic.h"
#include "nic_ethtool.h"

const struct nic_measure nic_measures[] = {
	{ "ndr", 20, true, nic_measure_ndr },
	{ "throughput", 10, false, nic_measure_throughput },
	{ "flood", 1, true, nic_measure_flood },
	{ "latency", 3, true, nic_measure_latency },
	{ "burst", 8, true, nic_measure_bursts },
	{ "churn", 2, true, nic_measure_churn },
	{ "slave", 2, true, nic_measure_slave },
	{ "next-hop", 2, true, nic_measure_next_hop },
	{ "restart", 2, true, nic_measure_restart },
};
const size_t nic_n_measures = ARRAY_SIZE(nic_measures);

double nic_base_pps(const struct nic_bench *bench)
{
	return bench->ndr_pps > 0 ? bench->ndr_pps : bench->most_pps;
}

/* --- the rounds ----------------------------------------------------------------------------- */

/* A little longer than it takes: the first packets are slow. */
static int find_most(struct nic_bench *bench)
{
	const struct nic_trial trial = { .seconds = bench->options->trial_s };
	struct nic_outcome outcome;
	int ret = 0;

	if (bench->options->most_pps > 0) {
		bench->most_pps = bench->options->most_pps;
		return 0;
	}
	ret = nic_trial_run(bench, &trial, &outcome);
	if (!ret && !(outcome.pps >= 1))
		ret = bench_bad(-ENODATA, "the generator sends nothing");
	bench->most_pps = outcome.pps;
	return ret;
}

static int measure_all(struct nic_bench *bench)
{
	const struct nic_options *options = bench->options;
	int ret = 0;

	for (size_t i = 0; i < options->n_measures && !ret; i++) {
		ret = bench_interrupted() ? -EINTR : options->measures[i]->run(bench);
		bench_progress_step(&bench->progress, options->measures[i]->weight);
	}
	return ret;
}

static int measure_turn(struct nic_bench *bench, const struct nic_engine *engine)
{
	const struct nic_options *options = bench->options;
	size_t n = options->n_sizes ?: 1;
	int ret = nic_turn_begin(bench, engine);

	for (size_t i = 0; i < n && !ret; i++) {
		bench->size = options->n_sizes ? options->sizes[i] : bench->size;
		bench->ndr_pps = 0;
		ret = find_most(bench) ?: measure_all(bench);
	}
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
			ret = measure_turn(bench, options->engines[i]);
	bench_progress_end(&bench->progress);
	return ret;
}

/* --- what it needs -------------------------------------------------------------------------- */

/* For a generator of this machine; another one has it by a file of its own. */
static int write_prefixes(struct nic_bench *bench)
{
	const struct nic_options *options = bench->options;
	_cleanup_fclose_ FILE *file = NULL;
	int fd;

	if (options->prefixes || options->table_file)
		return 0;
	snprintf(bench->prefixes, sizeof(bench->prefixes), "/tmp/sixlane-prefixes-XXXXXX");
	fd = mkstemp(bench->prefixes);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file)
		return bench_fail(-errno, "%s", bench->prefixes);
	for (size_t i = 0; i < options->table->n; i++) {
		char text[PRINT_PREFIX_LEN];

		print_prefix(&options->table->prefixes[i].addr, options->table->prefixes[i].len,
			     false, text);
		fprintf(file, "%s\n", text);
	}
	return fflush(file) ? bench_fail(-errno, "%s", bench->prefixes) : 0;
}

static void find_size(struct nic_bench *bench)
{
	bool syn = !strcmp(bench->options->pattern, "syn");

	bench->size = syn ? bench->generator.least_syn_bytes : bench->generator.least_frame_bytes;
}

static int open_agent(struct nic_bench *bench)
{
	int ret = nic_agent_start(bench->options->generator, &bench->agent)
			  ?: nic_agent_hello(bench->agent, &bench->generator);

	if (!ret)
		find_size(bench);
	return ret;
}

static unsigned int queues_of(const struct nic_state *state)
{
	unsigned int set = state->channels.combined_count + state->channels.rx_count;

	return state->has_channels && set ? set : state->rx_queues;
}

static int open_machine(struct nic_bench *bench)
{
	const struct nic_machine *machine = &bench->options->machine;
	struct nic_state state;
	int ret = nic_machine_setup(machine, bench->setup);

	if (!ret && !nic_state_read(machine->devs[0], &state))
		bench->queues = queues_of(&state);
	return ret;
}

static int open_router(struct nic_bench *bench)
{
	const struct nic_options *options = bench->options;
	const struct nic_agent_port *rx = bench->generator.rx;
	uint8_t macs[NIC_NEXT_HOPS][6];

	for (size_t i = 0; i < NIC_NEXT_HOPS; i++)
		memcpy(macs[i], rx[i % bench->generator.n_rx].mac, sizeof(macs[i]));
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
	if (*bench->prefixes)
		unlink(bench->prefixes);
	nic_figures_free(bench);
	return ret;
}

static bool is_veth(const char *dev)
{
	char driver[32];

	nic_ethtool_driver(dev, driver);
	return !strcmp(driver, "veth");
}

int nic_measure(const struct nic_options *options, struct bench_result *result)
{
	struct nic_bench *bench = calloc(1, sizeof(*bench)); /* too large for the stack */
	int ret, second;

	if (!bench)
		return bench_fail(-ENOMEM, "bench");
	bench->options = options;
	bench->is_veth = is_veth(options->machine.devs[0]);
	bench_interrupt_catch();
	ret = open_all(bench) ?: measure_rounds(bench);
	/* what was measured before an error, or an interrupt, is right nevertheless */
	second = bench->n_figures ? nic_report(bench, result) : 0;
	ret = ret ?: second;
	second = close_all(bench);
	free(bench);
	return ret && ret != -EINTR ? ret : second ?: ret;
}
