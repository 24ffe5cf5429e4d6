/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What to expect of ports and CPUs from what a packet costs: a linear extrapolation. plan.c is
 * arithmetic; plan_rows.c finds costs among the rows of a measurement.
 *
 * A frame is one of Ethernet with its checksum, as in RFC 2544; on the line a preamble and a gap,
 * together 20 bytes, come with each.
 */
#ifndef USER_BENCH_PLAN_H
#define USER_BENCH_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_LEAST_FRAME 64u
#define PLAN_MOST_FRAME 65535u
#define PLAN_MOST_COSTS 32

struct plan_cost {
	uint32_t frame_bytes;
	double ns;	/* of a CPU, for a packet */
	char note[128]; /* on how it was measured */
};

struct plan {
	struct plan_cost costs[PLAN_MOST_COSTS]; /* by frame_bytes, at least one */
	size_t n_costs;
	/* What a CPU does while others do the same, over what it does alone. */
	double scaling;
	unsigned int scaling_cpus; /* that it was measured with; 0: assumed */
	unsigned int cpus, ports;
	char source[256]; /* of the costs, for people */
};

/* Of frames of one size. Rates are in frames a second. */
struct plan_cell {
	double line;	 /* what a port can receive, and send at the same time */
	double total;	 /* what all ports can receive */
	double expected; /* of that with the CPUs that there are */
	double cpus;	 /* that the total takes */
	double queues;	 /* of each port, for so many CPUs */
	bool is_line_limit;
};

double plan_line_rate(double gbit, uint32_t frame_bytes);
/* In between two known costs linear, beyond them that of the nearest. */
double plan_cost_ns(const struct plan *plan, uint32_t frame_bytes);
struct plan_cell plan_cell_of(const struct plan *plan, double gbit, uint32_t frame_bytes);
/* From this size on the line is the limit; 0: of no size. */
uint32_t plan_least_at_line(const struct plan *plan, double gbit);

/*
 * Costs, scaling and where they come from, out of a file of rows of bench forward: of one engine
 * (NULL: the first there is of sixlane's), and of several tables and patterns the slowest. 0, or
 * -errno, which is said.
 */
int plan_read_rows(struct plan *plan, const char *path, const char *engine);

#endif
