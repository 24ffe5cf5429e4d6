// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups, equal routes, expiry and source sets, as `sixlane lookup` and `explain` tell them. Cells
 * are made as the daemon makes them.
 */
#include "../cmd_world.h"

#include "../../../../user/fib/alias.h"
#include "../../unit.h"

#define GROUP 50u
#define FIRST_CELL 1000u
#define SET 3u

enum { BY_OUT = 5, BY_OTHER, HOLE, N_HOPS };

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

/* Two ways out, both open, and a route to a group of them in equal parts. */
static void fill(void)
{
	const uint32_t equal[] = { 1, 1 };

	world_clear();
	world_port(SLOT_OTHER, OTHER, LIVE);
	world_hop(BY_OUT, SLOT_OUT, GATEWAY);
	world_hop(BY_OTHER, SLOT_OTHER, OTHER_GATEWAY);
	world_fate(HOLE, SIXLANE_DROP_BLACKHOLE);
	world_route(SIXLANE_TABLE_MAIN, "2001:db8::", 48, GROUP);
	put_weighted(equal, 2);
}

static struct walk walk;

static uint32_t verdict_of(uint32_t ingress)
{
	struct walk_query query = world_query(ingress);

	walk_packet(&maps, &query, &walk);
	return walk.verdict;
}

/* Of all packets, since their hash is not known. */
static uint32_t verdict_of_any(uint32_t ingress)
{
	struct walk_query query = world_query(ingress);

	query.has_flow = false;
	walk_packet(&maps, &query, &walk);
	return walk.verdict;
}

/* The id of the member that one flow of many comes to; 0: none. */
static uint32_t member_of_flow(uint16_t sport, uint32_t label)
{
	struct walk_query query = world_query(IN);

	query.sport = sport;
	query.label = label;
	walk_packet(&maps, &query, &walk);
	return walk.hop.id;
}

static const struct walk_member *member(uint32_t id)
{
	for (uint32_t i = 0; i < walk.group.n_members; i++) {
		if (walk.group.members[i].hop.id == id)
			return &walk.group.members[i];
	}
	fail_msg("no member %u", id);
	return NULL;
}

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

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fill();
		put_weighted(rows[i].weights, rows[i].n);
		assert_int_equal(verdict_of_any(IN), SIXLANE_FORWARD);
		assert_int_equal(walk.group.n_members, rows[i].n);
		for (uint32_t k = 0; k < rows[i].n; k++)
			assert_int_equal(member(BY_OUT + k)->weight, rows[i].wanted[k]);
		assert_false(walk.group.buckets);
		/* none of several is the one, until there is a packet */
		assert_int_equal(walk.hop.port, 0);
		assert_int_equal(walk.group.n_draws, 0);
	}
}

static void buckets_are_counted(void **state)
{
	(void)state;
	fill();
	for (uint32_t i = 0; i < 64; i++) {
		uint16_t id = i < 40 ? BY_OUT : BY_OTHER;

		cells[FIRST_CELL + i] = (union sixlane_cell){ .below = id, .above = id };
	}
	put_group(SIXLANE_KIND_GROUP, 64);
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_true(walk.group.buckets);
	assert_int_equal(cells[FIRST_CELL + walk.group.draws[0].cell].below, walk.hop.id);
	assert_int_equal(member(BY_OUT)->weight, 40);
	assert_int_equal(member(BY_OTHER)->weight, 24);
	/* a cell of two members is no bucket, even if one of them is there twice */
	cells[FIRST_CELL + 2] =
		(union sixlane_cell){ .bound = 1u << 31, .below = BY_OUT, .above = BY_OTHER };
	put_group(SIXLANE_KIND_GROUP, 3);
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_false(walk.group.buckets);
	assert_int_equal(member(BY_OUT)->weight, 5);
}

