/* SPDX-License-Identifier: GPL-2.0-only */
/* Which prefixes to resolve again after a change. Longer prefixes come before their covers. */
#ifndef USER_RESOLVE_AFFECTED_H
#define USER_RESOLVE_AFFECTED_H

#include "resolve.h"

typedef void (*resolve_each_fn)(void *ctx, uint32_t table, const struct prefix *dst);

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
