// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of exceptions while the kernel tells of all of them, piece by piece. The kernel here
 * is one that has an MTU for each of some destinations, and like the real one puts a datagram
 * down when the one before it is read: what a piece begins with is as old as the piece before.
 * exceptions_dump.c is built into this test with that kernel in the place of netlink.
 */
#include <errno.h>

#include "../../fib/exception_world.h"

#include "../../../../user/daemon/exceptions.h"
#include "../../unit.h"

#define N_DESTINATIONS 4
#define NONE N_DESTINATIONS
#define A_ROUTE UINT32_MAX /* in place of an MTU */

static struct {
	uint32_t mtu[N_DESTINATIONS]; /* 0: no exception */
	size_t order[3];	      /* destination of each datagram, NONE: a route */
	const char *behind;	      /* each of them: a route to this prefix */
	size_t at;
	uint32_t put_down; /* the MTU in the next datagram */
	int error;	   /* of reading it */
	bool mute;	   /* cannot be asked */
	enum learnt_paths paths;
	unsigned int asked;
	uint64_t cpu_ns;
} kernel;

static union sixlane_addr destination(size_t i)
{
	union sixlane_addr dst = addr("2001:db8::");

	dst.bytes[15] = (uint8_t)i;
	return dst;
}

static void put_down(size_t at)
{
	kernel.at = at;
	if (at < ARRAY_SIZE(kernel.order))
		kernel.put_down = kernel.order[at] == NONE ? A_ROUTE : kernel.mtu[kernel.order[at]];
}

static int fake_request(struct nl_socket *socket)
{
	(void)socket;
	put_down(0);
	return 0;
}

static int fake_new(int protocol, size_t rcvbuf_bytes, struct nl_socket **out)
{
	static int somewhere;

	(void)protocol;
	(void)rcvbuf_bytes;
	*out = (struct nl_socket *)&somewhere;
	return 0;
}

static void fake_free(struct nl_socket *socket)
{
	(void)socket;
}

static int fake_next(struct nl_socket *socket, nl_msg_fn fn, void *ctx)
{
	uint32_t told = kernel.put_down;
	static const struct nlmsghdr route = { .nlmsg_seq = A_ROUTE };
	static struct nlmsghdr nlh; /* the datagram stays till the next */
	size_t at = kernel.at;

	(void)socket;
	nlh = (struct nlmsghdr){ .nlmsg_seq = told, .nlmsg_pid = (uint32_t)kernel.order[at] };
	if (kernel.error)
		return kernel.error;
	put_down(at + 1);
	if (told)
		assert_int_equal(fn(&nlh, ctx), 0);
	if (kernel.behind)
		assert_int_equal(fn(&route, ctx), 0);
	return at + 1 < ARRAY_SIZE(kernel.order);
}

static int fake_parse(const struct nlmsghdr *nlh, struct route_exception *out)
{
	if (nlh->nlmsg_seq == A_ROUTE)
		return -ENOMSG;
	*out = (struct route_exception){
		.dst = destination(nlh->nlmsg_pid),
		.table = SIXLANE_TABLE_MAIN,
		.mtu = nlh->nlmsg_seq,
	};
	return 0;
}

static int fake_parse_route(const struct nlmsghdr *nlh, struct route *out,
			    struct route_hop hops[ROUTE_MAX_HOPS])
{
	(void)hops;
	*out = (struct route){ .table = SIXLANE_TABLE_MAIN,
			       .dst = pfx(kernel.behind ?: "2001:db9::/32"),
			       .cloned = nlh->nlmsg_seq != A_ROUTE };
	return 0;
}

static enum learnt fake_told(const struct learnt_world *world, const struct route_exception *told,
			     uint64_t told_after_ns, struct fib_exception *out)
{
	(void)world;
	(void)told_after_ns;
	*out = pmtu(told->mtu);
	return LEARNT_ONLY;
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
	return kernel.paths;
}

/* A datagram to a piece. */
static uint64_t fake_cpu_ns(void)
{
	return kernel.cpu_ns += 10000000;
}

