// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which destinations are exact and which are punt, into the maps: by what the kernel reader
 * returned, and by changes of routes, neighbours and MTUs. The invariants are in
 * exceptions_store.h.
 */
#include <net/if.h> /* before linux/route.h, which includes linux/if.h */

#include <errno.h>
#include <linux/ipv6.h>
#include <linux/ipv6_route.h>
#include <linux/route.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "exceptions_store.h"
#include "kernel_reader.h"
#include "operator.h"
#include "ports.h"

/* A Path MTU is punt this long before its end: the datapath's clock is two ticks late at most. */
#define AHEAD_NS 100000000ull

/*
 * The kernel announces a device's new MTU, updates all exceptions (rt6_mtu_change), and then passes
 * it on to IPv6. That takes longer with more routes, so it is checked several times. Not for ever:
 * an operator may have set net.ipv6.conf.DEV.mtu to another value.
 */
#define MTU_CHECK_NS (10 * NS_PER_MS)
#define MTU_CHECK_MAX_NS (10000 * NS_PER_MS)

static bool same_hop(const struct fib_hop *a, const struct fib_hop *b)
{
	return a->ifindex == b->ifindex && a->has_gateway == b->has_gateway &&
	       (!a->has_gateway || !memcmp(&a->gateway, &b->gateway, sizeof(a->gateway)));
}

static void set_state(struct exceptions *exceptions, struct exception_dest *dest,
		      enum exception_state state)
{
	exceptions->dirty |= dest->state != EXCEPTION_NONE && state == EXCEPTION_NONE;
	exceptions->n[dest->state]--;
	exceptions->n[state]++;
	dest->state = state;
}

/* --- what is exact ---------------------------------------------------------------------------- */

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

static bool target_matches(const struct fib_target *target, const struct finding *finding)
{
	if (target->verdict != SIXLANE_FORWARD)
		return false;
	if (finding->several)
		return target->kind == FIB_HASHED || target->kind == FIB_ONE;
	return target->kind == FIB_ONE && target->n_hops == 1 &&
	       same_hop(&target->hops[0], &finding->stored_hop);
}

/*
 * The exception as an entry of the map. False: it ends soon, its MTU is too small, or the kernel is
 * just deleting it, since it has neither a lifetime nor another hop.
 */
static bool express(const struct finding *finding, uint64_t now_ns, struct fib_exception *out)
{
	const bool own = same_hop(&finding->hop, &finding->stored_hop);

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

/* The neighbour that its packets go to. */
static const union sixlane_addr *neighbour_of(const struct exception_dest *dest)
{
	const struct fib_hop *hop = &dest->found.hop;

	return hop->has_gateway ? &hop->gateway : &dest->node.prefix.addr;
}

/* An unresolved neighbour may be about to fail, see exceptions_neigh_changed(). */
static bool is_resolved(const struct stores *stores, const struct exception_dest *dest)
{
	const struct neigh *neigh =
		neighs_find(stores->neighs, dest->found.hop.ifindex, neighbour_of(dest));

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
	    resolve_prefix(sync->stores.resolve, finding->table, &finding->prefix, &target) ||
	    !target || !target_matches(target, finding) || !express(finding, util_now_ns(), out))
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
	set_state(sync->exceptions, dest,
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
	set_state(sync->exceptions, dest, EXCEPTION_NONE);
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
		set_state(sync->exceptions, dest, EXCEPTION_EXACT);
		return;
	}
	exceptions_punt(sync, dest);
	if ((ret == -ENOSPC || ret == -ENOMEM) && dest->state == EXCEPTION_PUNT)
		set_state(sync->exceptions, dest, EXCEPTION_NO_ROOM);
}

/* --- what the kernel reader returned ---------------------------------------------------------- */

static struct fib_hop hop_of(const struct kernel_record *record)
{
	struct fib_hop hop = { .ifindex = record->ifindex };

	memcpy(hop.gateway.bytes, record->gateway, sizeof(hop.gateway.bytes));
	hop.has_gateway = !addr_is_zero(&hop.gateway);
	return hop;
}

