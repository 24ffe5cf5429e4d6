/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an exception of the kernel's means for packets that are forwarded. The kernel keeps it at a
 * hop of some route that covers the destination, and does not tell which: it counts only if that
 * is the route by which the destination is forwarded now. Pure: reads the RIB, asks nobody.
 */
#ifndef USER_DAEMON_LEARNT_H
#define USER_DAEMON_LEARNT_H

#include "../fib/fib.h"
#include "../resolve/resolve.h"
#include "../rib/nexthops.h"
#include "config.h"

/* Borrowed. */
struct learnt_world {
	const struct resolve_view *view;
	struct resolve *resolve; /* of view */
	struct nexthops *nexthops;
	enum config_exceptions mode;
};

/* Where packets look for what the kernel keeps in this table: with view->local_first local's in
 * main. */
uint32_t learnt_table(const struct learnt_world *world, uint32_t table);

enum learnt {
	LEARNT_NOTHING,	  /* it is of another route, or packets there are not forwarded anyhow */
	LEARNT_ONLY,	  /* all that the kernel has for the destination */
	LEARNT_ONE_HOP,	  /* there may be others for it, at other hops of the same route */
	LEARNT_UNCERTAIN, /* more than one route may have it: only the kernel knows whether it
			     counts */
};

/*
 * Of what a dump tells. told_after_ns: a moment (CLOCK_MONOTONIC) before the kernel said it. *out
 * is set unless nothing is learnt; if it is uncertain, as if it did count.
 */
enum learnt learnt_told(const struct learnt_world *world, const struct route_exception *told,
			uint64_t told_after_ns, struct fib_exception *out);

/* The same of the answer to a question about the destination: the kernel says that it counts. */
enum learnt learnt_answered(const struct learnt_world *world, const struct route_exception *told,
			    uint64_t told_after_ns, struct fib_exception *out);

/* By how many hops packets to a destination go, and so who tells all that is learnt of it. */
enum learnt_paths {
	LEARNT_BY_ONE,	   /* or none: a question, and a dump */
	LEARNT_BY_SEVERAL, /* questions by each hop's device; a dump has but those of the first hop
			    */
	LEARNT_BY_GROUP,   /* of next-hop objects: a dump; each question falls upon one of them */
	LEARNT_BY_SOURCE,  /* a dump */
	LEARNT_BY_HIDDEN,  /* of routes that are not expressed: likewise */
};

/* hops: of those by several and by a group, *n of them (more than there is room for: the first). */
#define LEARNT_MAX_HOPS 32
enum learnt_paths learnt_paths(const struct learnt_world *world, uint32_t table,
			       const union sixlane_addr *dst, struct fib_hop hops[LEARNT_MAX_HOPS],
			       size_t *n);

bool learnt_is_hop(const struct fib_hop *hop, const struct route_hop *told);

/* Both hold for one destination, for packets by different hops: if that cannot be said, punt. */
void learnt_merge(struct fib_exception *exception, const struct fib_exception *other);

#endif