static struct learnt_world fake_world(struct sync *sync)
{
	(void)sync;
	return (struct learnt_world){ 0 };
}

static void fake_want(struct sync *sync)
{
	sync->exceptions->dump_wanted = true;
}

static void fake_tell(struct sync *sync, uint32_t table, const union sixlane_addr *dst,
		      const struct fib_exception *exception)
{
	assert_int_equal(fib_set_exception(sync->fib, FIB_KERNEL, table, dst, exception), 0);
}

static bool fake_settle(struct sync *sync, uint32_t table, const union sixlane_addr *dst)
{
	const uint32_t mtu = kernel.mtu[dst->bytes[15]];
	const struct fib_exception said = pmtu(mtu);

	kernel.asked++;
	if (kernel.mute)
		return false;
	sync->exceptions->settled++;
	fake_tell(sync, table, dst, mtu ? &said : NULL);
	return true;
}

#undef fail /* of cmocka */
#define request_exceptions fake_request
#define nl_socket_new fake_new
#define nl_socket_free fake_free
#define nl_socket_dump_next fake_next
#define parse_exception fake_parse
#define parse_route fake_parse_route
#define learnt_told fake_told
#define learnt_paths fake_paths
#define exceptions_cpu_ns fake_cpu_ns
#define exceptions_world fake_world
#define exceptions_want fake_want
#define exceptions_tell fake_tell
#define exceptions_settle fake_settle
#include "../../../../user/daemon/exceptions_dump.c"

/* --- a daemon ----------------------------------------------------------------------------------
 */

static struct config config = { .max_exceptions = 100 };
static struct sixlane_meta meta;
static struct maps maps = { .meta = &meta };
static struct exceptions exceptions;
static struct sync sync_ = { .config = &config, .maps = &maps, .exceptions = &exceptions };

/* Datagrams for 0, 1 and 2, of which the kernel has the first two and 3. */
static struct sync *start(struct world *world)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.order[1] = 1;
	kernel.order[2] = 2;
	kernel.mtu[0] = kernel.mtu[1] = kernel.mtu[3] = 1300;
	exceptions = (struct exceptions){ 0 };
	meta.exception_dumps = 0;
	sync_.fib = world->fib;
	sync_.behind = false;
	set(world, "2001:db8::/32", via("fe80::2", 3));
	return &sync_;
}

static void run(struct sync *sync)
{
	exceptions_dump_run(sync, UINT64_MAX, true);
}

static void run_to_end(struct sync *sync)
{
	uint64_t dumps = meta.exception_dumps;

	for (int i = 0; meta.exception_dumps == dumps; i++) {
		assert_true(i < 10);
		run(sync);
	}
}

/* What is gone, and nothing else. */
static void expire(struct sync *sync)
{
	uint64_t next_ns;

	fib_exceptions_expire(sync->fib, 1, N_DESTINATIONS, &next_ns);
}

static void doubt_all(struct sync *sync)
{
	fib_doubt_exceptions(sync->fib, 0, NULL);
}

/* As ask_doubts() does. */
static void ask_doubts(struct sync *sync)
{
	union sixlane_addr dst;
	uint32_t table;

	while (fib_exception_in_doubt(sync->fib, &table, &dst))
		fake_settle(sync, table, &dst);
}

static void test_all_are_told(void **state)
{
	struct world *world = *state;
	struct sync *sync = start(world);

	run_to_end(sync);
	assert_exceptions(world, 2);
	assert_mtu(world, "2001:db8::", 1300);
	assert_mtu(world, "2001:db8::1", 1300);
	assert_int_equal(kernel.asked, 0);
	assert_null(exceptions.dump.socket);
	assert_true(exceptions.dumped);
}

/* The route is replaced when its exceptions stand in a datagram, and there is no time to ask. */
static void test_doubt_is_younger(void **state)
{
	struct world *world = *state;
	struct sync *sync = start(world);

	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	run(sync);
	run(sync);
	kernel.mtu[1] = 0;
	doubt_all(sync);
	run(sync);
	assert_effect(world, "2001:db8::1", SIM_NO_EFFECT);
	/* What is put down afterwards is as good as an answer. */
	kernel.asked = 0;
	kernel.mtu[2] = 1400;
	put_down(2);
	run(sync);
	assert_mtu(world, "2001:db8::2", 1400);
	assert_int_equal(kernel.asked, 0);
}