/* where: the route or object at which it is stored. record: the exception. */
static struct finding finding_of(const struct finding *where, const struct kernel_view *view,
				 const struct kernel_record *record)
{
	struct finding finding = *where;

	finding.hop = hop_of(record);
	finding.hop.has_gateway &= (record->flags & RTF_GATEWAY) != 0;
	finding.mtu = record->mtu;
	finding.mtu_locked = record->mtu_locked;
	finding.expires = record->flags & RTF_EXPIRES ? record->expires : 0;
	finding.expires_ns = kernel_reader_expires_ns(view, record);
	finding.seen_ns = view->now_ns;
	return finding;
}

static bool same_place(const struct finding *a, const struct finding *b)
{
	return a->object == b->object && a->table == b->table && a->metric == b->metric &&
	       prefix_equal(&a->prefix, &b->prefix) && same_hop(&a->stored_hop, &b->stored_hop);
}

static bool same_content(const struct finding *a, const struct finding *b)
{
	return a->plain == b->plain && a->several == b->several && a->mtu == b->mtu &&
	       a->mtu_locked == b->mtu_locked && a->expires == b->expires &&
	       same_hop(&a->hop, &b->hop);
}

/* Store a finding. True: it is news. */
static bool store_finding(struct exception_dest *dest, const struct finding *found)
{
	struct finding *known = &dest->found;
	const bool same = same_place(known, found);
	bool news;

	if (!same && exceptions_counts(dest, known->seen_ns)) {
		news = !exceptions_counts(dest, dest->others_ns);
		dest->others_ns = found->seen_ns;
		return news;
	}
	news = !same || !same_content(known, found);
	if (news) /* else keep expires_ns, which differs in each view */
		*known = *found;
	known->seen_ns = found->seen_ns;
	return news;
}

/*
 * Make packets look it up: by the flag of its route, or, since an object may serve any route, by
 * the flag of sl_meta.
 */
static void request_lookup(struct sync *sync, struct exception_dest *dest,
			   const struct finding *found)
{
	const union sixlane_addr *dst = &dest->node.prefix.addr;

	if (found->object) {
		sync->exceptions->object_ns = found->seen_ns;
		maps_check_punted(sync->maps);
	} else {
		fib_set_exception_flag(sync->fib, found->table, dst);
		if (found->table == RT_TABLE_LOCAL && sync->stores.view.local_first)
			fib_set_exception_flag(sync->fib, RT_TABLE_MAIN, dst);
	}
}

static void note_one(struct sync *sync, const struct finding *found,
		     const struct kernel_record *record)
{
	const struct prefix dst = kernel_routes_dst(record);
	struct exception_dest *dest;

	/* the kernel ignores it: rt6_find_cached_rt() */
	if (found->expires_ns && found->expires_ns <= found->seen_ns)
		return;
	dest = exceptions_get(sync, &dst.addr);
	if (!dest)
		return;
	request_lookup(sync, dest, found);
	if (!store_finding(dest, found) && dest->state != EXCEPTION_NONE)
		return;
	exceptions_punt(sync, dest);
	if (exceptions_is_known(dest) && !dest->due_ns)
		exceptions_decide(sync, dest);
	else if (sync->exceptions->ready)
		exceptions_read_soon(sync->exceptions, dest, found->seen_ns);
}

