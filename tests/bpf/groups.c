// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many flows each member of a group gets, what does not move a flow, whom flows go to when
 * a port goes down, and that all others stay.
 */
#include <linux/bpf.h>

#include "../../bpf/hash.h"
#include "tests.h"

int group_member_of(enum harness_prog prog, const struct frame *in)
{
	static struct frame out;
	uint32_t action = harness_send(prog, in, &out);

	if (action == XDP_PASS)
		return GROUP_NOBODY;
	assert_int_equal(action, XDP_REDIRECT);
	for (int i = 0; i < WORLD_MEMBERS; i++)
		if (!memcmp(out.bytes + AT_DST_MAC, world_neigh_mac[NEIGH_MEMBER + i], 6))
			return i;
	fail_msg("sent to no member");
	return GROUP_NOBODY;
}

void group_install(void)
{
	uint32_t members[WORLD_MEMBERS];
	static struct world world;

	world_init(&world);
	for (uint32_t i = 0; i < WORLD_MEMBERS; i++)
		members[i] = NH_MEMBER(i);
	world_add_route(&world, "::/0", 0, NH_GROUP);
	world_set_buckets(&world, NH_GROUP, 0, members, WORLD_MEMBERS);
	harness_install(&world);
}

/* --- what else does not move a flow ---------------------------------------------------------- */

static void udp_flow(struct frame *frame, uint32_t n)
{
	const struct frame_spec spec = { .dst_mac = world_device_mac[DEV_IN] };

	frame_build(frame, &spec);
	frame_set16(frame, AT_SRC + 14, (uint16_t)n);
	frame_set16(frame, AT_SRC + 12, (uint16_t)(n >> 16));
}

#define FLOWS 2048

/* Padding, hop limit, tags and the ingress port are no part of a flow; nor is the flavour. */
TEST(test_a_flow_stays, "a flow stays with its member")
{
	static const uint32_t one_tag[] = { 0x8100000a };
	static const uint32_t two_tags[] = { 0x88a8001e, 0x81000028 };
	struct frame frame;

	group_install();
	for (uint32_t n = 0; n < FLOWS; n++) {
		int member;

		udp_flow(&frame, n);
		member = group_member_of(PROG_AS_IS, &frame);
		assert_int_not_equal(member, GROUP_NOBODY);
		assert_int_equal(group_member_of(PROG_FRAGS, &frame), member);
		frame.bytes[AT_HOP_LIMIT] = (uint8_t)(2 + n % 254);
		frame.len += n % 50;
		assert_int_equal(group_member_of(PROG_AS_IS, &frame), member);
		frame_push(&frame, one_tag, 1);
		assert_int_equal(group_member_of(PROG_AS_IS, &frame), member);
		frame_pop(&frame, sizeof(one_tag));
		frame_push(&frame, two_tags, 2);
		assert_int_equal(group_member_of(PROG_AS_IS, &frame), member);
	}
}

/* Who knows the flow does not know the member. */
TEST(test_the_seed_moves_flows, "the seed moves flows")
{
	struct frame frame;
	size_t stayed = 0;

	group_install();
	for (uint32_t n = 0; n < FLOWS; n++) {
		int member;

		udp_flow(&frame, n);
		harness_maps.meta->hash_seed = 0x0123456789abcdef;
		member = group_member_of(PROG_AS_IS, &frame);
		harness_maps.meta->hash_seed = 0x0123456789abcdee;
		stayed += group_member_of(PROG_AS_IS, &frame) == member;
	}
	assert_in_range(stayed, FLOWS / 32, FLOWS / 8);
}

/* --- members that are down ------------------------------------------------------------------- */

static void record(int members[FLOWS])
{
	struct frame frame;

	for (uint32_t n = 0; n < FLOWS; n++) {
		udp_flow(&frame, n);
		members[n] = group_member_of(PROG_AS_IS, &frame);
	}
}

/* Flows of members in down (a bit each) are spread over the others, if there are any; the rest
 * stays. */
