// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes in the maps as `sixlane routes` and `lookup` show them: groups and weights, ports and
 * neighbours, source-specific routes, exceptions. The daemon's code makes the buckets.
 */
#include "../cmd_world.h"

#include "../../../../user/fib/group.h"

#define GROUP 50u
#define FIRST_BUCKET 1000u
#define SET 3u
#define MTU 1300u

enum { BY_OUT = 5, BY_OTHER, HOLE };

static struct route_view view;

static void put_group(uint16_t kind, uint32_t n_buckets)
{
	next_hops[GROUP] =
		(struct sixlane_next_hop){ .nh_entry = { .type = kind,
							 .n_buckets = (uint16_t)n_buckets,
							 .first_bucket = FIRST_BUCKET } };
}

/* A group of ids BY_OUT, BY_OTHER …, as many as there are weights. */
static void put_weighted(const uint32_t *weights, uint32_t n)
{
	struct fib_key_hop hops[8] = { 0 };

	for (uint32_t i = 0; i < n; i++)
		hops[i].weight = weights[i];
	assert_int_equal(fib_alias_build(hops, n, &buckets[FIRST_BUCKET]), 0);
	for (uint32_t i = 0; i < n; i++) {
		buckets[FIRST_BUCKET + i].below += BY_OUT;
		buckets[FIRST_BUCKET + i].above += BY_OUT;
	}
	put_group(SIXLANE_NH_GROUP, n);
}

/* Two next hops that forward, and a group of both with equal weights. */
static void fill(void)
{
	const uint32_t equal[] = { 1, 1 };

	world_clear();
	world_port(SLOT_OTHER, OTHER, LIVE);
	world_hop(BY_OUT, SLOT_OUT, GATEWAY);
	world_hop(BY_OTHER, SLOT_OTHER, OTHER_GATEWAY);
	world_entry(HOLE, SIXLANE_DROP_BLACKHOLE);
	put_weighted(equal, 2);
}

/* The verdict for packets to DESTINATION by a route with this next hop and route flags. */
static uint32_t verdict_of_packets(uint32_t id, uint32_t flags, struct packet_filter packets)
{
	const union sixlane_addr dst = address(DESTINATION);

	packets.dst = &dst;
	route_view_read(&maps, sixlane_route_value(id, 48) | flags, NULL, &view);
	route_view_check(&maps, SIXLANE_TABLE_MAIN, &packets, &view);
	return view.verdict;
}

static uint32_t verdict_of(uint32_t id, uint32_t flags)
{
	return verdict_of_packets(id, flags, (struct packet_filter){ 0 });
}

static const struct member_view *member(uint32_t id)
{
	for (uint32_t i = 0; i < view.group.n_members; i++) {
		if (view.group.members[i].hop.id == id)
			return &view.group.members[i];
	}
	fail_msg("no member %u", id);
	return NULL;
}

/* --- one next hop ------------------------------------------------------------------------ */

#define GUARD SIXLANE_PORT_GUARD

