// SPDX-License-Identifier: GPL-2.0-only
/*
 * What `sixlane lookup` and `explain` make of exceptions.
 */
#include "../../unit.h"
#include "../cmd_exception_world.h"

/* --- what is met ------------------------------------------------------------------------- */

static const struct row {
	const char *name;
	uint32_t marks, flags; /* flags 0: it is not there */
	bool elsewhere;	       /* under another fate */
	bool lacking;	       /* for want of room */
	uint64_t expires_ns;
	enum walk_exception_outcome outcome;
	enum sixlane_verdict verdict; /* of 1301 bytes, answered without further ado */
	enum sixlane_verdict smaller; /* of 1300, if not forwarded, or punted like 1301 */
	uint32_t port;		      /* 0: SLOT_OUT */
	uint32_t mtu;		      /* 0: DEVICE_MTU */
} rows[] = {
	{ .name = "no mark, and so nobody looks", .flags = KERNEL | WITH_MTU },
	{ .name = "a mark, and nothing there", .marks = MARK, .outcome = WALK_EXCEPTION_ABSENT },
	{ .name = "nothing there, for want of room",
	  .marks = MARK | MARK_MISSING,
	  .lacking = true,
	  .outcome = WALK_EXCEPTION_MISSING,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "nothing there, while others found no room",
	  .marks = MARK | MARK_MISSING,
	  .outcome = WALK_EXCEPTION_ABSENT },
	{ .name = "lacking under another route",
	  .marks = MARK,
	  .lacking = true,
	  .outcome = WALK_EXCEPTION_ABSENT },
	{ .name = "only missing ones",
	  .marks = MARK_MISSING,
	  .lacking = true,
	  .outcome = WALK_EXCEPTION_MISSING,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "there, though it found no room before",
	  .marks = MARK | MARK_MISSING,
	  .lacking = true,
	  .flags = KERNEL | WITH_HOP,
	  .outcome = WALK_EXCEPTION_APPLIED,
	  .port = SLOT_OTHER },
	{ .name = "MTU",
	  .marks = MARK,
	  .flags = KERNEL | WITH_MTU,
	  .outcome = WALK_EXCEPTION_APPLIED,
	  .verdict = SIXLANE_ANSWER_TOO_BIG,
	  .mtu = MTU },
	{ .name = "next hop",
	  .marks = MARK,
	  .flags = KERNEL | WITH_HOP,
	  .outcome = WALK_EXCEPTION_APPLIED,
	  .port = SLOT_OTHER },
	{ .name = "both",
	  .marks = MARK,
	  .flags = OPERATOR | WITH_MTU | WITH_HOP,
	  .outcome = WALK_EXCEPTION_APPLIED,
	  .verdict = SIXLANE_ANSWER_TOO_BIG,
	  .port = SLOT_OTHER,
	  .mtu = MTU },
	{ .name = "under this next hop",
	  .marks = MARK,
	  .flags = KERNEL | WITH_HOP | SIXLANE_EXCEPTION_UNDER,
	  .outcome = WALK_EXCEPTION_APPLIED,
	  .port = SLOT_OTHER },
	{ .name = "under another one",
	  .marks = MARK,
	  .flags = KERNEL | WITH_HOP | SIXLANE_EXCEPTION_UNDER,
	  .elsewhere = true,
	  .outcome = WALK_EXCEPTION_ELSEWHERE },
	{ .name = "punted",
	  .marks = MARK,
	  .flags = KERNEL | WITH_MTU | SIXLANE_EXCEPTION_PUNT,
	  .outcome = WALK_EXCEPTION_PUNTED,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "punted under another next hop",
	  .marks = MARK,
	  .flags = KERNEL | WITH_MTU | SIXLANE_EXCEPTION_PUNT | SIXLANE_EXCEPTION_UNDER,
	  .elsewhere = true,
	  .outcome = WALK_EXCEPTION_ELSEWHERE },
	{ .name = "punted, over the operator's MTU",
	  .marks = MARK,
	  .flags = OPERATOR | WITH_MTU | SIXLANE_EXCEPTION_PUNT,
	  .outcome = WALK_EXCEPTION_APPLIED,
	  .verdict = SIXLANE_ANSWER_TOO_BIG,
	  .smaller = SIXLANE_PUNT_EXCEPTION,
	  .mtu = MTU },
	{ .name = "the operator's has expired, and the kernel says more",
	  .marks = MARK,
	  .flags = OPERATOR | WITH_MTU | SIXLANE_EXCEPTION_MORE,
	  .expires_ns = 1,
	  .outcome = WALK_EXCEPTION_PUNTED,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "observed",
	  .marks = MARK,
	  .flags = KERNEL | WITH_MTU | SIXLANE_EXCEPTION_OBSERVE | SIXLANE_EXCEPTION_PUNT,
	  .outcome = WALK_EXCEPTION_OBSERVED },
	{ .name = "expired, which is no want of room",
	  .marks = MARK | MARK_MISSING,
	  .lacking = true,
	  .flags = KERNEL | WITH_MTU | SIXLANE_EXCEPTION_PUNT,
	  .expires_ns = 1,
	  .outcome = WALK_EXCEPTION_EXPIRED },
	{ .name = "redirect that nobody has asked about for too long",
	  .marks = MARK,
	  .flags = KERNEL | WITH_HOP | SIXLANE_EXCEPTION_MORE,
	  .expires_ns = 1,
	  .outcome = WALK_EXCEPTION_PUNTED,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "not yet expired",
	  .marks = MARK,
	  .flags = KERNEL | WITH_HOP,
	  .expires_ns = UINT64_MAX,
	  .outcome = WALK_EXCEPTION_APPLIED,
	  .port = SLOT_OTHER },
};

