/* SPDX-License-Identifier: GPL-2.0-only */
/* What `sixlane doctor` checks besides check.h: machine, devices, routes, gateways and traffic. */
#ifndef USER_CLI_DOCTOR_H
#define USER_CLI_DOCTOR_H

#include "check.h"

extern const struct check doctor_machine[];	  /* doctor_machine.c */
extern const struct check doctor_devices[];	  /* doctor_device.c: by port */
extern const struct check doctor_queues[];	  /* doctor_device.c: by port */
extern const struct check doctor_bonds[];	  /* doctor_device.c: by port */
extern const struct check doctor_traffic[];	  /* doctor_traffic.c */
extern const struct check doctor_routes[];	  /* doctor_routes.c: with maps */
extern const struct check doctor_kernel_routes[]; /* … without */

#define GATEWAYS_MAX 8

/* Gateways that are not resolved, for one finding. All zero at first. */
struct gateways {
	struct sixlane_neigh_key at[GATEWAYS_MAX];
	size_t n, more; /* more: those beyond GATEWAYS_MAX */
};

/* Adds a gateway unless it is there. */
void gateways_add(struct gateways *gateways, const union sixlane_addr *addr, uint32_t ifindex);

struct traffic {
	uint64_t packets[SIXLANE_N_VERDICTS]; /* since the maps were made */
};

/* Counts the packets of the ports of the filter. 0 or -errno. */
int traffic_read(const struct checkup *checkup, struct traffic *traffic);
/* A verdict's share of the IPv6 packets in percent; 0 without packets. */
double traffic_share(const struct traffic *traffic, uint32_t verdict);
/* Whether the share is large enough to report. */
bool traffic_is_notable(const struct traffic *traffic, uint32_t verdict);

struct traffic_verdict {
	enum finding_severity severity; /* of a notable share */
	const char *advice;		/* NULL: none */
};
const struct traffic_verdict *traffic_verdict(uint32_t verdict);

#endif