/* The first reason that the program would find counts (bpf/nexthop.h). */
static const struct {
	const char *name;
	uint32_t verdict;
	uint32_t clear, set;	   /* flags of the egress port */
	bool any_port;		   /* packets by any port */
	uint32_t in;		   /* ingress; 0: IN */
	uint32_t in_clear, in_set; /* flags of the ingress */
	uint32_t meta;		   /* SIXLANE_META_* */
	bool generic, no_src, is_free, on_link, unresolved;
} hops[] = {
	{ "any", SIXLANE_FORWARD, .any_port = true },
	{ "served", .verdict = SIXLANE_FORWARD },
	{ "down", SIXLANE_PASS_EGRESS_DOWN, .clear = SIXLANE_PORT_UP },
	{ "no IPv6", SIXLANE_PASS_EGRESS_DOWN, .clear = SIXLANE_PORT_IPV6 },
	{ "no redirected frames", SIXLANE_PASS_EGRESS_DEVICE, .clear = SIXLANE_PORT_XMIT },
	{ "generic", SIXLANE_FORWARD, .clear = SIXLANE_PORT_XMIT, .generic = true },
	{ "bridge", SIXLANE_PUNT_BRIDGE, .clear = SIXLANE_PORT_XMIT, .set = SIXLANE_PORT_BRIDGE },
	{ "macvlan", SIXLANE_PUNT_MACVLAN, .clear = SIXLANE_PORT_XMIT,
	  .set = SIXLANE_PORT_MACVLAN },
	{ "tunnel", SIXLANE_PUNT_TUNNEL, .clear = SIXLANE_PORT_XMIT, .set = SIXLANE_PORT_TUNNEL },
	{ "out firewall", SIXLANE_PASS_FIREWALL, .set = SIXLANE_PORT_OUT_FIREWALL },
	{ "out tc", SIXLANE_PASS_TC, .set = SIXLANE_PORT_OUT_TC },
	{ "unresolved", SIXLANE_PASS_UNRESOLVED, .unresolved = true },
	{ "on-link", SIXLANE_FORWARD, .on_link = true },
	{ "on-link, unresolved", SIXLANE_PASS_UNRESOLVED, .on_link = true, .unresolved = true },
	{ "no forwarding", SIXLANE_PASS_NO_FORWARDING, .in_clear = SIXLANE_PORT_FORWARDING },
	{ "no forwarding first", SIXLANE_PASS_NO_FORWARDING, .clear = SIXLANE_PORT_UP,
	  .in_clear = SIXLANE_PORT_FORWARDING, .unresolved = true },
	{ "same port before down", SIXLANE_PASS_SAME_PORT, .clear = SIXLANE_PORT_UP, .in = OUT,
	  .unresolved = true },
	{ "same port before tc", SIXLANE_PASS_SAME_PORT, .set = SIXLANE_PORT_OUT_TC, .in = OUT },
	{ "down before guard", SIXLANE_PASS_EGRESS_DOWN, .clear = SIXLANE_PORT_UP,
	  .in_set = GUARD },
	{ "bridge before guard", SIXLANE_PUNT_BRIDGE, .set = SIXLANE_PORT_BRIDGE, .in_set = GUARD },
	{ "free pair", SIXLANE_FORWARD, .in_set = GUARD, .is_free = true },
	{ "guarded pair", SIXLANE_PASS_FIREWALL, .in_set = GUARD },
	{ "guard before neighbour", SIXLANE_PASS_FIREWALL, .in_set = GUARD, .unresolved = true },
	{ "guard before slaves", SIXLANE_PASS_FIREWALL, .set = SIXLANE_PORT_SLAVES,
	  .in_set = GUARD },
	{ "neighbour before slaves", SIXLANE_PASS_UNRESOLVED, .set = SIXLANE_PORT_SLAVES,
	  .unresolved = true },
	{ "no slave in use", SIXLANE_PASS_EGRESS_DOWN, .set = SIXLANE_PORT_SLAVES },
	{ "policy", SIXLANE_PASS_IPSEC, .in_set = GUARD, .meta = SIXLANE_META_IPSEC,
	  .is_free = true },
	{ "other source", SIXLANE_FORWARD, .in_set = GUARD, .meta = SIXLANE_META_IPSEC,
	  .is_free = true, .no_src = true },
	{ "all policies", SIXLANE_PASS_IPSEC, .in_set = GUARD, .meta = SIXLANE_META_IPSEC_ALL,
	  .is_free = true, .no_src = true },
	{ "unguarded", SIXLANE_FORWARD, .meta = SIXLANE_META_IPSEC_ALL },
};