static void members_whose_port_is_down_are_skipped(void **state)
{
	(void)state;
	fill();
	ports[SLOT_OUT].flags |= SIXLANE_PORT_SKIP;
	assert_int_equal(verdict_of_any(IN), SIXLANE_FORWARD);
	assert_true(member(BY_OUT)->skipped);
	assert_false(member(BY_OTHER)->skipped);
	ports[SLOT_OTHER].flags |= SIXLANE_PORT_SKIP;
	assert_int_equal(verdict_of_any(IN), SIXLANE_PASS_EGRESS_DOWN);
	assert_int_equal(verdict_of(IN), SIXLANE_PASS_EGRESS_DOWN);
	assert_int_equal(walk.group.n_draws, HASH_DRAWS);
	assert_int_equal(walk.group.chosen, WALK_NO_MEMBER);
	assert_int_equal(walk.hop.port, 0);
	meta.hash_policy.policy = 4;
	assert_int_equal(verdict_of(IN), SIXLANE_PUNT_HASH);
	assert_int_equal(walk.group.n_draws, 0);
	meta.hash_policy.policy = SIXLANE_HASH_L3;
	/* next-hop objects go by another flag */
	next_hops[GROUP].flags = SIXLANE_NEXT_HOP_OBJECT;
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_false(member(BY_OUT)->skipped || member(BY_OTHER)->skipped);
	ports[SLOT_OUT].flags |= SIXLANE_PORT_SKIP_OBJECT;
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_true(member(BY_OUT)->skipped);
	assert_int_equal(walk.hop.id, BY_OTHER);
	/* a member that discards has no port */
	world_hop(BY_OTHER, SLOT_OUT, GATEWAY);
	world_fate(BY_OTHER, SIXLANE_DROP_BLACKHOLE);
	assert_int_equal(verdict_of(IN), SIXLANE_DROP_BLACKHOLE);
}

static void what_little_weight_is_left_is_found(void **state)
{
	const uint32_t weights[] = { 65535, 1 };

	(void)state;
	fill();
	put_weighted(weights, 2);
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_false(walk.group.scanned);
	assert_int_equal(walk.hop.id, BY_OUT);
	ports[SLOT_OUT].flags |= SIXLANE_PORT_SKIP;
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_true(walk.group.scanned);
	assert_int_equal(walk.group.n_draws, HASH_DRAWS);
	assert_int_equal(walk.group.members[walk.group.chosen].hop.id, BY_OTHER);
	assert_int_equal(walk.hop.id, BY_OTHER);
}

static void the_best_of_all_counts_without_a_packet(void **state)
{
	(void)state;
	fill();
	neighbours[GATEWAY].mac.flags = 0;
	assert_int_equal(verdict_of_any(IN), SIXLANE_FORWARD);
	assert_int_equal(member(BY_OUT)->hop.verdict, SIXLANE_PASS_UNRESOLVED);
	ports[SLOT_OTHER].flags &= ~SIXLANE_PORT_UP;
	assert_int_equal(verdict_of_any(IN), SIXLANE_PASS_UNRESOLVED);
	assert_int_equal(member(BY_OTHER)->hop.verdict, SIXLANE_PASS_EGRESS_DOWN);
	/* by the port that it came in by */
	world_hop(BY_OTHER, SLOT_IN, OTHER_GATEWAY);
	neighbours[GATEWAY].mac.flags = SIXLANE_MAC_VALID;
	assert_int_equal(verdict_of_any(IN), SIXLANE_FORWARD);
	assert_int_equal(member(BY_OTHER)->hop.verdict, SIXLANE_PASS_SAME_PORT);
}

#define N_FLOWS 4000u

