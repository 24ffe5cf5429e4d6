// SPDX-License-Identifier: GPL-2.0-only
/* Arithmetic: see plan.h. Pure. */
#include "plan.h"

#include <math.h>

/* Preamble and start of frame: 8; the least gap between frames: 12. */
#define BETWEEN_FRAMES 20u
#define JUMBO_FRAME 9018u
/* What needs more is out of reach anyway; rows hold no larger numbers than about this. */
#define MOST_CPUS 1e12

double plan_line_rate(double gbit, uint32_t frame_bytes)
{
	return gbit * 1e9 / 8 / (frame_bytes + BETWEEN_FRAMES);
}

double plan_cost_ns(const struct plan *plan, uint32_t frame_bytes)
{
	const struct plan_cost *above = plan->costs, *end = above + plan->n_costs;
	const struct plan_cost *below;
	double part;

	while (above < end && above->frame_bytes < frame_bytes)
		above++;
	if (above == plan->costs)
		return above->ns;
	below = above - 1;
	if (above == end)
		return below->ns;
	part = (double)(frame_bytes - below->frame_bytes) /
	       (above->frame_bytes - below->frame_bytes);
	return below->ns + part * (above->ns - below->ns);
}

static double capacity(const struct plan *plan, double ns)
{
	return plan->cpus * (plan->cpus > 1 ? plan->scaling : 1) * 1e9 / ns;
}

static double cpus_for(const struct plan *plan, double rate, double ns)
{
	/* What is too much by a rounding error takes no CPU more. */
	double alone = rate * ns / 1e9 - 1e-9;

	return alone <= 1 ? 1 : fmin(fmax(ceil(alone / plan->scaling), 2), MOST_CPUS);
}

struct plan_cell plan_cell_of(const struct plan *plan, double gbit, uint32_t frame_bytes)
{
	double line = plan_line_rate(gbit, frame_bytes), total = line * plan->ports;
	double ns = plan_cost_ns(plan, frame_bytes), by_cpus = capacity(plan, ns);
	double cpus = cpus_for(plan, total, ns);

	return (struct plan_cell){
		.line = line,
		.total = total,
		.expected = fmin(total, by_cpus),
		.cpus = cpus,
		.queues = ceil(cpus / plan->ports),
		.is_line_limit = cpus <= plan->cpus,
	};
}

uint32_t plan_least_at_line(const struct plan *plan, double gbit)
{
	uint32_t least = 0;

	for (uint32_t bytes = JUMBO_FRAME; bytes >= PLAN_LEAST_FRAME; bytes--) {
		if (!plan_cell_of(plan, gbit, bytes).is_line_limit)
			break;
		least = bytes;
	}
	return least;
}