static void ports_neighbour_and_guard_decide(void **state)
{
	const union sixlane_addr src = address(SOURCE);

	for (size_t i = 0; i < ARRAY_SIZE(hops); i++) {
		const struct packet_filter packets = { .src = hops[i].no_src ? NULL : &src,
						       .in = &ports[SLOT_IN],
						       .in_slot = SLOT_IN,
						       .generic = hops[i].generic };

		fill();
		has_policy = true;
		pair_is_free = hops[i].is_free;
		meta.flags = hops[i].meta;
		world_port(SLOT_IN, hops[i].in ?: IN,
			   (SERVED & ~hops[i].in_clear) | hops[i].in_set);
		ports[SLOT_OUT].flags = (LIVE & ~hops[i].clear) | hops[i].set;
		if (hops[i].on_link)
			world_hop(BY_OUT, SLOT_OUT, 0);
		if (hops[i].unresolved)
			neighbours[hops[i].on_link ? ON_LINK : GATEWAY].mac.flags = 0;
		verdict_of_packets(BY_OUT, 0,
				   hops[i].any_port ? (struct packet_filter){ 0 } : packets);
		if (view.verdict != hops[i].verdict)
			fail_msg("%s: verdict %u", hops[i].name, view.verdict);
		assert_int_equal(view.hop.port, SLOT_OUT);
		assert_int_equal(view.hop.has_gateway, !hops[i].on_link);
	}
}

static void a_next_hop_may_be_a_verdict(void **state)
{
	fill();
	assert_int_equal(verdict_of(HOLE, 0), SIXLANE_DROP_BLACKHOLE);
	assert_int_equal(view.hop.port, 0);
	world_entry(HOLE, 63);
	assert_int_equal(verdict_of(HOLE, 0), SIXLANE_PUNT_ROUTE);
	assert_int_equal(verdict_of(SIXLANE_MAX_NEXT_HOPS, 0), SIXLANE_PUNT_ROUTE);
}

static void members_are_checked_one_by_one(void **state)
{
	struct packet_filter packets = { .in = &ports[SLOT_OTHER], .in_slot = SLOT_OTHER };

	fill();
	ports[SLOT_OTHER].flags = SERVED;
	assert_int_equal(verdict_of_packets(GROUP, 0, packets), SIXLANE_FORWARD);
	assert_int_equal(member(BY_OUT)->hop.verdict, SIXLANE_FORWARD);
	assert_int_equal(member(BY_OTHER)->hop.verdict, SIXLANE_PASS_SAME_PORT);
	packets = (struct packet_filter){ .in = &ports[SLOT_IN], .in_slot = SLOT_IN };
	world_port(SLOT_IN, IN, SERVED | SIXLANE_PORT_GUARD);
	pair_is_free = true;
	assert_int_equal(verdict_of_packets(GROUP, 0, packets), SIXLANE_FORWARD);
	assert_int_equal(member(BY_OTHER)->hop.verdict, SIXLANE_PASS_FIREWALL);
	pair_is_free = false;
	assert_int_equal(verdict_of_packets(GROUP, 0, packets), SIXLANE_PASS_FIREWALL);
}

static void the_mtu_is_the_smaller_one(void **state)
{
	fill();
	verdict_of(BY_OUT, 0);
	assert_int_equal(view.hop.mtu, DEVICE_MTU);
	next_hops[BY_OUT].mtu = 1400;
	verdict_of(BY_OUT, 0);
	assert_int_equal(view.hop.mtu, 1400);
	next_hops[BY_OUT].mtu = 9000;
	verdict_of(BY_OUT, 0);
	assert_int_equal(view.hop.mtu, DEVICE_MTU);
	next_hops[GROUP].mtu = 1350;
	next_hops[BY_OUT].mtu = 1300; /* a member's does not count */
	verdict_of(GROUP, 0);
	assert_int_equal(member(BY_OUT)->hop.mtu, 1350);
}

/* --- groups ------------------------------------------------------------------------------ */

