// SPDX-License-Identifier: GPL-2.0-only
/* See nic_counts.h. */
#include "nic_counts.h"

#include <stdio.h>
#include <string.h>

#include "../../lib/util.h"

/* So many of kinds that nobody counts (ARP, LLDP), or between two readings, on each port. */
#define STRAY 8u
/* LACPDUs a second, when both ends ask for many. */
#define LACP_RATE 1u

/* nic_counts_subtract() takes it as an array. */
_Static_assert(sizeof(struct nic_counts) % sizeof(uint64_t) == 0, "counters and nothing else");

bool nic_counts_subtract(const struct nic_counts *after, const struct nic_counts *before,
			 struct nic_counts *out)
{
	uint64_t to[sizeof(*out) / sizeof(uint64_t)], from[ARRAY_SIZE(to)];

	memcpy(to, after, sizeof(to));
	memcpy(from, before, sizeof(from));
	for (size_t i = 0; i < ARRAY_SIZE(to); i++) {
		if (to[i] < from[i])
			return false;
		to[i] -= from[i];
	}
	memcpy(out, to, sizeof(to));
	return true;
}

const char *nic_run_subtract(struct nic_run *run, const struct nic_run *before)
{
	for (size_t i = 0; i < run->n; i++)
		if (!nic_counts_subtract(&run->ports[i].counts, &before->ports[i].counts,
					 &run->ports[i].counts))
			return run->ports[i].name;
	return NULL;
}

/* --- sums ----------------------------------------------------------------------------------- */

/* What neighbours, hosts and switches say by themselves ends so; the generator's packets, which are
 * for hosts behind the router, do not. */
static bool is_of_others(enum sixlane_verdict verdict)
{
	switch (verdict) {
	case SIXLANE_PASS_BOND_SLAVE:
	case SIXLANE_PASS_NOT_IPV6:
	case SIXLANE_PASS_OTHER_MAC:
	case SIXLANE_PASS_HOP_BY_HOP:
	case SIXLANE_PASS_SOURCE:
	case SIXLANE_PASS_DESTINATION:
	case SIXLANE_PASS_LOCAL:
	case SIXLANE_PASS_ANYCAST:
	case SIXLANE_PASS_MULTICAST:
		return true;
	default:
		return false;
	}
}

struct verdict_sums {
	uint64_t own, others;
};

static struct verdict_sums sum_verdicts(const struct nic_port *port)
{
	struct verdict_sums sums = { 0 };

	for (int v = 0; v < SIXLANE_N_VERDICTS; v++)
		*(is_of_others(v) ? &sums.others : &sums.own) += port->counts.verdicts[v];
	return sums;
}

static uint64_t sum_verdict(const struct nic_run *run, enum sixlane_verdict verdict)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < run->n; i++)
		sum += run->ports[i].counts.verdicts[verdict];
	return sum;
}

struct nic_forwarded nic_counts_forwarded(const struct nic_run *run)
{
	struct nic_forwarded out = { .here = sum_verdict(run, SIXLANE_FORWARD) };
	uint64_t most = 0;

	for (int v = 0; v < SIXLANE_N_VERDICTS; v++) {
		uint64_t n = sum_verdict(run, v);

		if (v == SIXLANE_FORWARD || is_of_others(v))
			continue;
		out.elsewhere += n;
		if (n > most) {
			most = n;
			out.verdict = v;
		}
	}
	return out;
}

static struct verdict_sums sum_all_verdicts(const struct nic_run *run)
{
	struct verdict_sums sums = { 0 }, one;

	for (size_t i = 0; i < run->n; i++) {
		one = sum_verdicts(&run->ports[i]);
		sums.own += one.own;
		sums.others += one.others;
	}
	return sums;
}

/* Of ports that packets go through themselves: a bond's are its slaves'. */
struct line_sums {
	uint64_t rx, rx_missed, tx, tx_drops; /* rx of ingress, tx of egress ports */
	uint64_t others_rx, others_tx;	      /* that the kernel counts, and what LACP may add */
	uint64_t stray_rx, stray_tx, unnoticed;
	bool tells_drops;
};

static uint64_t lacp(const struct nic_run *run, const struct nic_port *port)
{
	return port->runs_lacp ? (uint64_t)LACP_RATE * (run->seconds + 1) : 0;
}

/* What sixlane redirects is told without delay by some drivers that notice late what has left. */
static void add_sent(const struct nic_run *run, const struct nic_port *port, struct line_sums *sums)
{
	if (run->by_sixlane && port->tells_redirected) {
		sums->tx += port->counts.queues_tx;
		return;
	}
	sums->tx += port->counts.tx + port->counts.xdp_tx;
	sums->unnoticed += port->tx_unnoticed;
}

