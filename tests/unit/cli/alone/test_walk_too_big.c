// SPDX-License-Identifier: GPL-2.0-only
/*
 * What `sixlane explain` makes of packets that are too big: over which MTU, and who answers.
 */
#include "../../unit.h"
#include "../cmd_exception_world.h"

static const struct big {
	const char *name;
	uint32_t flags; /* of the exception; 0: none */
	uint32_t exception_mtu;
	uint32_t route_mtu;
	bool route_locked, answer, stacked;
	uint32_t ip_bytes;
	enum sixlane_verdict verdict;
	uint32_t told;
	bool aged;
} bigs[] = {
	{ .name = "the device's is the kernel's to answer",
	  .ip_bytes = 1501,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "the device's, answered here",
	  .answer = true,
	  .ip_bytes = 1501,
	  .verdict = SIXLANE_ANSWER_TOO_BIG,
	  .told = 1500 },
	{ .name = "the route's is the kernel's",
	  .route_mtu = 1400,
	  .ip_bytes = 1401,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "the route's, answered here, behind ip6_forward()",
	  .answer = true,
	  .route_mtu = 1400,
	  .ip_bytes = 1401,
	  .verdict = SIXLANE_ANSWER_TOO_BIG,
	  .told = 1400,
	  .aged = true },
	{ .name = "over the route's and the device's: ip6_forward() comes first",
	  .answer = true,
	  .route_mtu = 1400,
	  .ip_bytes = 1501,
	  .verdict = SIXLANE_ANSWER_TOO_BIG,
	  .told = 1500 },
	{ .name = "the route's that is locked",
	  .answer = true,
	  .route_mtu = 1400,
	  .route_locked = true,
	  .ip_bytes = 1501,
	  .verdict = SIXLANE_ANSWER_TOO_BIG,
	  .told = 1400 },
	{ .name = "a locked one over the device's is the driver's",
	  .answer = true,
	  .route_mtu = 9000,
	  .route_locked = true,
	  .ip_bytes = 1501,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "over both, a locked one being the larger",
	  .answer = true,
	  .route_mtu = 1600,
	  .route_locked = true,
	  .ip_bytes = 1601,
	  .verdict = SIXLANE_ANSWER_TOO_BIG,
	  .told = 1600 },
	{ .name = "less than any link carries is not told",
	  .answer = true,
	  .route_mtu = 1279,
	  .ip_bytes = 1300,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "an exception's, behind ip6_forward()",
	  .flags = KERNEL | WITH_MTU,
	  .exception_mtu = 1300,
	  .ip_bytes = 1301,
	  .verdict = SIXLANE_ANSWER_TOO_BIG,
	  .told = 1300,
	  .aged = true },
	{ .name = "an exception's that is locked",
	  .flags = KERNEL | WITH_MTU | SIXLANE_EXCEPTION_LOCKED,
	  .exception_mtu = 1300,
	  .ip_bytes = 1501,
	  .verdict = SIXLANE_ANSWER_TOO_BIG,
	  .told = 1300 },
	{ .name = "an exception's takes the place of the route's, and its lock",
	  .flags = KERNEL | WITH_MTU,
	  .exception_mtu = 1450,
	  .route_mtu = 1300,
	  .route_locked = true,
	  .ip_bytes = 1451,
	  .verdict = SIXLANE_ANSWER_TOO_BIG,
	  .told = 1450,
	  .aged = true },
	{ .name = "an exception, but the device's is what counts",
	  .flags = KERNEL | WITH_MTU,
	  .exception_mtu = 1300,
	  .ip_bytes = 1501,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "an exception without an MTU leaves the route's",
	  .flags = KERNEL | WITH_HOP,
	  .route_mtu = 1400,
	  .ip_bytes = 1401,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "by the operator's next hop: nobody else knows it",
	  .flags = OPERATOR | WITH_HOP,
	  .ip_bytes = 1501,
	  .verdict = SIXLANE_ANSWER_TOO_BIG,
	  .told = 1500 },
	{ .name = "what XDP may send is less than what the kernel may",
	  .answer = true,
	  .stacked = true,
	  .ip_bytes = 1501,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "the same, but for the operator's",
	  .flags = OPERATOR | WITH_HOP,
	  .stacked = true,
	  .ip_bytes = 1501,
	  .verdict = SIXLANE_ANSWER_TOO_BIG,
	  .told = 1500 },
	{ .name = "the same, but for an MTU below it",
	  .flags = KERNEL | WITH_MTU,
	  .exception_mtu = 1300,
	  .stacked = true,
	  .ip_bytes = 1301,
	  .verdict = SIXLANE_ANSWER_TOO_BIG,
	  .told = 1300,
	  .aged = true },
};

