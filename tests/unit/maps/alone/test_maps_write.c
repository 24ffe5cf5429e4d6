// SPDX-License-Identifier: GPL-2.0-only
/*
 * The writer: entries are stored whole, and what would mix two values waits for packets under way.
 * The modules under test are included, and the kernel is replaced.
 */
#include "../../../../user/maps/access.c"
#include "../../../../user/maps/rules.c"
#include "../../../../user/maps/write.c"
#include "../../unit.h"

#define N_CPUS 3

static unsigned int cleared_slots[8], n_cleared;

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	const struct sixlane_counters *counters = value;

	assert_int_equal(fd, LOADER_COUNTERS);
	for (int cpu = 0; cpu < N_CPUS; cpu++)
		assert_int_equal(counters[cpu].verdicts[0].packets, 0);
	cleared_slots[n_cleared++] = *(const uint32_t *)key;
	return 0;
}

static struct sixlane_meta meta;
static struct sixlane_port ports[SIXLANE_MAX_PORTS];
static struct sixlane_next_hop next_hops[SIXLANE_MAX_NEXT_HOPS];
static struct sixlane_neigh neighbours[SIXLANE_MAX_NEIGHBOURS];
static union sixlane_nh_bucket buckets[SIXLANE_MAX_NH_BUCKETS];
static struct sixlane_rule rules[2 * SIXLANE_MAX_RULES];
static uint64_t guard[SIXLANE_GUARD_WORDS];

static struct maps maps = {
	.fd = { [LOADER_COUNTERS] = LOADER_COUNTERS },
	.n_cpus = N_CPUS,
	.guard = guard,
	.meta = &meta,
	.ports = ports,
	.next_hops = next_hops,
	.neighbours = neighbours,
	.buckets = buckets,
	.rules = rules,
};

static int setup(void **state)
{
	memset(&meta, 0, sizeof(meta));
	memset(rules, 0, sizeof(rules));
	memset(ports, 0, sizeof(ports));
	n_cleared = 0;
	return 0;
}

static void writer_stores_whole_entries(void **state)
{
	const struct fib_writer writer = maps_writer(&maps);
	const struct sixlane_port port = { .ifindex = 3,
					   .flags = SIXLANE_PORT_INGRESS | SIXLANE_PORT_UPPER,
					   .mtu = 1500,
					   .table = 254,
					   .iif = 4,
					   .lower = 5,
					   .tx_ifindex = 6,
					   .tag.word = 7,
					   .tags = { { .word = 8 }, { .word = 9 } },
					   .mac.word = 0x0605040302010000,
					   .slaves_by = 10,
					   .slaves_type = 11,
					   .n_slaves = SIXLANE_MAX_SLAVES,
					   .slaves = { 12, [SIXLANE_MAX_SLAVES - 1] = 13 } };
	const struct sixlane_neigh neigh = { .mac.word = 0x1,
					     .key.ifindex = 3,
					     .key.addr.words = { 1, 2, 3, 4 } };
	const struct sixlane_next_hop next_hop = {
		.nh_entry = { .port = 1, .neighbour = 2 }, .mtu = 3, .flags = 4, .expires_ns = 5
	};

	writer.store(writer.ctx, FIB_MAP_PORTS, 2, &port);
	assert_memory_equal(&ports[2], &port, sizeof(port));
	writer.store(writer.ctx, FIB_MAP_NEIGHS, 2, &neigh);
	assert_memory_equal(&neighbours[2], &neigh, sizeof(neigh));
	writer.store_word(writer.ctx, FIB_MAP_NEIGHS, 2, 9);
	assert_int_equal(neighbours[2].mac.word, 9);
	writer.store(writer.ctx, FIB_MAP_NEXT_HOPS, 2, &next_hop);
	assert_memory_equal(&next_hops[2], &next_hop, sizeof(next_hop));
	writer.store_word(writer.ctx, FIB_MAP_NEXT_HOPS, 2, 11);
	assert_int_equal(next_hops[2].nh_entry.word, 11);
	assert_int_equal(next_hops[2].mtu, 3);
	writer.store_word(writer.ctx, FIB_MAP_BUCKETS, 2, 12);
	assert_int_equal(buckets[2].word, 12);
}

static void gaps_are_one_flag_of_several(void **state)
{
	const struct fib_writer writer = maps_writer(&maps);

	meta.flags = SIXLANE_META_READY | SIXLANE_META_IN_SYNC;
	writer.set_gaps(writer.ctx, true);
	assert_int_equal(meta.flags, SIXLANE_META_READY | SIXLANE_META_IN_SYNC | SIXLANE_META_GAPS);
	writer.set_gaps(writer.ctx, false);
	assert_int_equal(meta.flags, SIXLANE_META_READY | SIXLANE_META_IN_SYNC);
}

