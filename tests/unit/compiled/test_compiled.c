// SPDX-License-Identifier: GPL-2.0-only
/*
 * The compiled FIB in single steps: it is absent before it is built, tables come and go, paths stay
 * short, and memory stays bounded over many changes.
 */

#include "compiled_world.h"

static struct cworld world;

static int open_world(void **state)
{
	cworld_open(&world, util_now_ns());
	print_message("SEED=%llu\n", (unsigned long long)world.seed);
	return 0;
}

static int close_world(void **state)
{
	cworld_close(&world);
	return 0;
}

static struct cworld_table *add_main(enum cworld_shape shape, uint32_t room)
{
	return cworld_add_table(&world, SIXLANE_TABLE_MAIN, shape, room);
}

static void set(struct cworld_table *table, compiled_bits addr, uint32_t len, uint32_t value)
{
	struct cworld_prefix prefix = { addr & cworld_mask((uint8_t)len), (uint8_t)len };

	assert_int_equal(cworld_set(&world, table, &prefix, value), 0);
}

/* The most nodes on the path to a prefix of the main table. */
static uint32_t deepest(const struct cworld_table *table)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < table->n; i++) {
		const union sixlane_addr addr = cworld_network(table->routes[i].prefix.addr);
		uint32_t depth = compiled_depth(&world.view, SIXLANE_TABLE_MAIN, &addr);

		most = depth > most ? depth : most;
	}
	return most;
}

/* --- absent, and empty ------------------------------------------------------------------------ */

static void test_absent_until_built(void **state)
{
	struct cworld_table *table = add_main(CWORLD_SMALL, 4);
	uint32_t value = 4711;

	assert_false(world.compiled->live);
	assert_int_equal(cworld_find(&world, table, 1, &value), -ENODATA);
	/* While it is absent, a change does nothing. */
	set(table, 0, 0, 1);
	assert_int_equal(world.view.fib.word, 0);
	assert_int_equal(cworld_build(&world), 0);
	assert_true(world.compiled->live);
	cworld_check_all(&world);
	compiled_drop(world.compiled);
	assert_false(world.compiled->live);
	assert_int_equal(cworld_find(&world, table, 1, &value), -ENODATA);
	assert_int_equal(value, 4711);
	assert_int_equal(cworld_build(&world), 0);
	cworld_check_all(&world);
}

static void test_tables_come_and_go(void **state)
{
	static const uint32_t ids[] = { 0, 1, 253, SIXLANE_TABLE_MAIN, 255, UINT32_MAX };
	struct compiled_stats empty, stats;

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		cworld_add_table(&world, ids[i], CWORLD_SMALL, 8);
	assert_int_equal(cworld_build(&world), 0);
	compiled_get_stats(world.compiled, &empty);
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < world.n_tables; i++) {
			set(&world.tables[i], (compiled_bits)round << 126, 2 * i, 1 + i);
			cworld_check_all(&world);
			cworld_audit(&world);
		}
		for (uint32_t i = 0; i < world.n_tables; i++) {
			set(&world.tables[i], (compiled_bits)round << 126, 2 * i, 0);
			cworld_check_all(&world);
			cworld_audit(&world);
		}
	}
	compiled_get_stats(world.compiled, &stats);
	assert_int_equal(stats.nodes, empty.nodes);
	assert_int_equal(stats.used_bytes, empty.used_bytes);
	assert_null(world.compiled->tables.root);
}

/* A change that changes nothing. */
static void test_same_again(void **state)
{
	struct cworld_table *table = add_main(CWORLD_ANY, 300);

	cworld_fill(&world, table, 200);
	assert_int_equal(cworld_build(&world), 0);
	for (uint32_t i = 0; i < table->n; i++) {
		const struct cworld_prefix prefix = table->routes[i].prefix;

		assert_int_equal(cworld_apply(&world, table, &prefix, i % 2), 0);
		cworld_check_edges(&world, table, &prefix);
	}
	for (int i = 0; i < 300; i++) {
		const struct cworld_prefix prefix = cworld_random_prefix(&world, table);

		if (!cworld_value(table, &prefix))
			assert_int_equal(cworld_apply(&world, table, &prefix, false), 0);
	}
	cworld_check_all(&world);
	cworld_audit(&world);
}