static void which_mtu_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bigs); i++) {
		const struct big *row = &bigs[i];
		struct sixlane_exception value;
		struct walk walk;

		fill(MARK);
		value = exception_of(row->flags);
		value.mtu = row->exception_mtu;
		if (row->flags)
			world_exception(SIXLANE_TABLE_MAIN, DESTINATION, value);
		next_hops[HOP].mtu = row->route_mtu;
		next_hops[HOP].flags = row->route_locked ? SIXLANE_NEXT_HOP_LOCKED : 0;
		meta.flags |= row->answer ? SIXLANE_META_ANSWER : 0;
		for (uint32_t slot = SLOT_OUT; row->stacked && slot <= SLOT_OTHER; slot++) {
			ports[slot].flags |= SIXLANE_PORT_TAGGED;
			ports[slot].tags[0].word = ports[slot].tags[1].word = 1;
		}
		walk = walk_of(row->ip_bytes);
		if (walk.verdict != row->verdict || walk.hop.answer.mtu != row->told ||
		    walk.hop.answer.aged != row->aged)
			fail_msg("%s: verdict %u, told %u, aged %u", row->name, walk.verdict,
				 walk.hop.answer.mtu, walk.hop.answer.aged);
	}
}

/* Every one is in the way of an exact answer. */
static const struct obstacle {
	const char *name;
	uint32_t in_set, in_clear, out_set, back_marks, back_flags;
	uint16_t back_fate;
	uint8_t proto;
	bool no_back, no_mac, by_other_port, no_source;
	bool silent;		      /* nor is one sent back by the way that it came */
	enum sixlane_verdict verdict; /* not as usual: … */
} obstacles[] = {
	{ .name = "no address to answer from", .in_clear = SIXLANE_PORT_SOURCE },
	{ .name = "not even a guess",
	  .in_clear = SIXLANE_PORT_SOURCE,
	  .no_source = true,
	  .silent = true },
	{ .name = "rules", .in_set = SIXLANE_PORT_RULES },
	{ .name = "a VRF", .in_set = SIXLANE_PORT_VRF },
	{ .name = "a VRF behind it", .out_set = SIXLANE_PORT_VRF },
	{ .name = "a port that XDP cannot send by as the kernel does",
	  .in_set = SIXLANE_PORT_STRANGE },
	{ .name = "a bond's slaves", .in_set = SIXLANE_PORT_SLAVES },
	{ .name = "no way back", .no_back = true },
	{ .name = "a way back by another port", .by_other_port = true },
	{ .name = "an exception on it", .back_marks = MARK },
	{ .name = "no room for one", .back_marks = MARK_MISSING },
	{ .name = "what the route itself says", .back_flags = SIXLANE_NEXT_HOP_NO_ANSWER },
	{ .name = "several ways", .back_fate = SIXLANE_KIND_GROUP },
	{ .name = "unreachable", .back_fate = SIXLANE_PASS_UNREACHABLE },
	{ .name = "to ourselves", .back_fate = SIXLANE_PASS_LOCAL, .silent = true },
	{ .name = "anycast", .back_fate = SIXLANE_PASS_ANYCAST, .silent = true },
	{ .name = "nobody there", .no_mac = true },
	{ .name = "a port that takes nothing", .in_clear = SIXLANE_PORT_XMIT, .silent = true },
	{ .name = "behind a fragment header", .proto = 44, .silent = true },
	{ .name = "behind options", .proto = 60, .silent = true },
};

static void set_up(const struct obstacle *obstacle)
{
	/* Rules would be walked. */
	union sixlane_rules list = { .n = 1 };

	rules[0] =
		(struct sixlane_rule){ .action = SIXLANE_RULE_LOOKUP, .table = SIXLANE_TABLE_MAIN };
	meta.rules = list;
	ports[SLOT_IN].flags |= obstacle->in_set;
	ports[SLOT_IN].flags &= ~obstacle->in_clear;
	ports[SLOT_OUT].flags |= obstacle->out_set;
	routes[1].value |= obstacle->back_marks;
	next_hops[BACK_HOP].flags = obstacle->back_flags;
	if (obstacle->back_fate)
		next_hops[BACK_HOP].fate.kind = obstacle->back_fate;
	if (obstacle->by_other_port)
		next_hops[BACK_HOP].fate.port = SLOT_OTHER;
	if (obstacle->no_source)
		ports[SLOT_IN].source = (union sixlane_addr){ 0 };
	if (obstacle->no_mac)
		next_hops[BACK_HOP].fate.neighbour = OTHER_GATEWAY;
	neighbours[OTHER_GATEWAY].mac.flags = obstacle->no_mac ? 0 : SIXLANE_MAC_VALID;
	n_routes -= obstacle->no_back;
}