static void what_is_met(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		uint32_t port = row->port ? row->port : SLOT_OUT;
		uint32_t mtu = row->mtu ? row->mtu : DEVICE_MTU;
		struct sixlane_exception value;
		struct walk walk;

		fill(row->marks);
		value = exception_of(row->flags);
		value.expires_ns = row->expires_ns;
		value.under.port += row->elsewhere;
		if (row->flags)
			world_exception(SIXLANE_TABLE_MAIN, DESTINATION, value);
		if (row->lacking)
			lack();
		walk = walk_of(MTU + 1);
		if (walk.verdict != row->verdict || walk.exception.outcome != row->outcome ||
		    walk.hop.port != port || walk.hop.mtu != mtu)
			fail_msg("%s: verdict %u, outcome %u, port %u, mtu %u", row->name,
				 walk.verdict, walk.exception.outcome, walk.hop.port, walk.hop.mtu);
		assert_int_equal(walk.hop.limit.by_exception, row->mtu == MTU);
		/* what is no larger than it goes on */
		walk = walk_of(MTU);
		assert_int_equal(walk.verdict, row->verdict == SIXLANE_PUNT_EXCEPTION
						       ? row->verdict
						       : row->smaller);
	}
}

static void whose_it_is(void **state)
{
	struct walk walk;

	(void)state;
	fill(MARK);
	world_exception(100, DESTINATION, exception_of(KERNEL | WITH_MTU));
	world_exception(SIXLANE_TABLE_MAIN, "2001:db8::2", exception_of(KERNEL | WITH_MTU));
	walk = walk_of(MTU + 1);
	assert_int_equal(walk.exception.outcome, WALK_EXCEPTION_ABSENT);
	/* the table is the one where the route was found */
	ports[SLOT_IN].table = 100;
	world_route(100, "::", 0, HOP);
	routes[2].value |= MARK;
	walk = walk_of(MTU + 1);
	assert_int_equal(walk.exception.outcome, WALK_EXCEPTION_APPLIED);
	assert_int_equal(walk.exception.value.mtu, MTU);
}

/* The mark is the destination's prefix's, whatever the source leads to. */
static void sources_do_not_count(void **state)
{
	struct walk walk;

	(void)state;
	fill(MARK);
	world_exception(SIXLANE_TABLE_MAIN, DESTINATION,
			exception_of(KERNEL | SIXLANE_EXCEPTION_PUNT));
	next_hops[HOP].fate = (union sixlane_fate){ .kind = SIXLANE_KIND_SOURCES, .set = 3 };
	world_source(3, "::", 0, OTHER_HOP);
	walk = walk_of(100);
	assert_int_equal(walk.exception.outcome, WALK_EXCEPTION_PUNTED);
	routes[0].value &= ~MARK;
	sources[0].value |= MARK;
	walk = walk_of(100);
	assert_int_equal(walk.verdict, SIXLANE_FORWARD);
}

static void fill_suppressed(uint32_t marks)
{
	fill(marks);
	ports[SLOT_IN].flags |= SIXLANE_PORT_RULES;
	meta.rules = (union sixlane_rules){ .n = 1 };
	rules[0] = (struct sixlane_rule){ .flags = SIXLANE_RULE_SUPPRESS,
					  .suppress_len = 64,
					  .table = SIXLANE_TABLE_MAIN };
}

/* To a rule that suppresses short prefixes an exception is a long one. */
static void suppressed_but_for_exceptions(void **state)
{
	struct walk walk;

	(void)state;
	for (uint32_t marks = 0; marks <= MARK; marks += MARK) {
		fill_suppressed(marks);
		walk = walk_of(100);
		assert_int_equal(walk.verdict, SIXLANE_PASS_NO_ROUTE);
		assert_int_equal(walk.rules[0].outcome, WALK_RULE_SUPPRESSED);
		world_exception(SIXLANE_TABLE_MAIN, DESTINATION, exception_of(KERNEL | WITH_MTU));
		walk = walk_of(100);
		assert_int_equal(walk.verdict, marks ? SIXLANE_PUNT_RULE : SIXLANE_PASS_NO_ROUTE);
		assert_int_equal(walk.rules[0].outcome,
				 marks ? WALK_RULE_EXCEPTED : WALK_RULE_SUPPRESSED);
	}
	fill_suppressed(MARK | MARK_MISSING);
	assert_int_equal(walk_of(100).verdict, SIXLANE_PASS_NO_ROUTE);
	lack();
	assert_int_equal(walk_of(100).verdict, SIXLANE_PUNT_RULE);
}

