// SPDX-License-Identifier: GPL-2.0-only
/*
 * Next-hop objects: what an id means after each message, and who is told. The store is built into
 * this test with allocations that fail when told.
 */
#include "../nexthops_store.h"
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

/* Allocations that still succeed; negative: all do. */
static int allocations_left = -1;

static void *calloc_unless_told(size_t n, size_t size)
{
	if (allocations_left > 0)
		allocations_left--;
	return allocations_left == 0 ? NULL : calloc(n, size);
}

#define calloc calloc_unless_told
#include "../../../../user/rib/nexthop_object.c"
#include "../../../../user/rib/nexthops.c"
#include "../../../../user/rib/nexthops_table.c"
#undef calloc

#define GROUP(store, id, ...) store_set_group(store, id, 0, (const uint32_t[]){ __VA_ARGS__, 0 })
#define RESILIENT(store, id, n, ...) \
	store_set_group(store, id, n, (const uint32_t[]){ __VA_ARGS__, 0 })

/* --- message by message ----------------------------------------------------------------------- */

static void test_single(void **state)
{
	struct store store;

	store_open(&store);
	assert_means(&store, 1, "none");
	assert_int_equal(store_set_one(&store, 1, 3), 0);
	assert_told(&store, "1");
	assert_means(&store, 1, "via 3");
	store_set_one(&store, 1, 3);
	assert_told(&store, "");
	store_set_one(&store, 1, 4);
	assert_told(&store, "1");
	assert_means(&store, 1, "via 4");
	store_set_kind(&store, 1, NEXT_HOP_BLACKHOLE);
	assert_told(&store, "1");
	assert_means(&store, 1, "blackhole");
	store_set_kind(&store, 1, NEXT_HOP_OTHER);
	assert_told(&store, "1");
	assert_means(&store, 1, "other");
	/* one bucket of the hash with the other */
	store_set_one(&store, 1 + 4096, 7);
	assert_told(&store, "4097");
	assert_int_equal(nexthops_count(store.nexthops), 2);
	nexthops_delete(store.nexthops, 1);
	nexthops_delete(store.nexthops, 1);
	assert_told(&store, "1");
	assert_means(&store, 1, "none");
	assert_means(&store, 4097, "via 7");
	assert_int_equal(nexthops_count(store.nexthops), 1);
	store_close(&store);
	nexthops_free(NULL);
}

/* A gateway alone may change; even to an address that looks like none. */
static void test_gateway(void **state)
{
	struct next_hop next_hop = { .id = 1, .kind = NEXT_HOP_ONE, .hop.ifindex = 2 };
	struct nexthop_view view;
	struct nexthops *nexthops;
	struct store store;

	store_open(&store);
	nexthops_set(store.nexthops, &next_hop);
	assert_true(nexthops_view(store.nexthops, 1, &view));
	assert_false(view.hops[0].has_gateway);
	next_hop.hop.has_gateway = true;
	nexthops_set(store.nexthops, &next_hop);
	assert_told(&store, "1 1");
	next_hop.hop.gateway.bytes[15] = 9;
	nexthops_set(store.nexthops, &next_hop);
	assert_told(&store, "1");
	assert_true(nexthops_view(store.nexthops, 1, &view));
	assert_int_equal(view.hops[0].gateway.bytes[15], 9);
	assert_int_equal(view.weights[0], 1);
	/* no kernel has one without a device; told all the same */
	nexthops_set(store.nexthops, &(struct next_hop){ .id = 2, .kind = NEXT_HOP_ONE });
	assert_told(&store, "2");
	store_close(&store);
	/* nobody need listen */
	nexthops = nexthops_new(NULL, NULL);
	nexthops_set(nexthops, &next_hop);
	nexthops_delete(nexthops, 1);
	nexthops_free(nexthops);
}