static void flows_are_spread_by_the_weights(void **state)
{
	const uint32_t weights[] = { 7, 2, 1 };
	uint32_t got[N_HOPS] = { 0 };

	(void)state;
	fill();
	world_hop(HOLE, SLOT_OUT, OTHER_GATEWAY);
	put_weighted(weights, 3);
	meta.hash_policy.policy = SIXLANE_HASH_L4;
	for (uint32_t i = 0; i < N_FLOWS; i++) {
		uint32_t id = member_of_flow((uint16_t)i, 0);
		const struct walk_group *group = &walk.group;
		union sixlane_cell cell;

		assert_int_equal(walk.verdict, SIXLANE_FORWARD);
		assert_int_equal(group->n_draws, 1);
		assert_int_equal(group->members[group->draws[0].member].hop.id, id);
		cell = cells[FIRST_CELL + group->draws[0].cell];
		assert_true(id == cell.below || id == cell.above);
		got[id]++;
		assert_int_equal(member_of_flow((uint16_t)i, 0), id);
	}
	for (uint32_t i = 0; i < 3; i++)
		assert_in_range(got[BY_OUT + i], weights[i] * N_FLOWS / 10 - N_FLOWS / 40,
				weights[i] * N_FLOWS / 10 + N_FLOWS / 40);
}

