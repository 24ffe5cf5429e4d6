/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the datapath does with packets to one prefix of one table, as fib6_table_lookup() decides it
 * (fib6_node_lookup, rt6_select, fib6_select_path, fib6_backtrack). What cannot be expressed
 * becomes a PUNT_* verdict, and is never skipped. And which prefixes to resolve again after a
 * change. Pure.
 */
#ifndef USER_RESOLVE_RESOLVE_H
#define USER_RESOLVE_RESOLVE_H

#include "../fib/target.h"
#include "../rib/links.h"
#include "../rib/rib.h"

/* All input of the resolver. Borrowed, and read at each call. */
struct resolve_view {
	const struct rib *rib;
	const struct links *links;
	bool local_first;  /* RT_TABLE_MAIN holds RT_TABLE_LOCAL laid over it */
	bool local_within; /* and RT_TABLE_LOCAL has no entries of its own */
	bool kernel_read;  /* unannounced changes are read from the kernel's own table */
};

/* Owns the memory of the targets that it returns. */
struct resolve;

/* NULL on lack of memory. */
struct resolve *resolve_new(const struct resolve_view *view);
void resolve_free(struct resolve *resolve);

/*
 * The target of packets for which dst is the longest prefix in the table (with local_first and
 * main: in local and main together). *out is valid until the next call; NULL if dst needs no entry
 * because its covers give the answer. 0; -ENOMEM: *out is NULL.
 */
int resolve_prefix(struct resolve *resolve, uint32_t table, const struct prefix *dst,
		   const struct fib_target **out);

/* Called for longer prefixes before their covers. error and target: as of resolve_prefix(). */
typedef void (*resolve_each_fn)(void *ctx, uint32_t table, const struct prefix *dst, int error,
				const struct fib_target *target);

/*
 * The routes of dst in table changed, or links_ignored() of their devices: fn is called for every
 * prefix of any table whose target may have changed, dst included.
 */
void resolve_affected(struct resolve *resolve, uint32_t table, const struct prefix *dst,
		      resolve_each_fn fn, void *ctx);
/* fn for every prefix of one table. */
void resolve_each_in(struct resolve *resolve, uint32_t table, resolve_each_fn fn, void *ctx);
/*
 * fn for every prefix of every table. For main also those of local, which stand there, or no longer
 * do after a change of local_first.
 */
void resolve_each(struct resolve *resolve, resolve_each_fn fn, void *ctx);

#endif
