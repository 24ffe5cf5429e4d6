/* SPDX-License-Identifier: GPL-2.0-only */
/* One change of the compiled FIB while packets read it. Private to compiled/. */
#ifndef USER_COMPILED_CHANGE_H
#define USER_COMPILED_CHANGE_H

#include "build.h"

/*
 * Update the nodes below *root after a change of routes at dst. same_prefixes: only a value
 * changed. If *root changes, the caller publishes it, and then retires *replaced. 0 or -ENOSPC.
 */
int compiled_change_in(struct compiled_store *store, uint32_t *root, const struct radix *routes,
		       compiled_value_fn value, const struct prefix *dst, bool same_prefixes,
		       struct compiled_replaced *replaced);

#endif