/* … and who is asked does not know. */
static void test_doubt_that_nobody_settles(void **state)
{
	struct world *world = *state;
	struct sync *sync = start(world);

	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	run(sync);
	run(sync);
	kernel.mute = true;
	doubt_all(sync);
	run_to_end(sync);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	run_to_end(sync);
	assert_mtu(world, "2001:db8::1", 1300);
}

/* An answer to a hint has done away with what a datagram brings back. */
static void test_answer_is_younger(void **state)
{
	struct world *world = *state;
	struct sync *sync = start(world);
	union sixlane_addr dst;

	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	run(sync);
	run(sync);
	kernel.mtu[1] = 0;
	dst = destination(1);
	assert_true(fake_settle(sync, SIXLANE_TABLE_MAIN, &dst));
	run_to_end(sync);
	assert_effect(world, "2001:db8::1", SIM_NO_EFFECT);
}

/* As after others that were told before it have gone. */
static void test_left_out(void **state)
{
	struct world *world = *state;
	struct sync *sync = start(world);

	say(world, FIB_KERNEL, "2001:db8::2", pmtu(1300));
	say(world, FIB_KERNEL, "2001:db8::3", pmtu(1300));
	run_to_end(sync);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	assert_effect(world, "2001:db8::3", SIM_PUNTED);
	ask_doubts(sync);
	assert_effect(world, "2001:db8::2", SIM_NO_EFFECT);
	assert_mtu(world, "2001:db8::3", 1300);
	/* Only about one of whom nobody answers the second dump decides, if it is whole. */
	kernel.mute = true;
	for (int i = 0; i < 3; i++) {
		run(sync);
		sync->withdrawals += i < 2;
		run_to_end(sync);
		expire(sync);
		assert_effect(world, "2001:db8::3", i < 2 ? SIM_PUNTED : SIM_NO_EFFECT);
		ask_doubts(sync);
	}
}

/* … of those that found no room, whom nobody knows to ask about: it takes two. */
static void test_left_out_for_want_of_room(void **state)
{
	struct world *world = *state;
	struct sync *sync = start(world);

	kernel.order[0] = kernel.order[1];
	fib_set_max_exceptions(world->fib, 1);
	run_to_end(sync);
	assert_mtu(world, "2001:db8::1", 1300);
	assert_int_equal(say(world, FIB_KERNEL, "2001:db8::3", pmtu(1300)), -ENOSPC);
	run_to_end(sync);
	assert_effect(world, "2001:db8::3", SIM_PUNTED);
	/* Those that are not whole do not count. */
	for (int i = 0; i < 2; i++) {
		run(sync);
		sync->withdrawals++;
		run_to_end(sync);
		assert_effect(world, "2001:db8::3", SIM_PUNTED);
		run_to_end(sync);
		assert_effect(world, "2001:db8::3", i ? SIM_NO_EFFECT : SIM_PUNTED);
	}
}

/* … and both must have begun since. */
static void test_left_out_before_it_was_missing(void **state)
{
	struct world *world = *state;
	struct sync *sync = start(world);

	kernel.order[0] = kernel.order[1];
	fib_set_max_exceptions(world->fib, 1);
	for (int n_before = 3; n_before <= 4; n_before++) {
		for (int i = 0; i < n_before; i++)
			run_to_end(sync);
		assert_int_equal(say(world, FIB_KERNEL, "2001:db8::3", pmtu(1300)), -ENOSPC);
		run_to_end(sync);
		assert_effect(world, "2001:db8::3", SIM_PUNTED);
		run_to_end(sync);
		assert_effect(world, "2001:db8::3", SIM_NO_EFFECT);
	}
}

