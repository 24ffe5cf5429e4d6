// SPDX-License-Identifier: GPL-2.0-only
/*
 * A RIB without memory: a message that finds none says so and changes nothing, and the same message
 * may come again. All of the RIB is built into this test with allocations that fail on request.
 */
#include "../rib_unit.h"
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "../failing_alloc.h"

#include "../../../../user/rib/radix.c"
#include "../../../../user/rib/rib.c"
#include "../../../../user/rib/rib_kernel.c"
#include "../../../../user/rib/rib_message.c"

static unsigned int changes;

static void note_change(void *ctx, uint32_t table, const struct prefix *dst)
{
	changes++;
}

#define GATEWAY(dev)                                               \
	{                                                          \
		.ifindex = (dev), .weight = 1, .has_gateway = true \
	}
static const struct route_hop hops[] = { GATEWAY(1), GATEWAY(2), GATEWAY(3) };
static const struct route_hop device = { .ifindex = 1, .weight = 1 };

/* Messages in their order; all but the last succeed. */
struct message {
	const char *dst;
	uint16_t flags, n_hops;
	uint8_t src_len;
	bool del, by_device, by_object, read;
};
#define MESSAGES 3u
#define ADD(to, hops)                                                \
	{                                                            \
		.dst = (to), .flags = NLM_F_CREATE, .n_hops = (hops) \
	}
#define ALL "::/0"
static const struct message cases[][MESSAGES] = {
	{ { 0 }, { 0 }, ADD("2001:db8::/32", 1) },
	{ { 0 }, ADD("2001:db8::/32", 1), ADD("2001:dbf::/32", 1) },
	{ { 0 }, ADD(ALL, 2), { .dst = ALL, .flags = NLM_F_APPEND, .n_hops = 3 } },
	{ { 0 }, ADD(ALL, 2), { .dst = ALL, .flags = NLM_F_REPLACE, .n_hops = 3 } },
	{ { 0 }, ADD(ALL, 2), { .dst = ALL, .n_hops = 3 } }, /* of a dump */
	{ { 0 },
	  { .dst = ALL, .flags = NLM_F_CREATE, .n_hops = 1, .src_len = 64 },
	  { .dst = ALL, .flags = NLM_F_CREATE, .n_hops = 1, .src_len = 65 } },
	{ { 0 }, ADD(ALL, 2), { .dst = ALL, .n_hops = 1, .del = true } },
	{ { .dst = ALL, .flags = NLM_F_CREATE, .n_hops = 1, .by_device = true },
	  ADD(ALL, 2),
	  { .dst = ALL, .flags = NLM_F_REPLACE, .n_hops = 3, .by_device = true } },
	{ { 0 },
	  ADD("2001:db8::/32", 1),
	  { .dst = ALL, .flags = NLM_F_CREATE, .n_hops = 1, .by_object = true } },
	{ { 0 }, ADD(ALL, 2), { .dst = ALL, .n_hops = 3, .read = true } },
	{ { 0 },
	  ADD("2001:db8::/32", 1),
	  { .dst = ALL, .n_hops = 1, .by_object = true, .read = true } },
};

static int apply(struct rib *rib, const struct message *message)
{
	struct route route = {
		.table = RT_TABLE_MAIN,
		.metric = 1024,
		.type = RTN_UNICAST,
		.next_hop_id = message->by_object ? 7 : 0,
		.mtu = message->by_device ? message->n_hops * 1300u : 0,
		.n_hops = message->by_device ? 1 : message->n_hops,
		.hops = message->by_device ? &device : hops,
	};
	bool changed;
	int rc;

	assert_int_equal(prefix_parse(message->dst, &route.dst), 0);
	route.src.len = message->src_len;
	if (message->read) {
		const struct route twice[] = { route, route };

		return rib_put(rib, RT_TABLE_MAIN, &route.dst, twice, 2);
	}
	rc = message->del ? rib_del(rib, &route, &changed)
			  : rib_add(rib, &route, message->flags, &changed);
	changes += changed;
	return rc;
}

static void test_memory(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct message *last = &cases[i][MESSAGES - 1];
		struct rib *rib = rib_new(note_change, NULL);
		size_t before;
		bool sources;
		int left = 0, ret;

		for (size_t m = 0; m < MESSAGES - 1; m++)
			assert_true(!cases[i][m].dst || !apply(rib, &cases[i][m]));
		before = rib_routes(rib);
		sources = rib_table_has_sources(rib, RT_TABLE_MAIN);
		for (;; left++) {
			changes = 0;
			allocations_left = left;
			ret = apply(rib, last);
			allocations_left = -1;
			if (ret != -ENOMEM)
				break;
			assert_int_equal(changes, 0);
			assert_int_equal(rib_routes(rib), before);
			assert_int_equal(rib_by_object(rib, 7).n, 0);
			assert_int_equal(rib_table_has_sources(rib, RT_TABLE_MAIN), sources);
			if (!before)
				assert_null(rib_table(rib, RT_TABLE_MAIN));
		}
		assert_true(left > 0);
		assert_true(!ret || ret == -EINPROGRESS || ret == -EAGAIN);
		assert_int_equal(changes, 1);
		rib_free(rib);
	}
	allocations_left = 0;
	assert_null(rib_new(NULL, NULL));
	allocations_left = -1;
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_memory) };

	return cmocka_run_group_tests_name("rib memory", tests, NULL, NULL);
}
