// SPDX-License-Identifier: GPL-2.0-only
/* See exceptions_decide.h, and the invariants in exceptions_store.h. */
#include "exceptions_decide.h"

#include <errno.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>

#include "daemon.h"
#include "exceptions_store.h"
#include "operator.h"
#include "ports.h"

/* A Path MTU is punt this long before its end: the datapath's clock is two ticks late at most. */
#define AHEAD_NS 100000000ull

/* Packets to dst are routed by the prefix at which the finding is stored. */
static bool routes_by(const struct stores *stores, const struct finding *finding,
		      const struct prefix *dst)
{
	const struct radix *radix = rib_table(stores->rib, finding->table), *local = NULL;
	const struct radix_node *node = radix ? radix_match(radix, dst) : NULL;

	if (finding->table == RT_TABLE_LOCAL || !node ||
	    !prefix_equal(&node->prefix, &finding->prefix))
		return false;
	if (finding->table == RT_TABLE_MAIN && stores->view.local_first)
		local = rib_table(stores->rib, RT_TABLE_LOCAL);
	return !local || !radix_match(local, dst);
}

bool exceptions_target_matches(const struct fib_target *target, const struct finding *finding)
{
	if (target->verdict != SIXLANE_FORWARD)
		return false;
	if (finding->several)
		return target->kind == FIB_HASHED || target->kind == FIB_ONE;
	return target->kind == FIB_ONE && target->n_hops == 1 &&
	       exceptions_same_hop(&target->hops[0], &finding->stored_hop);
}

/* As an entry of the map. One without lifetime or another hop is just being deleted. */
static bool express(const struct finding *finding, uint64_t now_ns, struct fib_exception *out)
{
	const bool own = exceptions_same_hop(&finding->hop, &finding->stored_hop);

	*out = (struct fib_exception){ .origin = FIB_KERNEL, .table = finding->table };
	if (finding->expires) {
		out->mtu = finding->mtu;
		out->mtu_locked = finding->mtu_locked;
		out->expires_ns = util_later(finding->expires_ns, AHEAD_NS) - AHEAD_NS;
	} else {
		out->expires_ns = finding->seen_ns + EXCEPTIONS_LEASE_NS;
	}
	out->has_hop = !own;
	out->hop = finding->hop;
	return out->expires_ns > now_ns && (finding->expires ? finding->mtu >= IPV6_MIN_MTU : !own);
}

/* An unresolved neighbour may be about to fail, see exceptions_neigh_changed(). */
static bool is_resolved(const struct stores *stores, const struct exception_dest *dest)
{
	const struct neigh *neigh =
		neighs_find(stores->neighs, dest->found.hop.ifindex, exceptions_neighbour(dest));

	return neigh && neigh_usable(neigh);
}

static bool is_operators(const struct fib *fib, const struct exception_dest *dest)
{
	const struct fib_exception *entry = fib_exception(fib, &dest->node.prefix.addr);

	return entry && entry->origin == FIB_OPERATOR;
}

bool exceptions_is_exact(const struct sync *sync, const struct exception_dest *dest,
			 struct fib_exception *out)
{
	const struct finding *finding = &dest->found;
	const struct fib_target *target;
	const bool always = sync->config->exceptions == CONFIG_EXCEPTIONS_ALWAYS;

	if (!exceptions_is_known(dest) || !exceptions_has_found(dest) || finding->object ||
	    exceptions_counts(dest, dest->others_ns) ||
	    sync->exceptions->mtu_check_ns != UINT64_MAX)
		return false;
	if (!finding->plain && !(always && finding->several))
		return false;
	if (exceptions_observe(sync) && is_operators(sync->fib, dest))
		return false;
	if (!is_resolved(&sync->stores, dest) ||
	    !routes_by(&sync->stores, finding, &dest->node.prefix) ||
	    resolve_prefix(sync->stores.resolve, finding->table, &finding->prefix, &target) <= 0 ||
	    !exceptions_target_matches(target, finding) || !express(finding, util_now_ns(), out))
		return false;
	out->observe = exceptions_observe(sync);
	return finding->plain || !out->has_hop;
}

/* With "observe" the operator's entry stays. */
static void remove_entry(struct sync *sync, const struct exception_dest *dest)
{
	if (!exceptions_observe(sync) || !is_operators(sync->fib, dest))
		fib_set_exception(sync->fib, &dest->node.prefix.addr, NULL);
}

void exceptions_punt(struct sync *sync, struct exception_dest *dest)
{
	if (!exceptions_observe(sync))
		maps_punted_add(sync->maps->punted, &dest->node.prefix.addr);
	exceptions_set_state(sync->exceptions, dest,
			     exceptions_observe(sync) ? EXCEPTION_NONE : EXCEPTION_PUNT);
	remove_entry(sync, dest);
}

static int set_entry(struct sync *sync, const struct exception_dest *dest,
		     const struct fib_exception *exact)
{
	if (dest->state != EXCEPTION_EXACT &&
	    sync->exceptions->n[EXCEPTION_EXACT] >= sync->config->max_exceptions)
		return -ENOSPC;
	if (exact->has_hop)
		ports_add_egress(sync, exact->hop.ifindex);
	return fib_set_exception(sync->fib, &dest->node.prefix.addr, exact);
}

/* The kernel has nothing of it: the operator's applies again. */
static void give_up(struct sync *sync, struct exception_dest *dest)
{
	if (dest->state != EXCEPTION_NONE)
		operator_restore(sync, &dest->node.prefix.addr);
	exceptions_set_state(sync->exceptions, dest, EXCEPTION_NONE);
	remove_entry(sync, dest);
}

void exceptions_decide(struct sync *sync, struct exception_dest *dest)
{
	struct fib_exception exact;
	int ret = -ENOENT;

	if (!exceptions_has_any(dest)) {
		give_up(sync, dest);
		return;
	}
	if (exceptions_is_exact(sync, dest, &exact))
		ret = set_entry(sync, dest, &exact);
	if (!ret) {
		exceptions_set_state(sync->exceptions, dest, EXCEPTION_EXACT);
		return;
	}
	exceptions_punt(sync, dest);
	if ((ret == -ENOSPC || ret == -ENOMEM) && dest->state == EXCEPTION_PUNT)
		exceptions_set_state(sync->exceptions, dest, EXCEPTION_NO_ROOM);
}
