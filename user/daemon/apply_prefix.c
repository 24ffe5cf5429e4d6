// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the RIB to the FIB: what the kernel would do with packets to a prefix (its target) becomes
 * the desired state of the maps. Knows no messages.
 */
#include "apply.h"

#include <errno.h>

#include "../resolve/resolve.h"
#include "exceptions_store.h"
#include "ports.h"

/* Gives each egress device of the target a slot in sl_ports. */
static void add_egress_ports(struct sync *sync, const struct fib_target *target)
{
	for (size_t i = 0; i < target->n_hops; i++)
		if (!fib_port_slot(sync->fib, target->hops[i].ifindex))
			ports_add_egress(sync, target->hops[i].ifindex);
	/* source-specific routes */
	for (size_t i = 0; i < target->n_sources; i++)
		add_egress_ports(sync, &target->sources[i].target);
}

/*
 * The target for the FIB: a punt while the prefix is in quarantine, since the parity check saw XDP
 * and the kernel choose different next hops, else the given one. A prefix that is gone leaves the
 * quarantine.
 */
static const struct fib_target *target_or_quarantine(struct quarantine *quarantine, uint32_t table,
						     const struct prefix *dst,
						     const struct fib_target *target)
{
	static const struct fib_target punt = { .verdict = SIXLANE_PUNT_MISMATCH };

	if (!quarantine->n_active)
		return target;
	if (target)
		return quarantine_has(quarantine, table, dst) ? &punt : target;
	quarantine_end(quarantine, table, dst, util_now_ns());
	return NULL;
}

void apply_target(void *ctx, uint32_t table, const struct prefix *dst, int error,
		  const struct fib_target *target)
{
	struct sync *sync = ctx;

	if (target)
		add_egress_ports(sync, target);
	if (sync->exceptions->store.entries)
		exceptions_target_changes(sync, table, dst, target);
	if (!error)
		error = fib_set(sync->fib, table, dst,
				target_or_quarantine(&sync->quarantine, table, dst, target));
	/* What does not fit into the maps is retried by fib/. */
	if (error == -ENOMEM)
		schedule_tables(&sync->schedule, SCHEDULE_LATER_NS);
}

void apply_prefix(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	const struct fib_target *target;
	const int error = resolve_prefix(sync->stores.resolve, table, dst, &target);

	apply_target(sync, table, dst, error, target);
}

void apply_all_prefixes(struct sync *sync)
{
	resolve_each(sync->stores.resolve, apply_target, sync);
}

void apply_prefixes_in(struct sync *sync, uint32_t table)
{
	resolve_each_in(sync->stores.resolve, table, apply_target, sync);
}
