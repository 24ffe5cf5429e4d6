// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random tables that change at random, through RIB and resolver into a list of entries, looked up
 * there as the datapath does and compared with what the kernel does. Changes are reported by
 * resolve_affected() alone. A punt is right for any packet, so that it is also asked whether
 * there was a reason.
 */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "resolve_kernel.h"
#include "resolve_world.h"

#define N_STEPS 10000
#define N_PROBES 10

struct run {
	struct kernel kernel;
	struct world *world;
	uint64_t random;
	unsigned int now;
	unsigned int n_forwards, n_by_source, n_punts, n_nothing; /* what probes came to */
};

static uint32_t random_below(struct run *run, uint32_t n)
{
	run->random = run->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(run->random >> 33) % n;
}

/* --- comparison ------------------------------------------------------------------------------ */

/* The one that wins wherever the packet comes from, but by a rival's device. */
static const struct kernel_route *first_of(const struct kernel_verdict *verdict)
{
	const struct kernel_route *first = verdict->rivals[0];

	for (size_t i = 1; i < verdict->n_rivals; i++) {
		if (verdict->rivals[i]->route.preference > first->route.preference)
			first = verdict->rivals[i];
	}
	return first;
}

/* The kernel chooses by what the datapath does not know, or does not know in this combination. */
static bool may_be_unclear(const struct kernel_verdict *verdict)
{
	const struct kernel_route *first = first_of(verdict);
	bool discards = first->route.type == RTN_BLACKHOLE || first->route.type == RTN_THROW;
	bool unclear = false;

	for (size_t i = 0; i < verdict->n_rivals; i++) {
		const struct kernel_route *r = verdict->rivals[i];

		unclear |= verdict->n_rivals > 1 && r->route.next_hop_id;
		if (r == first || r->route.preference != first->route.preference)
			continue;
		unclear |= first->hops[0].has_gateway && r->route.metric == first->route.metric;
		unclear |= (discards || first->route.n_hops > 1) && !kernel_is_reject(r);
	}
	return unclear;
}

static bool may_expire(const struct kernel_verdict *verdict)
{
	const struct kernel_route *first = first_of(verdict);

	return first->route.expires && first->route.type != RTN_UNICAST;
}

static bool same_hops(const struct fib_target *target, const struct kernel_route *r, bool weights)
{
	for (unsigned int i = 0; i < r->route.n_hops; i++) {
		const struct fib_hop *hop = &target->hops[i];

		if (hop->ifindex != r->hops[i].ifindex ||
		    hop->has_gateway != r->hops[i].has_gateway ||
		    (hop->has_gateway && hop->gateway.bytes[15] != r->hops[i].gateway.bytes[15]) ||
		    hop->weight != (weights ? r->hops[i].weight : 0))
			return false;
	}
	return target->n_hops == r->route.n_hops || target->kind == FIB_EQUAL_METRIC;
}

static bool forwards_right(const struct fib_target *target, const struct kernel_route *winner,
			   uint32_t iif)
{
	uint64_t expires_ns = winner->route.expires ? winner->route.expires_ns : 0;

	/* What would leave by the port that it came in by is passed. */
	for (size_t i = 0; target->kind != FIB_HASHED && i < target->n_hops; i++) {
		if (target->hops[i].ifindex == iif)
			return true;
	}
	if (winner->route.type != RTN_UNICAST || target->mtu != winner->route.mtu ||
	    target->object != winner->route.next_hop_id)
		return false;
	if (target->expires_ns != expires_ns &&
	    !(target->kind == FIB_EQUAL_METRIC && target->expires_ns &&
	      (!expires_ns || target->expires_ns < expires_ns)))
		return false;
	if (target->kind == FIB_OBJECT)
		return winner->route.next_hop_id;
	if (target->kind == FIB_HASHED)
		return winner->route.n_hops > 1 && same_hops(target, winner, true);
	return winner->route.n_hops == 1 && same_hops(target, winner, false);
}