static struct line_sums sum_lines(const struct nic_run *run)
{
	struct line_sums sums = { .tells_drops = true };

	for (size_t i = 0; i < run->n; i++) {
		const struct nic_port *port = &run->ports[i];
		const struct nic_counts *counts = &port->counts;

		if (port->is_ingress) {
			sums.others_rx += counts->icmp6_rx + lacp(run, port);
			if (!port->is_bond) {
				sums.rx += counts->rx + counts->xdp_rx;
				sums.rx_missed += counts->rx_missed;
				sums.stray_rx += STRAY;
			}
		}
		if (port->is_egress) {
			sums.others_tx += counts->icmp6_tx + lacp(run, port);
			if (!port->is_bond) {
				add_sent(run, port, &sums);
				sums.tx_drops += counts->xdp_tx_drops;
				sums.stray_tx += STRAY;
				sums.tells_drops &= port->tells_tx_drops;
			}
		}
	}
	return sums;
}

uint64_t nic_counts_arrived(const struct nic_run *run)
{
	return run->by_sixlane ? sum_all_verdicts(run).own : sum_lines(run).rx;
}

/* --- equations ------------------------------------------------------------------------------ */

struct sides {
	uint64_t left, right;
	uint64_t under, over; /* right may be so much less, or more, than left */
};

struct equation {
	const char *name, *left, *right, *why;
	/* False: it says nothing of this port, or (port NULL) of this run. */
	bool (*fill)(const struct nic_run *run, const struct nic_port *port, struct sides *out);
	bool of_ports;
};

/* Losses that nobody counts. */
#define ANY_NUMBER UINT64_MAX

static uint64_t members(const struct nic_run *run, const struct nic_port *bond, bool tx)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < run->n; i++)
		if (run->ports[i].bond == bond - run->ports)
			sum += tx ? run->ports[i].counts.tx : run->ports[i].counts.rx;
	return sum;
}

/* What drivers notice late may be noticed between the readings of two counters of it. */
static uint64_t tx_slack(const struct nic_run *run, const struct nic_port *port)
{
	uint64_t slack = STRAY + port->tx_unnoticed;

	for (size_t i = 0; i < run->n; i++)
		if (run->ports[i].bond == port - run->ports)
			slack += run->ports[i].tx_unnoticed;
	return slack;
}

static bool bond_rx(const struct nic_run *run, const struct nic_port *port, struct sides *out)
{
	*out = (struct sides){ port->counts.rx, members(run, port, false), STRAY, STRAY };
	return port->is_bond;
}

static bool bond_tx(const struct nic_run *run, const struct nic_port *port, struct sides *out)
{
	uint64_t slack = tx_slack(run, port);

	*out = (struct sides){ port->counts.tx, members(run, port, true), slack, slack };
	return port->is_bond;
}

static bool queues_rx(const struct nic_run *run, const struct nic_port *port, struct sides *out)
{
	(void)run;
	*out = (struct sides){ port->counts.rx, port->counts.queues_rx, STRAY, STRAY };
	return port->tells_queues;
}

static bool queues_tx(const struct nic_run *run, const struct nic_port *port, struct sides *out)
{
	uint64_t slack = tx_slack(run, port);

	*out = (struct sides){ port->counts.tx, port->counts.queues_tx, slack, slack };
	return port->tells_queues;
}

/* A slave's packets are counted as its bond's, or its own while the bond does not use it. */
static bool verdicts(const struct nic_run *run, const struct nic_port *port, struct sides *out)
{
	struct verdict_sums sums = sum_all_verdicts(run);
	struct line_sums lines = sum_lines(run);

	(void)port;
	*out = (struct sides){ lines.rx, sums.own + sums.others, lines.stray_rx, lines.stray_rx };
	return run->by_sixlane;
}

/* What the NIC has lost may also have been others' packets. */
static bool sent(const struct nic_run *run, const struct nic_port *port, struct sides *out)
{
	struct verdict_sums sums = sum_all_verdicts(run);
	struct line_sums lines = sum_lines(run);
	uint64_t others = lines.others_rx + lines.stray_rx;

	(void)port;
	if (run->by_sixlane) {
		out->right = sums.own + lines.rx_missed;
		out->over = lines.rx_missed < others ? lines.rx_missed : others;
		out->under = 0;
	} else {
		out->right = lines.rx + lines.rx_missed;
		out->over = others;
		out->under = 0;
	}
	if (run->hides_losses)
		out->under = ANY_NUMBER;
	out->left = run->sent;
	return run->counts_sent;
}

/* Drivers that notice late what they have sent may count what was sent before the first reading.
 * Where they do not tell what they drop of it, it can only be less. What sixlane has passed to
 * the kernel, that may have forwarded. */
