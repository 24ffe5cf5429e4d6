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
#define BEGIN_S 60.0	   /* for the first frames to arrive */
#define POLL_NS 5000000u
#define CLOCKS 0.95 /* two clocks agree that well */

/* --- a trial in which something happens ----------------------------------------------------- */

static uint64_t part_ns(const struct nic_bench *bench)
{
	return (uint64_t)(bench->options->trial_s / PARTS * 1e9);
}

static int let_pass(struct nic_bench *bench, uint64_t ns)
{
	bool is_there;
	int ret = nic_agent_wait(bench->agent, util_now_ns() + ns, &is_there);

	if (!ret && is_there)
		return bench_bad(-EBADMSG, "the generator stopped sending before it was asked to");
	return ret;
}

struct event {
	const char *packets, *ms; /* modes of its figures; the first is its name */
	int (*happen)(struct nic_bench *bench);
	int (*restore)(struct nic_bench *bench); /* NULL: nothing to do */
	bool loses_device;			 /* nic_counts.h */
};

static int add_loss(struct nic_bench *bench, const struct event *event,
		    const struct nic_outcome *outcome, const char *note)
{
	double lost =
		outcome->received < outcome->sent ? (double)(outcome->sent - outcome->received) : 0;
	double ms = outcome->pps > 0 ? 1e3 * lost / outcome->pps : 0;

	if (*bench->event_note)
		note = bench->event_note;
	return nic_figure_add(bench, event->packets, "packets lost", lost, outcome, note)
		       ?: nic_figure_add(bench, event->ms, "ms of loss", ms, outcome, note);
}

/* The generator may take its time to begin, and the NICs theirs to have a link. */
static int wait_for_frames(struct nic_bench *bench)
{
	uint64_t until_ns = util_now_ns() + (uint64_t)(BEGIN_S * 1e9);
	bool begun = false;
	int ret = nic_trial_has_begun(bench, &begun);

	while (!ret && !begun && util_now_ns() < until_ns)
		ret = let_pass(bench, POLL_NS) ?: nic_trial_has_begun(bench, &begun);
	if (ret || begun)
		return ret;
	return bench_bad(-ENODATA, "no frames of the generator arrived within %.0f s", BEGIN_S);
}

/* All of it, with frames before and after; *seconds: so long it was. */
static int let_happen(struct nic_bench *bench, const struct event *event, double *seconds)
{
	uint64_t begun_ns;
	int ret = wait_for_frames(bench);

	begun_ns = util_now_ns();
	ret = ret ?: let_pass(bench, part_ns(bench)) ?: event->happen(bench)
			     ?: let_pass(bench, part_ns(bench));
	*seconds = (double)(util_now_ns() - begun_ns) / 1e9;
	return ret;
}

static int end(struct nic_bench *bench, const struct nic_trial *trial, const struct event *event,
	       double seconds, const char *note)
{
	struct nic_outcome outcome;
	int ret = nic_trial_end(bench, trial, true, &outcome);

	if (ret)
		return ret;
	if (outcome.seconds + 2 / trial->pps < seconds * CLOCKS)
		nic_outcome_refuse(&outcome, "the generator sent for %.3f s of %.3f s",
				   outcome.seconds, seconds);
	return add_loss(bench, event, &outcome, note);
}

static int measure(struct nic_bench *bench, const struct event *event)
{
	const char *note;
	const struct nic_trial trial = { .pps = PART * nic_base_pps(bench, &note),
					 .seconds = LONGEST_S,
					 .loses_device = event->loses_device };
	double seconds;
	int ret, restored;

	if (trial.pps <= 0)
		return nic_skip(bench, event->packets);
	*bench->event_note = '\0';
	ret = nic_trial_begin(bench, &trial);
	if (ret)
		return ret;
	ret = let_happen(bench, event, &seconds);
	if (ret)
		nic_trial_abandon(bench);
	else
		ret = end(bench, &trial, event, seconds, note);
	restored = event->restore ? event->restore(bench) : 0;
	return ret ?: restored;
}

/* --- churn ---------------------------------------------------------------------------------- */

/* Routes at random go by their other next hop, at a steady rate. */
static int churn(struct nic_bench *bench)
{
	uint64_t start_ns = util_now_ns(), end_ns = start_ns + part_ns(bench), done = 0, now;
	uint64_t seed = bench->options->seed;
	double made;
	int ret = 0;

	while (!ret && (now = util_now_ns()) < end_ns) {
		uint64_t due = (now - start_ns) * bench->writer_rate / 1000000000u;

		for (; done < due && !ret; done++)
			ret = nic_router_change(&bench->router,
						bench_random(&seed) % bench->options->table->n);
		ret = ret ?: let_pass(bench, PERIOD_NS);
	}
	/* the kernel may take longer for them */
	made = (double)done * 1e9 / (double)(util_now_ns() - start_ns);
	if (made < bench->writer_rate * NIC_RATE_TOLERANCE)
		snprintf(bench->event_note, sizeof(bench->event_note),
			 "only %.0f changes a second were made", made);
	return ret;
}

static int settle(struct nic_bench *bench)
{
	return nic_router_settle(&bench->router);
}

int nic_measure_churn(struct nic_bench *bench)
{
	static const struct event event = { "churn", "churn-time", churn, settle, false };
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

const struct nic_bond_want *nic_bond_that_loses(const struct nic_options *options)
{
	const struct nic_machine *machine = &options->machine;
	const struct nic_bond_want *found = NULL;

	for (size_t i = 0; i < machine->n_bonds; i++) {
		const struct nic_bond_want *bond = &machine->bonds[i];

		if (bond->n_slaves < 2)
			continue;
		if (!strcmp(bond->name, options->out))
			return bond;
		if (!strcmp(bond->name, options->in))
			found = bond;
	}
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
	const struct nic_bond_want *bond = nic_bond_that_loses(bench->options);
	const char *slave = bond->slaves[bond->n_slaves - 1];

	return set_master(slave, NULL) ?: let_pass(bench, part_ns(bench))
			   ?: set_master(slave, bond->name)
			   ?: nic_machine_settle(&bench->options->machine, bench->setup);
}

int nic_measure_slave(struct nic_bench *bench)
{
	static const struct event event = { "slave", "slave-time", leave_and_join, NULL, true };

	return nic_bond_that_loses(bench->options) ? measure(bench, &event) : 0;
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
					    restore_next_hop, false };

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
	static const struct event event = { "restart", "restart-time", restart, NULL, false };

	return bench->engine->is_sixlane ? measure(bench, &event) : 0;
}