/* Which none can be where no datagram ends in the middle of exceptions, but what is younger. */
static void test_nothing_left_out(void **state)
{
	struct world *world = *state;
	struct sync *sync = start(world);

	kernel.behind = "2001:db9::/32";
	say(world, FIB_KERNEL, "2001:db8::2", pmtu(1300));
	run_to_end(sync);
	assert_exceptions(world, 3);
	expire(sync);
	assert_exceptions(world, 2);
	say(world, FIB_KERNEL, "2001:db8::2", pmtu(1300));
	run(sync);
	doubt_all(sync);
	run_to_end(sync);
	expire(sync);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	kernel.asked = 0;
	run_to_end(sync);
	expire(sync);
	assert_exceptions(world, 2);
	assert_int_equal(kernel.asked, 0);
	say(world, FIB_KERNEL, "2001:db8::2", pmtu(1300));
	run(sync);
	sync->withdrawals++;
	run_to_end(sync);
	expire(sync);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	/* Behind a route there may be some of it that have expired. */
	ask_doubts(sync);
	assert_exceptions(world, 2);
	kernel.behind = "2001:db8::/32";
	say(world, FIB_KERNEL, "2001:db8::2", pmtu(1300));
	run_to_end(sync);
	expire(sync);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
}

/* By source a first dump does not know either. */
static void test_by_source(void **state)
{
	struct world *world = *state;
	struct sync *sync = start(world);

	kernel.behind = "2001:db9::/32";
	kernel.mute = true;
	kernel.paths = LEARNT_BY_SOURCE;
	say(world, FIB_KERNEL, "2001:db8::2", pmtu(1300));
	for (int i = 0; i < 2; i++) {
		run_to_end(sync);
		expire(sync);
		ask_doubts(sync);
		assert_effect(world, "2001:db8::2", i ? SIM_NO_EFFECT : SIM_PUNTED);
	}
}

/* Withdrawals may be among the notifications that are still to be read. */
static void test_behind(void **state)
{
	struct world *world = *state;
	struct sync *sync = start(world);

	kernel.mute = true;
	say(world, FIB_KERNEL, "2001:db8::3", pmtu(1300));
	doubt_all(sync);
	ask_doubts(sync);
	sync->behind = true;
	for (int i = 0; i < 10; i++)
		run(sync);
	assert_int_equal(meta.exception_dumps, 0);
	sync->withdrawals++;
	sync->behind = false;
	run(sync);
	assert_int_equal(meta.exception_dumps, 1);
	assert_effect(world, "2001:db8::3", SIM_PUNTED);
}

/* One in which routes are withdrawn is none, nor is the first one that is split. */
static void test_wanted_until_complete(void **state)
{
	struct world *world = *state;
	struct sync *sync = start(world);

	exceptions.dump_wanted = true;
	run(sync);
	assert_false(exceptions.dump_wanted);
	sync->withdrawals++;
	for (int i = 0; i < 3; i++) {
		run_to_end(sync);
		assert_int_equal(exceptions.dump_wanted, i < 2);
	}
}

/* What is known stays as it is, and is told another time. */
static void test_failure(void **state)
{
	static const int errors[] = { -ENOBUFS, -EBADMSG, -EINTR };
	struct world *world = *state;
	struct sync *sync = start(world);

	say(world, FIB_KERNEL, "2001:db8::2", pmtu(1300));
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		bool interrupted = errors[i] == -EINTR;

		run(sync);
		run(sync);
		kernel.error = errors[i];
		run(sync);
		assert_int_equal(exceptions.dump_wanted, !interrupted);
		assert_true(!exceptions.dump.socket == !interrupted);
		assert_mtu(world, "2001:db8::2", 1300);
		kernel.error = 0;
	}
	run(sync);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_all_are_told),
		TEST(test_doubt_is_younger),
		TEST(test_doubt_that_nobody_settles),
		TEST(test_answer_is_younger),
		TEST(test_left_out),
		TEST(test_left_out_for_want_of_room),
		TEST(test_left_out_before_it_was_missing),
		TEST(test_nothing_left_out),
		TEST(test_by_source),
		TEST(test_behind),
		TEST(test_wanted_until_complete),
		TEST(test_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