static void test_group(void **state)
{
	struct store store;

	store_open(&store);
	store_set_one(&store, 1, 3);
	store_set_one(&store, 2, 4);
	GROUP(&store, 10, 1, 1, 2, 65536);
	assert_told(&store, "1 2 10");
	assert_means(&store, 10, "group 3*1 4*65536");
	GROUP(&store, 10, 1, 1, 2, 65536);
	assert_told(&store, "");
	GROUP(&store, 10, 2, 65536, 1, 1); /* their order is what flows are spread by */
	assert_told(&store, "10");
	assert_means(&store, 10, "group 4*65536 3*1");
	GROUP(&store, 10, 2, 7, 1, 1);
	assert_told(&store, "10");
	GROUP(&store, 11, 1, 1);
	assert_told(&store, "11");
	/* a member's change is told of its groups, too, which have no message of their own */
	store_set_one(&store, 1, 5);
	assert_told(&store, "1 11 10");
	assert_means(&store, 10, "group 4*7 5*1");
	assert_means(&store, 11, "group 5*1");
	/* whichever group is changed, all stay in the list */
	GROUP(&store, 11, 1, 2);
	GROUP(&store, 11, 1, 1);
	assert_told(&store, "11 11");
	store_set_one(&store, 1, 5);
	store_set_one(&store, 1, 6);
	assert_told(&store, "1 11 10");
	/* a group of one may be a blackhole */
	GROUP(&store, 10, 2, 7);
	assert_told(&store, "10");
	store_set_kind(&store, 1, NEXT_HOP_BLACKHOLE);
	assert_told(&store, "1 11");
	assert_means(&store, 11, "group 0*1");
	store_set_kind(&store, 1, NEXT_HOP_OTHER);
	assert_told(&store, "1 11");
	assert_means(&store, 11, "other");
	store_close(&store);
}

static void test_delete_leaves_groups(void **state)
{
	struct store store;

	store_open(&store);
	store_set_one(&store, 1, 3);
	store_set_one(&store, 2, 4);
	GROUP(&store, 10, 1, 1, 2, 1);
	GROUP(&store, 11, 1, 1);
	GROUP(&store, 12, 2, 1);
	store.told[0] = '\0';
	nexthops_delete(store.nexthops, 1);
	assert_told(&store, "11 10 1");
	assert_means(&store, 10, "group 4*1");
	assert_means(&store, 11, "none");
	assert_means(&store, 12, "group 4*1");
	assert_int_equal(nexthops_count(store.nexthops), 3);
	/* one of the same id is another object */
	store_set_one(&store, 1, 9);
	assert_told(&store, "1");
	assert_means(&store, 10, "group 4*1");
	/* a group that goes leaves its members alone */
	nexthops_delete(store.nexthops, 12);
	assert_told(&store, "12");
	nexthops_delete(store.nexthops, 2);
	assert_told(&store, "10 2");
	assert_means(&store, 10, "none");
	assert_int_equal(nexthops_count(store.nexthops), 1);
	store_close(&store);
}

/* An object that a group names has gone without a word if a new one of its id appears. */
static void test_new_member_of_old_group(void **state)
{
	struct store store;

	store_open(&store);
	nexthops_mark(store.nexthops);
	store_set_one(&store, 2, 4);
	nexthops_sweep(store.nexthops);
	GROUP(&store, 10, 1, 1, 2, 1); /* replayed; 1 went while the objects were read */
	GROUP(&store, 11, 1, 1);
	assert_means(&store, 10, "other");
	store.told[0] = '\0';
	store_set_one(&store, 1, 9);
	assert_told(&store, "11 10 1");
	assert_means(&store, 10, "group 4*1");
	assert_means(&store, 11, "none");
	store_close(&store);
}

static void test_kinds_change(void **state)
{
	struct store store;

	store_open(&store);
	store_set_one(&store, 1, 3);
	GROUP(&store, 10, 1, 1);
	/* no kernel does these, but a message may have been missed */
	store_set_one(&store, 10, 6);
	assert_means(&store, 10, "via 6");
	RESILIENT(&store, 10, 2, 1, 1);
	assert_means(&store, 10, "res 3*1 [- -]");
	assert_true(nexthops_any_resilient(store.nexthops));
	GROUP(&store, 10, 1, 1);
	assert_means(&store, 10, "group 3*1");
	assert_false(nexthops_any_resilient(store.nexthops));
	GROUP(&store, 11, 10, 1, 1, 1);
	assert_means(&store, 11, "other");
	GROUP(&store, 11, 11, 1);
	assert_means(&store, 11, "other");
	RESILIENT(&store, 11, UINT16_MAX + 1u, 1, 1);
	assert_means(&store, 11, "other");
	nexthops_set(store.nexthops,
		     &(struct next_hop){ .id = 12,
					 .kind = NEXT_HOP_RESILIENT,
					 .n_members = 1,
					 .members = &(struct next_hop_member){ 1, 1 } });
	assert_means(&store, 12, "other");
	store_set_kind(&store, 11, NEXT_HOP_GROUP); /* without members */
	assert_means(&store, 11, "other");
	store_set_kind(&store, 10, NEXT_HOP_RESILIENT);
	assert_means(&store, 10, "other");
	nexthops_delete(store.nexthops, 10);
	nexthops_delete(store.nexthops, 11);
	store_set_one(&store, 1, 4);
	assert_int_equal(nexthops_count(store.nexthops), 2);
	store_close(&store);
}

