// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is lost when something changes: packets come at half the rate without loss, and meanwhile it
 * happens. A third of a trial goes before and after it, which may itself take as long as it does.
 */
#include <errno.h>
#include <string.h>

#include "nic.h"

#define PART 0.5	   /* of the rate without loss */
#define PARTS 3		   /* of a trial */
#define LONGEST_S 3600.0   /* the generator's, which is told when to stop */
#define PERIOD_NS 1000000u /* between two bursts of changes */

/* --- a trial in which something happens ----------------------------------------------------- */

static uint64_t part_ns(const struct nic_bench *bench)
{
	return (uint64_t)(bench->options->trial_s / PARTS * 1e9);
}

/* That the generator ends by itself is an error, which its answer tells. */
static int let_pass(struct nic_bench *bench, uint64_t ns)
{
	bool is_there;

	return nic_agent_wait(bench->agent, util_now_ns() + ns, &is_there);
}

struct event {
	const char *packets, *ms; /* modes of its figures */
	int (*happen)(struct nic_bench *bench);
	int (*restore)(struct nic_bench *bench); /* NULL: nothing to do */
};

static int add_loss(struct nic_bench *bench, const struct event *event,
		    const struct nic_outcome *outcome)
{
	double lost =
		outcome->received < outcome->sent ? (double)(outcome->sent - outcome->received) : 0;

	return nic_figure_add(bench, event->packets, "packets lost", lost, outcome, NULL)
		       ?: nic_figure_add(bench, event->ms, "ms of loss", 1e3 * lost / outcome->pps,
					 outcome, NULL);
}

static int measure(struct nic_bench *bench, const struct event *event)
{
	const struct nic_trial trial = { .pps = PART * nic_base_pps(bench), .seconds = LONGEST_S };
	struct nic_outcome outcome;
	int ret = nic_trial_begin(bench, &trial), restored;

	if (ret)
		return ret;
	ret = let_pass(bench, part_ns(bench)) ?: event->happen(bench)
			      ?: let_pass(bench, part_ns(bench));
	/* whatever came of it, the generator is to end */
	if (ret)
		nic_trial_end(bench, &trial, true, &outcome);
	else
		ret = nic_trial_end(bench, &trial, true, &outcome)
			      ?: add_loss(bench, event, &outcome);
	restored = event->restore ? event->restore(bench) : 0;
	return ret ?: restored;
}

/* --- churn ---------------------------------------------------------------------------------- */

/* Routes at random go by their other next hop, at a steady rate. */
static int churn(struct nic_bench *bench)
{
	uint64_t start_ns = util_now_ns(), end_ns = start_ns + part_ns(bench), done = 0, now;
	uint64_t seed = bench->options->seed;
	int ret = 0;

	while (!ret && (now = util_now_ns()) < end_ns) {
		uint64_t due = (now - start_ns) * bench->writer_rate / 1000000000u;

		for (; done < due && !ret; done++)
			ret = nic_router_change(&bench->router,
						bench_random(&seed) % bench->options->table->n);
		ret = ret ?: let_pass(bench, PERIOD_NS);
	}
	return ret;
}

static int settle(struct nic_bench *bench)
{
	return nic_router_settle(&bench->router);
}

int nic_measure_churn(struct nic_bench *bench)
{
	static const struct event event = { "churn", "churn-time", churn, settle };
	const struct nic_options *options = bench->options;
	int ret = 0;

	for (size_t i = 0; i < options->n_churn_rates && !ret; i++) {
		bench->writer_rate = options->churn_rates[i];
		ret = measure(bench, &event);
	}
	bench->writer_rate = 0;
	return ret;
}

/* --- a slave -------------------------------------------------------------------------------- */

/* The last slave of the egress bond, or of the ingress one. NULL: no bond has two. */
static const struct nic_bond_want *bond_with_slaves(const struct nic_bench *bench)
{
	const struct nic_machine *machine = &bench->options->machine;
	const struct nic_bond_want *found = NULL;

	for (size_t i = 0; i < machine->n_bonds; i++)
		if (machine->bonds[i].n_slaves > 1 &&
		    (!found || !strcmp(machine->bonds[i].name, bench->options->out)))
			found = &machine->bonds[i];
	return found;
}

static int set_master(const char *slave, const char *bond)
{
	uint32_t ifindex = if_nametoindex(slave);
	int ret = nic_link_set_up(ifindex, false)
			  ?: nic_link_set_master(ifindex, bond ? if_nametoindex(bond) : 0)
			  ?: nic_link_set_up(ifindex, true);

	return ret ? bench_fail(ret, "%s %s its bond", slave, bond ? "joining" : "leaving") : 0;
}

static int leave_and_join(struct nic_bench *bench)
{
	const struct nic_bond_want *bond = bond_with_slaves(bench);
	const char *slave = bond->slaves[bond->n_slaves - 1];

	return set_master(slave, NULL) ?: let_pass(bench, part_ns(bench))
			   ?: set_master(slave, bond->name)
			   ?: nic_machine_wait(&bench->options->machine);
}

int nic_measure_slave(struct nic_bench *bench)
{
	static const struct event event = { "slave", "slave-time", leave_and_join, NULL };

	return bond_with_slaves(bench) ? measure(bench, &event) : 0;
}

/* --- a next hop ----------------------------------------------------------------------------- */

static int fail_over(struct nic_bench *bench)
{
	return nic_router_lose_next_hop(&bench->router)
		       ?: nic_router_replace_next_hop(&bench->router);
}

static int restore_next_hop(struct nic_bench *bench)
{
	return nic_router_restore_next_hop(&bench->router);
}

int nic_measure_next_hop(struct nic_bench *bench)
{
	static const struct event event = { "next-hop", "next-hop-time", fail_over,
					    restore_next_hop };

	return measure(bench, &event);
}

/* --- the daemon ----------------------------------------------------------------------------- */

static int restart(struct nic_bench *bench)
{
	const struct bench_daemon_want want = nic_daemon_want(bench);

	return bench_daemon_quit(&bench->daemon) ?: bench_daemon_start(&want, &bench->daemon)
			   ?: bench_daemon_choose(&bench->daemon, bench->engine->choice);
}

int nic_measure_restart(struct nic_bench *bench)
{
	static const struct event event = { "restart", "restart-time", restart, NULL };

	return bench->engine->is_sixlane ? measure(bench, &event) : 0;
}
