// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups, equal routes, expiry and source sets, as `sixlane lookup` and `explain` tell them. Cells
 * are made as the daemon makes them.
 */
#include "cmd_world.h"

#include "../../user/fib/fib_alias.h"

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

static uint64_t bit(uint32_t verdict)
{
	return 1ull << verdict;
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
		assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
		assert_int_equal(walk.group.n_members, rows[i].n);
		for (uint32_t k = 0; k < rows[i].n; k++)
			assert_int_equal(member(BY_OUT + k)->weight, rows[i].wanted[k]);
		assert_false(walk.group.buckets);
		/* none of several is the one */
		assert_int_equal(walk.hop.port, 0);
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
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_true(member(BY_OUT)->skipped);
	assert_false(member(BY_OTHER)->skipped);
	/* the draws may all have fallen upon it */
	assert_true(walk.verdicts == (bit(SIXLANE_FORWARD) | bit(SIXLANE_PASS_EGRESS_DOWN)));
	ports[SLOT_OTHER].flags |= SIXLANE_PORT_SKIP;
	assert_int_equal(verdict_of(IN), SIXLANE_PASS_EGRESS_DOWN);
	assert_true(walk.verdicts == bit(SIXLANE_PASS_EGRESS_DOWN));
	meta.hash_policy.policy = 4;
	assert_int_equal(verdict_of(IN), SIXLANE_PUNT_HASH);
	meta.hash_policy.policy = SIXLANE_HASH_L3;
	/* next-hop objects go by another flag */
	next_hops[GROUP].flags = SIXLANE_NEXT_HOP_OBJECT;
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_false(member(BY_OUT)->skipped || member(BY_OTHER)->skipped);
	ports[SLOT_OUT].flags |= SIXLANE_PORT_SKIP_OBJECT;
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_true(member(BY_OUT)->skipped);
	/* a member that discards has no port */
	world_hop(BY_OTHER, SLOT_OUT, GATEWAY);
	world_fate(BY_OTHER, SIXLANE_DROP_BLACKHOLE);
	assert_int_equal(verdict_of(IN), SIXLANE_DROP_BLACKHOLE);
}

static void all_verdicts_of_a_group_are_told(void **state)
{
	(void)state;
	fill();
	neighbours[GATEWAY].mac.flags = 0;
	/* of a packet whose hash is not known the best is told */
	assert_int_equal(verdict_of(IN), SIXLANE_FORWARD);
	assert_true(walk.verdicts == (bit(SIXLANE_FORWARD) | bit(SIXLANE_PASS_UNRESOLVED)));
	assert_int_equal(member(BY_OUT)->hop.verdict, SIXLANE_PASS_UNRESOLVED);
	ports[SLOT_OTHER].flags &= ~SIXLANE_PORT_UP;
	assert_int_equal(verdict_of(IN), SIXLANE_PASS_UNRESOLVED);
	assert_true(walk.verdicts ==
		    (bit(SIXLANE_PASS_EGRESS_DOWN) | bit(SIXLANE_PASS_UNRESOLVED)));
	/* by the port that it came in by */
	world_hop(BY_OTHER, SLOT_IN, OTHER_GATEWAY);
	neighbours[GATEWAY].mac.flags = SIXLANE_MAC_VALID;
	verdict_of(IN);
	assert_true(walk.verdicts == (bit(SIXLANE_FORWARD) | bit(SIXLANE_PASS_SAME_PORT)));
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
	assert_true(walk.verdicts == bit(SIXLANE_PUNT_EXPIRES));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_have_their_weights),
		cmocka_unit_test(buckets_are_counted),
		cmocka_unit_test(members_whose_port_is_down_are_skipped),
		cmocka_unit_test(all_verdicts_of_a_group_are_told),
		cmocka_unit_test(mtu_is_the_routes),
		cmocka_unit_test(expiry_ends_it),
		cmocka_unit_test(hash_over_what_xdp_cannot_reach),
		cmocka_unit_test(of_equal_routes_the_first),
		cmocka_unit_test(sources_decide),
		cmocka_unit_test(values_are_told_without_a_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
