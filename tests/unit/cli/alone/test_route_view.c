// SPDX-License-Identifier: GPL-2.0-only
/*
 * What routes in the maps lead to, as `sixlane routes` and `lookup` show it: groups and their
 * weights, the state of ports and neighbours, source sets, exceptions. Cells are made as the daemon
 * makes them.
 */
#include "../cmd_world.h"

#include "../../../../user/fib/alias.h"
#include "../../unit.h"

#define GROUP 50u
#define FIRST_CELL 1000u
#define SET 3u
#define MTU 1300u

enum { BY_OUT = 5, BY_OTHER, HOLE };

static struct route_view view;

static void put_group(uint16_t kind, uint32_t n_cells)
{
	next_hops[GROUP] = (struct sixlane_next_hop){
		.fate = { .kind = kind, .n_cells = (uint16_t)n_cells, .first_cell = FIRST_CELL }
	};
}

/* A group of ids BY_OUT, BY_OTHER …, as many as there are weights. */
static void put_weighted(const uint32_t *weights, uint32_t n)
{
	struct fib_key_hop hops[8] = { 0 };

	for (uint32_t i = 0; i < n; i++)
		hops[i].weight = weights[i];
	assert_int_equal(fib_alias_build(hops, n, &cells[FIRST_CELL]), 0);
	for (uint32_t i = 0; i < n; i++) {
		cells[FIRST_CELL + i].below += BY_OUT;
		cells[FIRST_CELL + i].above += BY_OUT;
	}
	put_group(SIXLANE_KIND_GROUP, n);
}

/* Two ways out, both open, and a group of them in equal parts. */
static void fill(void)
{
	const uint32_t equal[] = { 1, 1 };

	world_clear();
	world_port(SLOT_OTHER, OTHER, LIVE);
	world_hop(BY_OUT, SLOT_OUT, GATEWAY);
	world_hop(BY_OTHER, SLOT_OTHER, OTHER_GATEWAY);
	world_fate(HOLE, SIXLANE_DROP_BLACKHOLE);
	put_weighted(equal, 2);
}

/* The verdict for packets to DESTINATION by a route with such an id and marks. */
static uint32_t verdict_of_packets(uint32_t id, uint32_t marks, struct packet_filter packets)
{
	const union sixlane_addr dst = address(DESTINATION);

	packets.dst = &dst;
	route_view_read(&maps, sixlane_route_value(id, 48) | marks, NULL, &view);
	route_view_check(&maps, SIXLANE_TABLE_MAIN, &packets, &view);
	return view.verdict;
}

