/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The router that `bench nic` measures, of devices that are there and up, in the caller's network
 * namespace: addresses, neighbours, and routes by next hop objects, as routing daemons make them.
 *
 *        generator's tx ════ in  router  out ════ generator's rx (is both next hops)
 *
 * Functions return 0 or -errno and say on stderr what failed; -EINTR with nothing said.
 */
#ifndef USER_BENCH_NIC_ROUTER_H
#define USER_BENCH_NIC_ROUTER_H

#include <net/if.h>

#include "../kernel_net.h"

#define NIC_NEXT_HOPS 2u

struct nic_router {
	uint32_t in, out;		    /* ifindex */
	uint8_t in_mac[6];		    /* what packets for it are sent to */
	uint8_t hop_macs[NIC_NEXT_HOPS][6]; /* of the next hops */
	union sixlane_addr src;		    /* of the packets; its /64 is the ingress network */
	const struct bench_table *table;
	struct bench_request *request;
	bool *by_other; /* of each route: it goes by the second next hop */
};

/* hop_macs: what is sent to them arrives at the generator. All routes go by the first one. */
int nic_router_open(const char *in, const char *out, const uint8_t hop_macs[NIC_NEXT_HOPS][6],
		    const struct bench_table *table, struct nic_router *router);
/* What the router consists of is its namespace's to forget. */
void nic_router_close(struct nic_router *router);

/* A route goes by the other next hop from now on, in one message of the kernel's. */
int nic_router_change(struct nic_router *router, size_t route);
/* All by the first one again. */
int nic_router_settle(struct nic_router *router);

/* The first next hop is no neighbour any more. Then, that all go by the second one. */
int nic_router_lose_next_hop(struct nic_router *router);
int nic_router_replace_next_hop(struct nic_router *router);
int nic_router_restore_next_hop(struct nic_router *router);

#endif
