// SPDX-License-Identifier: GPL-2.0-only
/*
 * Next-hop objects message by message: what is returned, which ids are reported, and what they then
 * mean. The store is built into this test with allocations that fail on request.
 */
#include "../nexthops_store.h"
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "../failing_alloc.h"

#include "../../../../user/rib/nexthops.c"
#include "../../../../user/rib/nexthops_table.c"

/* --- message by message ----------------------------------------------------------------------- */

/* "new" among messages: of another store. state: ids, and what they mean as store_text() has it. */
struct row {
	const char *messages; /* separated by ";" */
	const char *result; /* the reported ids, behind "ENOENT: " if the last one returned that */
	const char *state;
};

static const struct row rows[] = {
	{ "new", "", "1: none" },
	{ "1 via 3", "1", "1: via 3" },
	{ "1 via 3", "", "1: via 3" },
	{ "1 via 4", "1", "1: via 4" },
	{ "1 blackhole", "1", "1: blackhole" },
	{ "1 other", "1", "1: other" },
	/* one bucket of the hash has both */
	{ "4097 via 7", "4097", "4097: via 7" },
	{ "del 1", "1", "1: none; 4097: via 7" },
	{ "del 1", "", "1: none; 4097: via 7" },
	{ "new; 1 via 3; 2 via 4; 10 group 1*1 2*65536", "1 2 10", "10: group 3*1 4*65536" },
	{ "10 group 1*1 2*65536", "", "" },
	/* flows are spread by the order */
	{ "10 group 2*65536 1*1", "10", "10: group 4*65536 3*1" },
	{ "10 group 2*7 1*1; 11 group 1*1", "10 11", "" },
	/* a member's change is reported for its groups, which have no message */
	{ "1 via 5", "1 11 10", "10: group 4*7 5*1; 11: group 5*1" },
	/* all groups stay in the list, whichever is changed */
	{ "11 group 1*2; 11 group 1*1; 1 via 5; 1 via 6", "11 11 1 11 10", "" },
	/* a group of one may be a blackhole */
	{ "10 group 2*7; 1 blackhole", "10 1 11", "11: group 0*1" },
	{ "1 other", "1 11", "11: other" },
	/* a deleted object leaves its groups */
	{ "new; 1 via 3; 2 via 4; 10 group 1*1 2*1; 11 group 1*1; 12 group 2*1", "1 2 10 11 12",
	  "" },
	{ "del 1", "11 10 1", "10: group 4*1; 11: none; 12: group 4*1" },
	/* a new object of the same id is not in them */
	{ "1 via 9", "1", "10: group 4*1" },
	{ "del 12", "12", "2: via 4" },
	{ "del 2", "10 2", "10: none" },
	/* an object was deleted without a message if a new one of its id appears */
	{ "new; mark; 2 via 4; sweep; 10 group 1*1 2*1", "2 10", "10: other" },
	{ "11 group 1*1; 1 via 9", "11 11 10 1", "10: group 4*1; 11: none" },
	/* no kernel changes types, but a message may be lost */
	{ "new; 1 via 3; 10 group 1*1; 10 via 6", "1 10 10", "10: via 6" },
	{ "10 res 2 1*1", "10", "10: res 3*1 [- -]" },
	{ "10 group 1*1", "10", "10: group 3*1" },
	{ "11 group 10*1 1*1", "11", "11: other" },
	{ "11 group 11*1", "11 11", "11: other" },
	{ "11 res 65536 1*1", "11", "11: other" },
	{ "11 group", "", "11: other" },
	{ "10 res 2", "10", "10: other" },
	{ "del 10; del 11; 1 via 4", "10 11 1", "" },
	{ "new; 1 via 1; 2 via 2; 3 via 3; 10 res 4 1*1 2*1", "1 2 3 10",
	  "10: res 1*1 2*1 [- - - -]" },
	{ "bucket 10 0 1; bucket 10 1 2; bucket 10 2 1; bucket 10 3 2", "10 10 10 10",
	  "10: res 1*1 2*1 [0 1 0 1]" },
	{ "bucket 10 3 2", "", "" },
	{ "bucket 10 4 1", "ENOENT: ", "" },
	{ "bucket 9 0 1", "ENOENT: ", "" },
	{ "bucket 1 0 1", "ENOENT: ", "" },
	/* an unknown member: the known owner of this bucket is wrong */
	{ "bucket 10 0 3", "ENOENT: 10", "10: res 1*1 2*1 [- 1 0 1]" },
	/* buckets of members that stay are kept, but not of a member that returns */
	{ "10 res 4 3*1 2*1", "10", "10: res 3*1 2*1 [- 1 - 1]" },
	{ "10 res 4 3*1 2*1 1*1", "10", "10: res 3*1 2*1 1*1 [- 1 - 1]" },
	{ "10 res 4 3*1 2*1; bucket 10 0 3; del 2", "10 10 10 2", "10: res 3*1 [0 - - -]" },
	{ "2 via 2; 10 res 4 3*1 2*1", "2 10", "10: res 3*1 2*1 [0 - - -]" },
	{ "10 res 2 3*1", "10", "10: res 3*1 [- -]" },
	{ "10 res 3 3*1", "10", "10: res 3*1 [- - -]" },
	/* a dump: groups may have lower ids than their members */
	{ "new; mark; 1 res 2 5*1 6*1", "1", "1: other" },
	{ "5 via 3; 6 via 4", "5 1 6 1", "1: res 3*1 4*1 [- -]" },
	{ "bucket 1 0 5; bucket 1 1 6; sweep", "1", "1: res 3*1 4*1 [0 1]" },
	{ "mark; 1 res 2 5*1 6*1; 5 via 3; 6 via 4; bucket 1 0 5; bucket 1 1 6", "", "" },
	{ "sweep", "", "" },
	/* device 4 went down */
	{ "mark; 1 res 2 5*1; 5 via 3", "1", "" },
	{ "sweep", "6", "1: res 3*1 [0 -]" },
	/* an unconfirmed group is deleted once */
	{ "mark", "", "" },
	{ "sweep", "5 1", "1: none" },
	/* an id that another object has since the last dump, and that is not in its old groups */
	{ "new; 2 via 4; 10 group 5*1 2*1; mark; 2 via 4; 5 via 9", "2 10 10 5", "10: group 4*1" },
	{ "10 group 2*1; sweep", "", "10: group 4*1" },
	/* an interrupted dump deletes nothing; the next one starts again */
	{ "mark; 11 group 7*1; mark; 7 via 1", "11 11 7", "10: group 4*1; 11: none" },
	/* groups were dumped before device 3 went down, their members after it */
	{ "new; 1 via 3; 2 via 4; 10 group 1*1; 11 group 1*1 2*1; mark", "1 2 10 11", "" },
	{ "10 group 1*1; 11 group 1*1 2*1; 2 via 4", "", "" },
	{ "sweep", "11 10 1", "10: none; 11: group 4*1" },
	/* any route may be cached, also at an object that comes meanwhile */
	{ "new; 1 via 3; 2 via 4; 3 blackhole; 10 group 1*1 2*1; stale", "1 2 3 10 10 3 2 1",
	  "1: via 3 mixed; 3: blackhole; 10: group 3*1 4*1 mixed" },
	{ "stale", "", "1: via 3 mixed" },
	{ "4 via 5", "4", "4: via 5 mixed" },
	{ "flushed", "10 4 3 2 1", "1: via 3; 4: via 5; 10: group 3*1 4*1" },
	{ "flushed", "", "" },
	/* routes that differ, of which one is deleted: mixed until the cache is flushed */
	{ "new; 1 via 3; 2 via 4; 10 group 1*1 2*1; route 1 1 0; route 2 10 1300", "1 2 10 10 1",
	  "2: via 4" },
	{ "unroute 2 10 1300", "", "1: via 3 mixed" },
	{ "flushed", "10 1", "1: via 3" },
	{ "route 2 10 1300; unroute 2 10 1300", "10 1", "1: via 3 mixed" },
	{ "del 1", "10 1", "10: group 4*1" },
};

