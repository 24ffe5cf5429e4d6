/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the datapath should do with packets to one prefix, as fib6_lookup would decide it
 * (rt6_select, fib6_backtrack): lowest metric whose device is usable, else the next, else as if the
 * prefix were not there. PUNT, never skip: what cannot be expressed becomes a PUNT_* verdict. Pure.
 */
#ifndef FIB_RESOLVE_H
#define FIB_RESOLVE_H

#include "../rib/rib.h"

/* The fate of a prefix. Compared byte by byte: zero all of it before filling. */
struct fib_target {
	union sixlane_addr gateway; /* if has_gateway */
	uint32_t verdict; /* enum sixlane_verdict; SIXLANE_FORWARD: by the fields around */
	uint32_t ifindex; /* egress device */
	uint32_t mtu; /* bytes, the route's, locked or not: ip6_finish_output heeds both; 0: none */
	uint32_t has_gateway; /* 0: on-link */
};

/* fib6_ignore_linkdown: the device lost its carrier and ignore_routes_with_linkdown is set. */
typedef bool (*resolve_linkdown_fn)(void *ctx, uint32_t ifindex);

/*
 * The fate of the routes at one prefix of one table. True and *out, or false when no route
 * here is usable and the lookup goes on at the covering prefix.
 */
bool resolve_dest(const struct rib_dest *dest, resolve_linkdown_fn ignored, void *ctx,
		  struct fib_target *out);

/*
 * The fate of a prefix under the default rules: the local table (all of it, whatever the prefix
 * lengths) comes before main. A throw in local leads on to main. True and *out when dst is in
 * one of the tables and either local covers it or main has a usable route at exactly dst. False
 * for what is in neither (any more): its covers say it all. A change in the local table may change
 * the fate of everything under it, in both tables.
 */
bool resolve_prefix(const struct rib *rib, const struct prefix *dst, resolve_linkdown_fn ignored,
		    void *ctx, struct fib_target *out);

#endif