static bool transmitted(const struct nic_run *run, const struct nic_port *port, struct sides *out)
{
	struct line_sums lines = sum_lines(run);

	(void)port;
	out->left = sum_verdict(run, SIXLANE_FORWARD);
	out->right = lines.tx + lines.tx_drops;
	out->over = lines.others_tx + lines.stray_tx + lines.unnoticed + sum_all_verdicts(run).own -
		    out->left;
	out->under = lines.tells_drops && !run->loses_device ? lines.unnoticed : ANY_NUMBER;
	return run->by_sixlane;
}

/* What comes back by the line is, but for others' packets, what was sent there. */
static bool received(const struct nic_run *run, const struct nic_port *port, struct sides *out)
{
	struct line_sums lines = sum_lines(run);

	(void)port;
	out->left = lines.tx;
	out->right = run->received;
	out->over = lines.unnoticed;
	out->under =
		run->hides_losses ? ANY_NUMBER : lines.others_tx + lines.stray_tx + lines.unnoticed;
	return run->counts_received;
}

/* Its own packets: the generator cannot have more back than came in. */
static bool returned(const struct nic_run *run, const struct nic_port *port, struct sides *out)
{
	(void)port;
	*out = (struct sides){
		.left = run->by_sixlane ? sum_all_verdicts(run).own : run->sent,
		.right = run->received,
		.under = ANY_NUMBER,
	};
	return run->counts_received && (run->by_sixlane || run->counts_sent);
}

static const struct equation equations[] = {
	{ "bond-rx", "received by the bond", "received by its slaves",
	  "packets that came between the readings", bond_rx, true },
	{ "bond-tx", "sent by the bond", "sent by its slaves",
	  "packets that left between the readings, and sent ones that the driver has not noticed",
	  bond_tx, true },
	{ "queues-rx", "received by the device", "received by its queues",
	  "packets that came between the readings", queues_rx, true },
	{ "queues-tx", "sent by the device", "sent by its queues",
	  "packets that left between the readings, and sent ones that the driver has not noticed",
	  queues_tx, true },
	{ "verdicts", "received by the ingress ports", "verdicts of sixlane",
	  "packets that came between the readings", verdicts, false },
	{ "sent", "sent by the generator", "received or missed by the ingress ports",
	  "packets of others: neighbour discovery, MLD, LACP", sent, false },
	{ "transmitted", "forwarded by sixlane", "sent or dropped by the egress ports",
	  "packets of this machine's kernel, and sent ones that the driver has not noticed",
	  transmitted, false },
	{ "received", "sent by the egress ports", "received by the generator",
	  "packets of this machine's own, and sent ones that the driver has not noticed", received,
	  false },
	{ "returned", "of the generator came in", "received by the generator, at most",
	  "none: all are the generator's", returned, false },
};

static bool holds(const struct sides *sides)
{
	if (sides->right < sides->left)
		return sides->left - sides->right <= sides->under;
	return sides->right - sides->left <= sides->over;
}

/* --- the check ------------------------------------------------------------------------------ */

struct faults {
	struct nic_fault *at;
	size_t n, max;
};

static void check(const struct nic_run *run, const struct equation *equation,
		  const struct nic_port *port, struct faults *faults)
{
	struct sides sides = { 0 };
	struct nic_fault *fault;

	if (!equation->fill(run, port, &sides) || holds(&sides))
		return;
	if (faults->n++ >= faults->max)
		return;
	fault = &faults->at[faults->n - 1];
	*fault = (struct nic_fault){
		.name = equation->name,
		.left = equation->left,
		.right = equation->right,
		.left_n = sides.left,
		.right_n = sides.right,
		.slack = sides.right < sides.left ? sides.under : sides.over,
		.why = equation->why,
	};
	if (port)
		memcpy(fault->port, port->name, sizeof(fault->port));
}

size_t nic_counts_check(const struct nic_run *run, struct nic_fault *faults, size_t max)
{
	struct faults list = { .at = faults, .max = max };

	for (size_t i = 0; i < ARRAY_SIZE(equations); i++) {
		if (!equations[i].of_ports)
			check(run, &equations[i], NULL, &list);
		for (size_t k = 0; equations[i].of_ports && k < run->n; k++)
			check(run, &equations[i], &run->ports[k], &list);
	}
	return list.n;
}

void nic_fault_text(const struct nic_fault *fault, char out[NIC_FAULT_LEN])
{
	snprintf(out, NIC_FAULT_LEN, "%s%s%s: %llu %s, but %llu %s (%llu may differ: %s)",
		 fault->name, *fault->port ? " of " : "", fault->port,
		 (unsigned long long)fault->left_n, fault->left, (unsigned long long)fault->right_n,
		 fault->right, (unsigned long long)fault->slack, fault->why);
}
