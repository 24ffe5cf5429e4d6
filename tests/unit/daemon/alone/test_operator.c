// SPDX-License-Identifier: GPL-2.0-only
/*
 * How the operator's exceptions come into the FIB: in pieces, and those that go in steps.
 * operator.c is built into this test, with a list of this test's own in the place of sl_operator,
 * which is read as many at a time as PIECE, and with a clock.
 */
#include <errno.h>

#include "../../fib/fib_world.h"

#include "../../../../user/daemon/state.h"
#include "../../unit.h"

#define SECOND_NS 1000000000ull
#define MAX_ENTRIES 20
#define PIECE 3

static struct sixlane_operator entries[MAX_ENTRIES]; /* of 2001:db8::N; mtu 0: none */
static unsigned int readings;
static int error;
static uint64_t clock_ns;

static int fake_some(const struct maps *maps, struct maps_cursor *cursor, maps_operator_fn fn,
		     void *ctx)
{
	union sixlane_addr dst = addr("2001:db8::");
	uint8_t *at = cursor->token;
	int ret = error;

	(void)maps;
	readings += !*at;
	for (size_t n = 0; n < PIECE && *at < MAX_ENTRIES && !ret; n++, ++*at) {
		dst.bytes[15] = *at;
		if (entries[*at].mtu)
			ret = fn(ctx, &dst, &entries[*at]);
	}
	return ret ?: *at < MAX_ENTRIES;
}

#define exceptions_yield(sync, dst) ((dst)->bytes[15] == 2)
#define exceptions_take_back(sync, dst) ((void)(dst))
#define exceptions_make_room(sync) ((void)(sync), false)
#define util_now_ns() (clock_ns)
#define maps_neigh_slot(maps, ifindex, addr) ((void)(maps), (void)(ifindex), 1u)
#define ports_need(sync, ifindex) ((void)0)
#define maps_operator_some fake_some
#define maps_operator_expire(maps, dst, ns) ((void)(entries[(dst)->bytes[15]].mtu = 0))
#include "../../../../user/daemon/operator.c"

/* --- a daemon --------------------------------------------------------------------------------- */

static struct config config;
static struct sixlane_meta meta;
static struct maps maps_ = { .meta = &meta };
static struct operator_list list;
static struct sync sync_ = { .config = &config, .maps = &maps_, .operator= & list };

static void start(struct world *world, uint32_t max)
{
	memset(entries, 0, sizeof(entries));
	clock_ns = 1000 * SECOND_NS;
	config = (struct config){ .max_exceptions = max };
	meta = (struct sixlane_meta){ 0 };
	list = (struct operator_list){ .sync = &sync_, .poke_fd = -1, .next_ns = UINT64_MAX };
	sync_.fib = world->fib;
	fib_set_max_exceptions(world->fib, max);
}

static void want(size_t i, uint64_t expires_ns)
{
	entries[i] = (struct sixlane_operator){ .mtu = 1300,
						.table = SIXLANE_TABLE_MAIN,
						.expires_ns = expires_ns };
}

/* The command has counted its change, and so long passes. */
static void change_and_pass(uint64_t ns)
{
	const uint64_t until_ns = clock_ns + ns;

	meta.operator_changes++;
	readings = 0;
	for (int i = 0; i < 1000 && operator_due_ns(&sync_) <= until_ns; i++) {
		clock_ns = later(clock_ns, operator_due_ns(&sync_));
		operator_run(&sync_);
	}
	clock_ns = until_ns;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_pieces(void **state)
{
	start(*state, 100);
	for (size_t i = 0; i < 10; i++)
		want(i, 0);
	meta.operator_changes = 7;
	for (size_t n = PIECE; n <= 9; n += PIECE) {
		operator_run(&sync_);
		assert_int_equal(stats_of(*state).exceptions, n);
		assert_int_equal(operator_due_ns(&sync_), 0);
	}
	/* What comes behind the reading is of the next one. */
	memset(entries, 0, 9 * sizeof(*entries));
	meta.operator_changes = 8;
	while (!meta.operator_done)
		operator_run(&sync_);
	assert_int_equal(meta.operator_done, 7);
	assert_int_equal(stats_of(*state).exceptions, 10);
	change_and_pass(0);
	assert_int_equal(meta.operator_done, 9);
	assert_int_equal(stats_of(*state).exceptions, 1);
	assert_true(operator_due_ns(&sync_) > clock_ns + 1000 * SECOND_NS);
}

/*
 * Many that expire do not make many readings, one makes one, and what waits for room, for which
 * nobody reads in vain, comes.
 */
static void test_expiry(void **state)
{
	start(*state, 5);
	for (size_t i = 0; i < MAX_ENTRIES; i++)
		want(i, clock_ns + (i + 1) * SECOND_NS / 10);
	change_and_pass(4 * SECOND_NS);
	assert_int_equal(stats_of(*state).exceptions, 0);
	for (size_t i = 0; i < MAX_ENTRIES; i++)
		assert_int_equal(entries[i].mtu, 0);
	assert_in_range(readings, 3, 6);
	for (size_t i = 0; i < 8; i++)
		want(i, i ? 0 : clock_ns + 5 * SECOND_NS);
	change_and_pass(5 * SECOND_NS - 1);
	assert_int_equal(readings, 1);
	change_and_pass(2 * SECOND_NS);
	assert_int_equal(entries[0].mtu, 0);
	assert_int_equal(stats_of(*state).exceptions, 5);
}

/* After an error; and when it is done, gateways are not to wait for the keeper's turn. */
static void test_tries_again(void **state)
{
	start(*state, 5);
	want(0, 0);
	want(1, 0);
	strcpy(entries[1].device, "none");
	sync_.next_keep_ns = UINT64_MAX;
	error = -ENOMEM;
	change_and_pass(0);
	assert_int_equal(stats_of(*state).exceptions, 0);
	assert_int_equal(meta.operator_done, 0);
	assert_true(sync_.next_keep_ns == UINT64_MAX);
	error = 0;
	meta.operator_changes--;
	change_and_pass(SECOND_NS);
	assert_int_equal(stats_of(*state).exceptions, 1);
	assert_int_equal(meta.operator_done, 1);
	assert_true(sync_.next_keep_ns == 0);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_pieces),
		TEST(test_expiry),
		TEST(test_tries_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