/* --- depth ------------------------------------------------------------------------------------ */

/* Prefixes on one path, in one of three orders. Neither changes nor a build make it deep. */
static void grow_path(struct cworld_table *table, uint32_t spacing, uint32_t order)
{
	compiled_bits path = cworld_random_addr(&world);

	for (uint32_t i = 0; i <= 128 / spacing; i++) {
		uint32_t step = order == 2 ? (i * 53 + 7) % (128 / spacing + 1) : i;
		uint32_t len = (order == 1 ? 128 / spacing - step : step) * spacing;

		set(table, path, len, 1 + len);
		assert_true(deepest(table) <= SIXLANE_FIB_LEVELS * 2 / 3);
	}
	cworld_check_all(&world);
	assert_int_equal(cworld_build(&world), 0);
	assert_true(deepest(table) <= SIXLANE_FIB_LEVELS * 2 / 3);
	cworld_check_all(&world);
	while (table->n_live)
		set(table, table->routes[0].prefix.addr, table->routes[0].prefix.len, 0);
}

static void test_paths_stay_flat(void **state)
{
	struct cworld_table *table = add_main(CWORLD_PATHS, 200);

	assert_int_equal(cworld_build(&world), 0);
	for (uint32_t spacing = 1; spacing <= 16; spacing++) {
		for (uint32_t order = 0; order < 3; order++)
			grow_path(table, spacing, order);
	}
}

/* The same above a subtree that is too large to be rebuilt at each change. */
static void test_paths_above_many_stay_flat(void **state)
{
	struct cworld_table *table = add_main(CWORLD_HOSTS, 6000);
	compiled_bits path = table->pool[0];

	cworld_fill(&world, table, 5000);
	assert_int_equal(cworld_build(&world), 0);
	for (uint32_t len = 1; len < 100; len++) {
		set(table, path, len, len);
		set(table, path ^ (compiled_bits)1 << (128 - len), len, 1000 + len);
		cworld_check(&world, table, path);
		assert_true(deepest(table) <= SIXLANE_FIB_LEVELS - 2);
	}
	cworld_check_all(&world);
	cworld_audit(&world);
}

/*
 * A chain of nodes that branch on one bit each, deeper than any that is planned, made by hand. A
 * reader gives up after SIXLANE_FIB_LEVELS nodes, even if a leaf is next.
 */
static void test_too_deep_is_unknown(void **state)
{
	struct compiled_store *store = &world.compiled->store;
	struct cworld_table *table = add_main(CWORLD_SMALL, 1);
	uint32_t nodes[SIXLANE_FIB_LEVELS], value = 4711;

	assert_int_equal(cworld_build(&world), 0);
	for (uint32_t i = 0; i < SIXLANE_FIB_LEVELS; i++) {
		uint32_t *words;

		nodes[i] = sixlane_fib_node(compiled_alloc(store, compiled_units(0, 1)), 0, 1);
		words = (uint32_t *)compiled_at(store, nodes[i]);
		words[0] = 0;
		words[1] = i == 7 ? 7 : 0;
		words[2] = words[3] = 1000 + i;
		if (i)
			((uint32_t *)compiled_at(store, nodes[i - 1]))[2] = nodes[i];
	}
	world.view.fib.main = nodes[1];
	assert_int_equal(cworld_find(&world, table, 0, &value), 0);
	assert_int_equal(value, 1000 + SIXLANE_FIB_LEVELS - 1);
	world.view.fib.main = nodes[0];
	value = 4711;
	assert_int_equal(cworld_find(&world, table, 0, &value), -ENODATA);
	assert_int_equal(value, 4711);
	/* Addresses that leave the chain earlier are answered. */
	assert_int_equal(cworld_find(&world, table, (compiled_bits)1 << 127, &value), 0);
	assert_int_equal(value, 1000);
	assert_int_equal(cworld_find(&world, table, (compiled_bits)1 << 98, &value), 0);
	assert_int_equal(value, 1029);
}