/* Whether that is what the kernel does, or is passed to the kernel with good reason. */
static bool is_right(const struct fib_target *target, const struct kernel_verdict *verdict,
		     uint32_t iif)
{
	const struct kernel_route *winner = verdict->winner;

	if (target->verdict == SIXLANE_PUNT_SOURCE_ROUTE || verdict->undefined)
		return target->verdict == SIXLANE_PUNT_SOURCE_ROUTE && verdict->undefined;
	if (!winner)
		return target->verdict == SIXLANE_PASS_NO_ROUTE;
	switch (target->verdict) {
	case SIXLANE_FORWARD:
		return forwards_right(target, winner, iif);
	case SIXLANE_DROP_BLACKHOLE:
		return winner->route.type == RTN_BLACKHOLE;
	case SIXLANE_PASS_THROW:
		return winner->route.type == RTN_THROW;
	case SIXLANE_PASS_UNREACHABLE:
		return winner->route.type == RTN_UNREACHABLE || kernel_leaves_by(winner, iif);
	case SIXLANE_PASS_LOCAL:
		return winner->route.type == RTN_LOCAL || kernel_leaves_by(winner, iif);
	case SIXLANE_PUNT_EQUAL_METRIC:
		return may_be_unclear(verdict);
	case SIXLANE_PUNT_EXPIRES:
		return may_expire(verdict);
	default:
		return false;
	}
}

static void report_mismatch(const struct run *run, uint32_t table, const struct prefix *dst,
			    const struct prefix *src, uint32_t iif, const struct fib_target *target)
{
	char a[PREFIX_STRLEN], b[PREFIX_STRLEN];

	for (size_t i = 0; i < KERNEL_MAX_ROUTES; i++) {
		const struct route *r = &run->kernel.routes[i].route;

		if (run->kernel.routes[i].there && r->table == table && prefix_covers(&r->dst, dst))
			print_message(
				"%s from %s metric %u pref %u type %u hops %u %s %u id %u %s(%u)\n",
				prefix_format(&r->dst, a), prefix_format(&r->src, b), r->metric,
				r->preference, r->type, r->n_hops,
				run->kernel.routes[i].hops[0].has_gateway ? "via" : "dev",
				run->kernel.routes[i].hops[0].ifindex, r->next_hop_id,
				r->expires ? "expires " : "", run->kernel.routes[i].since);
	}
	fail_msg("table %u: %s from %s iif %u: verdict %u kind %u", table, prefix_format(dst, a),
		 prefix_format(src, b), iif, target->verdict, target->kind);
}

/* Local before main: what the kernel finds in both, and whether sixlane may leave it alone. */
static struct kernel_verdict lookup_both(struct run *run, const struct prefix *dst,
					 const struct prefix *src, uint32_t iif,
					 const struct fib_target *target, bool *excused)
{
	struct kernel_verdict verdict = kernel_lookup(&run->kernel, RT_TABLE_LOCAL, dst, src, iif);
	bool by_source, thrown;

	by_source = kernel_has_sources(&run->kernel, RT_TABLE_LOCAL, dst);
	thrown = verdict.winner && verdict.winner->route.type == RTN_THROW;
	*excused = by_source ? target->verdict == SIXLANE_PUNT_SOURCE_ROUTE
			     : thrown && target->verdict == SIXLANE_PUNT_ROUTE;
	/* Which of several throws, or a route by the ingress port before one: rules distinguish. */
	if (target->verdict == SIXLANE_PUNT_EQUAL_METRIC && verdict.winner &&
	    may_be_unclear(&verdict))
		*excused = true;
	if (target->verdict == SIXLANE_PUNT_EXPIRES && verdict.winner && may_expire(&verdict))
		*excused = true;
	return verdict.winner && !thrown
		       ? verdict
		       : kernel_lookup(&run->kernel, RT_TABLE_MAIN, dst, src, iif);
}

