/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the datapath does with packets to one prefix of one table, as fib6_table_lookup() decides it
 * (fib6_node_lookup, rt6_select, fib6_select_path, fib6_backtrack). What cannot be expressed
 * becomes a PUNT_* verdict, and is never skipped. Pure.
 */
#ifndef USER_RESOLVE_RESOLVE_H
#define USER_RESOLVE_RESOLVE_H

#include "../fib/target.h"
#include "view.h"

/* Owns the memory of the targets that it returns. */
struct resolve;

/* NULL on lack of memory. */
struct resolve *resolve_new(const struct resolve_view *view);
void resolve_free(struct resolve *resolve);

/*
 * The target of packets for which dst is the longest prefix in the table (with local_first and
 * main: in local and main together). 1 and *out, valid until the next call; 0 if dst needs no entry
 * because its covers give the answer; -ENOMEM.
 */
int resolve_prefix(struct resolve *resolve, uint32_t table, const struct prefix *dst,
		   const struct fib_target **out);

#endif