static void members_have_their_weights(void **state)
{
	static const struct {
		uint32_t weights[3], wanted[3], n;
	} rows[] = {
		{ { 1, 1 }, { 1, 1 }, 2 },
		{ { 3, 1 }, { 3, 1 }, 2 },
		{ { 4, 2 }, { 2, 1 }, 2 },
		{ { 3, 7 }, { 3, 7 }, 2 },
		{ { 1000, 999 }, { 1000, 999 }, 2 },
		{ { 65536, 1 }, { 65536, 1 }, 2 },
		{ { 65535, 65534, 3 }, { 65535, 65534, 3 }, 3 },
		{ { 10, 20, 30 }, { 1, 2, 3 }, 3 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fill();
		put_weighted(rows[i].weights, rows[i].n);
		assert_int_equal(verdict_of(GROUP, 0), SIXLANE_FORWARD);
		assert_int_equal(view.group.n_members, rows[i].n);
		for (uint32_t k = 0; k < rows[i].n; k++)
			assert_int_equal(member(BY_OUT + k)->weight, rows[i].wanted[k]);
		assert_false(view.group.resilient);
		assert_int_equal(view.hop.port, 0);
	}
}

static void buckets_are_counted(void **state)
{
	fill();
	for (uint32_t i = 0; i < 64; i++) {
		uint16_t id = i < 40 ? BY_OUT : BY_OTHER;

		buckets[FIRST_BUCKET + i] = (union sixlane_nh_bucket){ .below = id, .above = id };
	}
	put_group(SIXLANE_NH_GROUP, 64);
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_FORWARD);
	assert_true(view.group.resilient);
	assert_int_equal(member(BY_OUT)->weight, 40);
	assert_int_equal(member(BY_OTHER)->weight, 24);
	/* a bucket of two members is none of a resilient group, even if one is there twice */
	buckets[FIRST_BUCKET + 2] =
		(union sixlane_nh_bucket){ .bound = 1u << 31, .below = BY_OUT, .above = BY_OTHER };
	put_group(SIXLANE_NH_GROUP, 3);
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_FORWARD);
	assert_false(view.group.resilient);
	assert_int_equal(member(BY_OUT)->weight, 5);
}

static void the_best_member_in_use_counts(void **state)
{
	fill();
	neighbours[GATEWAY].mac.flags = 0;
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_FORWARD);
	assert_int_equal(member(BY_OUT)->hop.verdict, SIXLANE_PASS_UNRESOLVED);
	ports[SLOT_OTHER].flags |= SIXLANE_PORT_SKIP;
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_PASS_UNRESOLVED);
	assert_true(member(BY_OTHER)->skipped);
	assert_false(member(BY_OUT)->skipped);
	ports[SLOT_OUT].flags |= SIXLANE_PORT_SKIP;
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_PASS_EGRESS_DOWN);
	/* next-hop objects go by another flag */
	next_hops[GROUP].flags = SIXLANE_NEXT_HOP_OBJECT;
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_FORWARD);
	put_group(SIXLANE_NH_GROUP, 0);
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_PASS_EGRESS_DOWN);
}

static void of_equal_routes_the_first_one_counts(void **state)
{
	fill();
	buckets[FIRST_BUCKET].below = BY_OTHER;
	buckets[FIRST_BUCKET + 1].below = BY_OUT;
	put_group(SIXLANE_NH_EQUAL_METRIC, 2);
	ports[SLOT_OUT].flags &= ~SIXLANE_PORT_UP;
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_FORWARD);
	assert_int_equal(view.hop.id, BY_OTHER);
	put_group(SIXLANE_NH_EQUAL_METRIC, 0);
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_PUNT_EQUAL_METRIC);
}