/* What packets see at the moment of a grace period. */
static struct {
	unsigned int n;
	int error;
	uint64_t rules;
	uint32_t port_flags, port_table;
	union sixlane_addr source;
} at_grace;

long syscall(long number, ...)
{
	assert_int_equal(number, SYS_membarrier);
	at_grace.n++;
	at_grace.rules = meta.rules.word;
	at_grace.port_flags = ports[2].flags;
	at_grace.port_table = ports[2].table;
	at_grace.source = ports[2].source;
	errno = at_grace.error;
	return at_grace.error ? -1 : 0;
}

/*
 * Changes of one port, each from the row before. Packets pass while it becomes another port; a
 * source is removed before another is given. Where a port was held before, storing it does not
 * wait.
 */
static void ports_wait_where_packets_would_mix(void **state)
{
	enum {
		UP = SIXLANE_PORT_UP,
		SOURCED = UP | SIXLANE_PORT_SOURCE,
		SLAVES = UP | SIXLANE_PORT_SLAVES
	};
	static const struct {
		const char *what;
		uint32_t flags, table, n_slaves;
		uint64_t source; /* its second half */
		bool hold, held_waits, waits;
		uint32_t flags_then, table_then; /* at the grace period */
		uint64_t source_then;
	} rows[] = {
		{ "a new port", UP, 254, 0, 0, 0, 0, 0, 0, 0, 0 },
		{ "more flags", UP | SIXLANE_PORT_RULES, 254, 0, 0, 0, 0, 0, 0, 0, 0 },
		{ "another table", UP, 1000, 0, 0, 0, 0, 1, 0, 254, 0 },
		{ "other slaves of a bond", UP, 1000, 1, 0, 0, 0, 0, 0, 0, 0 },
		{ "a bond that chooses among slaves", SLAVES, 1000, 1, 0, 0, 0, 1, 0, 1000, 0 },
		{ "no bond", UP, 254, 0, 0, 0, 0, 1, 0, 1000, 0 },
		{ "a source", UP, 254, 0, 11, 0, 0, 0, 0, 0, 0 },
		{ "XDP may use it", SOURCED, 254, 0, 11, 0, 0, 0, 0, 0, 0 },
		{ "another source", SOURCED, 254, 0, 22, 0, 0, 1, UP, 254, 11 },
		{ "XDP may not use it", UP, 254, 0, 22, 0, 0, 0, 0, 0, 0 },
		{ "no source", UP, 254, 0, 0, 0, 0, 1, UP, 254, 22 },
		{ "a source again", SOURCED, 254, 0, 11, 0, 0, 0, 0, 0, 0 },
		{ "held, unchanged", SOURCED, 254, 0, 11, 1, 0, 0, 0, 0, 0 },
		{ "held, and the source removed", UP, 254, 0, 0, 1, 1, 0, 0, 0, 0 },
		{ "not held, since it becomes another", UP, 1000, 0, 0, 1, 0, 1, 0, 254, 0 },
	};
	const struct fib_writer writer = maps_writer(&maps);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct sixlane_port before = ports[2];
		const uint64_t source_then[2] = { 0, rows[i].source_then };
		struct sixlane_port port = { .ifindex = 3,
					     .flags = rows[i].flags,
					     .mtu = 1500 + (uint32_t)i,
					     .table = rows[i].table,
					     .n_slaves = rows[i].n_slaves,
					     .hop_limit = 9 };

		port.source.halves[0] = rows[i].source != 0;
		port.source.halves[1] = rows[i].source;
		memset(&at_grace, 0, sizeof(at_grace));
		if (rows[i].hold) {
			assert_int_equal(writer.hold_port(writer.ctx, 2, &port),
					 rows[i].held_waits);
			assert_int_equal(ports[2].flags, before.flags & port.flags);
			assert_int_equal(ports[2].table, before.table);
			assert_int_equal(ports[2].source.halves[0], port.source.halves[0]);
		}
		writer.store(writer.ctx, FIB_MAP_PORTS, 2, &port);
		assert_memory_equal(&ports[2], &port, sizeof(port));
		if (at_grace.n != rows[i].waits)
			fail_msg("%s: %u grace periods", rows[i].what, at_grace.n);
		assert_int_equal(at_grace.port_flags, rows[i].flags_then);
		assert_int_equal(at_grace.port_table, rows[i].table_then);
		assert_memory_equal(&at_grace.source, source_then, sizeof(source_then));
	}
}