static void probe(struct run *run, uint32_t table, const struct prefix *dst,
		  const struct prefix *src)
{
	static const struct fib_target nothing = { .verdict = SIXLANE_PASS_NO_ROUTE };
	const struct world_result *result = world_lookup(run->world, table, &dst->addr, &src->addr);
	const struct fib_target *target = result ? &result->target : &nothing;
	bool both = table == RT_TABLE_MAIN && run->world->view.local_first, excused = false;
	uint32_t iif = 2 + random_below(run, 6);
	struct kernel_verdict verdict;

	if (both)
		verdict = lookup_both(run, dst, src, iif, target, &excused);
	else
		verdict = kernel_lookup(&run->kernel, table, dst, src, iif);
	if (!excused && !is_right(target, &verdict, iif))
		report_mismatch(run, table, dst, src, iif, target);
	/* A rule may ask for the length. */
	if (target->verdict == SIXLANE_FORWARD && target->kind != FIB_EQUAL_METRIC &&
	    verdict.winner->route.table == table && !kernel_leaves_by(verdict.winner, iif))
		assert_int_equal(result->dst_len, verdict.winner->route.dst.len);
	run->n_forwards += target->verdict == SIXLANE_FORWARD;
	run->n_by_source += verdict.winner && verdict.winner->route.src.len;
	run->n_punts += target->verdict >= SIXLANE_PUNT_MULTIPATH;
	run->n_nothing += !verdict.winner;
}

/* --- change ---------------------------------------------------------------------------------- */

static struct prefix random_prefix(struct run *run, uint8_t first, bool host)
{
	struct prefix prefix = { .addr.bytes = { first }, .len = 128 };

	prefix.addr.bytes[1] = (uint8_t)(random_below(run, 4) << 6);
	prefix.addr.bytes[8] = (uint8_t)(random_below(run, 2) << 7);
	prefix.addr.bytes[15] = (uint8_t)random_below(run, 2);
	if (!host) {
		prefix.len = kernel_lens[random_below(run, KERNEL_N_LENS)];
		prefix_mask(&prefix);
	}
	return prefix;
}

static void random_hops(struct run *run, struct kernel_route *r)
{
	uint32_t n = random_below(run, 4) ? 1 : 1 + random_below(run, 3);

	for (uint32_t i = 0; i < n; i++) {
		struct route_hop *hop = &r->hops[i];

		hop->ifindex = 2 + random_below(run, 7);
		hop->weight = (uint16_t)(1 + random_below(run, 3));
		hop->has_gateway = n > 1 || !random_below(run, 3);
		if (hop->has_gateway)
			hop->gateway =
				(union sixlane_addr){ .bytes = { 0xfe,
								 0x80, [15] = (uint8_t)(1 + i) } };
	}
	r->route.n_hops = (uint16_t)n;
}

static void random_route(struct run *run, struct kernel_route *r)
{
	static const uint8_t types[] = { RTN_BLACKHOLE, RTN_THROW, RTN_UNREACHABLE };
	static const uint32_t tables[] = { 100, 100, 254, 254, 255 };

	*r = (struct kernel_route){ .since = ++run->now, .there = true };
	r->route.table = tables[random_below(run, ARRAY_SIZE(tables))];
	r->route.dst = random_prefix(run, 0x20, false);
	if (random_below(run, 2) && (r->route.table != 255 || !random_below(run, 8)))
		r->route.src = random_prefix(run, 0x30, false);
	r->route.metric = 50 + random_below(run, 3);
	r->route.preference = random_below(run, 4) ? 2 : (uint8_t)(1 + random_below(run, 3));
	r->route.protocol = random_below(run, 8) ? RTPROT_BOOT : RTPROT_RA;
	r->route.type = RTN_UNICAST;
	if (!random_below(run, 6)) {
		r->route.type = types[random_below(run, ARRAY_SIZE(types))];
	} else {
		random_hops(run, r);
		if (!random_below(run, 6) && r->route.n_hops == 1 && !r->hops[0].has_gateway)
			r->route.type = RTN_LOCAL;
		if (!random_below(run, 10) && !r->route.src.len && r->route.type == RTN_UNICAST)
			r->route.next_hop_id = 1 + random_below(run, 2);
	}
	if (!random_below(run, 6))
		r->route.mtu = 1400;
	if (!random_below(run, 8)) {
		r->route.expires = true;
		r->route.expires_ns = (1 + random_below(run, 3)) * 10000000000ull;
	}
}

