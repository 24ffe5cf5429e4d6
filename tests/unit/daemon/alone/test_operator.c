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

static struct {
	struct sixlane_operator entries[MAX_ENTRIES]; /* mtu 0: none */
	unsigned int readings;
	int error;
	uint64_t now_ns;
} operators;

static int fake_some(const struct maps *maps, struct maps_cursor *cursor, maps_operator_fn fn,
		     void *ctx)
{
	uint8_t *at = cursor->token;
	union sixlane_addr dst = addr("2001:db8::");
	int ret = operators.error;

	(void)maps;
	operators.readings += !*at;
	for (size_t n = 0; n < PIECE && *at < MAX_ENTRIES && !ret; n++) {
		const struct sixlane_operator *entry = &operators.entries[*at];

		dst.bytes[15] = ++*at;
		if (entry->mtu)
			ret = fn(ctx, &dst, entry);
	}
	return ret ?: *at < MAX_ENTRIES;
}

static void fake_expire(const struct maps *maps, const union sixlane_addr *dst, uint64_t now_ns)
{
	struct sixlane_operator *entry = &operators.entries[dst->bytes[15] - 1];

	(void)maps;
	assert_true(entry->expires_ns && entry->expires_ns <= now_ns);
	*entry = (struct sixlane_operator){ 0 };
}

#define exceptions_yield(sync, dst) ((void)(dst))
#define exceptions_take_back(sync, dst) ((void)(dst))
#define exceptions_make_room(sync) ((void)(sync), false)
#define util_now_ns() (operators.now_ns)
#define maps_neigh_slot(maps, ifindex, addr) ((void)(maps), 1u)
#define ports_need(sync, ifindex) ((void)0)
#define maps_operator_some fake_some
#define maps_operator_expire fake_expire
#include "../../../../user/daemon/operator.c"

/* --- a daemon --------------------------------------------------------------------------------- */

static struct config config;
static struct sixlane_meta meta;
static struct maps maps_ = { .meta = &meta };
static struct operator_list list;
static struct sync sync_ = { .config = &config, .maps = &maps_, .operator= & list };

static void start(struct world *world, uint32_t max)
{
	memset(&operators, 0, sizeof(operators));
	operators.now_ns = 1000 * SECOND_NS;
	config = (struct config){ .max_exceptions = max };
	meta = (struct sixlane_meta){ 0 };
	list = (struct operator_list){ .sync = &sync_, .poke_fd = -1, .next_ns = UINT64_MAX };
	sync_.fib = world->fib;
	fib_set_max_exceptions(world->fib, max);
	set(world, "2001:db8::/32", via("fe80::2", 3));
}

static void want(size_t from, size_t to, uint64_t expires_ns)
{
	for (size_t i = from; i < to; i++)
		operators.entries[i] = (struct sixlane_operator){ .mtu = 1300,
								  .table = SIXLANE_TABLE_MAIN,
								  .expires_ns = expires_ns };
}

/* The command has counted its change, and so long passes. */
static void change_and_pass(uint64_t ns)
{
	const uint64_t until_ns = operators.now_ns + ns;

	meta.operator_changes++;
	operators.readings = 0;
	for (int i = 0; i < 1000 && operator_due_ns(&sync_) <= until_ns; i++) {
		operators.now_ns = later(operators.now_ns, operator_due_ns(&sync_));
		operator_run(&sync_);
	}
	operators.now_ns = until_ns;
}

static void assert_there(const struct world *world, size_t n)
{
	assert_int_equal(stats_of(world).exceptions, n);
}

static uint32_t mtu_of(const struct world *world, const char *dst)
{
	const union sixlane_addr to = addr(dst);
	const struct sixlane_exception *value = sim_exception(world->sim, &to);

	return value ? value->mtu : 0;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_pieces(void **state)
{
	struct world *world = *state;

	start(world, 100);
	want(0, 10, 0);
	meta.operator_changes = 7;
	for (size_t n = PIECE; n <= 9; n += PIECE) {
		operator_run(&sync_);
		assert_there(world, n);
		assert_int_equal(meta.operator_done, 0);
		assert_int_equal(operator_due_ns(&sync_), 0);
	}
	/* What comes behind the reading is of the next one. */
	operators.entries[1].mtu = 1400;
	change_and_pass(0);
	assert_there(world, 10);
	assert_int_equal(meta.operator_done, 8);
	assert_int_equal(mtu_of(world, "2001:db8::2"), 1400);
	assert_true(operator_due_ns(&sync_) > operators.now_ns + 1000 * SECOND_NS);
	/* It is not done before the last one has gone. */
	memset(operators.entries, 0, sizeof(operators.entries));
	meta.operator_changes = 9;
	for (size_t n = 0; n < MAX_ENTRIES; n += PIECE) {
		assert_there(world, 10);
		assert_int_equal(meta.operator_done, 8);
		operator_run(&sync_);
	}
	assert_there(world, 0);
	assert_int_equal(meta.operator_done, 9);
}

/*
 * Many that expire do not make many readings, one makes one, and what waits for room, for which
 * nobody reads in vain, comes.
 */
static void test_expiry(void **state)
{
	struct world *world = *state;

	start(world, 5);
	for (size_t i = 0; i < 19; i++)
		want(i, i + 1, operators.now_ns + (i + 1) * SECOND_NS / 10);
	want(19, 20, 0);
	change_and_pass(4 * SECOND_NS);
	assert_there(world, 1);
	assert_int_equal(mtu_of(world, "2001:db8::14"), 1300);
	for (size_t i = 0; i < 19; i++)
		assert_int_equal(operators.entries[i].mtu, 0);
	assert_in_range(operators.readings, 3, 6);
	want(0, 1, operators.now_ns + 5 * SECOND_NS);
	want(1, 7, 0);
	change_and_pass(5 * SECOND_NS - 1);
	assert_int_equal(operators.readings, 1);
	change_and_pass(2 * SECOND_NS);
	assert_there(world, 5);
}

static void test_tries_again(void **state)
{
	struct world *world = *state;

	start(world, 5);
	want(0, 1, 0);
	operators.error = -ENOMEM;
	change_and_pass(0);
	assert_there(world, 0);
	assert_int_equal(meta.operator_done, 0);
	operators.error = 0;
	meta.operator_changes--;
	change_and_pass(SECOND_NS);
	assert_there(world, 1);
	assert_int_equal(meta.operator_done, 1);
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
