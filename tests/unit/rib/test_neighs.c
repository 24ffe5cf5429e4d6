// SPDX-License-Identifier: GPL-2.0-only
/*
 * The neighbour table: a set keyed by device and address, through growth, deletion and sweeps.
 */
#include "rib_unit.h"
#include <linux/neighbour.h>

#include "../../../user/rib/neighs.h"

#define MANY 5000u

static struct neigh make_neigh(uint32_t n)
{
	struct neigh neigh = { .ifindex = 1 + n % 3, .state = NUD_REACHABLE, .has_mac = true };

	neigh.addr.bytes[0] = 0x20;
	neigh.addr.bytes[14] = (uint8_t)(n >> 8);
	neigh.addr.bytes[15] = (uint8_t)n;
	neigh.mac[5] = (uint8_t)n;
	return neigh;
}

static void count(void *ctx, const struct neigh *neigh)
{
	++*(unsigned int *)ctx;
}

static void test_set(void **state)
{
	struct neighs *neighs = neighs_new();
	unsigned int n = 0;

	for (uint32_t i = 0; i < MANY; i++) {
		struct neigh neigh = make_neigh(i);

		assert_int_equal(neighs_set(neighs, &neigh), 0);
		neigh.state = NUD_STALE;
		assert_int_equal(neighs_set(neighs, &neigh), 0);
	}
	neighs_each(neighs, count, &n);
	assert_int_equal(n, MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		struct neigh neigh = make_neigh(i);
		const struct neigh *found = neighs_find(neighs, neigh.ifindex, &neigh.addr);

		assert_non_null(found);
		assert_int_equal(found->state, NUD_STALE);
		assert_null(neighs_find(neighs, 9, &neigh.addr)); /* another device */
	}
	neighs_free(neighs);
}

static void test_delete_and_sweep(void **state)
{
	struct neighs *neighs = neighs_new();
	unsigned int n = 0;

	for (uint32_t i = 0; i < MANY; i++) {
		struct neigh neigh = make_neigh(i);

		assert_int_equal(neighs_set(neighs, &neigh), 0);
	}
	for (uint32_t i = 0; i < MANY; i += 2) {
		struct neigh neigh = make_neigh(i);

		neighs_delete(neighs, neigh.ifindex, &neigh.addr);
		neighs_delete(neighs, neigh.ifindex, &neigh.addr);
		assert_null(neighs_find(neighs, neigh.ifindex, &neigh.addr));
	}
	neighs_mark(neighs);
	for (uint32_t i = 1; i < 200; i += 2) {
		struct neigh neigh = make_neigh(i);

		assert_int_equal(neighs_set(neighs, &neigh), 0);
	}
	neighs_sweep(neighs);
	neighs_each(neighs, count, &n);
	assert_int_equal(n, 100);
	neighs_free(neighs);
}

static void test_usable(void **state)
{
	static const struct {
		uint16_t nud;
		bool usable;
	} rows[] = {
		{ NUD_NONE, false },	 { NUD_INCOMPLETE, false }, { NUD_FAILED, false },
		{ NUD_REACHABLE, true }, { NUD_STALE, true },	    { NUD_DELAY, true },
		{ NUD_PROBE, true },	 { NUD_PERMANENT, true },   { NUD_NOARP, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct neigh neigh = make_neigh(1);

		neigh.state = rows[i].nud;
		assert_int_equal(neigh_usable(&neigh), rows[i].usable);
		neigh.has_mac = false;
		assert_false(neigh_usable(&neigh));
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_delete_and_sweep),
		cmocka_unit_test(test_usable),
	};

	return cmocka_run_group_tests_name("neighs", tests, NULL, NULL);
}
