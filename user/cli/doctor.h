/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between the files of `sixlane doctor`: its tables of checks beside those that status runs, too.
 */
#ifndef USER_CLI_DOCTOR_H
#define USER_CLI_DOCTOR_H

#include "check.h"

extern const struct checks doctor_machine;	 /* doctor_machine.c */
extern const struct checks doctor_devices;	 /* doctor_device.c: by port */
extern const struct checks doctor_queues;	 /* doctor_queues.c: by port */
extern const struct checks doctor_bonds;	 /* doctor_bond.c: by port */
extern const struct checks doctor_traffic;	 /* doctor_traffic.c */
extern const struct checks doctor_routes;	 /* doctor_routes.c: with maps */
extern const struct checks doctor_kernel_routes; /* doctor_neigh.c: without */

#define DOCTOR_XDP_BASIC (1u << 0) /* NETDEV_XDP_ACT_*, of linux/netdev.h */
#define DOCTOR_XDP_RX_SG (1u << 5)

/* Gateways that are not resolved, each once, for one finding. */
#define DOCTOR_MAX_GATEWAYS 8
struct doctor_gateways {
	struct sixlane_neigh_key at[DOCTOR_MAX_GATEWAYS];
	size_t n, more; /* more: those that found no room */
};
void doctor_add_gateway(struct doctor_gateways *gateways, const union sixlane_addr *addr,
			uint32_t ifindex);
void doctor_say_gateways(struct checkup *checkup, const struct doctor_gateways *gateways);

/* Packets of the ports that were asked for, by verdict, since the maps were made. 0 or -errno. */
int doctor_count_packets(const struct checkup *checkup, uint64_t packets[SIXLANE_N_VERDICTS]);
/* In percent of the IPv6 packets among them; 0 if there are none. */
double doctor_share(const uint64_t packets[SIXLANE_N_VERDICTS], uint32_t verdict);

/* How grave that is; *worth: telling it unasked. */
enum finding_severity doctor_judge(const uint64_t packets[SIXLANE_N_VERDICTS], uint32_t verdict,
				   bool *worth);

/* What a share of the traffic says of a verdict. */
struct doctor_verdict {
	enum finding_severity severity; /* of a share worth telling */
	const char *advice;
};
const struct doctor_verdict *doctor_verdict(uint32_t verdict);

#endif