static void only_the_certain_is_answered(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(obstacles); i++) {
		const struct obstacle *row = &obstacles[i / 2];
		bool operator= i % 2;
		struct walk_query query = world_query(IN);
		enum sixlane_verdict wanted = SIXLANE_PASS_TOO_BIG;
		struct walk walk;

		fill(MARK);
		world_exception(SIXLANE_TABLE_MAIN, DESTINATION,
				exception_of((operator? OPERATOR : KERNEL) | WITH_MTU));
		set_up(row);
		query.ip_bytes = MTU + 1;
		if (row->proto)
			query.proto = row->proto;
		walk_packet(&maps, &query, &walk);
		if (operator)
			wanted = row->silent ? SIXLANE_DROP_TOO_BIG : SIXLANE_ANSWER_TOO_BIG;
		if (walk.verdict != wanted ||
		    walk.hop.answer.to_sender != (wanted == SIXLANE_ANSWER_TOO_BIG))
			fail_msg("%s: verdict %u, wanted %u", row->name, walk.verdict, wanted);
	}
}

static void an_answer_is_addressed(void **state)
{
	struct walk_query query = world_query(IN);
	union sixlane_addr source = address("2001:db8:a::ff");
	struct walk walk;

	(void)state;
	fill(MARK);
	world_exception(SIXLANE_TABLE_MAIN, DESTINATION, exception_of(KERNEL | WITH_MTU));
	query.ip_bytes = MTU + 1;
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_ANSWER_TOO_BIG);
	assert_false(walk.hop.answer.to_sender);
	assert_int_equal(walk.hop.answer.mac[5], 0xaa);
	assert_memory_equal(&walk.hop.answer.source, &source, sizeof(source));
	/* it comes before the neighbour ahead is asked for */
	neighbours[ON_LINK].mac.flags = 0;
	next_hops[HOP].fate.neighbour = 0;
	assert_int_equal(walk_of(MTU + 1).verdict, SIXLANE_ANSWER_TOO_BIG);
	/* … and after the hop limit */
	query.hop_limit = 1;
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_PASS_HOP_LIMIT);
}

static void an_on_link_prefix_has_an_anycast_address(void **state)
{
	struct walk_query query = world_query(IN);
	struct walk walk;

	(void)state;
	fill(MARK);
	world_exception(SIXLANE_TABLE_MAIN, DESTINATION, exception_of(OPERATOR | WITH_MTU));
	query.ip_bytes = MTU + 1;
	query.src = address("2001:db8:a::");
	walk_packet(&maps, &query, &walk);
	/* behind a gateway it is like any other */
	assert_int_equal(walk.verdict, SIXLANE_ANSWER_TOO_BIG);
	next_hops[BACK_HOP].fate.neighbour = 0;
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_DROP_TOO_BIG);
	query.src = address("2001:db8:a::1:0");
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_ANSWER_TOO_BIG);
	/* RFC 6164: on a link of two both are hosts */
	routes[1].value = sixlane_route_value(BACK_HOP, 127);
	routes[1].len = 127;
	query.src = address("2001:db8:a::");
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_ANSWER_TOO_BIG);
}

static void in_generic_mode_a_frame_may_be_many(void **state)
{
	struct walk_query query = world_query(IN);
	struct walk walk;

	(void)state;
	for (int operator= 0; operator<= 1; operator++) {
		fill(MARK);
		world_exception(SIXLANE_TABLE_MAIN, DESTINATION,
				exception_of((operator? OPERATOR : KERNEL) | WITH_MTU));
		ports[SLOT_IN].flags |= SIXLANE_PORT_GENERIC;
		ports[SLOT_IN].flags &= ~SIXLANE_PORT_XMIT;
		query.ip_bytes = DEVICE_MTU;
		walk_packet(&maps, &query, &walk);
		assert_int_equal(walk.verdict, operator? SIXLANE_ANSWER_TOO_BIG
						       : SIXLANE_PASS_TOO_BIG);
		query.ip_bytes = DEVICE_MTU + 1;
		walk_packet(&maps, &query, &walk);
		assert_int_equal(walk.verdict, SIXLANE_PASS_TOO_BIG);
	}
}

static void a_rate_of_nothing_answers_nothing(void **state)
{
	(void)state;
	fill(MARK);
	world_exception(SIXLANE_TABLE_MAIN, DESTINATION, exception_of(KERNEL | WITH_MTU));
	meta.answer_ns = 1000;
	assert_int_equal(walk_of(MTU + 1).verdict, SIXLANE_DROP_TOO_BIG_RATE);
	meta.answer_burst = 1;
	assert_int_equal(walk_of(MTU + 1).verdict, SIXLANE_ANSWER_TOO_BIG);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_mtu_counts),
		cmocka_unit_test(only_the_certain_is_answered),
		cmocka_unit_test(an_answer_is_addressed),
		cmocka_unit_test(an_on_link_prefix_has_an_anycast_address),
		cmocka_unit_test(in_generic_mode_a_frame_may_be_many),
		cmocka_unit_test(a_rate_of_nothing_answers_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