/* --- many changes ----------------------------------------------------------------------------- */

/*
 * A new shape is built beside the old one, which is then retired; two MiB more may be retired, and
 * a chunk is allocated as a whole.
 */
static uint64_t bound_bytes(uint64_t used)
{
	return 2 * used + (2u << 20) + SIXLANE_FIB_CHUNK_BYTES;
}

static void churn(enum cworld_shape shape, uint32_t n, uint32_t changes)
{
	struct cworld_table *table = add_main(shape, n + n / 4);
	struct compiled_stats stats;
	uint64_t most_used = 0;

	cworld_fill(&world, table, n);
	assert_int_equal(cworld_build(&world), 0);
	for (uint32_t i = 0; i < changes; i++) {
		struct cworld_change change = cworld_random_change(&world, n);

		assert_int_equal(cworld_set(&world, table, &change.prefix, change.after), 0);
		compiled_get_stats(world.compiled, &stats);
		most_used = stats.used_bytes > most_used ? stats.used_bytes : most_used;
		if (i % 16 == 0)
			cworld_check_edges(&world, table, &change.prefix);
	}
	print_message("%u prefixes, %llu of %llu bytes used, %llu replans, %llu grace periods\n",
		      table->n_live, (unsigned long long)most_used,
		      (unsigned long long)stats.chunk_bytes, (unsigned long long)stats.replans,
		      (unsigned long long)world.graces);
	assert_true(stats.chunk_bytes <= bound_bytes(most_used));
	assert_true(stats.replans > 0 && stats.failures == 0);
	cworld_check_all(&world);
	cworld_audit(&world);
}