static uint32_t verdict_of(uint32_t id, uint32_t marks)
{
	return verdict_of_packets(id, marks, (struct packet_filter){ 0 });
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

static void port_and_neighbour_decide(void **state)
{
	static const struct {
		uint32_t clear, set, verdict;
	} rows[] = {
		{ 0, 0, SIXLANE_FORWARD },
		{ SIXLANE_PORT_UP, 0, SIXLANE_PASS_EGRESS_DOWN },
		{ SIXLANE_PORT_IPV6, 0, SIXLANE_PASS_EGRESS_DOWN },
		{ SIXLANE_PORT_XMIT, 0, SIXLANE_PASS_EGRESS_DEVICE },
		{ SIXLANE_PORT_XMIT, SIXLANE_PORT_BRIDGE, SIXLANE_PUNT_BRIDGE },
		{ SIXLANE_PORT_XMIT, SIXLANE_PORT_MACVLAN, SIXLANE_PUNT_MACVLAN },
		{ SIXLANE_PORT_XMIT, SIXLANE_PORT_TUNNEL, SIXLANE_PUNT_TUNNEL },
		{ 0, SIXLANE_PORT_OUT_FIREWALL, SIXLANE_PASS_FIREWALL },
		{ 0, SIXLANE_PORT_OUT_TC, SIXLANE_PASS_TC },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fill();
		ports[SLOT_OUT].flags = (LIVE & ~rows[i].clear) | rows[i].set;
		assert_int_equal(verdict_of(BY_OUT, 0), rows[i].verdict);
		assert_int_equal(view.hop.port, SLOT_OUT);
	}
	fill();
	neighbours[GATEWAY].mac.flags = 0;
	assert_int_equal(verdict_of(BY_OUT, 0), SIXLANE_PASS_UNRESOLVED);
	world_hop(BY_OUT, SLOT_OUT, 0);
	assert_int_equal(verdict_of(BY_OUT, 0), SIXLANE_FORWARD);
	assert_false(view.hop.has_gateway);
	neighbours[ON_LINK].mac.flags = 0;
	assert_int_equal(verdict_of(BY_OUT, 0), SIXLANE_PASS_UNRESOLVED);
	assert_int_equal(verdict_of(HOLE, 0), SIXLANE_DROP_BLACKHOLE);
	assert_int_equal(view.hop.port, 0);
	world_fate(HOLE, 63);
	assert_int_equal(verdict_of(HOLE, 0), SIXLANE_PUNT_ROUTE);
	assert_int_equal(verdict_of(SIXLANE_MAX_NEXT_HOPS, 0), SIXLANE_PUNT_ROUTE);
}

static void the_port_of_arrival_decides(void **state)
{
	static const struct {
		uint32_t flags, meta_flags, verdict;
		bool no_src, is_free;
	} rows[] = {
		{ SERVED, 0, SIXLANE_FORWARD, false, false },
		{ SERVED & ~SIXLANE_PORT_FORWARDING, 0, SIXLANE_PASS_NO_FORWARDING, false, true },
		{ SERVED | SIXLANE_PORT_GUARD, 0, SIXLANE_FORWARD, false, true },
		{ SERVED | SIXLANE_PORT_GUARD, 0, SIXLANE_PASS_FIREWALL, false, false },
		{ SERVED | SIXLANE_PORT_GUARD, SIXLANE_META_IPSEC, SIXLANE_PASS_IPSEC, false,
		  true },
		{ SERVED | SIXLANE_PORT_GUARD, SIXLANE_META_IPSEC, SIXLANE_FORWARD, true, true },
		{ SERVED | SIXLANE_PORT_GUARD, SIXLANE_META_IPSEC_ALL, SIXLANE_PASS_IPSEC, true,
		  true },
		{ SERVED, SIXLANE_META_IPSEC_ALL, SIXLANE_FORWARD, false, true },
	};
	const union sixlane_addr src = address(SOURCE);
	struct packet_filter packets = { .in = &ports[SLOT_IN], .in_slot = SLOT_IN };

	fill();
	has_policy = true;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world_port(SLOT_IN, IN, rows[i].flags);
		meta.flags = rows[i].meta_flags;
		pair_is_free = rows[i].is_free;
		packets.src = rows[i].no_src ? NULL : &src;
		assert_int_equal(verdict_of_packets(BY_OUT, 0, packets), rows[i].verdict);
	}
	/* nothing of this holds for packets by any port */
	assert_int_equal(verdict_of(BY_OUT, 0), SIXLANE_FORWARD);
	meta.flags = 0;
	ports[SLOT_OUT].flags &= ~SIXLANE_PORT_XMIT;
	assert_int_equal(verdict_of_packets(BY_OUT, 0, packets), SIXLANE_PASS_EGRESS_DEVICE);
	packets.generic = true;
	assert_int_equal(verdict_of_packets(BY_OUT, 0, packets), SIXLANE_FORWARD);
}

