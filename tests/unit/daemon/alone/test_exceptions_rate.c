// SPDX-License-Identifier: GPL-2.0-only
/*
 * What time questions take, by clocks of this test's own, and how much a run does at once.
 * exceptions.c is built into it, with a kernel in the place of netlink that has no exceptions and
 * takes a while to say so.
 */
#include "../../fib/exception_world.h"

#include "../../../../user/daemon/exceptions.h"
#include "../../unit.h"

#define US 1000ull
#define MS (1000 * US)
#define SECONDS 20

static struct {
	uint64_t now_ns, cpu_ns;
	uint64_t hint_ns, doubt_ns;   /* what a question about them takes */
	uint64_t hints_ns, doubts_ns; /* what all have taken */
} clocks;

static uint64_t fake_now_ns(void)
{
	return clocks.now_ns;
}

static uint64_t fake_cpu_ns(void)
{
	return clocks.cpu_ns;
}

static int fake_request(struct sync *sync, const union sixlane_addr *dst,
			const union sixlane_addr *src, uint32_t oif, nl_msg_fn fn, void *ctx);

static uint32_t fake_table(const struct learnt_world *world, uint32_t table)
{
	(void)world;
	return table;
}

static enum learnt_paths fake_paths(const struct learnt_world *world, uint32_t table,
				    const union sixlane_addr *dst,
				    struct fib_hop hops[LEARNT_MAX_HOPS], size_t *n)
{
	(void)world;
	(void)table;
	(void)dst;
	(void)hops;
	*n = 0;
	return LEARNT_BY_ONE;
}

#define util_now_ns fake_now_ns
#define util_cpu_ns fake_cpu_ns
#define request_destination fake_request
#define learnt_table fake_table
#define learnt_paths(...) fake_paths(__VA_ARGS__)
#include "../../../../user/daemon/exceptions.c"

/* Of hints the source is told, too. */
static int fake_request(struct sync *sync, const union sixlane_addr *dst,
			const union sixlane_addr *src, uint32_t oif, nl_msg_fn fn, void *ctx)
{
	struct answer *answer = ctx;
	const uint64_t cost_ns = src ? clocks.hint_ns : clocks.doubt_ns;

	(void)sync;
	(void)dst;
	(void)oif;
	(void)fn;
	clocks.cpu_ns += cost_ns;
	*(src ? &clocks.hints_ns : &clocks.doubts_ns) += cost_ns;
	answer->heard = true;
	answer->table = SIXLANE_TABLE_MAIN;
	return 0;
}

/* --- a daemon that has no end of work -----------------------------------------------------------
 */

static struct config config;
static struct exceptions exceptions;
static struct sync sync_ = { .config = &config, .exceptions = &exceptions };

static struct sync *start(struct world *world, uint64_t hint_ns, uint64_t doubt_ns)
{
	memset(&clocks, 0, sizeof(clocks));
	clocks.now_ns = 10000 * MS;
	clocks.hint_ns = hint_ns;
	clocks.doubt_ns = doubt_ns;
	exceptions = (struct exceptions){ 0 };
	sync_.fib = world->fib;
	set_routes(world);
	return &sync_;
}

static void hint(struct sync *sync)
{
	const struct sixlane_hint one = { .dst = addr("2001:db8::1"), .src = addr("2001:db8::2") };

	for (int i = 0; i < 1000 && exceptions_hints_again_ns(sync) <= clocks.now_ns; i++)
		exceptions_hint(sync, &one);
}

static void doubt(struct world *world, struct sync *sync)
{
	for (int i = 0; i < 1000 && exceptions.doubts_again_ns <= clocks.now_ns; i++) {
		say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
		fib_doubt_exceptions(world->fib, 0, NULL);
		ask_doubts(sync);
	}
}

/* Returns the CPU time of all questions. */
static uint64_t work(struct world *world, struct sync *sync, bool hints, bool doubts)
{
	for (int ms = 0; ms < SECONDS * 1000; ms++) {
		clocks.now_ns += MS;
		if (hints)
			hint(sync);
		if (doubts)
			doubt(world, sync);
	}
	return clocks.cpu_ns;
}

static void assert_part(uint64_t cpu_ns, uint64_t part)
{
	const uint64_t rate_ns = SECONDS * 1000 * MS / part;

	assert_in_range(cpu_ns, rate_ns * 9 / 10 + 29 * MS, rate_ns + 31 * MS);
}

static void test_rate(void **state)
{
	struct world *world = *state;
	struct sync *sync = start(world, 10 * US, 10 * US);

	assert_part(work(world, sync, true, false), 50);
	sync = start(world, 10 * US, 10 * US);
	assert_part(work(world, sync, false, true), 50);
	sync = start(world, 10 * US, 10 * US);
	exceptions_flooded(sync, true);
	assert_part(work(world, sync, true, true), 200);
}

/* Also if a question about one takes more than there is at once. */
static void test_neither_waits_for_the_other(void **state)
{
	static const uint64_t costs_ns[][2] = { { 10 * US, 10 * US },
						{ 1500 * US, 10 * US },
						{ 10 * US, 1500 * US } };
	struct world *world = *state;
	uint64_t all_ns;

	for (size_t i = 0; i < ARRAY_SIZE(costs_ns); i++) {
		all_ns = work(world, start(world, costs_ns[i][0], costs_ns[i][1]), true, true);
		assert_true(clocks.hints_ns > all_ns / 5);
		assert_true(clocks.doubts_ns > all_ns / 5);
	}
}

/* One that was asked about when time was used up leaves nothing to be done. */
static void test_last_doubt(void **state)
{
	struct world *world = *state;
	struct sync *sync = start(world, 0, 40 * MS);

	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	fib_doubt_exceptions(world->fib, 0, NULL);
	ask_doubts(sync);
	assert_true(exceptions.doubts_again_ns > clocks.now_ns);
	assert_false(exceptions.doubts_left);
	assert_false(exceptions.dump_wanted);
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	fib_doubt_exceptions(world->fib, 0, NULL);
	ask_doubts(sync);
	assert_true(exceptions.doubts_left);
	assert_true(exceptions.dump_wanted);
}

/* Many that end together do not hold up route changes. */
static void test_expiry_in_parts(void **state)
{
	enum { ALL = 1500, AT_ONCE = 1024 };
	struct world *world = *state;
	struct sync *sync = start(world, 0, 0);
	char dst[32];

	config.poll_ms = 1000;
	/* no dump is due */
	exceptions.dumped = true;
	exceptions.dump_end_ns = clocks.now_ns;
	exceptions.mtu_look_ns = UINT64_MAX;
	for (unsigned int i = 1; i <= ALL; i++) {
		snprintf(dst, sizeof(dst), "2001:db8::%x", i);
		assert_int_equal(
			say(world, FIB_OPERATOR, dst, until(pmtu(1300), clocks.now_ns + 1)), 0);
	}
	assert_exceptions(world, ALL);
	clocks.now_ns += MS;
	exceptions_run(sync);
	assert_exceptions(world, ALL - AT_ONCE);
	/* the rest is due at once */
	assert_true(exceptions_due_ns(sync) <= clocks.now_ns);
	exceptions_run(sync);
	assert_exceptions(world, 0);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_rate),
		TEST(test_neither_waits_for_the_other),
		TEST(test_last_doubt),
		TEST(test_expiry_in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