static void the_policy_says_what_counts(void **state)
{
	static const struct {
		uint32_t policy, fields;
		bool port, label;
	} rows[] = {
		{ SIXLANE_HASH_L3, 0, false, true },
		{ SIXLANE_HASH_L4, 0, true, false },
		{ SIXLANE_HASH_INNER, 0, false, true },
		{ SIXLANE_HASH_FIELDS, HASH_SRC_PORT, true, false },
		{ SIXLANE_HASH_FIELDS, HASH_DST_PORT | HASH_PROTO, false, false },
		{ SIXLANE_HASH_FIELDS, HASH_LABEL, false, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t by_port = 0, by_label = 0, first;

		fill();
		meta.hash_policy = (union sixlane_hash_policy){ .policy = rows[i].policy,
								.fields = rows[i].fields };
		first = member_of_flow(0, 0);
		for (uint32_t k = 1; k < 64; k++) {
			by_port += member_of_flow((uint16_t)k, 0) != first;
			by_label += member_of_flow(0, k) != first;
		}
		assert_int_equal(by_port != 0, rows[i].port);
		assert_int_equal(by_label != 0, rows[i].label);
	}
}

static void the_seed_moves_flows(void **state)
{
	uint32_t moved = 0;

	(void)state;
	for (uint32_t i = 0; i < 64; i++) {
		fill();
		meta.hash_seed = i;
		moved += member_of_flow(1, 0) != BY_OUT;
	}
	assert_in_range(moved, 10, 54);
}

static void another_is_drawn_for_a_member_that_is_skipped(void **state)
{
	uint32_t again = 0;

	(void)state;
	fill();
	meta.hash_policy.policy = SIXLANE_HASH_L4;
	ports[SLOT_OUT].flags |= SIXLANE_PORT_SKIP;
	for (uint32_t i = 0; i < N_FLOWS; i++) {
		const struct walk_group *group = &walk.group;

		assert_int_equal(member_of_flow((uint16_t)i, 0), BY_OTHER);
		again += group->n_draws > 1;
		for (uint32_t k = 0; k < group->n_draws; k++)
			assert_int_equal(group->members[group->draws[k].member].skipped,
					 k + 1 < group->n_draws);
	}
	assert_in_range(again, N_FLOWS * 4 / 10, N_FLOWS * 6 / 10);
}

static void mtu_is_the_routes(void **state)
{
	(void)state;
	fill();
	next_hops[GROUP].mtu = 1400;
	next_hops[BY_OUT].mtu = 1300; /* a member's does not count */
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_int_equal(member(BY_OUT)->hop.mtu, 1400);
	assert_int_equal(walk.route_mtu, 1400);
}

static void expiry_ends_it(void **state)
{
	(void)state;
	fill();
	next_hops[GROUP].expires_ns = util_now_ns() + 3600ull * 1000000000;
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_true(walk.expires_ns == next_hops[GROUP].expires_ns);
	next_hops[GROUP].expires_ns = util_now_ns();
	assert_int_equal(verdict_of(IN), SIXLANE_PUNT_EXPIRES);
	/* a group of one is its member; the expiry of a next hop that is no group does not count */
	put_weighted(&(uint32_t){ 1 }, 1);
	next_hops[BY_OUT].expires_ns = 1;
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_int_equal(walk.hop.port, SLOT_OUT);
	assert_int_equal(walk.expires_ns, 0);
	routes[0].value = sixlane_route_value(BY_OUT, 48);
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_int_equal(walk.expires_ns, 0);
}

static void hash_over_what_xdp_cannot_reach(void **state)
{
	static const struct {
		uint32_t policy, fields, bytes;
		uint8_t proto;
		bool punts;
	} rows[] = {
		{ SIXLANE_HASH_L3, 0, 40, 43, false },
		{ SIXLANE_HASH_L4, 0, 100, 17, false },
		{ SIXLANE_HASH_L4, 0, 43, 17, true },
		{ SIXLANE_HASH_L4, 0, 43, 58, false },
		{ SIXLANE_HASH_L4, 0, 47, 51, true },
		{ SIXLANE_HASH_L4, 0, 48, 51, false },
		{ SIXLANE_HASH_L4, 0, 100, 60, true },
		{ SIXLANE_HASH_L4, 0, 100, 44, false },
		{ SIXLANE_HASH_L4, 0, 47, 44, true },
		{ SIXLANE_HASH_INNER, 0, 100, 17, false },
		{ SIXLANE_HASH_INNER, 0, 100, 41, true },
		{ SIXLANE_HASH_INNER, 0, 100, 43, true },
		{ SIXLANE_HASH_FIELDS, 3, 100, 60, false },
		{ SIXLANE_HASH_FIELDS, 7, 100, 60, true },
		{ SIXLANE_HASH_FIELDS, 0x30, 43, 6, true },
		{ SIXLANE_HASH_FIELDS, 7, 43, 6, false },
		{ SIXLANE_HASH_FIELDS, 0x47, 100, 47, true },
		{ SIXLANE_HASH_FIELDS, 7, 100, 47, false },
		{ 4, 0, 100, 17, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct walk_query query = world_query(IN);
		uint32_t wanted = rows[i].punts ? SIXLANE_PUNT_HASH : SIXLANE_FORWARD;

		fill();
		meta.hash_policy = (union sixlane_hash_policy){ .policy = rows[i].policy,
								.fields = rows[i].fields };
		query.proto = rows[i].proto;
		query.ip_bytes = rows[i].bytes;
		walk_packet(&maps, &query, &walk);
		if (walk.verdict != wanted)
			fail_msg("row %zu: verdict %u, wanted %u", i, walk.verdict, wanted);
		/* where there is nothing to choose nothing is hashed */
		put_weighted(&(uint32_t){ 1 }, 1);
		walk_packet(&maps, &query, &walk);
		assert_int_equal(walk.verdict, SIXLANE_FORWARD);
	}
}

static void of_equal_routes_the_first(void **state)
{
	(void)state;
	fill();
	cells[FIRST_CELL] = (union sixlane_cell){ .below = BY_OUT, .above = BY_OUT };
	cells[FIRST_CELL + 1] = (union sixlane_cell){ .below = BY_OTHER, .above = BY_OTHER };
	put_group(SIXLANE_KIND_FIRST, 2);
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_int_equal(walk.hop.port, SLOT_OUT);
	assert_int_equal(walk.depends, 0);
	assert_int_equal(verdict_of(0), SIXLANE_FORWARD);
	assert_int_equal(walk.depends, WALK_ON_PORT);
	/* one by the ingress port comes before the first */
	ports[SLOT_OTHER].flags |= SERVED;
	assert_int_equal(verdict_of(OTHER), SIXLANE_PASS_SAME_PORT);
	assert_int_equal(walk.hop.id, BY_OTHER);
}

static void sources_decide(void **state)
{
	struct walk_query query = world_query(IN);

	(void)state;
	fill();
	n_routes = 0;
	world_route(SIXLANE_TABLE_MAIN, "2001:db8::", 48, 60);
	next_hops[60] =
		(struct sixlane_next_hop){ .fate = { .kind = SIXLANE_KIND_SOURCES, .set = SET } };
	world_source(SET, "::", 0, BY_OTHER);
	world_source(SET, "2001:db8:a::", 64, BY_OUT);
	world_source(SET + 1, "2001:db8:a::", 96, HOLE);
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_int_equal(walk.hop.port, SLOT_OUT);
	assert_true(walk.by_source && walk.set == SET && !walk.depends);
	query.src = address("2001:db8:c::1");
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.hop.port, SLOT_OTHER);
	/* without a source those of all the others */
	query = world_query(0);
	query.src = address(SOURCE);
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_FORWARD);
	assert_int_equal(walk.hop.port, SLOT_OTHER);
	assert_int_equal(walk.depends, WALK_ON_SOURCE);
	/* a set may lead to a group, and not to a set */
	sources[1].value = sixlane_route_value(GROUP, 48);
	verdict_of(IN);
	assert_int_equal(walk.group.n_members, 2);
	sources[1].value = sixlane_route_value(60, 48);
	assert_int_equal(verdict_of(IN), SIXLANE_PUNT_ROUTE);
	n_sources = 0;
	assert_int_equal(verdict_of(IN), SIXLANE_PUNT_SOURCE_ROUTE);
}