static void an_expired_route_punts(void **state)
{
	fill();
	put_weighted(&(uint32_t){ 1 }, 1);
	next_hops[GROUP].expires_ns = util_now_ns() + 3600ull * 1000000000;
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_FORWARD);
	assert_int_equal(view.hop.id, BY_OUT);
	next_hops[GROUP].expires_ns = 1;
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_PUNT_EXPIRES);
	/* a next hop that is no group does not expire */
	next_hops[BY_OUT].expires_ns = 1;
	assert_int_equal(verdict_of(BY_OUT, 0), SIXLANE_FORWARD);
}

static void a_source_specific_route_depends_on_the_source(void **state)
{
	const union sixlane_addr src = address(SOURCE);

	fill();
	next_hops[BY_OUT + 20] =
		(struct sixlane_next_hop){ .nh_entry = { .type = SIXLANE_NH_SOURCES,
							 .source_table = SET } };
	world_add(&sources, SET, "::", 0, HOLE);
	world_add(&sources, SET, "2001:db8:a::", 64, BY_OTHER);
	assert_int_equal(verdict_of(BY_OUT + 20, 0), SIXLANE_DROP_BLACKHOLE);
	assert_true(view.by_source && view.set == SET);
	route_view_read(&maps, sixlane_route_value(BY_OUT + 20, 48), &src, &view);
	assert_int_equal(view.hop.id, BY_OTHER);
	assert_int_equal(view.prefix_len, 48);
	sources.n = 0;
	assert_int_equal(verdict_of(BY_OUT + 20, 0), SIXLANE_PUNT_SOURCE_ROUTE);
}

/* --- exceptions -------------------------------------------------------------------------- */

static void except(uint32_t flags)
{
	n_exceptions = 0;
	world_exception(
		SIXLANE_TABLE_MAIN, DESTINATION,
		(struct sixlane_exception){ .flags = flags, .mtu = MTU, .next_hop = BY_OTHER });
}

static void an_exception_applies_to_flagged_routes(void **state)
{
	const uint32_t flag = SIXLANE_ROUTE_EXCEPTIONS;

	fill();
	except(SIXLANE_EXCEPTION_MTU | SIXLANE_EXCEPTION_NEXT_HOP);
	assert_int_equal(verdict_of(BY_OUT, 0), SIXLANE_FORWARD);
	assert_false(view.exception.applies);
	assert_int_equal(view.hop.id, BY_OUT);
	assert_int_equal(verdict_of(BY_OUT, flag), SIXLANE_FORWARD);
	assert_int_equal(view.exception.outcome, SIXLANE_TRACE_EXCEPTION_APPLIED);
	assert_int_equal(view.hop.id, BY_OTHER);
	assert_int_equal(view.hop.mtu, MTU);
	ports[SLOT_OTHER].flags = 0;
	assert_int_equal(verdict_of(BY_OUT, flag), SIXLANE_PASS_EGRESS_DOWN);
	n_exceptions = 0;
	assert_int_equal(verdict_of(BY_OUT, flag), SIXLANE_FORWARD);
	assert_int_equal(view.exception.outcome, SIXLANE_TRACE_EXCEPTION_ABSENT);
}

static void an_exception_may_lead_back(void **state)
{
	const struct packet_filter packets = { .in = &ports[SLOT_OTHER], .in_slot = SLOT_OTHER };

	fill();
	world_port(SLOT_OTHER, OTHER, SERVED);
	except(SIXLANE_EXCEPTION_NEXT_HOP);
	assert_int_equal(verdict_of_packets(GROUP, 0, packets), SIXLANE_FORWARD);
	assert_int_equal(verdict_of_packets(GROUP, SIXLANE_ROUTE_EXCEPTIONS, packets),
			 SIXLANE_PASS_SAME_PORT);
}