static void expect_moved(const int was[FLOWS], uint32_t down)
{
	const bool none = down == (1u << WORLD_MEMBERS) - 1;
	size_t got[WORLD_MEMBERS] = { 0 }, moved = 0;
	int is[FLOWS];

	record(is);
	for (uint32_t n = 0; n < FLOWS; n++) {
		if (!(down >> was[n] & 1)) {
			assert_int_equal(is[n], was[n]);
			continue;
		}
		assert_int_equal(is[n] == GROUP_NOBODY, none);
		if (none)
			continue;
		assert_false(down >> is[n] & 1);
		got[is[n]]++;
		moved++;
	}
	for (int i = 0; i < WORLD_MEMBERS && moved; i++)
		if (!(down >> i & 1))
			assert_true(got[i] > moved / WORLD_MEMBERS / 2);
}

/* Members 1, 5, 9, 13 leave by DEV_ALT, 2, 6, … by DEV_GENERIC, 3, 7, … by DEV_BOND. */
#define BY_ALT 0x2222u
#define BY_GENERIC 0x4444u
#define BY_BOND 0x8888u

static void set_flag(enum device dev, uint32_t flag, bool on)
{
	struct sixlane_port *port = &harness_maps.ports[world_port_slot(dev)];

	port->flags = on ? port->flags | flag : port->flags & ~flag;
}

static void take_down_one_by_one(uint32_t flag)
{
	int was[FLOWS];

	record(was);
	set_flag(DEV_ALT, flag, true);
	expect_moved(was, BY_ALT);
	set_flag(DEV_BOND, flag, true);
	expect_moved(was, BY_ALT | BY_BOND);
	set_flag(DEV_GENERIC, flag, true);
	expect_moved(was, BY_ALT | BY_BOND | BY_GENERIC);
	set_flag(DEV_OUT, flag, true);
	expect_moved(was, 0xffff);
	set_flag(DEV_OUT, flag, false);
	set_flag(DEV_ALT, flag, false);
	set_flag(DEV_BOND, flag, false);
	set_flag(DEV_GENERIC, flag, false);
	expect_moved(was, 0);
}

/* Members of such a group are skipped by the ports' flag skip, and not by the other one. */
static void test_skip(uint32_t next_hop_flags, uint32_t skip, uint32_t other)
{
	int was[FLOWS];

	group_install();
	harness_maps.next_hops[NH_GROUP].flags = next_hop_flags;
	take_down_one_by_one(skip);
	record(was);
	set_flag(DEV_ALT, other, true);
	expect_moved(was, 0);
}

TEST(test_ports_down, "members whose ports are down, of routes and of next-hop objects")
{
	test_skip(0, SIXLANE_PORT_SKIP, SIXLANE_PORT_SKIP_OBJECT);
	test_skip(SIXLANE_NEXT_HOP_OBJECT, SIXLANE_PORT_SKIP_OBJECT, SIXLANE_PORT_SKIP);
}

/* 128 buckets of 4 members; those of a member that leaves are given to the others. */
TEST(test_resilient_buckets, "resilient buckets")
{
	int was[FLOWS];

	group_install();
	for (uint32_t i = 0; i < WORLD_BUCKETS; i++)
		world_set_bucket(&harness_maps.buckets[i], NH_MEMBER(i % 4));
	harness_maps.next_hops[NH_GROUP].nh_entry.n_buckets = WORLD_BUCKETS;
	harness_maps.next_hops[NH_GROUP].flags = SIXLANE_NEXT_HOP_OBJECT;
	record(was);
	for (uint32_t i = 1; i < WORLD_BUCKETS; i += 4)
		world_set_bucket(&harness_maps.buckets[i], NH_MEMBER((i / 4 % 3 + 2) % 4));
	for (uint32_t n = 0; n < FLOWS; n++) {
		struct frame frame;
		int member;

		udp_flow(&frame, n);
		member = group_member_of(PROG_AS_IS, &frame);
		assert_int_not_equal(member, 1);
		if (was[n] != 1)
			assert_int_equal(member, was[n]);
	}
}

/* --- how many flows each member gets --------------------------------------------------------- */

#define SPREAD_FLOWS 100000
#define SPREAD_SEEDS 3