int exceptions_note(struct sync *sync, uint32_t table, const struct kernel_view *view,
		    const struct kernel_record *records, size_t n)
{
	struct finding where = { 0 };
	bool plain = true, several = true, any = false;
	size_t n_routes = 0;

	for (size_t i = 0; i < n; i++) {
		any |= records[i].kind == KERNEL_RECORD_EXCEPTION;
		if (records[i].kind != KERNEL_RECORD_ROUTE)
			continue;
		n_routes++;
		plain &= records[i].type == RTN_UNICAST && !records[i].src_len &&
			 !records[i].next_hop_id && !records[i].encap;
		several &= records[i].n_siblings && records[i].metric == records[0].metric;
	}
	for (size_t i = 0; any && i < n; i++) {
		if (records[i].kind == KERNEL_RECORD_EXCEPTION) {
			const struct finding found = finding_of(&where, view, &records[i]);

			note_one(sync, &found, &records[i]);
			continue;
		}
		where = (struct finding){
			.table = table,
			.stored_hop = hop_of(&records[i]),
			.metric = records[i].metric,
			.plain = n_routes == 1 && plain && !records[i].n_siblings,
			.several = n_routes > 1 && plain && several,
		};
		if (records[i].kind == KERNEL_RECORD_OBJECT)
			where.object = records[i].next_hop_id;
		else
			where.prefix = kernel_routes_dst(&records[i]);
	}
	return view->cut ? -E2BIG : 0;
}

/* --- changes ---------------------------------------------------------------------------------- */

static void punt_and_read(struct sync *sync, struct exception_dest *dest)
{
	if (dest->state == EXCEPTION_EXACT)
		exceptions_punt(sync, dest);
	exceptions_note_event(sync->exceptions, dest);
}

/* It is exact by the route of this prefix, or may be routed by this prefix from now on. */
static bool is_affected(const struct exception_dest *dest, uint32_t table, const struct prefix *dst)
{
	return dest->state == EXCEPTION_EXACT && dest->found.table == table &&
	       dest->found.prefix.len <= dst->len;
}

static bool is_same_route(const struct exception_dest *dest, const struct prefix *dst,
			  const struct fib_target *target)
{
	return target && dest->found.plain && prefix_equal(&dest->found.prefix, dst) &&
	       target_matches(target, &dest->found);
}

void exceptions_target_changes(struct sync *sync, uint32_t table, const struct prefix *dst,
			       const struct fib_target *target)
{
	struct radix *store = &sync->exceptions->store;
	struct radix_node *at = radix_first_under(store, dst);

	for (; at; at = radix_next_under(at, dst)) {
		struct exception_dest *dest = exception_dest_of(at);

		if (is_affected(dest, table, dst) && !is_same_route(dest, dst, target))
			punt_and_read(sync, dest);
	}
}

void exceptions_route_changed(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	exceptions_target_changes(sync, table, dst, NULL);
	if (table == RT_TABLE_LOCAL && sync->stores.view.local_first)
		exceptions_target_changes(sync, RT_TABLE_MAIN, dst, NULL);
}

void exceptions_neigh_changed(struct sync *sync, uint32_t ifindex, const union sixlane_addr *addr)
{
	struct exception_dest *at = exceptions_first(sync->exceptions);

	for (; at; at = exceptions_next(at))
		if (at->state == EXCEPTION_EXACT && at->found.hop.ifindex == ifindex &&
		    !memcmp(neighbour_of(at), addr, sizeof(*addr)))
			punt_and_read(sync, at);
}

void exceptions_mtu_changed(struct sync *sync)
{
	struct exceptions *exceptions = sync->exceptions;
	struct exception_dest *at = exceptions_first(exceptions);

	exceptions->mtu_check_ns = util_now_ns() + MTU_CHECK_NS;
	exceptions->mtu_until_ns = util_now_ns() + MTU_CHECK_MAX_NS;
	for (; at; at = exceptions_next(at))
		if (at->state == EXCEPTION_EXACT)
			punt_and_read(sync, at);
}

void exceptions_mtu_run(struct sync *sync, uint64_t now_ns)
{
	struct exceptions *exceptions = sync->exceptions;

	if (now_ns < exceptions->mtu_check_ns)
		return;
	if (now_ns < exceptions->mtu_until_ns && links_mtu_pending(&sync->stores.links)) {
		sync->schedule.next_poll_ns = 0;
		exceptions->mtu_check_ns = now_ns + MTU_CHECK_NS;
		return;
	}
	exceptions->mtu_check_ns = UINT64_MAX;
	links_mtu_clear(&sync->stores.links);
	for (struct exception_dest *at = exceptions_first(exceptions); at; at = exceptions_next(at))
		exceptions_note_event(exceptions, at);
}