static void a_route_that_leads_nowhere_has_none(void **state)
{
	struct walk walk;

	(void)state;
	fill(MARK);
	world_exception(SIXLANE_TABLE_MAIN, DESTINATION, exception_of(KERNEL | WITH_HOP));
	next_hops[HOP].fate = (union sixlane_fate){ .kind = SIXLANE_PASS_LOCAL };
	walk = walk_of(100);
	assert_int_equal(walk.verdict, SIXLANE_PASS_LOCAL);
	assert_int_equal(walk.exception.outcome, WALK_EXCEPTION_UNASKED);
}

static void next_hops_that_lead_nowhere(void **state)
{
	struct walk walk;

	(void)state;
	fill(MARK);
	world_exception(SIXLANE_TABLE_MAIN, DESTINATION, exception_of(KERNEL | WITH_HOP));
	next_hops[OTHER_HOP].fate = (union sixlane_fate){ .kind = SIXLANE_PASS_EGRESS_DOWN };
	assert_int_equal(walk_of(100).verdict, SIXLANE_PASS_EGRESS_DOWN);
	next_hops[OTHER_HOP].fate = (union sixlane_fate){ .kind = SIXLANE_KIND_GROUP };
	assert_int_equal(walk_of(100).verdict, SIXLANE_PUNT_ROUTE);
	exceptions[0].value.next_hop = 0;
	walk = walk_of(100);
	assert_int_equal(walk.verdict, SIXLANE_PUNT_EXCEPTION);
	exceptions[0].value.next_hop = SIXLANE_MAX_NEXT_HOPS;
	assert_int_equal(walk_of(100).verdict, SIXLANE_PUNT_EXCEPTION);
	/* back where it came from */
	exceptions[0].value.next_hop = BACK_HOP;
	assert_int_equal(walk_of(100).verdict, SIXLANE_PASS_SAME_PORT);
}

/* --- groups ------------------------------------------------------------------------------ */

/* HOP and OTHER_HOP, half each; the exception holds for packets by HOP. */
static void fill_group(uint32_t flags)
{
	fill(MARK);
	world_exception(SIXLANE_TABLE_MAIN, DESTINATION,
			exception_of(flags | SIXLANE_EXCEPTION_UNDER));
	world_hop(9, SLOT_OUT, GATEWAY);
	world_hop(10, SLOT_OTHER, OTHER_GATEWAY);
	cells[0] = (union sixlane_cell){ .below = 9, .above = 9 };
	cells[1] = (union sixlane_cell){ .below = 10, .above = 10 };
	next_hops[HOP].fate = (union sixlane_fate){ .kind = SIXLANE_KIND_GROUP, .n_cells = 2 };
	exceptions[0].value.under = next_hops[9].fate;
}

static void members_meet_their_own(void **state)
{
	uint32_t n_applied = 0;
	struct walk walk;

	(void)state;
	fill_group(KERNEL | WITH_MTU);
	for (uint16_t sport = 1; sport <= 64; sport++) {
		struct walk_query query = world_query(IN);

		query.ip_bytes = MTU + 1;
		query.label = sport;
		walk_packet(&maps, &query, &walk);
		if (walk.group.chosen == 0) {
			assert_int_equal(walk.verdict, SIXLANE_ANSWER_TOO_BIG);
			assert_int_equal(walk.exception.outcome, WALK_EXCEPTION_APPLIED);
			n_applied++;
		} else {
			assert_int_equal(walk.verdict, SIXLANE_FORWARD);
			assert_int_equal(walk.exception.outcome, WALK_EXCEPTION_ELSEWHERE);
		}
		/* what the members are is told without it */
		assert_int_equal(walk.group.members[0].hop.mtu, DEVICE_MTU);
	}
	assert_in_range(n_applied, 1, 63);
}

static void of_all_packets_the_best_is_told(void **state)
{
	struct walk_query query = world_query(0);
	struct walk walk;

	(void)state;
	fill_group(KERNEL | SIXLANE_EXCEPTION_PUNT);
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_FORWARD);
	exceptions[0].value.flags &= ~SIXLANE_EXCEPTION_UNDER;
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_PUNT_EXCEPTION);
	exceptions[0].value.flags = KERNEL | WITH_HOP;
	exceptions[0].value.next_hop = 10;
	ports[SLOT_OTHER].flags &= ~SIXLANE_PORT_UP;
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_PASS_EGRESS_DOWN);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_met),
		cmocka_unit_test(whose_it_is),
		cmocka_unit_test(sources_do_not_count),
		cmocka_unit_test(suppressed_but_for_exceptions),
		cmocka_unit_test(a_route_that_leads_nowhere_has_none),
		cmocka_unit_test(next_hops_that_lead_nowhere),
		cmocka_unit_test(members_meet_their_own),
		cmocka_unit_test(of_all_packets_the_best_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
