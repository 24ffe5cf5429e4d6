// SPDX-License-Identifier: GPL-2.0-only
/* Checks of a port's queues: whether they keep all CPUs busy. */
#include "doctor.h"

static bool check_number(struct checkup *checkup, const struct status_port *port)
{
	const struct ethtool_channels *channels = &port->channels;
	const char *name = port->link->name;
	uint32_t in_use = port->rx_in_use;
	uint32_t most = channels->max_combined ? channels->max_combined : channels->max_rx;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!in_use || cpus < 1 || in_use >= (uint32_t)cpus)
		return true;
	check_report(checkup, in_use < most ? FINDING_WARNING : FINDING_NOTE, name,
		     "%s uses %u receive %s: at most %u of %ld CPUs receive its packets", name,
		     in_use, in_use == 1 ? "queue" : "queues", in_use, cpus);
	if (in_use < most)
		check_advise(checkup, "ethtool -L %s %s %u", name,
			     channels->max_combined ? "combined" : "rx",
			     most < (uint32_t)cpus ? most : (uint32_t)cpus);
	return true;
}

static bool check_spread(struct checkup *checkup, const struct status_port *port)
{
	uint32_t in_use = port->rx_in_use, reached;
	const char *name = port->link->name;

	if (in_use < 2 || ethtool_count_rss_queues(name, &reached) || reached >= in_use)
		return true;
	check_warn(checkup, name,
		   "%s: receive side scaling spreads packets over only %u of its %u queues", name,
		   reached, in_use);
	check_advise(checkup, "ethtool -X %s equal %u", name, in_use);
	return true;
}

const struct check doctor_queues[] = {
	{ "queues", .run_port = check_number, .usual = "none: its driver has no more queues" },
	{ "rss", .run_port = check_spread },
	{ .name = NULL },
};
