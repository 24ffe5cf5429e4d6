// SPDX-License-Identifier: GPL-2.0-only
/*
 * Without memory for a prefix, it cannot even be remembered that it is missing: whatever covers it
 * is punted until the next synchronisation. fib/entry.c and port.c are built into this test with
 * allocations that fail on demand.
 */
#include <errno.h>

#include "../../../../user/fib/desired.h"
#include "../fib_script.h"

static bool no_memory;

static void *failing_hash_add(struct fib_hash *hash, const void *key, size_t bytes)
{
	return no_memory ? NULL : fib_hash_add(hash, key, bytes);
}

static void *failing_radix_add(struct radix *radix, const struct prefix *prefix, size_t bytes)
{
	return no_memory ? NULL : radix_add(radix, prefix, bytes);
}

#define fib_hash_add failing_hash_add
#define radix_add failing_radix_add
#include "../../../../user/fib/entry.c"
#include "../../../../user/fib/port.c"
#undef radix_add
#undef fib_hash_add

static void set_without_memory(struct world *world, uint32_t table, const char *dst)
{
	const struct fib_target target = { .verdict = SIXLANE_DROP_BLACKHOLE };
	const struct prefix prefix = pfx(dst);

	no_memory = true;
	assert_int_equal(fib_set(world->fib, table, &prefix, &target), -ENOMEM);
	no_memory = false;
}

#define SET_COVERS "set 2001:db8::/32 local;set ::/0 prohibit;"

static void test_no_memory(void **state)
{
	struct world *world = *state;

	fib_script_run(world, "sync;end;" SET_COVERS "set 2001:db9::/32 local");
	set_without_memory(world, SIXLANE_TABLE_MAIN, "2001:db8:1::/48");
	fib_script_run(world, "is 2001:db8:1::1 full;is ::1 full;is 2001:db9::1 local;retry 0;"
			      "set 2001:db8::/40 local;is 2001:db8:1::1 full;sync");
	/* A synchronisation that lacks memory as well does not know more. */
	set_without_memory(world, SIXLANE_TABLE_MAIN, "2001:db8:1::/48");
	fib_script_run(world, SET_COVERS
		       "end;is 2001:db8:1::1 full;sync;"
		       "set 2001:db8:1::/48 blackhole;" SET_COVERS "end;"
		       "is 2001:db8:1::1 blackhole;is 2001:db8::1 local;is ::1 prohibit");
	/* If there is no entry to punt, the flag keeps packets from the next table. */
	set_without_memory(world, 1000, "2001:db8::/32");
	fib_script_run(world, "count gaps 1;retry 0;count gaps 1;sync;end;count gaps 0");
}

/* A port gets its tag when there is memory for it. */
static void test_no_memory_for_a_tag(void **state)
{
	struct world *world = *state;

	fib_script_run(world, "port 10 1;retry 0");
	no_memory = true;
	fib_script_run(world, "vlan 10 3 5;tag 3 5 0");
	no_memory = false;
	fib_script_run(world, "retry 0;tag 3 5 10");
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { TEST(test_no_memory), TEST(test_no_memory_for_a_tag) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
