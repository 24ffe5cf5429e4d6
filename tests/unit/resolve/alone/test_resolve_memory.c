// SPDX-License-Identifier: GPL-2.0-only
/*
 * A resolver without memory says so, and knows the right answer once there is some; that it could
 * not note where sources count makes it look further, not less far. The files that allocate are
 * built into this test with allocators that fail on request.
 */
#include "../resolve_world.h"
#include <linux/rtnetlink.h>

#include "../../rib/failing_alloc.h"

#include "../../../../user/resolve/resolve.c"
#include "../../../../user/resolve/select.c"

static struct world *world_with_memory(void)
{
	allocations_left = 1;
	return world_new(true);
}

static void test_new(void **state)
{
	const struct resolve_view view = { 0 };

	allocations_left = 0;
	assert_null(resolve_new(&view));
	resolve_free(NULL);
}

/* Fails at every allocation in turn; returns how many it takes. */
static unsigned int allocations(struct world *world, const char *dst, const char *expected)
{
	const struct prefix prefix = world_prefix(dst);
	const struct fib_target *target;
	char text[WORLD_TEXT];
	unsigned int n = 0;
	int ret;

	do {
		resolve_free(world->resolve);
		allocations_left = 1;
		world->resolve = resolve_new(&world->view);
		allocations_left = (int)n++;
		ret = resolve_prefix(world->resolve, 254, &prefix, &target);
		assert_int_equal(ret, target ? 0 : -ENOMEM);
	} while (ret);
	allocations_left = 0; /* there is enough already */
	world_describe(world, 254, dst, text);
	assert_string_equal(text, expected);
	return n - 1;
}

static void test_prefix(void **state)
{
	struct world *world = world_with_memory();

	world_add(world, "::/0 via 3 via 4");
	world_add(world, "2001:db8::/32 from 3000::/16 dev 4");
	world_add(world, "local 2001:db8:1::/48 table 255 dev 4");
	/* items, hops; of sources nodes and sources as well */
	assert_int_equal(allocations(world, "::/0", "hashed via 3*1 via 4*1"), 2);
	assert_int_equal(allocations(world, "2001:db8:1::/48", "pass_local"), 2);
	assert_int_equal(allocations(world, "2001:db8::/32",
				     "sources ::/0 hashed via 3*1 via 4*1 @0; "
				     "3000::/16 one dev 4 @32;"),
			 4);
	world_free(world);
}

static void count(void *ctx, uint32_t table, const struct prefix *dst, int error,
		  const struct fib_target *target)
{
	++*(unsigned int *)ctx;
}

static unsigned int visited(struct world *world, uint32_t table, const char *dst)
{
	const struct prefix prefix = world_prefix(dst);
	unsigned int n = 0;

	resolve_affected(world->resolve, table, &prefix, count, &n);
	return n;
}

static void test_affected(void **state)
{
	struct world *world = world_with_memory();
	unsigned int n = 0;

	world_add(world, "2001:db8::/32 dev 7");
	world_add(world, "2001:db8::/32 dev 7 table 100");
	world_add(world, "::/0 from 3000::/16 dev 3");
	allocations_left = 0;
	assert_int_equal(visited(world, 254, "::/0"), 2);
	assert_int_equal(visited(world, 100, "::/0"), 2);
	world_del(world, "::/0 from 3000::/16 dev 3");
	assert_int_equal(visited(world, 254, "::/0"), 2);
	resolve_each(world->resolve, count, &n);
	assert_int_equal(n, 2);
	assert_int_equal(visited(world, 254, "::/0"), 1);
	assert_int_equal(visited(world, 100, "::/0"), 1);
	world_free(world);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_affected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
