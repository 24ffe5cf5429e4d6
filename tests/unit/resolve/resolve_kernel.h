/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fib6's choice of a route, over a plain array of them: the destinations around a packet's, longest
 * first, two phases (fib6_node_lookup_1, fib6_backtrack), and a score for each route
 * (find_rr_leaf): the algorithm that Linux 6.18 agrees with on random tables. Written without a
 * look at the resolver's way, which it is to be compared with.
 */
#ifndef UNIT_RESOLVE_RESOLVE_KERNEL_H
#define UNIT_RESOLVE_RESOLVE_KERNEL_H

#include "../../../user/rib/links.h"
#include "../../../user/rib/route.h"

#define KERNEL_MAX_ROUTES 90
#define KERNEL_MAX_LIST 64 /* of one destination and source */

/* No prefix has another length. */
#define KERNEL_N_LENS 8
extern const uint8_t kernel_lens[KERNEL_N_LENS]; /* longest first */

struct kernel_route {
	struct route route;
	struct route_hop hops[3];
	unsigned int since; /* order of arrival */
	bool there;
};

struct kernel {
	const struct links *links;
	struct kernel_route routes[KERNEL_MAX_ROUTES];
};

/* What the kernel makes of a packet, and how it came to that. */
struct kernel_verdict {
	const struct kernel_route *winner;		    /* NULL: no route */
	const struct kernel_route *rivals[KERNEL_MAX_LIST]; /* all that were compared with it */
	size_t n_rivals;
	bool undefined; /* the table's past decides */
};

/* dst, src: /128. iif: the port that the packet came in by. */
struct kernel_verdict kernel_lookup(const struct kernel *kernel, uint32_t table,
				    const struct prefix *dst, const struct prefix *src,
				    uint32_t iif);

/* A destination around dst has routes by source. */
bool kernel_has_sources(const struct kernel *kernel, uint32_t table, const struct prefix *dst);

bool kernel_is_reject(const struct kernel_route *r);
bool kernel_leaves_by(const struct kernel_route *r, uint32_t ifindex);

#endif