struct spread {
	const char *name;
	uint32_t policy;
	uint32_t weights[WORLD_MEMBERS];
	uint8_t both_at;  /* bytes of both addresses in which flows differ; 0: as nth_flow() has it
			   */
	bool out_is_down; /* and with it members 0, 4, 8 and 12 */
};

#define L3 SIXLANE_HASH_L3
#define L4 SIXLANE_HASH_L4

static const struct spread spreads[] = {
	{ "1 1", L3, .weights = { 1, 1 } },
	{ "1 2 3", L4, .weights = { 1, 2, 3 } },
	{ "16 alike", L4, .weights = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ "7 to 1", L3, .weights = { 7, 1 } },
	{ "256 255 1", L4, .weights = { 256, 255, 1 } },
	{ "16 bits", L4, .weights = { 65535, 1, 32768, 1000 } },
	{ "16 bits, nearly alike", L3, .weights = { 65535, 65534, 65533 } },
	{ "1 … 16", L4, .weights = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } },
	{ "11, by subnets", L3, .weights = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }, .both_at = 6 },
	{ "11, middle bytes", L3, .weights = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }, .both_at = 7 },
	{ "11, by host bits", L3, .weights = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }, .both_at = 14 },
	{ "7, which is down, to 1", L3, .weights = { 7, 1 }, .out_is_down = true },
	{ "16 bits, which are down, to 1", L4, .weights = { 65535, 1 }, .out_is_down = true },
	{ "1 … 16, four of them down", L4,
	  .weights = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
	  .out_is_down = true },
};

/*
 * As many buckets as members, of total units each, filled by taking what the poorest lacks from
 * the richest.
 */
static void fill_buckets(union sixlane_nh_bucket *buckets, const uint32_t *weights, uint32_t n)
{
	uint64_t units[WORLD_MEMBERS], total = 0;
	bool done[WORLD_MEMBERS] = { false };

	for (uint32_t i = 0; i < n; i++)
		total += weights[i];
	for (uint32_t i = 0; i < n; i++)
		units[i] = (uint64_t)weights[i] * n;
	for (uint32_t left = n; left; left--) {
		uint32_t poor = n, rich = n;

		for (uint32_t i = 0; i < n; i++) {
			if (done[i])
				continue;
			if (poor == n || units[i] < units[poor])
				poor = i;
			if (rich == n || units[i] > units[rich])
				rich = i;
		}
		buckets[poor] = (union sixlane_nh_bucket){
			.bound = (uint32_t)(((units[poor] << 32) - 1) / total),
			.below = (uint16_t)NH_MEMBER(poor),
			.above = (uint16_t)NH_MEMBER(rich),
		};
		done[poor] = true;
		units[rich] -= total - units[poor];
	}
}

static uint32_t count_members(const uint32_t *weights)
{
	uint32_t n = 0;

	while (n < WORLD_MEMBERS && weights[n])
		n++;
	return n;
}

/* Flows as they come: one field that counts up, or two that each take few values. */
static void nth_flow(const struct spread *spread, uint32_t n, struct frame *frame)
{
	if (spread->both_at) {
		frame_set16(frame, AT_SRC + spread->both_at, (uint16_t)(n % 320));
		frame_set16(frame, AT_DST + spread->both_at, (uint16_t)(n / 320));
	} else if (spread->policy == SIXLANE_HASH_L4) {
		frame_set16(frame, AT_PAYLOAD, (uint16_t)(1024 + n % 50000));
		frame_set16(frame, AT_DST + 14, (uint16_t)(n / 50000));
	} else {
		frame_set16(frame, AT_SRC + 14, (uint16_t)n);
		frame_set16(frame, AT_SRC + 12, (uint16_t)(n >> 16));
	}
}

/* The weight of a member; 0 if its port is down. */
static double weight_of(const struct spread *spread, uint32_t i)
{
	return spread->out_is_down && i % 4 == 0 ? 0 : spread->weights[i];
}

