// SPDX-License-Identifier: GPL-2.0-only
/*
 * When the operator's exceptions are read, and that they are read in pieces. e2e tests cover their
 * effect. operator.c is compiled into this test, with a simulated sl_operator and a simulated
 * clock.
 */
#include <errno.h>

#include "../../fib/fib_world.h"

#include "../../../../user/daemon/exceptions_store.h"
#include "../../unit.h"

#define SECOND_NS 1000000000ull
#define MAX_ENTRIES 20
#define PIECE 3

static struct sixlane_operator entries[MAX_ENTRIES]; /* of 2001:db8::N; mtu 0: none */
static unsigned int readings;
static uint64_t clock_ns;

static int fake_some(const struct maps *maps, struct maps_cursor *cursor, maps_operator_fn fn,
		     void *ctx)
{
	union sixlane_addr dst = addr("2001:db8::");
	uint8_t *at = cursor->token;
	int ret = 0;

	readings += !*at;
	for (size_t n = 0; n < PIECE && *at < MAX_ENTRIES && !ret; n++, ++*at) {
		dst.bytes[15] = *at;
		if (entries[*at].mtu)
			ret = fn(ctx, &dst, &entries[*at]);
	}
	return ret ?: *at < MAX_ENTRIES;
}

#define exceptions_override(sync, dst) ((void)(sync), (void)(dst), false)
#define exceptions_operator_removed(sync) ((void)(sync))
#define util_now_ns() (clock_ns)
#define maps_operator_some fake_some
#define maps_operator(maps, dst, out) ((void)(out), entries[(dst)->bytes[15]].mtu ? 0 : -ENOENT)
#define maps_operator_expire(maps, dst, ns) ((void)(entries[(dst)->bytes[15]].mtu = 0))
#include "../../../../user/daemon/operator.c"

static struct config config;
static struct sixlane_meta meta;
static struct maps maps_ = { .meta = &meta };
static struct operator_list list;
static struct sync sync_ = { .config = &config, .maps = &maps_, .operator= & list };

static uint64_t n_exceptions(void)
{
	struct fib_stats stats;

	fib_get_stats(sync_.fib, &stats);
	return stats.exceptions;
}

/* Fill the list with n entries that expire apart_ns after each other; 0: never. */
static void set_entries(size_t n, uint64_t apart_ns)
{
	memset(entries, 0, sizeof(entries));
	for (size_t i = 0; i < n; i++)
		entries[i] = (struct sixlane_operator){
			.mtu = 1300,
			.table = SIXLANE_TABLE_MAIN,
			.expires_ns = apart_ns ? clock_ns + (i + 1) * apart_ns : 0,
		};
	meta.operator_changes++;
	readings = 0;
}

/* Let time pass, and run the daemon whenever it is due. */
static void advance(uint64_t ns)
{
	const uint64_t until_ns = clock_ns + ns;

	for (int i = 0; i < 1000 && operator_due_ns(&sync_) <= until_ns; i++) {
		if (operator_due_ns(&sync_) > clock_ns)
			clock_ns = operator_due_ns(&sync_);
		operator_run(&sync_);
	}
	clock_ns = until_ns;
}

static void test_when_it_is_read(void **state)
{
	struct world *world = *state;

	sync_.fib = world->fib;
	clock_ns = 1000 * SECOND_NS;
	list = (struct operator_list){ .sync = &sync_, .wakeup_fd = -1 };
	set_entries(10, 0);
	for (size_t n = PIECE; n <= 9; n += PIECE) {
		operator_run(&sync_);
		assert_int_equal(n_exceptions(), n);
		assert_int_equal(operator_due_ns(&sync_), 0);
	}
	/* a change behind the cursor needs another reading */
	set_entries(1, 0);
	while (!meta.operator_done)
		operator_run(&sync_);
	assert_int_equal(meta.operator_done, 1);
	assert_int_equal(n_exceptions(), 9);
	advance(9 * SECOND_NS);
	assert_int_equal(meta.operator_done, 2);
	assert_int_equal(n_exceptions(), 1);
	assert_int_equal(readings, 1);
	/* a change that was not counted */
	entries[1] = entries[0];
	advance(2 * SECOND_NS);
	assert_int_equal(n_exceptions(), 2);
	operator_reread(&list);
	advance(0);
	assert_int_equal(readings, 3);
	/* many entries that expire share a reading; a single one has its own */
	set_entries(MAX_ENTRIES, SECOND_NS / 10);
	advance(4 * SECOND_NS);
	assert_int_equal(n_exceptions(), 0);
	assert_in_range(readings, 3, 6);
	set_entries(1, 5 * SECOND_NS);
	advance(5 * SECOND_NS - 1);
	assert_int_equal(readings, 1);
	advance(SECOND_NS);
	assert_int_equal(readings, 2);
	/* what failed is tried once more */
	world->sim->exception_fails = 1;
	set_entries(2, 0);
	strcpy(entries[1].device, "none");
	sync_.schedule.next_refresh_ns = UINT64_MAX;
	advance(0);
	assert_int_equal(n_exceptions(), 0);
	assert_true(meta.operator_done < meta.operator_changes);
	world->sim->exception_fails = 0;
	advance(SECOND_NS);
	assert_int_equal(n_exceptions(), 1);
	assert_int_equal(meta.operator_done, meta.operator_changes);
	/* gateways do not wait for the next refresh */
	assert_true(sync_.schedule.next_refresh_ns == 0);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { TEST(test_when_it_is_read) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
