/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Network and mounts of the forwarding bench's own:
 *
 *        host a  h0 ──── p0  router  p1 ──── h0  host b (has all the gateways' addresses)
 *
 * three network namespaces, and a sysfs and a bpffs for the router and its sixlane. The process is
 * the router until it is closed; nothing of it is seen by others, and the kernel removes it all
 * when the process ends, however it does.
 *
 * Functions return 0 or -errno and say on stderr what failed.
 */
#ifndef BENCH_FORWARD_NET_H
#define BENCH_FORWARD_NET_H

#include "../bench.h"

#define FORWARD_GATEWAYS 4u

struct forward_net {
	int back; /* the namespace that the process was in; -1: in that it still is */
	int a, b; /* namespaces; -1: none */
	uint32_t p0, p1, a_h0, b_h0; /* ifindex */
	/* What frames from host a have, and what p1 writes over it. */
	uint8_t p0_mac[6], a_mac[6], p1_mac[6], b_mac[6];
	union sixlane_addr a_addr, p1_addr, gateways[FORWARD_GATEWAYS];
};

/* mtu: of all devices. */
int forward_net_open(uint32_t mtu, struct forward_net *out);
void forward_net_close(struct forward_net *net);

/* All prefixes of a table, by all gateways alike. -EINTR with nothing said. */
int forward_net_fill(const struct forward_net *net, const struct bench_table *table);

/* What the router's stack has counted under this name of IPv6's. */
int forward_net_counter(const char *name, uint64_t *out);
/* Of packets that it had no route for. */
#define FORWARD_NO_ROUTES "Ip6InNoRoutes"

#endif