static void test_buckets(void **state)
{
	struct store store;

	store_open(&store);
	for (uint32_t id = 1; id <= 3; id++)
		store_set_one(&store, id, id);
	RESILIENT(&store, 10, 4, 1, 1, 2, 1);
	assert_means(&store, 10, "res 1*1 2*1 [- - - -]");
	store.told[0] = '\0';
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(store_set_bucket(&store, 10, i, 1 + i % 2), 0);
	assert_told(&store, "10 10 10 10");
	assert_means(&store, 10, "res 1*1 2*1 [0 1 0 1]");
	assert_int_equal(store_set_bucket(&store, 10, 3, 2), 0);
	assert_told(&store, "");
	assert_int_equal(store_set_bucket(&store, 10, 4, 1), -ENOENT);
	assert_int_equal(store_set_bucket(&store, 9, 0, 1), -ENOENT);
	assert_int_equal(store_set_bucket(&store, 1, 0, 1), -ENOENT);
	assert_told(&store, "");
	/* of a member that has not been told: what is known of this bucket is wrong */
	assert_int_equal(store_set_bucket(&store, 10, 0, 3), -ENOENT);
	assert_told(&store, "10");
	assert_means(&store, 10, "res 1*1 2*1 [- 1 0 1]");
	/* those of members that stay stay */
	RESILIENT(&store, 10, 4, 3, 1, 2, 1);
	assert_told(&store, "10");
	assert_means(&store, 10, "res 3*1 2*1 [- 1 - 1]");
	/* … and no others, though their member comes back */
	RESILIENT(&store, 10, 4, 3, 1, 2, 1, 1, 1);
	assert_means(&store, 10, "res 3*1 2*1 1*1 [- 1 - 1]");
	RESILIENT(&store, 10, 4, 3, 1, 2, 1);
	assert_int_equal(store_set_bucket(&store, 10, 0, 3), 0);
	nexthops_delete(store.nexthops, 2);
	assert_means(&store, 10, "res 3*1 [0 - - -]");
	store_set_one(&store, 2, 2);
	RESILIENT(&store, 10, 4, 3, 1, 2, 1);
	assert_means(&store, 10, "res 3*1 2*1 [0 - - -]");
	RESILIENT(&store, 10, 2, 3, 1);
	assert_means(&store, 10, "res 3*1 [- -]");
	RESILIENT(&store, 10, 3, 3, 1);
	assert_means(&store, 10, "res 3*1 [- - -]");
	store_close(&store);
}

static void test_devices(void **state)
{
	struct store store;

	store_open(&store);
	store_set_one(&store, 1, 3);
	store_set_kind(&store, 2,
		       NEXT_HOP_BLACKHOLE); /* stands on lo, and stays when a device goes */
	GROUP(&store, 10, 1, 1);
	assert_true(nexthops_use_device(store.nexthops, 3));
	assert_false(nexthops_use_device(store.nexthops, 1));
	assert_false(nexthops_use_device(store.nexthops, STORE_NO_DEVICE));
	assert_false(nexthops_use_device(store.nexthops, 0));
	store_set_kind(&store, 3, NEXT_HOP_OTHER);
	assert_true(nexthops_use_device(store.nexthops, 1));
	nexthops_set(store.nexthops,
		     &(struct next_hop){ .id = 3, .kind = NEXT_HOP_OTHER, .hop.ifindex = 8 });
	assert_true(nexthops_use_device(store.nexthops, 8));
	assert_false(nexthops_use_device(store.nexthops, 1));
	store_close(&store);
}

/* --- dumps
 * ---------------------------------------------------------------------------------------- */