/* `sixlane routes`: what stands there, whatever ports and neighbours say. */
static void values_are_told_without_a_packet(void **state)
{
	(void)state;
	fill();
	ports[SLOT_OUT].flags = 0;
	neighbours[GATEWAY].mac.flags = 0;
	walk_value(&maps, sixlane_route_value(BY_OUT, 33), &walk);
	assert_int_equal(walk.verdict, SIXLANE_FORWARD);
	assert_int_equal(walk.hop.port, SLOT_OUT);
	assert_int_equal(walk.prefix_len, 33);
	walk_value(&maps, sixlane_route_value(HOLE, 0), &walk);
	assert_int_equal(walk.verdict, SIXLANE_DROP_BLACKHOLE);
	walk_value(&maps, sixlane_route_value(GROUP, 48), &walk);
	assert_int_equal(walk.verdict, SIXLANE_FORWARD);
	assert_int_equal(walk.group.n_members, 2);
	next_hops[60] =
		(struct sixlane_next_hop){ .fate = { .kind = SIXLANE_KIND_SOURCES, .set = SET } };
	world_source(SET, "::", 0, HOLE);
	walk_value(&maps, sixlane_route_value(60, 48), &walk);
	assert_int_equal(walk.verdict, SIXLANE_DROP_BLACKHOLE);
	assert_true(walk.by_source && walk.set == SET);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_have_their_weights),
		cmocka_unit_test(buckets_are_counted),
		cmocka_unit_test(members_whose_port_is_down_are_skipped),
		cmocka_unit_test(what_little_weight_is_left_is_found),
		cmocka_unit_test(the_best_of_all_counts_without_a_packet),
		cmocka_unit_test(flows_are_spread_by_the_weights),
		cmocka_unit_test(the_policy_says_what_counts),
		cmocka_unit_test(the_seed_moves_flows),
		cmocka_unit_test(another_is_drawn_for_a_member_that_is_skipped),
		cmocka_unit_test(mtu_is_the_routes),
		cmocka_unit_test(expiry_ends_it),
		cmocka_unit_test(hash_over_what_xdp_cannot_reach),
		cmocka_unit_test(of_equal_routes_the_first),
		cmocka_unit_test(sources_decide),
		cmocka_unit_test(values_are_told_without_a_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
