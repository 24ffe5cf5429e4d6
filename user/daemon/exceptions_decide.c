// SPDX-License-Identifier: GPL-2.0-only
/*
 * What comes in the maps of what the kernel has of a destination: see the invariants of
 * exceptions.h.
 */
#include "exceptions.h"

#include <errno.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <string.h>

#define LEASE_NS 90000000000ull /* of a redirect without a confirmation */
#define AHEAD_NS 1000000000ull

/* The prefix is what packets to dst in this table go by. */
static bool goes_by(const struct sync *sync, const struct finding *finding,
		    const struct prefix *dst)
{
	const struct radix *radix = rib_table(sync->rib, finding->table), *local = NULL;
	const struct radix_node *node = radix ? radix_match(radix, dst) : NULL;

	if (finding->table == RT_TABLE_LOCAL || !node ||
	    !prefix_equal(&node->prefix, &finding->prefix))
		return false;
	if (finding->table == RT_TABLE_MAIN && sync->view.local_first)
		local = rib_table(sync->rib, RT_TABLE_LOCAL);
	return !local || !radix_match(local, dst);
}

bool exceptions_leads(const struct fib_target *target, const struct finding *finding)
{
	if (target->verdict != SIXLANE_FORWARD)
		return false;
	if (finding->several)
		return target->kind == FIB_HASHED || target->kind == FIB_ONE;
	return target->kind == FIB_ONE && target->n_hops == 1 &&
	       exceptions_same_hop(&target->hops[0], &finding->kept);
}

static bool forwards(const struct sync *sync, const struct finding *finding)
{
	const struct fib_target *target;

	return resolve_prefix(sync->resolve, finding->table, &finding->prefix, &target) > 0 &&
	       exceptions_leads(target, finding);
}

uint64_t exceptions_ahead_ns(const struct sync *sync)
{
	/* the next pause may be longer than the last one */
	return AHEAD_NS + 2 * sync->exceptions->look_rest_ns;
}

/* A Path MTU always ends. One with neither an end nor another hop is in its last moment. */
static bool express(const struct sync *sync, const struct finding *finding, uint64_t now_ns,
		    struct fib_exception *out)
{
	const bool own = exceptions_same_hop(&finding->hop, &finding->kept);

	*out = (struct fib_exception){ .origin = FIB_KERNEL, .table = finding->table };
	if (finding->expires) {
		out->mtu = finding->mtu;
		out->mtu_locked = finding->mtu_locked;
		out->expires_ns = finding->expires_ns;
	} else {
		out->expires_ns = now_ns + LEASE_NS;
	}
	out->has_hop = !own;
	out->hop = finding->hop;
	return finding->expires ? finding->mtu >= IPV6_MIN_MTU &&
					  finding->expires_ns > now_ns + exceptions_ahead_ns(sync)
				: !own;
}

/* One that is not may be about to fail, see exceptions_neighbour_changes(). */
static bool is_resolved(const struct sync *sync, const struct excepted *excepted)
{
	const struct neigh *neigh = neighs_find(sync->neighs, excepted->found.hop.ifindex,
						exceptions_neighbour(excepted));

	return neigh && neigh_usable(neigh);
}

static bool is_exact(const struct sync *sync, const struct excepted *excepted,
		     struct fib_exception *out)
{
	const struct finding *finding = &excepted->found;
	const bool always = sync->config->exceptions == CONFIG_EXCEPTIONS_ALWAYS;

	if (!exceptions_is_known(excepted) || !exceptions_has_found(excepted) || finding->object ||
	    exceptions_counts(excepted, excepted->others_ns) ||
	    sync->exceptions->mtu_look_ns != UINT64_MAX)
		return false;
	if (!finding->plain && !(always && finding->several))
		return false;
	if (!is_resolved(sync, excepted) || !goes_by(sync, finding, &excepted->node.prefix) ||
	    !forwards(sync, finding) || !express(sync, finding, util_now_ns(), out))
		return false;
	out->observe = exceptions_observe(sync);
	return finding->plain || !out->has_hop;
}

static const struct fib_exception *said_by(const struct sync *sync, const struct excepted *excepted,
					   enum fib_origin origin)
{
	const struct fib_exception *said = fib_exception(sync->fib, &excepted->node.prefix.addr);

	return said && said->origin == origin ? said : NULL;
}

bool exceptions_may_be_exact(const struct sync *sync, const struct excepted *excepted)
{
	struct fib_exception exact;

	return !excepted->no_room && !said_by(sync, excepted, FIB_OPERATOR) &&
	       is_exact(sync, excepted, &exact);
}

static void remove_entry(struct sync *sync, const struct excepted *excepted)
{
	if (said_by(sync, excepted, FIB_KERNEL))
		fib_set_exception(sync->fib, &excepted->node.prefix.addr, NULL);
}

void exceptions_punt(struct sync *sync, struct excepted *excepted)
{
	if (!exceptions_observe(sync)) {
		maps_punted_add(sync->maps, &excepted->node.prefix.addr);
		fib_exception_punt(sync->fib, &excepted->node.prefix.addr, true);
	}
	exceptions_set_state(sync->exceptions, excepted,
			     exceptions_observe(sync) ? EXCEPTED_NONE : EXCEPTED_PUNT);
	remove_entry(sync, excepted);
}

/* Its end is another one, by little, in each view; and a lease is not renewed with each. */
static bool is_written(const struct sync *sync, const struct excepted *excepted,
		       const struct fib_exception *exact)
{
	const struct fib_exception *said = said_by(sync, excepted, FIB_KERNEL);
	const uint64_t spare_ns = exact->mtu ? AHEAD_NS / 2 : LEASE_NS / 2;

	return said && said->table == exact->table && said->mtu == exact->mtu &&
	       said->mtu_locked == exact->mtu_locked && said->has_hop == exact->has_hop &&
	       said->observe == exact->observe && exceptions_same_hop(&said->hop, &exact->hop) &&
	       said->expires_ns + spare_ns > exact->expires_ns &&
	       exact->expires_ns + spare_ns > said->expires_ns;
}

void exceptions_decide(struct sync *sync, struct excepted *excepted)
{
	struct exceptions *exceptions = sync->exceptions;
	struct fib_exception exact;
	int ret = -ENOENT;

	if (!exceptions_has_any(excepted)) {
		exceptions_set_state(exceptions, excepted, EXCEPTED_NONE);
		exceptions_set_no_room(exceptions, excepted, false);
		remove_entry(sync, excepted);
		return;
	}
	if (!said_by(sync, excepted, FIB_OPERATOR) && is_exact(sync, excepted, &exact)) {
		if (exact.has_hop)
			ports_need(sync, exact.hop.ifindex);
		ret = is_written(sync, excepted, &exact)
			      ? 0
			      : fib_set_exception(sync->fib, &excepted->node.prefix.addr, &exact);
	}
	exceptions_set_no_room(exceptions, excepted, ret == -ENOSPC || ret == -ENOMEM);
	if (ret)
		exceptions_punt(sync, excepted);
	else
		exceptions_set_state(exceptions, excepted, EXCEPTED_EXACT);
}