/* Of two reasons the one that the program meets first (bpf/nexthop.h). */
static void the_first_reason_counts(void **state)
{
	static const struct {
		uint32_t in_flags, out_flags, in, verdict;
		bool resolved;
	} rows[] = {
		{ SERVED & ~SIXLANE_PORT_FORWARDING, LIVE & ~SIXLANE_PORT_UP, IN,
		  SIXLANE_PASS_NO_FORWARDING, false },
		{ SERVED, LIVE & ~SIXLANE_PORT_UP, OUT, SIXLANE_PASS_SAME_PORT, false },
		{ SERVED, LIVE | SIXLANE_PORT_OUT_TC, OUT, SIXLANE_PASS_SAME_PORT, false },
		{ SERVED | SIXLANE_PORT_GUARD, LIVE & ~SIXLANE_PORT_UP, IN,
		  SIXLANE_PASS_EGRESS_DOWN, true },
		{ SERVED | SIXLANE_PORT_GUARD, LIVE | SIXLANE_PORT_BRIDGE, IN, SIXLANE_PUNT_BRIDGE,
		  true },
		{ SERVED | SIXLANE_PORT_GUARD, LIVE, IN, SIXLANE_PASS_FIREWALL, false },
		{ SERVED | SIXLANE_PORT_GUARD, LIVE | SIXLANE_PORT_SLAVES, IN,
		  SIXLANE_PASS_FIREWALL, true },
		{ SERVED, LIVE | SIXLANE_PORT_SLAVES, IN, SIXLANE_PASS_UNRESOLVED, false },
		{ SERVED, LIVE | SIXLANE_PORT_SLAVES, IN, SIXLANE_PASS_EGRESS_DOWN, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct packet_filter packets = { .in = &ports[SLOT_IN], .in_slot = SLOT_IN };

		fill();
		pair_is_free = false;
		world_port(SLOT_IN, rows[i].in, rows[i].in_flags);
		ports[SLOT_OUT].flags = rows[i].out_flags;
		neighbours[GATEWAY].mac.flags = rows[i].resolved ? SIXLANE_MAC_VALID : 0;
		assert_int_equal(verdict_of_packets(BY_OUT, 0, packets), rows[i].verdict);
	}
}

static void members_are_asked_one_by_one(void **state)
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

		cells[FIRST_CELL + i] = (union sixlane_cell){ .below = id, .above = id };
	}
	put_group(SIXLANE_KIND_GROUP, 64);
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_FORWARD);
	assert_true(view.group.resilient);
	assert_int_equal(member(BY_OUT)->weight, 40);
	assert_int_equal(member(BY_OTHER)->weight, 24);
	/* a cell of two members is no bucket, even if one of them is there twice */
	cells[FIRST_CELL + 2] =
		(union sixlane_cell){ .bound = 1u << 31, .below = BY_OUT, .above = BY_OTHER };
	put_group(SIXLANE_KIND_GROUP, 3);
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_FORWARD);
	assert_false(view.group.resilient);
	assert_int_equal(member(BY_OUT)->weight, 5);
}

static void the_best_of_those_in_use_counts(void **state)
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
	put_group(SIXLANE_KIND_GROUP, 0);
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_PASS_EGRESS_DOWN);
}

static void of_equal_routes_it_is_the_first(void **state)
{
	fill();
	cells[FIRST_CELL].below = BY_OTHER;
	cells[FIRST_CELL + 1].below = BY_OUT;
	put_group(SIXLANE_KIND_FIRST, 2);
	ports[SLOT_OUT].flags &= ~SIXLANE_PORT_UP;
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_FORWARD);
	assert_int_equal(view.hop.id, BY_OTHER);
	put_group(SIXLANE_KIND_FIRST, 0);
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_PUNT_EQUAL_METRIC);
}

static void expiry_ends_it(void **state)
{
	fill();
	put_weighted(&(uint32_t){ 1 }, 1);
	next_hops[GROUP].expires_ns = util_now_ns() + 3600ull * 1000000000;
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_FORWARD);
	assert_int_equal(view.hop.id, BY_OUT);
	next_hops[GROUP].expires_ns = 1;
	assert_int_equal(verdict_of(GROUP, 0), SIXLANE_PUNT_EXPIRES);
	/* of a next hop that is no group it does not count */
	next_hops[BY_OUT].expires_ns = 1;
	assert_int_equal(verdict_of(BY_OUT, 0), SIXLANE_FORWARD);
}

