/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes prefixes from the RIB to the FIB: resolves what the kernel would do with packets to a
 * prefix (its target), and sets that in the desired state of the maps. Knows no messages.
 */
#ifndef USER_DAEMON_APPLY_PREFIX_H
#define USER_DAEMON_APPLY_PREFIX_H

#include "../rib/radix.h"

struct sync;

/* ctx: struct sync. */
void apply_prefix(void *ctx, uint32_t table, const struct prefix *dst);
/* All prefixes of a table; of all tables. */
void apply_prefixes_in(struct sync *sync, uint32_t table);
void apply_all_prefixes(struct sync *sync);
/* The RIB's callback: a prefix changed there. ctx: struct sync. */
void apply_prefix_changed(void *ctx, uint32_t table, const struct prefix *dst);

#endif