/*
 * fib6 takes a reject, a device or an object only once at one metric; gateways would become one set
 * (but for those of routers), which test_rib.c is about.
 */
static bool is_refused(const struct run *run, const struct kernel_route *r)
{
	for (size_t i = 0; i < KERNEL_MAX_ROUTES; i++) {
		const struct kernel_route *other = &run->kernel.routes[i];

		if (!other->there || other->route.table != r->route.table ||
		    !prefix_equal(&other->route.dst, &r->route.dst) ||
		    !prefix_equal(&other->route.src, &r->route.src) ||
		    other->route.metric != r->route.metric)
			continue;
		if (r->route.next_hop_id != other->route.next_hop_id)
			continue;
		if (r->route.next_hop_id || (kernel_is_reject(r) && kernel_is_reject(other)) ||
		    (r->hops[0].has_gateway && other->hops[0].has_gateway) ||
		    (r->route.n_hops == 1 && other->route.n_hops == 1 &&
		     r->hops[0].ifindex == other->hops[0].ifindex))
			return true;
	}
	return false;
}

/* Gateways of router advertisements are no sets to the RIB, and would meet with those that are. */
static bool is_odd(const struct kernel_route *r)
{
	return r->route.protocol == RTPROT_RA && r->route.n_hops && r->hops[0].has_gateway;
}

static void change_route(struct run *run)
{
	struct kernel_route *slot = &run->kernel.routes[random_below(run, KERNEL_MAX_ROUTES)], next;

	if (slot->there) {
		slot->there = false;
		slot->route.hops = slot->hops;
		assert_int_equal(rib_del(run->world->rib, &slot->route, &(bool){ 0 }), 0);
	} else {
		random_route(run, &next);
		if (is_refused(run, &next) || is_odd(&next))
			return;
		*slot = next;
		slot->route.hops = slot->hops;
		assert_int_equal(rib_add(run->world->rib, &slot->route, NLM_F_CREATE | NLM_F_APPEND,
					 &(bool){ 0 }),
				 0);
	}
	world_update(run->world, slot->route.table, &slot->route.dst);
}

/* A device's carrier counts, or does not: all its routes may be others. */
static void change_link(struct run *run)
{
	uint32_t ifindex = random_below(run, 2) ? WORLD_DOWN : WORLD_ALSO_DOWN;
	struct device *device = links_find(&run->world->links, ifindex);

	device->ipv6.ignore_linkdown = !device->ipv6.ignore_linkdown;
	if (!random_below(run, 4)) {
		world_resolve_all(run->world);
		return;
	}
	for (size_t i = 0; i < KERNEL_MAX_ROUTES; i++) {
		const struct kernel_route *r = &run->kernel.routes[i];

		if (r->there && kernel_leaves_by(r, ifindex))
			world_update(run->world, r->route.table, &r->route.dst);
	}
}

/* --- runs ------------------------------------------------------------------------------------ */

static void run_random(bool local_first)
{
	static struct run run;

	memset(&run, 0, sizeof(run));
	run.world = world_new(local_first);
	run.kernel.links = &run.world->links;
	run.random = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 0) : util_now_ns();
	print_message("SEED=%llu\n", (unsigned long long)run.random);
	for (int i = 0; i < N_STEPS; i++) {
		if (random_below(&run, 50))
			change_route(&run);
		else
			change_link(&run);
		for (int j = 0; j < N_PROBES; j++) {
			const struct prefix dst = random_prefix(&run, 0x20, true);
			const struct prefix src = random_prefix(&run, 0x30, true);
			static const uint32_t tables[] = { 100, 254, 254, 255 };

			probe(&run, tables[random_below(&run, 4)], &dst, &src);
		}
	}
	print_message("forwards %u, by source %u, punts %u, no route %u\n", run.n_forwards,
		      run.n_by_source, run.n_punts, run.n_nothing);
	world_free(run.world);
}

static void test_tables_apart(void **state)
{
	run_random(false);
}

static void test_local_first(void **state)
{
	run_random(true);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables_apart),
		cmocka_unit_test(test_local_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
