// SPDX-License-Identifier: GPL-2.0-only
/* The neighbour table against an array, through growth, deletion and sweeps. */
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
	return neigh;
}

static void count(void *ctx, const struct neigh *neigh)
{
	++*(unsigned int *)ctx;
}

/* states: of each neighbour; 0: it is not there. */
static void check(const struct neighs *neighs, const uint16_t states[MANY])
{
	unsigned int n = 0, expected = 0;

	for (uint32_t i = 0; i < MANY; i++) {
		struct neigh neigh = make_neigh(i);
		const struct neigh *found = neighs_find(neighs, neigh.ifindex, &neigh.addr);

		assert_int_equal(found ? found->state : 0, states[i]);
		assert_null(neighs_find(neighs, 9, &neigh.addr)); /* another device */
		expected += states[i] != 0;
	}
	neighs_each(neighs, count, &n);
	assert_int_equal(n, expected);
}

static void test_random(void **state)
{
	static uint16_t states[MANY];
	const struct neigh first = make_neigh(0);
	struct neighs *neighs = neighs_new();
	uint32_t random = 1;

	/* The same address on so many devices that some share its bucket. */
	assert_int_equal(neighs_set(neighs, &first), 0);
	states[0] = first.state;
	for (uint32_t ifindex = 2; ifindex < 500000; ifindex++)
		assert_null(neighs_find(neighs, ifindex, &first.addr));
	for (unsigned int step = 1; step <= 40000; step++) {
		uint32_t i = (random = random * 1664525u + 1013904223u) / 7 % MANY;
		struct neigh neigh = make_neigh(i);

		states[i] = step % 3 ? neigh.state = (uint16_t)(1 + step % 2) : 0;
		if (states[i])
			assert_int_equal(neighs_set(neighs, &neigh), 0);
		else
			neighs_delete(neighs, neigh.ifindex, &neigh.addr);
		if (step % 8000 == 0) {
			check(neighs, states);
			neighs_mark(neighs);
			memset(states, 0, sizeof(states));
		} else if (step % 8000 == 100) { /* the neighbours that were set since */
			neighs_sweep(neighs);
			check(neighs, states);
		}
	}
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
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_usable),
	};

	return cmocka_run_group_tests_name("neighs", tests, NULL, NULL);
}