static void check_state(const struct store *store, const struct row *row)
{
	char copy[STORE_TEXT], meaning[STORE_TEXT], *save, *part, *colon;

	snprintf(copy, sizeof(copy), "%s", row->state);
	for (part = strtok_r(copy, ";", &save); part; part = strtok_r(NULL, ";", &save)) {
		colon = strchr(part, ':');
		if (strcmp(store_text(store, (uint32_t)atoi(part), meaning), colon + 2) != 0)
			fail_msg("%s: %s, but is %s", row->messages, part, meaning);
	}
}

static void check_counts(struct store *store)
{
	struct nexthop_view view;
	bool resilient = false;
	size_t n = 0;

	for (uint32_t id = 1; id <= 4097; id++) {
		bool there = nexthops_view(store->nexthops, id, &view);

		n += there;
		resilient |=
			there && nexthops_find(store->nexthops, id)->kind == NEXT_HOP_RESILIENT;
	}
	assert_int_equal(nexthops_count(store->nexthops), n);
	assert_int_equal(nexthops_any_resilient(store->nexthops), resilient);
}

static int apply_all(struct store *store, const char *messages)
{
	char copy[STORE_TEXT], *save, *part;
	int rc = 0;

	snprintf(copy, sizeof(copy), "%s", messages);
	for (part = strtok_r(copy, ";", &save); part; part = strtok_r(NULL, ";", &save)) {
		part += *part == ' ';
		if (strcmp(part, "new") != 0) {
			rc = store_apply(store, part);
			continue;
		}
		store_close(store);
		store_open(store);
	}
	return rc;
}

static void test_messages(void **state)
{
	struct store store = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		int rc = apply_all(&store, row->messages);
		char result[2 * STORE_TEXT];

		snprintf(result, sizeof(result), "%s%s", rc ? "ENOENT: " : "", store.reported);
		if (strcmp(result, row->result) != 0)
			fail_msg("%s: \"%s\"", row->messages, result);
		assert_true(!rc || rc == -ENOENT);
		store.reported[0] = '\0';
		check_state(&store, row);
		check_counts(&store);
	}
	/* deleting the only stale hop leaves none */
	assert_false(nexthops_cache_is_stale(store.nexthops));
	store_close(&store);
}

