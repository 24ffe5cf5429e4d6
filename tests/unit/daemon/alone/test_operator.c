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

static union sixlane_addr dst_of(size_t i)
{
	union sixlane_addr dst = addr("2001:db8::");

	dst.bytes[15] = (uint8_t)(i + 1);
	return dst;
}

static uint64_t fake_now_ns(void)
{
	return operators.now_ns;
}

static int fake_some(const struct maps *maps, struct maps_cursor *cursor, maps_operator_fn fn,
		     void *ctx)
{
	uint8_t *at = cursor->token;
	int ret = operators.error;

	(void)maps;
	operators.readings += !*at;
	for (size_t n = 0; n < PIECE && *at < MAX_ENTRIES && !ret; n++, ++*at) {
		const union sixlane_addr dst = dst_of(*at);

		if (operators.entries[*at].mtu)
			ret = fn(ctx, &dst, &operators.entries[*at]);
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

static uint32_t fake_slot(const struct maps *maps, uint32_t ifindex, const union sixlane_addr *addr)
{
	(void)maps;
	(void)ifindex;
	(void)addr;
	return 1;
}

static void fake_need(struct sync *sync, uint32_t ifindex)
{
	(void)sync;
	(void)ifindex;
}

static unsigned int yielded, taken_back;

static void fake_yield(struct sync *sync, const union sixlane_addr *dst)
{
	(void)sync;
	(void)dst;
	yielded++;
}

static void fake_take_back(struct sync *sync, const union sixlane_addr *dst)
{
	(void)sync;
	(void)dst;
	taken_back++;
}

static bool fake_make_room(struct sync *sync)
{
	const union sixlane_addr *dst = fib_oldest_exception(sync->fib, FIB_KERNEL);

	return dst && !fib_set_exception(sync->fib, dst, NULL);
}

#define exceptions_yield fake_yield
#define exceptions_take_back fake_take_back
#define exceptions_make_room fake_make_room
#define util_now_ns fake_now_ns
#define maps_neigh_slot fake_slot
#define ports_need fake_need
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
	yielded = taken_back = 0;
	operators.now_ns = 1000 * SECOND_NS;
	config = (struct config){ .max_exceptions = max };
	meta = (struct sixlane_meta){ 0 };
	list = (struct operator_list){ .sync = &sync_, .poke_fd = -1 };
	list.last.next_expire_ns = list.next_room_ns = UINT64_MAX;
	sync_.fib = world->fib;
	fib_set_max_exceptions(world->fib, max);
	set(world, "2001:db8::/32", via("fe80::2", 3));
}

static void want(size_t i, uint64_t expires_ns)
{
	operators.entries[i] = (struct sixlane_operator){ .mtu = 1300,
							  .table = SIXLANE_TABLE_MAIN,
							  .expires_ns = expires_ns };
}

/* One turn of the daemon's loop. */
static void turn(void)
{
	operator_run(&sync_);
}

/* Until there is nothing to be done before so long has passed. */
static void settle(uint64_t ns)
{
	const uint64_t until_ns = operators.now_ns + ns;

	for (int i = 0; i < 1000; i++) {
		uint64_t due_ns;

		turn();
		due_ns = operator_due_ns(&sync_);
		if (due_ns > until_ns)
			break;
		if (due_ns > operators.now_ns)
			operators.now_ns = due_ns;
	}
	operators.now_ns = until_ns;
}

static void assert_there(const struct world *world, size_t n)
{
	assert_int_equal(stats_of(world).exceptions, n);
}

static void assert_mtu(const struct world *world, const char *dst, uint32_t mtu)
{
	const union sixlane_addr to = addr(dst);
	const struct sixlane_exception *value = sim_exception(world->sim, &to);

	assert_non_null(value);
	assert_int_equal(value->mtu, mtu);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_pieces(void **state)
{
	struct world *world = *state;

	start(world, 100);
	for (size_t i = 0; i < 10; i++)
		want(i, 0);
	meta.operator_changes = 7;
	for (size_t n = PIECE; n <= 9; n += PIECE) {
		turn();
		assert_there(world, n);
		assert_int_equal(meta.operator_done, 0);
		assert_int_equal(operator_due_ns(&sync_), 0);
	}
	/* What comes behind the reading is of the next one. */
	want(1, 0);
	operators.entries[1].mtu = 1400;
	meta.operator_changes = 8;
	settle(0);
	assert_there(world, 10);
	assert_int_equal(meta.operator_done, 8);
	assert_int_equal(operators.readings, 2);
	assert_mtu(world, "2001:db8::2", 1400);
	assert_true(operator_due_ns(&sync_) == UINT64_MAX);
}

/* It is not done before the last one has gone. */
static void test_gone_in_steps(void **state)
{
	struct world *world = *state;

	start(world, 100);
	for (size_t i = 0; i < 10; i++)
		want(i, 0);
	meta.operator_changes = 1;
	settle(0);
	assert_int_equal(yielded, 10);
	memset(operators.entries, 0, sizeof(operators.entries));
	meta.operator_changes = 2;
	for (size_t n = 0; n < MAX_ENTRIES; n += PIECE) {
		assert_there(world, 10);
		assert_int_equal(meta.operator_done, 1);
		turn();
	}
	settle(0);
	assert_there(world, 0);
	assert_int_equal(taken_back, 10);
	assert_int_equal(meta.operator_done, 2);
	assert_int_equal(operators.readings, 2);
}

/* One of the kernel's goes for it. */
static void test_room_of_the_kernel(void **state)
{
	const struct fib_exception kernel = { .origin = FIB_KERNEL, .mtu = 1300 };
	const union sixlane_addr dst = addr("2001:db8::ffff");
	struct world *world = *state;

	start(world, 3);
	assert_int_equal(fib_set_exception(world->fib, &dst, &kernel), 0);
	for (size_t i = 0; i < 3; i++)
		want(i, 0);
	meta.operator_changes = 1;
	settle(0);
	assert_there(world, 3);
	assert_null(fib_exception(world->fib, &dst));
	assert_mtu(world, "2001:db8::3", 1300);
}

static void test_room(void **state)
{
	struct world *world = *state;

	start(world, 3);
	for (size_t i = 0; i < 4; i++)
		want(i, 0);
	meta.operator_changes = 1;
	settle(0);
	assert_there(world, 3);
	assert_int_equal(meta.operator_done, 1);
	/* The change that makes room brings the other one into force before it is done. */
	operators.entries[0].mtu = 0;
	meta.operator_changes = 2;
	for (size_t n = 0; n <= 4 * MAX_ENTRIES && meta.operator_done != 2; n += PIECE)
		turn();
	assert_int_equal(meta.operator_done, 2);
	assert_there(world, 3);
	assert_mtu(world, "2001:db8::4", 1300);
	/* No room: nobody reads for nothing. */
	want(0, 0);
	meta.operator_changes = 3;
	settle(0);
	operators.readings = 0;
	settle(10 * SECOND_NS);
	assert_int_equal(operators.readings, 0);
}

static void test_room_by_expiry(void **state)
{
	struct world *world = *state;

	start(world, 3);
	for (size_t i = 0; i < 3; i++)
		want(i, operators.now_ns + 5 * SECOND_NS);
	meta.operator_changes = 1;
	settle(0);
	want(3, 0);
	meta.operator_changes = 2;
	settle(0);
	assert_there(world, 3);
	settle(7 * SECOND_NS);
	settle(0);
	assert_there(world, 1);
	assert_mtu(world, "2001:db8::4", 1300);
}

/* Many that expire do not make many readings. */
static void test_expiry(void **state)
{
	struct world *world = *state;

	start(world, 5);
	for (size_t i = 0; i < 20; i++)
		want(i, operators.now_ns + (i + 1) * SECOND_NS / 10);
	meta.operator_changes = 1;
	settle(0);
	assert_there(world, 5);
	operators.readings = 0;
	settle(3 * SECOND_NS);
	settle(0);
	assert_there(world, 0);
	for (size_t i = 5; i < 20; i++)
		assert_int_equal(operators.entries[i].mtu, 0);
	assert_in_range(operators.readings, 1, 4);

	/* Nor does it stay for want of room. */
	start(world, 5);
	for (size_t i = 0; i < 6; i++)
		want(i, i < 5 ? 0 : operators.now_ns + SECOND_NS / 2);
	meta.operator_changes = 1;
	settle(0);
	settle(3 * SECOND_NS);
	assert_there(world, 5);
	assert_int_equal(operators.entries[5].mtu, 0);
	memset(operators.entries, 0, sizeof(operators.entries));
	meta.operator_changes = 2;
	settle(0);

	start(world, 5);
	want(0, operators.now_ns + SECOND_NS);
	meta.operator_changes = 1;
	settle(0);
	operators.readings = 0;
	settle(3 * SECOND_NS);
	settle(0);
	assert_there(world, 0);
	assert_int_equal(operators.readings, 1);
}

static void test_tries_again(void **state)
{
	struct world *world = *state;

	start(world, 5);
	want(0, 0);
	meta.operator_changes = 1;
	operators.error = -ENOMEM;
	settle(0);
	assert_there(world, 0);
	assert_int_equal(meta.operator_done, 0);
	operators.error = 0;
	settle(SECOND_NS);
	settle(0);
	assert_there(world, 1);
	assert_int_equal(meta.operator_done, 1);
}

/* The keeper goes over all neighbours: once a reading, and not for those of what has expired. */
static void test_gateways(void **state)
{
	static struct device device = { .ifindex = 3, .has_link = true, .link.name = "p3" };
	static uint64_t used[NEIGH_WORDS];
	struct world *world = *state;

	start(world, 100);
	sync_.links.devices = &device;
	sync_.links.n = 1;
	for (size_t i = 0; i < 10; i++) {
		want(i, operators.now_ns + SECOND_NS);
		memcpy(operators.entries[i].device, "p3", 3);
		operators.entries[i].gateway = addr("fe80::9");
	}
	meta.operator_changes = 1;
	sync_.next_keep_ns = UINT64_MAX;
	for (size_t n = 0; n < MAX_ENTRIES; n += PIECE) {
		assert_true(sync_.next_keep_ns == UINT64_MAX);
		turn();
	}
	assert_there(world, 10);
	assert_true(sync_.next_keep_ns == 0);
	operator_mark_gateways(&sync_, used);
	assert_int_equal(used[0], 2);
	operators.readings = 0;
	settle(3 * SECOND_NS);
	settle(0);
	assert_there(world, 0);
	memset(used, 0, sizeof(used));
	operator_mark_gateways(&sync_, used);
	assert_int_equal(used[0], 0);
	assert_int_equal(operators.readings, 1);
	sync_.links.n = 0;
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_pieces),	   TEST(test_gone_in_steps),
		TEST(test_room),	   TEST(test_room_of_the_kernel),
		TEST(test_room_by_expiry), TEST(test_expiry),
		TEST(test_tries_again),	   TEST(test_gateways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
