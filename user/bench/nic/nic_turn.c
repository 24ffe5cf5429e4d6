// SPDX-License-Identifier: GPL-2.0-only
/* Whose turn it is to forward: the kernel alone, or sixlane by one of its engines. */
#include <errno.h>
#include <string.h>

#include "../../cli/cmd.h"
#include "nic.h"

const struct nic_engine nic_engines[] = {
	{ "kernel", false, 0 },
	{ "trie", true, SIXLANE_ENGINE_TRIE },
	{ "compiled", true, SIXLANE_ENGINE_COMPILED },
};
const size_t nic_n_engines = ARRAY_SIZE(nic_engines);

/* Frames to see whether any come back, and how often: links may need a moment. How many of them
 * come is what is measured then. */
#define PROOF_FRAMES 64u
#define PROOF_PPS 1000
#define PROOF_TRIALS 10

struct bench_daemon_want nic_daemon_want(const struct nic_bench *bench)
{
	return (struct bench_daemon_want){
		.ports = { bench->options->in, bench->options->out },
		.assume_xmit = bench->is_veth,
		.routes = bench->options->table->n,
	};
}

static int detach(const char *port)
{
	char err[LOADER_ERR];
	int ret = loader_detach(port, err);

	return ret && ret != -ENOENT ? bench_bad(ret, "%s", err) : 0;
}

static int end_sixlane(struct nic_bench *bench)
{
	int ret, second;

	bench_daemon_end(&bench->daemon);
	ret = detach(bench->options->in);
	second = detach(bench->options->out);
	return ret ?: second;
}

static int begin_sixlane(struct nic_bench *bench, const struct nic_engine *engine)
{
	const struct bench_daemon_want want = nic_daemon_want(bench);
	int ret = bench->daemon.pid ? 0 : bench_daemon_start(&want, &bench->daemon);

	return ret ?: bench_daemon_choose(&bench->daemon, engine->choice);
}

static bool is_proven(const struct nic_outcome *outcome)
{
	const struct nic_forwarded *forwarded = &outcome->forwarded;

	return outcome->received && (forwarded->here || !forwarded->elsewhere);
}

/* Whether what is sent comes back, and by whom. */
static int prove(struct nic_bench *bench)
{
	const struct nic_trial trial = { .pps = PROOF_PPS, .count = PROOF_FRAMES };
	struct nic_outcome outcome = { 0 };
	int ret = 0;

	for (int i = 0; i < PROOF_TRIALS && !ret && !is_proven(&outcome); i++)
		ret = nic_trial_run(bench, &trial, &outcome);
	if (ret || is_proven(&outcome))
		return ret;
	if (outcome.received)
		return bench_bad(
			-EOPNOTSUPP,
			"sixlane forwards none of what comes by %s for %s, but leaves it to the "
			"kernel (%s): sixlane(8) has verdicts; '--engine kernel' measures the "
			"kernel",
			bench->options->in, bench->options->out,
			cmd_verdict_name(outcome.forwarded.verdict));
	return bench_bad(-ENOLINK,
			 "none of %llu frames came back by way of %s and %s (engine %s): are they "
			 "cabled to the generator's --tx and --rx?",
			 (unsigned long long)outcome.sent, bench->options->in, bench->options->out,
			 bench->engine->name);
}

int nic_turn_begin(struct nic_bench *bench, const struct nic_engine *engine)
{
	int ret = engine->is_sixlane ? begin_sixlane(bench, engine) : end_sixlane(bench);

	bench->engine = engine;
	return ret ?: nic_machine_settle(&bench->options->machine, bench->setup) ?: prove(bench);
}