/* A gateway alone may change; even to an address that looks like none. */
static void test_gateway(void **state)
{
	struct next_hop next_hop = { .id = 1, .kind = NEXT_HOP_ONE, .hop.ifindex = 2 };
	struct nexthops *nexthops = nexthops_new(NULL, NULL);
	struct nexthop_view view;
	struct store store;

	store_open(&store);
	nexthops_set(store.nexthops, &next_hop);
	assert_true(nexthops_view(store.nexthops, 1, &view));
	assert_false(view.hops[0].has_gateway);
	next_hop.hop.has_gateway = true;
	nexthops_set(store.nexthops, &next_hop);
	next_hop.hop.gateway.bytes[15] = 9;
	nexthops_set(store.nexthops, &next_hop);
	assert_string_equal(store.reported, "1 1 1");
	assert_true(nexthops_view(store.nexthops, 1, &view));
	assert_int_equal(view.hops[0].gateway.bytes[15], 9);
	assert_int_equal(view.weights[0], 1);
	store_close(&store);
	/* a listener is not needed */
	nexthops_set(nexthops, &next_hop);
	nexthops_delete(nexthops, 1);
	nexthops_free(nexthops);
}

static void add_id(void *ctx, uint32_t id)
{
	*(uint64_t *)ctx += id;
}

static void test_devices(void **state)
{
	struct store store;
	uint64_t sum = 0;

	store_open(&store);
	store_apply(&store, "1 via 3");
	store_apply(&store, "2 blackhole"); /* on lo, and stays when a device goes */
	store_apply(&store, "10 group 1*1");
	assert_true(nexthops_use_device(store.nexthops, 3));
	assert_false(nexthops_use_device(store.nexthops, 1));
	assert_false(nexthops_use_device(store.nexthops, STORE_NO_DEVICE));
	assert_false(nexthops_use_device(store.nexthops, 0));
	store_apply(&store, "3 other");
	assert_true(nexthops_use_device(store.nexthops, 1));
	nexthops_set(store.nexthops,
		     &(struct next_hop){ .id = 3, .kind = NEXT_HOP_OTHER, .hop.ifindex = 8 });
	assert_true(nexthops_use_device(store.nexthops, 8));
	assert_false(nexthops_use_device(store.nexthops, 1));
	/* a resilient group without buckets is no group */
	nexthops_set(store.nexthops,
		     &(struct next_hop){ .id = 12,
					 .kind = NEXT_HOP_RESILIENT,
					 .n_members = 1,
					 .members = &(struct next_hop_member){ 1, 1 } });
	assert_means(&store, 12, "other");
	nexthops_each(store.nexthops, add_id, &sum);
	assert_int_equal(sum, 1 + 2 + 10 + 3 + 12);
	store_close(&store);
}

/* --- lack of memory ----------------------------------------------------------------------- */

static void test_memory(void **state)
{
	struct store store;

	allocations_left = 0;
	assert_null(nexthops_new(NULL, NULL));
	allocations_left = -1;
	for (int left = 0; left <= 3; left++) {
		store_open(&store);
		store_apply(&store, "1 via 3");
		store_apply(&store, "2 via 4");
		store_apply(&store, "10 group 1*1 2*1");
		store.reported[0] = '\0';
		/* a known object must not stay what it was, nor come to be half of the new one */
		allocations_left = left;
		assert_int_equal(store_apply(&store, "10 res 300 1*1 2*1"), left < 2 ? -ENOMEM : 0);
		allocations_left = -1;
		if (left < 2)
			assert_means(&store, 10, "other");
		assert_string_equal(store.reported, "10");
		/* one that is not known yet; its groups are not what they would be without it */
		store_apply(&store, "10 group 1*1 2*1");
		nexthops_mark(store.nexthops);
		store_apply(&store, "10 group 1*1 2*1 5*1");
		allocations_left = 0;
		assert_int_equal(store_apply(&store, "5 via 6"), -ENOMEM);
		allocations_left = -1;
		assert_means(&store, 5, "none");
		assert_means(&store, 10, "other");
		assert_int_equal(nexthops_count(store.nexthops), 3);
		store_apply(&store, "5 via 6");
		assert_means(&store, 10, "group 3*1 4*1 6*1");
		store_close(&store);
	}
	/* a new group without room for its members */
	store_open(&store);
	store_apply(&store, "1 via 3");
	allocations_left = 1;
	assert_int_equal(store_apply(&store, "10 group 1*1"), -ENOMEM);
	allocations_left = -1;
	assert_means(&store, 10, "other");
	store_apply(&store, "10 group 1*1");
	assert_means(&store, 10, "group 3*1");
	nexthops_delete(store.nexthops, 1);
	assert_means(&store, 10, "none");
	store_close(&store);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_gateway),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests_name("nexthops", tests, NULL, NULL);
}