static void an_exception_may_not_apply(void **state)
{
	static const struct {
		uint32_t flags, table;
		uint64_t expires_ns;
		uint32_t outcome, verdict;
	} rows[] = {
		{ SIXLANE_EXCEPTION_OBSERVE, SIXLANE_TABLE_MAIN, 0,
		  SIXLANE_TRACE_EXCEPTION_OBSERVED, SIXLANE_FORWARD },
		{ SIXLANE_EXCEPTION_CHANGING, SIXLANE_TABLE_MAIN, 0, SIXLANE_TRACE_EXCEPTION_PUNTED,
		  SIXLANE_PUNT_EXCEPTION },
		{ SIXLANE_EXCEPTION_OPERATOR, SIXLANE_TABLE_MAIN, 1,
		  SIXLANE_TRACE_EXCEPTION_EXPIRED, SIXLANE_FORWARD },
		{ SIXLANE_EXCEPTION_KERNEL, SIXLANE_TABLE_MAIN, 1, SIXLANE_TRACE_EXCEPTION_FILTERED,
		  SIXLANE_PUNT_EXCEPTION },
		{ SIXLANE_EXCEPTION_MTU, 100, 0, SIXLANE_TRACE_EXCEPTION_ELSEWHERE,
		  SIXLANE_FORWARD },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fill();
		except(rows[i].flags);
		exceptions[0].value.expires_ns = rows[i].expires_ns;
		exceptions[0].value.table = rows[i].table;
		assert_int_equal(verdict_of(BY_OUT, SIXLANE_ROUTE_EXCEPTIONS), rows[i].verdict);
		assert_int_equal(view.exception.outcome, rows[i].outcome);
		assert_int_equal(view.hop.mtu, DEVICE_MTU);
	}
}

static void filters_punt(void **state)
{
	const union sixlane_addr dst = address(DESTINATION);
	const uint64_t sum = sixlane_exception_sum(&dst);

	fill();
	maps_punted_add(punted, &dst);
	assert_int_equal(verdict_of(BY_OUT, 0), SIXLANE_FORWARD);
	assert_int_equal(verdict_of(BY_OUT, SIXLANE_ROUTE_EXCEPTIONS), SIXLANE_PUNT_EXCEPTION);
	assert_int_equal(view.exception.outcome, SIXLANE_TRACE_EXCEPTION_FILTERED);
	meta.flags |= SIXLANE_META_CHECK_PUNTED;
	assert_int_equal(verdict_of(BY_OUT, 0), SIXLANE_PUNT_EXCEPTION);
	/* an entry explains the bits of the filter */
	except(SIXLANE_EXCEPTION_MTU);
	exceptions[0].value.table = 100;
	assert_int_equal(verdict_of(BY_OUT, 0), SIXLANE_FORWARD);
	n_exceptions = 0;
	memset(punted, 0, sizeof(punted));
	for (uint32_t i = 0; i < SIXLANE_FRESH_NUMBERS; i++) {
		assert_int_equal(verdict_of(BY_OUT, 0), SIXLANE_FORWARD);
		((uint8_t *)fresh)[sixlane_fresh_byte(sum, i) + 1] = 1;
	}
	assert_int_equal(verdict_of(BY_OUT, 0), SIXLANE_PUNT_EXCEPTION);
	assert_int_equal(view.exception.outcome, SIXLANE_TRACE_EXCEPTION_FRESH);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_neighbour_and_guard_decide),
		cmocka_unit_test(a_next_hop_may_be_a_verdict),
		cmocka_unit_test(members_are_checked_one_by_one),
		cmocka_unit_test(the_mtu_is_the_smaller_one),
		cmocka_unit_test(members_have_their_weights),
		cmocka_unit_test(buckets_are_counted),
		cmocka_unit_test(the_best_member_in_use_counts),
		cmocka_unit_test(of_equal_routes_the_first_one_counts),
		cmocka_unit_test(an_expired_route_punts),
		cmocka_unit_test(a_source_specific_route_depends_on_the_source),
		cmocka_unit_test(an_exception_applies_to_flagged_routes),
		cmocka_unit_test(an_exception_may_lead_back),
		cmocka_unit_test(an_exception_may_not_apply),
		cmocka_unit_test(filters_punt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