static void test_dump(void **state)
{
	struct store store;

	store_open(&store);
	/* groups may have lower ids than their members */
	nexthops_mark(store.nexthops);
	RESILIENT(&store, 1, 2, 5, 1, 6, 1);
	assert_means(&store, 1, "other");
	store_set_one(&store, 5, 3);
	store_set_one(&store, 6, 4);
	assert_told(&store, "1 5 1 6 1");
	assert_means(&store, 1, "res 3*1 4*1 [- -]");
	store_set_bucket(&store, 1, 0, 5);
	store_set_bucket(&store, 1, 1, 6);
	assert_told(&store, "");
	assert_int_equal(nexthops_sweep(store.nexthops), 0);
	assert_told(&store, "1");
	assert_means(&store, 1, "res 3*1 4*1 [0 1]");
	/* the same again */
	nexthops_mark(store.nexthops);
	RESILIENT(&store, 1, 2, 5, 1, 6, 1);
	store_set_one(&store, 5, 3);
	store_set_one(&store, 6, 4);
	store_set_bucket(&store, 1, 0, 5);
	store_set_bucket(&store, 1, 1, 6);
	assert_int_equal(nexthops_sweep(store.nexthops), 0);
	assert_told(&store, "");
	/* device 4 went down */
	nexthops_mark(store.nexthops);
	RESILIENT(&store, 1, 2, 5, 1);
	store_set_one(&store, 5, 3);
	assert_told(&store, "1");
	assert_int_equal(nexthops_sweep(store.nexthops), 1);
	assert_told(&store, "6");
	assert_means(&store, 1, "res 3*1 [0 -]");
	/* and all else: a group that nothing has confirmed goes once, not twice */
	nexthops_mark(store.nexthops);
	assert_int_equal(nexthops_sweep(store.nexthops), 2);
	assert_int_equal(nexthops_count(store.nexthops), 0);
	store_close(&store);
}

/* An id that was given to another object since the last dump, and is not in its old groups. */
static void test_dump_new_member_of_old_group(void **state)
{
	struct store store;

	store_open(&store);
	store_set_one(&store, 2, 4);
	GROUP(&store, 10, 5, 1, 2, 1); /* 5 is not known */
	nexthops_mark(store.nexthops);
	store_set_one(&store, 2, 4);
	store_set_one(&store, 5, 9);
	assert_means(&store, 10, "group 4*1");
	GROUP(&store, 10, 2, 1);
	nexthops_sweep(store.nexthops);
	assert_means(&store, 10, "group 4*1");
	/* a dump that broke off is no reason to drop what it did not tell; a group in it is of it
	 */
	nexthops_mark(store.nexthops);
	GROUP(&store, 11, 7, 1);
	nexthops_mark(store.nexthops);
	store_set_one(&store, 7, 1);
	assert_means(&store, 11, "none");
	assert_means(&store, 10, "group 4*1");
	store_close(&store);
}

/* A member that a stale group still names, while the group itself is confirmed. */
static void test_sweep_empties_groups(void **state)
{
	struct store store;

	store_open(&store);
	store_set_one(&store, 1, 3);
	store_set_one(&store, 2, 4);
	GROUP(&store, 10, 1, 1);
	GROUP(&store, 11, 1, 1, 2, 1);
	nexthops_mark(store.nexthops);
	GROUP(&store, 10, 1, 1); /* told before device 3 went down, the members after it */
	GROUP(&store, 11, 1, 1, 2, 1);
	store_set_one(&store, 2, 4);
	store.told[0] = '\0';
	assert_int_equal(nexthops_sweep(store.nexthops), 2);
	assert_told(&store, "11 10 1");
	assert_means(&store, 10, "none");
	assert_means(&store, 11, "group 4*1");
	store_close(&store);
}

static void count_id(void *ctx, uint32_t id)
{
	*(uint64_t *)ctx += id;
}

static void test_each(void **state)
{
	struct store store;
	uint64_t sum = 0;

	store_open(&store);
	for (uint32_t id = 1; id <= 100; id++)
		nexthops_set(store.nexthops,
			     &(struct next_hop){ .id = id * 97, .kind = NEXT_HOP_BLACKHOLE });
	nexthops_each(store.nexthops, count_id, &sum);
	assert_int_equal(sum, 97 * 5050);
	store_close(&store);
}

/* --- routes by them --------------------------------------------------------------------------- */

static void tell_route(struct store *store, bool del, uint8_t last, uint32_t id, uint32_t mtu)
{
	struct route route = {
		.dst = { .addr.bytes = { 0x20, 0x01, [15] = last }, .len = 128 },
		.table = RT_TABLE_MAIN,
		.type = RTN_UNICAST,
		.next_hop_id = id,
		.mtu = mtu,
	};

	assert_int_equal(
		del ? rib_del(store->rib, &route) : rib_add(store->rib, &route, NLM_F_CREATE), 0);
}

