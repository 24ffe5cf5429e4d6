// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes by one next hop of next-hop objects that differ in their MTU: the kernel has one cached
 * route for all of them, so they are left to it. Others go on.
 */
#include "../../user/fib/fib_internal.h"
#include "fib_world.h"

#define BY_A "2001:db8:a::1"
#define BY_B "2001:db8:b::1"
#define BY_C "2001:db8:c::1"

static struct fib_target by_object_of_mtu(uint32_t id, uint32_t mtu)
{
	struct fib_target target = by_object(id);

	target.mtu = mtu;
	return target;
}

static void assert_punted(const struct world *world, const char *dst)
{
	assert_verdict(world, dst, SIXLANE_PUNT_NEXT_HOP_OBJECT);
}

static void test_one_object(void **state)
{
	const struct fib_hop hop = hop_via("fe80::1", 3, 1);
	const struct fib_object one_hop = object(&hop, 1);
	const struct fib_target plain = by_object(7), small = by_object_of_mtu(7, 1300);
	struct world *world = *state;

	fib_set_object(world->fib, 7, &one_hop);
	set(world, "2001:db8:a::/48", plain);
	assert_object(world, BY_A, plain, &one_hop);
	set(world, "2001:db8:b::/48", small);
	assert_punted(world, BY_A);
	assert_punted(world, BY_B);
	/* Any two that differ, whatever they are, until all are the same. */
	set(world, "2001:db8:c::/48", by_object_of_mtu(7, 1400));
	unset(world, "2001:db8:a::/48");
	assert_punted(world, BY_B);
	assert_punted(world, BY_C);
	set(world, "2001:db8:c::/48", small);
	assert_object(world, BY_B, small, &one_hop);
	assert_object(world, BY_C, small, &one_hop);
}

static void test_a_member_of_groups(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 3),
					hop_via("fe80::3", 4, 1) };
	const struct fib_object group = object(hops, 2), member = object(&hops[1], 1),
				other = object(&hops[2], 1);
	const struct fib_target plain = by_object(9), small = by_object_of_mtu(8, 1300);
	struct world *world = *state;

	fib_set_object(world->fib, 7, &group);
	fib_set_object(world->fib, 8, &member);
	fib_set_object(world->fib, 9, &other);
	set(world, "2001:db8:a::/48", by_object(7));
	set(world, "2001:db8:c::/48", plain);
	set(world, "2001:db8:b::/48", small);
	assert_punted(world, BY_A);
	assert_punted(world, BY_B);
	assert_object(world, BY_C, plain, &other);
	/* What an object means decides whom it shares a hop with. */
	fib_set_object(world->fib, 8, &other);
	assert_object(world, BY_A, by_object(7), &group);
	assert_punted(world, BY_B);
	assert_punted(world, BY_C);
	fib_set_object(world->fib, 9, NULL);
	assert_object(world, BY_B, small, &other);
	fib_set_object(world->fib, 9, &other);
	assert_punted(world, BY_B);
	unset(world, "2001:db8:b::/48");
	assert_object(world, BY_C, plain, &other);
}

static void test_buckets_of_a_shared_hop(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) },
			     others[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::3", 4, 1) };
	const uint16_t buckets[] = { 0, 1, 0, 1 };
	struct fib_object group = object(hops, 2), next = object(others, 2);
	const struct fib_object member = object(&hops[1], 1);
	struct world *world = *state;

	group.buckets = next.buckets = buckets;
	group.n_buckets = next.n_buckets = 4;
	fib_set_object(world->fib, 7, &group);
	fib_set_object(world->fib, 8, &member);
	set(world, "2001:db8:a::/48", by_object(7));
	set(world, "2001:db8:b::/48", by_object_of_mtu(8, 1300));
	assert_punted(world, BY_A);
	/* Cell by cell, as long as the group stands. */
	fib_set_object(world->fib, 7, &next);
	assert_object(world, BY_A, by_object(7), &next);
	fib_set_object(world->fib, 7, &group);
	assert_punted(world, BY_A);
}

/* The kernel has the other route, whether it is in the maps or not. */
static void test_without_room(void **state)
{
	const struct fib_hop hop = hop_via("fe80::1", 3, 1);
	const struct fib_object one_hop = object(&hop, 1);
	struct world *world = *state;

	fib_set_object(world->fib, 7, &one_hop);
	set(world, "2001:db8:a::/48", by_object(7));
	world->fib->next_hop_pool.limit = world->fib->next_hop_pool.fresh;
	set(world, "2001:db8:b::/48", by_object_of_mtu(7, 1300));
	assert_verdict(world, BY_B, SIXLANE_PUNT_MAP_FULL);
	assert_punted(world, BY_A);
	unset(world, "2001:db8:b::/48");
	assert_object(world, BY_A, by_object(7), &one_hop);
	world->fib->next_hop_pool.limit = SIXLANE_MAX_NEXT_HOPS;
}

/* Nothing of it has an MTU. */
static void test_what_discards(void **state)
{
	const struct fib_hop drop = { .weight = 1 };
	const struct fib_object discard = object(&drop, 1);
	struct world *world = *state;

	fib_set_object(world->fib, 7, &discard);
	set(world, "2001:db8:a::/48", by_object(7));
	set(world, "2001:db8:b::/48", by_object_of_mtu(7, 1300));
	assert_verdict(world, BY_A, SIXLANE_DROP_BLACKHOLE);
	assert_verdict(world, BY_B, SIXLANE_DROP_BLACKHOLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_object),
		TEST(test_a_member_of_groups),
		TEST(test_buckets_of_a_shared_hop),
		TEST(test_without_room),
		TEST(test_what_discards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