static void test_churn(void **state)
{
	static const struct {
		enum cworld_shape shape;
		uint32_t n, changes;
	} rows[] = { { CWORLD_REAL, 100000, 150000 },
		     { CWORLD_DENSE48, 20000, 100000 },
		     { CWORLD_HOSTS, 100000, 100000 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		churn(rows[i].shape, rows[i].n, rows[i].changes);
		close_world(state);
		open_world(state);
	}
}

/* --- prefixes that are alone below a cell of a wide node -------------------------------------- */

#define LONE_BITS 12u
#define LONE_LEN 48u
#define LONE_MORE 2000u

static compiled_bits lone_addr(uint32_t i)
{
	return (compiled_bits)0x2001 << 112 | (compiled_bits)i << (112 - LONE_BITS) |
	       (compiled_bits)1 << (128 - LONE_LEN);
}

static struct cworld_table *add_lone(void)
{
	struct cworld_table *table = add_main(CWORLD_ANY, (1u << LONE_BITS) + LONE_MORE + 32);

	for (uint32_t i = 0; i < 1u << LONE_BITS; i++)
		set(table, lone_addr(i), LONE_LEN, sixlane_route_value(1 + i % 7, LONE_LEN));
	set(table, 0, 0, sixlane_route_value(9, 0));
	set(table, (compiled_bits)0xfc << 120, 7, sixlane_route_value(9, 7));
	assert_int_equal(cworld_build(&world), 0);
	return table;
}

static uint32_t n_wide(uint32_t entry)
{
	struct compiled_node node;
	uint32_t n;

	if (!(entry & SIXLANE_FIB_NODE))
		return 0;
	node = compiled_open(&world.compiled->store, entry);
	n = node.is_wide;
	for (uint64_t i = 0; i < 1ull << node.stride; i++)
		n += n_wide(*compiled_entry(&node, i));
	return n;
}

/* Too many for one node. */
#define DENSE 16384u

static void put_dense(struct cworld_table *table, uint32_t spacing, uint32_t value)
{
	for (uint32_t i = 0; i < DENSE; i++)
		set(table, (compiled_bits)0x2001 << 112 | (compiled_bits)(i * spacing) << 80, 48,
		    value);
}

/*
 * Every spacing-th /48: a plain node takes 4 bytes for each that could be there, a wide one 8 for
 * each that is. At one in four a wide node is smaller, but does not save enough.
 */
static void test_wide_where_it_saves(void **state)
{
	static const struct {
		uint32_t spacing;
		bool is_wide;
	} densities[] = { { 1, false }, { 4, false }, { 16, true } };
	struct cworld_table *table = add_main(CWORLD_DENSE48, 3 * DENSE);

	for (size_t i = 0; i < ARRAY_SIZE(densities); i++) {
		put_dense(table, densities[i].spacing, sixlane_route_value(1, 48));
		assert_int_equal(cworld_build(&world), 0);
		assert_int_equal(n_wide(world.view.fib.main) > 0, densities[i].is_wide);
		cworld_check_all(&world);
		put_dense(table, densities[i].spacing, 0);
	}
}

/* A cover that comes and goes leaves no node behind. */
static void test_covered_for_a_while(void **state)
{
	const compiled_bits addr = (compiled_bits)0x2001 << 112;
	struct compiled_stats before, covered, after;
	struct cworld_table *table = add_lone();
	uint32_t grew = 0;

	compiled_get_stats(world.compiled, &before);
	for (uint8_t len = 17; len < 16 + LONE_BITS; len++) {
		set(table, addr, len, sixlane_route_value(2, len));
		compiled_get_stats(world.compiled, &covered);
		cworld_check_all(&world);
		set(table, addr, len, 0);
		compiled_get_stats(world.compiled, &after);
		cworld_check_all(&world);
		cworld_audit(&world);
		grew += covered.nodes > before.nodes;
		assert_int_equal(after.nodes, before.nodes);
		assert_int_equal(after.used_bytes, before.used_bytes);
	}
	assert_int_equal(after.replans, 0);
	assert_true(grew);
}

/* The same above nodes with a long header, which use bits beyond the first 64. */
static void test_uncovered_above_more(void **state)
{
	const compiled_bits addr = (compiled_bits)0x2001 << 112;
	struct cworld_table *table = add_main(CWORLD_ANY, 300);

	for (uint32_t i = 0; i < 64; i++) {
		compiled_bits alone = addr | (compiled_bits)i << 92 | (compiled_bits)1 << 68;

		set(table, alone, 60, sixlane_route_value(1, 60));
		for (uint32_t j = 0; j < 3; j++)
			set(table, alone | (compiled_bits)(j + 1) << 58, 70,
			    sixlane_route_value(2 + j, 70));
	}
	set(table, 0, 0, sixlane_route_value(9, 0));
	set(table, (compiled_bits)0xfc << 120, 7, sixlane_route_value(9, 7));
	for (uint8_t len = 31; len < 36; len++) {
		set(table, addr, len, sixlane_route_value(8, len));
		assert_int_equal(cworld_build(&world), 0);
		set(table, addr, len, 0);
		cworld_check_all(&world);
		cworld_audit(&world);
	}
}

/* A second prefix below a cell copies the node: fewer than one in 200 changes wait for readers. */
static void test_beside_lone_ones(void **state)
{
	struct cworld_table *table = add_lone();

	for (uint32_t i = 0; i < LONE_MORE; i++) {
		compiled_bits addr = lone_addr(i) | (compiled_bits)1 << 84;

		set(table, addr, LONE_LEN, sixlane_route_value(8, LONE_LEN));
		set(table, addr, LONE_LEN, 0);
	}
	cworld_check_all(&world);
	cworld_audit(&world);
	print_message("%llu grace periods, %u changes\n", (unsigned long long)world.graces,
		      2 * LONE_MORE);
	assert_true(world.graces && world.graces * 200 < 2 * LONE_MORE);
}

UNIT_TESTS()
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
	const struct CMUnitTest tests[] = {
		TEST(test_absent_until_built),
		TEST(test_tables_come_and_go),
		TEST(test_same_again),
		TEST(test_paths_stay_flat),
		TEST(test_paths_above_many_stay_flat),
		TEST(test_too_deep_is_unknown),
		TEST(test_churn),
		TEST(test_wide_where_it_saves),
		TEST(test_covered_for_a_while),
		TEST(test_uncovered_above_more),
		TEST(test_beside_lone_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
