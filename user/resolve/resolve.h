/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the datapath should do with packets to one prefix of one table, as fib6_table_lookup would
 * decide it (fib6_node_lookup, rt6_select, fib6_select_path, fib6_backtrack). PUNT, never skip:
 * what cannot be expressed becomes a PUNT_* verdict. Pure.
 */
#ifndef USER_RESOLVE_RESOLVE_H
#define USER_RESOLVE_RESOLVE_H

#include "../fib/target.h"
#include "../rib/links.h"
#include "../rib/rib.h"

/* Owns the memory of the targets that it returns. */
struct resolve;

/* All that decides; borrowed, and read at each call. */
struct resolve_view {
	const struct rib *rib;
	const struct links *links;
	bool local_first;  /* RT_TABLE_MAIN is to stand with RT_TABLE_LOCAL laid over it */
	bool local_within; /* and RT_TABLE_LOCAL only there, not by itself */
	bool kernel_read;  /* what changes without a message is read from the kernel's own table */
};

/* NULL on lack of memory. */
struct resolve *resolve_new(const struct resolve_view *view);
void resolve_free(struct resolve *resolve);

/*
 * The fate of packets for which dst is the longest prefix in the table (with local_first and main:
 * in local and main together). 1 and *out (valid until the next call), 0 if there is to be no
 * entry for dst: its covers say it all; -ENOMEM.
 */
int resolve_prefix(struct resolve *resolve, uint32_t table, const struct prefix *dst,
		   const struct fib_target **out);

/*
 * The routes at dst in table changed, or links_ignored() of their devices: fn is called for every
 * prefix whose fate may differ now, in whatever table, longer prefixes before the shorter ones
 * that cover them, dst itself too.
 */
void resolve_affected(struct resolve *resolve, uint32_t table, const struct prefix *dst,
		      void (*fn)(void *ctx, uint32_t table, const struct prefix *dst), void *ctx);

/* fn for every prefix of one table, longer ones before their covers. */
void resolve_each_in(struct resolve *resolve, uint32_t table,
		     void (*fn)(void *ctx, uint32_t table, const struct prefix *dst), void *ctx);

/*
 * fn for every prefix of every table, in that order; for main also those of local, which stand
 * there or, after a change of local_first, do no more.
 */
void resolve_each(struct resolve *resolve,
		  void (*fn)(void *ctx, uint32_t table, const struct prefix *dst), void *ctx);

#endif