static bool is_near(const struct spread *spread, uint32_t i, size_t got)
{
	double total = 0, want = SPREAD_FLOWS, most, deviation;

	for (uint32_t j = 0; j < WORLD_MEMBERS; j++)
		total += weight_of(spread, j);
	want *= weight_of(spread, i) / total;
	/* 2 %, or what chance alone makes of few: four times the standard deviation */
	most = want * 0.02;
	deviation = (double)got - want;
	if (deviation * deviation <= most * most ||
	    deviation * deviation <= 16 * want * (1 - want / SPREAD_FLOWS) + 1)
		return true;
	fprintf(stderr, "weights %s: member %u got %zu of %d flows, expected %.0f\n", spread->name,
		i, got, SPREAD_FLOWS, want);
	return false;
}

static bool spreads_well(const struct spread *spread, uint64_t seed)
{
	const struct frame_spec spec = { .dst_mac = world_device_mac[DEV_IN] };
	uint32_t n_members = count_members(spread->weights);
	size_t got[WORLD_MEMBERS] = { 0 };
	struct frame frame;
	bool good = true;

	fill_buckets(harness_maps.buckets, spread->weights, n_members);
	harness_maps.next_hops[NH_GROUP].nh_entry.n_buckets = (uint16_t)n_members;
	harness_maps.meta->hash_policy.policy = spread->policy;
	harness_maps.meta->hash_seed = seed;
	set_flag(DEV_OUT, SIXLANE_PORT_SKIP, spread->out_is_down);
	frame_build(&frame, &spec);
	for (uint32_t n = 0; n < SPREAD_FLOWS; n++) {
		int member;

		nth_flow(spread, n, &frame);
		member = group_member_of(PROG_AS_IS, &frame);
		assert_int_not_equal(member, GROUP_NOBODY);
		got[member]++;
	}
	for (uint32_t i = 0; i < WORLD_MEMBERS; i++)
		good = is_near(spread, i, got[i]) && good;
	return good;
}

/* Draws hardly find what is in use, and still it is its port alone that moves a flow. */
TEST(test_little_weight_stays, "little weight in use")
{
	const uint32_t weights[] = { 1000, 5, 3, 2 };
	size_t moved = 0;
	int was[FLOWS], is[FLOWS];

	group_install();
	fill_buckets(harness_maps.buckets, weights, 4);
	harness_maps.next_hops[NH_GROUP].nh_entry.n_buckets = 4;
	set_flag(DEV_OUT, SIXLANE_PORT_SKIP, true);
	record(was);
	set_flag(DEV_ALT, SIXLANE_PORT_SKIP, true);
	record(is);
	for (uint32_t n = 0; n < FLOWS; n++) {
		assert_true(is[n] == 2 || is[n] == 3);
		if (was[n] != 1)
			assert_int_equal(is[n], was[n]);
		moved += was[n] == 1;
	}
	assert_true(moved > 0);
	set_flag(DEV_ALT, SIXLANE_PORT_SKIP, false);
	record(is);
	assert_memory_equal(is, was, sizeof(is));
}

/* There are more buckets than a flow tries. Some flows find the one in use, wherever it is. */
TEST(test_one_bucket_of_many, "one bucket in use of many")
{
	const uint32_t n_buckets = HASH_SCAN + 1, places[] = { 0, HASH_SCAN / 2, HASH_SCAN };

	group_install();
	harness_maps.next_hops[NH_GROUP].nh_entry.n_buckets = (uint16_t)n_buckets;
	set_flag(DEV_OUT, SIXLANE_PORT_SKIP, true);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t found = 0;
		int is[FLOWS];

		for (uint32_t j = 0; j < n_buckets; j++)
			world_set_bucket(&harness_maps.buckets[j], NH_MEMBER(j == places[i]));
		record(is);
		for (uint32_t n = 0; n < FLOWS; n++)
			found += is[n] == 1;
		assert_true(found > FLOWS * 9 / 10);
	}
}

TEST(test_spread_by_weight, "spread of 100k flows by weight")
{
	size_t wrong = 0;

	group_install();
	for (size_t i = 0; i < sizeof(spreads) / sizeof(spreads[0]); i++)
		for (uint64_t seed = 1; seed <= (spreads[i].both_at ? SPREAD_SEEDS : 1); seed++)
			wrong += !spreads_well(&spreads[i], seed * 0x9e3779b97f4a7c15ull);
	assert_int_equal(wrong, 0);
}
