/* SPDX-License-Identifier: GPL-2.0-only */
/* Which route of one node fib6 selects. Private to resolve/. */
#ifndef USER_RESOLVE_SELECT_H
#define USER_RESOLVE_SELECT_H

#include "workspace.h"

/*
 * rt6_select() and fib6_select_path() over n items, which are one node. True and *out, or false if
 * no route is usable. Uses at most as many hops as the routes have.
 */
bool resolve_select(struct resolve *resolve, const struct resolve_item *items, size_t n,
		    struct fib_target *out);

/* resolve_select() would find a route among those that are not source-specific. */
bool resolve_plain_usable(const struct resolve *resolve, const struct rib_dest *dest);

#endif