static void test_doubt(void **state)
{
	struct store store;

	store_open(&store);
	store_set_one(&store, 1, 3);
	store_set_one(&store, 2, 4);
	store_set_kind(&store, 3, NEXT_HOP_BLACKHOLE);
	GROUP(&store, 10, 1, 1, 2, 1);
	assert_told(&store, "1 2 3 10");
	for (int i = 0; i < 2; i++) {
		nexthops_cache_set_stale(store.nexthops);
		assert_told(&store, i ? "" : "10 3 2 1");
		assert_means(&store, 1, "via 3 mixed");
		assert_means(&store, 3, "blackhole");
		assert_means(&store, 10, "group 3*1 4*1 mixed");
	}
	/* one that comes meanwhile */
	store_set_one(&store, 4, 5);
	assert_means(&store, 4, "via 5 mixed");
	assert_told(&store, "4");
	for (int i = 0; i < 2; i++) {
		nexthops_cache_flushed(store.nexthops);
		assert_told(&store, i ? "" : "10 4 3 2 1");
		assert_means(&store, 1, "via 3");
		assert_means(&store, 4, "via 5");
		assert_means(&store, 10, "group 3*1 4*1");
	}
	store_close(&store);
}

/* Unlike routes, of which one goes: the object is mixed until it is renewed, or goes itself. */
static void test_stale(void **state)
{
	struct store store;

	store_open(&store);
	store_set_one(&store, 1, 3);
	store_set_one(&store, 2, 4);
	GROUP(&store, 10, 1, 1, 2, 1);
	tell_route(&store, false, 1, 1, 0);
	assert_told(&store, "1 2 10");
	for (int i = 0; i < 2; i++) {
		tell_route(&store, false, 2, 10, 1300);
		assert_told(&store, "10 1");
		assert_means(&store, 2, "via 4");
		assert_false(nexthops_cache_is_stale(store.nexthops));
		tell_route(&store, true, 2, 10, 1300);
		assert_told(&store, "");
		assert_means(&store, 1, "via 3 mixed");
		assert_true(nexthops_cache_is_stale(store.nexthops));
		if (i)
			continue;
		nexthops_cache_flushed(store.nexthops);
		assert_told(&store, "10 1");
		assert_means(&store, 1, "via 3");
		assert_false(nexthops_cache_is_stale(store.nexthops));
	}
	nexthops_delete(store.nexthops, 1);
	assert_false(nexthops_cache_is_stale(store.nexthops));
	store_close(&store);
}

/* --- lack of memory ----------------------------------------------------------------------- */

static void test_memory(void **state)
{
	struct store store;

	allocations_left = 1;
	assert_null(nexthops_new(NULL, NULL));
	allocations_left = -1;
	for (int left = 1; left <= 4; left++) {
		store_open(&store);
		store_set_one(&store, 1, 3);
		store_set_one(&store, 2, 4);
		GROUP(&store, 10, 1, 1, 2, 1);
		store.told[0] = '\0';
		/* a known object must not stay what it was, nor come to be half of the new one */
		allocations_left = left;
		assert_int_equal(RESILIENT(&store, 10, 300, 1, 1, 2, 1), left < 3 ? -ENOMEM : 0);
		allocations_left = -1;
		if (left < 3)
			assert_means(&store, 10, "other");
		assert_told(&store, "10");
		/* one that is not known yet; its groups are not what they would be without it */
		GROUP(&store, 10, 1, 1, 2, 1);
		nexthops_mark(store.nexthops);
		GROUP(&store, 10, 1, 1, 2, 1, 5, 1);
		allocations_left = 1;
		assert_int_equal(store_set_one(&store, 5, 6), -ENOMEM);
		allocations_left = -1;
		assert_means(&store, 5, "none");
		assert_means(&store, 10, "other");
		assert_int_equal(nexthops_count(store.nexthops), 3);
		store_set_one(&store, 5, 6);
		assert_means(&store, 10, "group 3*1 4*1 6*1");
		store_close(&store);
	}
	/* a new group without room for its members */
	store_open(&store);
	store_set_one(&store, 1, 3);
	allocations_left = 2;
	assert_int_equal(GROUP(&store, 10, 1, 1), -ENOMEM);
	allocations_left = -1;
	assert_means(&store, 10, "other");
	GROUP(&store, 10, 1, 1);
	assert_means(&store, 10, "group 3*1");
	nexthops_delete(store.nexthops, 1);
	assert_means(&store, 10, "none");
	store_close(&store);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single),
		cmocka_unit_test(test_gateway),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_delete_leaves_groups),
		cmocka_unit_test(test_new_member_of_old_group),
		cmocka_unit_test(test_kinds_change),
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_dump),
		cmocka_unit_test(test_dump_new_member_of_old_group),
		cmocka_unit_test(test_sweep_empties_groups),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_doubt),
		cmocka_unit_test(test_stale),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests_name("nexthops", tests, NULL, NULL);
}
