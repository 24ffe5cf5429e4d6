/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A network namespace of the bench's own, with one device that forwards, and routes. It is the
 * kernel's to remove when its last descriptor is closed, however the process ends.
 */
#ifndef BENCH_KERNEL_NET_H
#define BENCH_KERNEL_NET_H

#include "bench.h"
#include "request.h"

/* Returns the namespace's descriptor, the caller's to close, or -errno. The caller stays in the
 * namespace that it was in. */
int bench_net_make(uint32_t *ifindex);

/*
 * All prefixes of a table, by one next hop; family: AF_INET6, or AF_INET for the first 32 bits of
 * each. The metric of a route of IPv6 is its value, as of bench_table; of one of IPv4 it is 1,
 * since routes of unlike metrics do not share what the kernel keeps of a next hop.
 */
int bench_net_fill(int netns, uint32_t ifindex, int family, const struct bench_table *table);

/* The same of other next hops, of IPv6, in the caller's namespace. -EINTR with nothing said. */
struct bench_net_routes {
	int family;
	uint32_t ifindex;
	const union sixlane_addr *gateways; /* of IPv6, for one route after the other */
	size_t n_gateways;
	uint32_t metric;   /* of IPv6; 0: the value */
	uint32_t next_hop; /* the id of a next hop object, instead of all of the above but metric;
			      0: none */
};
int bench_net_add_routes(const struct bench_net_routes *routes, const struct bench_table *table);

/* One of them: by that next hop from now on, whatever it had. 0 or -errno with nothing said. */
int bench_net_replace_route(struct bench_request *request, const struct bench_net_routes *routes,
			    const struct bench_table *table, size_t i);

/* A host's address in one of the networks of RFC 5180's 2001:2::/48, for benchmarks; each is 64
 * bits long. */
union sixlane_addr bench_net_address(uint8_t subnet, uint16_t host);

/* Changes of single routes of such a table, from any namespace. NULL: no memory or no socket
 * (said). */
struct bench_net_changes;
struct bench_net_changes *bench_net_changes_new(int netns, uint32_t ifindex, int family,
						const struct bench_table *table);
void bench_net_changes_free(struct bench_net_changes *changes);
/* Take the route at this place of the table away, or put it back. 0 or -errno. */
int bench_net_change(struct bench_net_changes *changes, size_t i, bool back);

/* Nodes on the longest way down the kernel's table of IPv4 routes; 0: it does not say. */
uint32_t bench_net_depth4(int netns);

/* Run in another namespace and back. */
int bench_net_enter(int netns, int *back);
int bench_net_leave(int *back);

#endif