static void a_source_set_is_asked_for_the_source(void **state)
{
	const union sixlane_addr src = address(SOURCE);

	fill();
	next_hops[BY_OUT + 20] =
		(struct sixlane_next_hop){ .fate = { .kind = SIXLANE_KIND_SOURCES, .set = SET } };
	world_source(SET, "::", 0, HOLE);
	world_source(SET, "2001:db8:a::", 64, BY_OTHER);
	assert_int_equal(verdict_of(BY_OUT + 20, 0), SIXLANE_DROP_BLACKHOLE);
	assert_true(view.by_source && view.set == SET);
	route_view_read(&maps, sixlane_route_value(BY_OUT + 20, 48), &src, &view);
	assert_int_equal(view.hop.id, BY_OTHER);
	assert_int_equal(view.prefix_len, 48);
	n_sources = 0;
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

static void an_exception_holds_for_marked_routes(void **state)
{
	const uint32_t mark = SIXLANE_ROUTE_EXCEPTIONS;

	fill();
	except(SIXLANE_EXCEPTION_MTU | SIXLANE_EXCEPTION_NEXT_HOP);
	assert_int_equal(verdict_of(BY_OUT, 0), SIXLANE_FORWARD);
	assert_false(view.exception.applies);
	assert_int_equal(view.hop.id, BY_OUT);
	assert_int_equal(verdict_of(BY_OUT, mark), SIXLANE_FORWARD);
	assert_int_equal(view.exception.outcome, SIXLANE_TRACE_EXCEPTION_APPLIED);
	assert_int_equal(view.hop.id, BY_OTHER);
	assert_int_equal(view.hop.mtu, MTU);
	ports[SLOT_OTHER].flags = 0;
	assert_int_equal(verdict_of(BY_OUT, mark), SIXLANE_PASS_EGRESS_DOWN);
	n_exceptions = 0;
	assert_int_equal(verdict_of(BY_OUT, mark), SIXLANE_FORWARD);
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
		uint32_t flags;
		uint64_t expires_ns;
		uint32_t outcome, verdict;
	} rows[] = {
		{ SIXLANE_EXCEPTION_OBSERVE, 0, SIXLANE_TRACE_EXCEPTION_OBSERVED, SIXLANE_FORWARD },
		{ SIXLANE_EXCEPTION_CHANGING, 0, SIXLANE_TRACE_EXCEPTION_PUNTED,
		  SIXLANE_PUNT_EXCEPTION },
		{ SIXLANE_EXCEPTION_OPERATOR, 1, SIXLANE_TRACE_EXCEPTION_EXPIRED, SIXLANE_FORWARD },
		{ SIXLANE_EXCEPTION_KERNEL, 1, SIXLANE_TRACE_EXCEPTION_FILTERED,
		  SIXLANE_PUNT_EXCEPTION },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fill();
		except(rows[i].flags);
		exceptions[0].value.expires_ns = rows[i].expires_ns;
		assert_int_equal(verdict_of(BY_OUT, SIXLANE_ROUTE_EXCEPTIONS), rows[i].verdict);
		assert_int_equal(view.exception.outcome, rows[i].outcome);
	}
	/* of another table */
	fill();
	except(SIXLANE_EXCEPTION_MTU);
	exceptions[0].value.table = 100;
	assert_int_equal(verdict_of(BY_OTHER, SIXLANE_ROUTE_EXCEPTIONS), SIXLANE_FORWARD);
	assert_int_equal(view.exception.outcome, SIXLANE_TRACE_EXCEPTION_ELSEWHERE);
	assert_int_equal(view.hop.mtu, DEVICE_MTU);
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
	meta.flags |= SIXLANE_META_LOOK;
	assert_int_equal(verdict_of(BY_OUT, 0), SIXLANE_PUNT_EXCEPTION);
	/* an entry that does not say so is why there are bits */
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
		cmocka_unit_test(port_and_neighbour_decide),
		cmocka_unit_test(the_port_of_arrival_decides),
		cmocka_unit_test(the_first_reason_counts),
		cmocka_unit_test(members_are_asked_one_by_one),
		cmocka_unit_test(the_mtu_is_the_smaller_one),
		cmocka_unit_test(members_have_their_weights),
		cmocka_unit_test(buckets_are_counted),
		cmocka_unit_test(the_best_of_those_in_use_counts),
		cmocka_unit_test(of_equal_routes_it_is_the_first),
		cmocka_unit_test(expiry_ends_it),
		cmocka_unit_test(a_source_set_is_asked_for_the_source),
		cmocka_unit_test(an_exception_holds_for_marked_routes),
		cmocka_unit_test(an_exception_may_lead_back),
		cmocka_unit_test(an_exception_may_not_apply),
		cmocka_unit_test(filters_punt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