static void assert_rules(uint32_t first, uint32_t n, uint32_t priority)
{
	assert_int_equal(meta.rules.first, first);
	assert_int_equal(meta.rules.n, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(rules[first + i].priority, priority + i);
}

/* The list beside the one in use is written after a grace period, and published whole. */
static void rules_change_as_a_whole(void **state)
{
	struct sixlane_rule list[SIXLANE_MAX_RULES + 1] = { { .priority = 10 },
							    { .priority = 11 } };
	uint64_t before;

	memset(&at_grace, 0, sizeof(at_grace));
	assert_int_equal(maps_set_rules(&maps, list, 2), 0);
	assert_rules(SIXLANE_MAX_RULES, 2, 10);
	before = meta.rules.word;
	assert_int_equal(at_grace.n, 1);
	assert_true(maps_has_rules(&maps, list, 2));
	assert_false(maps_has_rules(&maps, list, 1));
	/* An unchanged list waits, too. */
	assert_int_equal(maps_set_rules(&maps, list, 2), 0);
	assert_int_equal(meta.rules.word, before);
	assert_int_equal(at_grace.n, 2);
	list[0].priority = 20;
	list[1].priority = 21;
	assert_false(maps_has_rules(&maps, list, 2));
	assert_int_equal(maps_set_rules(&maps, list, 2), 0);
	assert_int_equal(at_grace.n, 3);
	assert_int_equal(at_grace.rules, before);
	assert_rules(0, 2, 20);
	assert_int_equal(rules[SIXLANE_MAX_RULES].priority, 10);
	/* Without a grace period the old one stays. */
	at_grace.error = EINVAL;
	assert_int_equal(maps_set_rules(&maps, list, 1), -EINVAL);
	assert_rules(0, 2, 20);
	at_grace.error = 0;
	assert_int_equal(maps_set_rules(&maps, list, SIXLANE_MAX_RULES + 1), -E2BIG);
	assert_int_equal(maps_set_rules(&maps, list, 0), 0);
	assert_rules(SIXLANE_MAX_RULES, 0, 0);
	for (uint32_t i = 0; i < SIXLANE_MAX_RULES; i++)
		list[i].priority = i;
	assert_int_equal(maps_set_rules(&maps, list, SIXLANE_MAX_RULES), 0);
	assert_rules(0, SIXLANE_MAX_RULES, 0);
}

static void a_slots_new_device_counts_from_zero(void **state)
{
	const struct fib_writer writer = maps_writer(&maps);
	struct sixlane_port port = { .ifindex = 3 };

	writer.store(writer.ctx, FIB_MAP_PORTS, 6, &port);
	port.mtu = 1280;
	writer.store(writer.ctx, FIB_MAP_PORTS, 6, &port); /* the same device goes on counting */
	port.ifindex = 4;
	writer.store(writer.ctx, FIB_MAP_PORTS, 6, &port);
	port.ifindex = 0;
	writer.store(writer.ctx, FIB_MAP_PORTS, 6, &port);
	assert_int_equal(n_cleared, 2);
	assert_int_equal(cleared_slots[0], 6);
}

static void a_slots_new_device_is_held_back(void **state)
{
	const struct fib_writer writer = maps_writer(&maps);
	struct sixlane_port port = { .ifindex = 3 };

	writer.store(writer.ctx, FIB_MAP_PORTS, 6, &port);
	for (uint32_t slot = 5; slot < 8; slot++) {
		maps_set_pair(&maps, 6, slot, true);
		maps_set_pair(&maps, slot, 6, true);
	}
	maps_set_pair(&maps, 5, 7, true);
	port.mtu = 1280;
	writer.store(writer.ctx, FIB_MAP_PORTS, 6, &port);
	assert_true(maps_pair_is_free(&maps, 6, 7) && maps_pair_is_free(&maps, 5, 6));
	port.ifindex = 4;
	writer.store(writer.ctx, FIB_MAP_PORTS, 6, &port);
	for (uint32_t slot = 5; slot < 8; slot++)
		assert_false(maps_pair_is_free(&maps, 6, slot) ||
			     maps_pair_is_free(&maps, slot, 6));
	assert_true(maps_pair_is_free(&maps, 5, 7));
	maps_set_pair(&maps, 5, 7, false);
	assert_false(maps_pair_is_free(&maps, 5, 7));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(writer_stores_whole_entries, setup),
		cmocka_unit_test_setup(a_slots_new_device_counts_from_zero, setup),
		cmocka_unit_test_setup(a_slots_new_device_is_held_back, setup),
		cmocka_unit_test_setup(gaps_are_one_flag_of_several, setup),
		cmocka_unit_test_setup(ports_wait_where_packets_would_mix, setup),
		cmocka_unit_test_setup(rules_change_as_a_whole, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
