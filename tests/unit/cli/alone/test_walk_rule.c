// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which rule applies and what its table says, as `sixlane lookup` and `explain` tell it.
 */
#include "../../unit.h"
#include "../cmd_world.h"

enum { BY_OUT = 5, PROHIBIT, THROW, HOLE };
#define VRF_TABLE 10u
#define LAST_TABLE 100u /* of the last rule: unreachable */

/*
 * One rule before "lookup 100": `lookup 200`, by OUT. Selectors are compared with a UDP packet from
 * SOURCE, port 1000, to DESTINATION, port 53.
 */
struct row {
	const char *name;
	struct sixlane_rule rule;
	const char *src, *dst; /* of the rule, with the masks */
	uint32_t src_len, dst_len;
	uint32_t proto;	  /* of the packet, 0: UDP */
	uint32_t bytes;	  /* of the packet, 0: enough */
	uint32_t verdict; /* SIXLANE_FORWARD: the rule applies; SIXLANE_PASS_PROHIBIT: the last does
			   */
	uint32_t depends; /* when asked without source, port and flow */
	bool vrf;	  /* the port belongs to one */
	bool applies_unasked; /* without all that */
};

#define PROHIBITED SIXLANE_PASS_PROHIBIT

static const struct row rows[] = {
	{ .name = "from all", .applies_unasked = true },
	{ .name = "not from all", .rule.flags = SIXLANE_RULE_INVERT, .verdict = PROHIBITED },
	{ .name = "from", .src = "2001:db8:a::", .src_len = 64, .depends = WALK_ON_SOURCE },
	{ .name = "from elsewhere",
	  .src = "2001:db8:b::",
	  .src_len = 64,
	  .depends = WALK_ON_SOURCE,
	  .verdict = PROHIBITED },
	{ .name = "not from elsewhere",
	  .rule.flags = SIXLANE_RULE_INVERT,
	  .src = "2001:db8:b::",
	  .src_len = 64,
	  .applies_unasked = true,
	  .depends = WALK_ON_SOURCE },
	{ .name = "to", .dst = "2001:db8::", .dst_len = 64, .applies_unasked = true },
	{ .name = "to elsewhere, from here: the one that is known decides",
	  .dst = "2001:db8:b::",
	  .dst_len = 64,
	  .src = "2001:db8:a::",
	  .src_len = 64,
	  .verdict = PROHIBITED },
	{ .name = "iif",
	  .rule = { .flags = SIXLANE_RULE_IIF, .iif = IN },
	  .depends = WALK_ON_PORT },
	{ .name = "another iif",
	  .rule = { .flags = SIXLANE_RULE_IIF, .iif = OUT },
	  .depends = WALK_ON_PORT,
	  .verdict = PROHIBITED },
	{ .name = "tos",
	  .rule = { .flags = SIXLANE_RULE_TCLASS, .tclass = 0x10, .tclass_mask = 0xfc },
	  .depends = WALK_ON_TCLASS },
	{ .name = "another tos",
	  .rule = { .flags = SIXLANE_RULE_TCLASS, .tclass = 0x20, .tclass_mask = 0xfc },
	  .depends = WALK_ON_TCLASS,
	  .verdict = PROHIBITED },
	{ .name = "protocol",
	  .rule = { .flags = SIXLANE_RULE_PROTO, .proto = 17 },
	  .depends = WALK_ON_FLOW },
	{ .name = "another protocol",
	  .rule = { .flags = SIXLANE_RULE_PROTO, .proto = 6 },
	  .depends = WALK_ON_FLOW,
	  .verdict = PROHIBITED },
	{ .name = "source port",
	  .rule = { .flags = SIXLANE_RULE_SPORT, .sport_low = 1000, .sport_high = 1001 },
	  .depends = WALK_ON_FLOW },
	{ .name = "below the source ports",
	  .rule = { .flags = SIXLANE_RULE_SPORT, .sport_low = 1001, .sport_high = 1002 },
	  .depends = WALK_ON_FLOW,
	  .verdict = PROHIBITED },
	{ .name = "beyond the source ports",
	  .rule = { .flags = SIXLANE_RULE_SPORT, .sport_low = 998, .sport_high = 999 },
	  .depends = WALK_ON_FLOW,
	  .verdict = PROHIBITED },
	{ .name = "destination port",
	  .rule = { .flags = SIXLANE_RULE_DPORT, .dport_low = 1, .dport_high = 53 },
	  .depends = WALK_ON_FLOW },
	{ .name = "beyond the destination ports",
	  .rule = { .flags = SIXLANE_RULE_DPORT, .dport_low = 1, .dport_high = 52 },
	  .depends = WALK_ON_FLOW,
	  .verdict = PROHIBITED },
	{ .name = "ports that are not in the packet",
	  .rule = { .flags = SIXLANE_RULE_DPORT, .dport_low = 1, .dport_high = 53 },
	  .bytes = 43,
	  .depends = WALK_ON_FLOW,
	  .verdict = SIXLANE_PUNT_RULE },
	{ .name = "protocol behind a header that XDP does not walk",
	  .rule = { .flags = SIXLANE_RULE_PROTO, .proto = 17 },
	  .proto = 44,
	  .depends = WALK_ON_FLOW,
	  .verdict = SIXLANE_PUNT_RULE },
	{ .name = "protocol of such a packet from elsewhere: it does not matter",
	  .rule = { .flags = SIXLANE_RULE_PROTO, .proto = 17 },
	  .src = "2001:db8:b::",
	  .src_len = 64,
	  .proto = 44,
	  .depends = WALK_ON_SOURCE | WALK_ON_FLOW,
	  .verdict = PROHIBITED },
	{ .name = "what XDP cannot see",
	  .rule.flags = SIXLANE_RULE_UNKNOWN,
	  .verdict = SIXLANE_PUNT_RULE },
	{ .name = "what XDP cannot see, for others",
	  .rule.flags = SIXLANE_RULE_UNKNOWN,
	  .dst = "2001:db8:b::",
	  .dst_len = 64,
	  .verdict = PROHIBITED },
	{ .name = "l3mdev, no VRF",
	  .rule.flags = SIXLANE_RULE_L3MDEV,
	  .depends = WALK_ON_PORT,
	  .verdict = PROHIBITED },
	{ .name = "l3mdev",
	  .rule.flags = SIXLANE_RULE_L3MDEV,
	  .vrf = true,
	  .depends = WALK_ON_PORT,
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "a fate",
	  .rule = { .action = SIXLANE_RULE_VERDICT, .fate = SIXLANE_PASS_UNREACHABLE },
	  .applies_unasked = true,
	  .verdict = SIXLANE_PASS_UNREACHABLE },
	{ .name = "a fate of another version",
	  .rule = { .action = SIXLANE_RULE_VERDICT, .fate = SIXLANE_N_VERDICTS },
	  .applies_unasked = true,
	  .verdict = SIXLANE_PUNT_RULES },
	{ .name = "goto",
	  .rule = { .action = SIXLANE_RULE_GOTO, .target = 2 },
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "suppressed",
	  .rule = { .flags = SIXLANE_RULE_SUPPRESS, .suppress_len = 32 },
	  .verdict = PROHIBITED },
	{ .name = "too long to be suppressed",
	  .rule = { .flags = SIXLANE_RULE_SUPPRESS, .suppress_len = 31 },
	  .applies_unasked = true },
};

static void put_rule(uint32_t at, const struct sixlane_rule *rule)
{
	rules[meta.rules.first + at] = *rule;
	rules[meta.rules.first + at].priority = 1000 + at;
	if (at >= meta.rules.n)
		meta.rules.n = at + 1;
}

static void fill(const struct row *row)
{
	struct sixlane_rule rule = row->rule;

	world_clear();
	world_hop(BY_OUT, SLOT_OUT, GATEWAY);
	world_fate(PROHIBIT, SIXLANE_PASS_PROHIBIT);
	world_fate(THROW, SIXLANE_PASS_THROW);
	world_fate(HOLE, SIXLANE_DROP_BLACKHOLE);
	world_route(200, "2001:db8::", 32, BY_OUT);
	world_route(LAST_TABLE, "::", 0, PROHIBIT);
	world_route(VRF_TABLE, "::", 0, HOLE);
	ports[SLOT_IN].flags |= SIXLANE_PORT_RULES;
	if (row->vrf) {
		ports[SLOT_IN].flags |= SIXLANE_PORT_VRF;
		ports[SLOT_IN].table = VRF_TABLE;
	}
	meta.rules.first = SIXLANE_MAX_RULES;
	rule.table = 200;
	if (row->src) {
		rule.flags |= SIXLANE_RULE_SOURCE;
		rule.src = address(row->src);
		memset(rule.src_mask.bytes, 0xff, row->src_len / 8);
	}
	if (row->dst) {
		rule.flags |= SIXLANE_RULE_DESTINATION;
		rule.dst = address(row->dst);
		memset(rule.dst_mask.bytes, 0xff, row->dst_len / 8);
	}
	put_rule(0, &rule);
	put_rule(1, &(struct sixlane_rule){ .table = LAST_TABLE });
}

static struct walk_query query_of(const struct row *row)
{
	struct walk_query query = world_query(IN);

	query.tclass = 0x12; /* with an ECN bit, which rules do not see */
	if (row->proto)
		query.proto = (uint8_t)row->proto;
	if (row->bytes)
		query.ip_bytes = row->bytes;
	return query;
}

static void every_selector_and_action(void **state)
{
	struct walk walk;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		struct walk_query query = query_of(row);

		fill(row);
		walk_packet(&maps, &query, &walk);
		if (walk.verdict != row->verdict || walk.depends)
			fail_msg("%s: verdict %u, wanted %u; depends on 0x%x", row->name,
				 walk.verdict, row->verdict, walk.depends);
	}
}

static void what_is_not_asked_is_told(void **state)
{
	struct walk_query query = world_query(0);
	struct walk walk;
	bool applies;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];

		if (row->vrf)
			continue;
		fill(row);
		walk_packet(&maps, &query, &walk);
		applies = walk.n_rules == 1 && walk.rules[0].outcome == WALK_RULE_DECIDES;
		if (walk.depends != row->depends || applies != row->applies_unasked)
			fail_msg("%s: depends on 0x%x, wanted 0x%x; applies %d", row->name,
				 walk.depends, row->depends, applies);
	}
}

static void the_trace_tells_each_rule(void **state)
{
	static const struct row any = { .name = "" };
	struct walk_query query = world_query(IN);
	const struct sixlane_rule list[] = {
		{ .flags = SIXLANE_RULE_IIF, .iif = OUT, .table = 200 },
		{ .table = 300 },
		{ .table = 400 },
		{ .flags = SIXLANE_RULE_SUPPRESS, .suppress_len = 32, .table = 200 },
		{ .action = SIXLANE_RULE_GOTO, .target = 6 },
		{ .table = VRF_TABLE },
		{ .table = 200 },
	};
	const enum walk_rule_outcome wanted[] = { WALK_RULE_DIFFERS, WALK_RULE_NO_ROUTE,
						  WALK_RULE_THROW,   WALK_RULE_SUPPRESSED,
						  WALK_RULE_GOTO,    WALK_RULE_DECIDES };
	struct walk walk;

	(void)state;
	fill(&any);
	world_route(400, "2001:db8::", 32, THROW);
	for (uint32_t i = 0; i < ARRAY_SIZE(list); i++)
		put_rule(i, &list[i]);
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_FORWARD);
	assert_int_equal(walk.n_rules, ARRAY_SIZE(wanted));
	for (uint32_t i = 0; i < ARRAY_SIZE(wanted); i++)
		assert_int_equal(walk.rules[i].outcome, wanted[i]);
	assert_int_equal(walk.rules[5].rule.priority, 1006);
	assert_int_equal(walk.table, 200);
	assert_int_equal(walk.prefix_len, 32);
}

static void an_object_may_be_suppressed_by_another_route(void **state)
{
	static const struct row any = { .name = "" };
	struct walk_query query = world_query(IN);
	struct walk walk;

	(void)state;
	for (uint8_t len = 31; len <= 32; len++) {
		fill(&any);
		put_rule(0, &(struct sixlane_rule){ .flags = SIXLANE_RULE_SUPPRESS,
						    .suppress_len = len,
						    .table = 200 });
		put_rule(1, &(struct sixlane_rule){ .table = 200 });
		next_hops[BY_OUT].flags = SIXLANE_NEXT_HOP_OBJECT;
		walk_packet(&maps, &query, &walk);
		assert_int_equal(walk.verdict, SIXLANE_PUNT_RULE);
		assert_int_equal(walk.n_rules, 1);
		assert_int_equal(walk.rules[0].outcome, WALK_RULE_SHARED);
		assert_false(walk.has_prefix);
		next_hops[BY_OUT].flags = 0;
		walk_packet(&maps, &query, &walk);
		assert_int_equal(walk.verdict, SIXLANE_FORWARD);
		assert_int_equal(walk.n_rules, len == 31 ? 1 : 2);
	}
}

static void the_last_rule_has_the_last_word(void **state)
{
	static const struct row any = { .name = "" };
	struct walk_query query = world_query(IN);
	struct walk walk;

	(void)state;
	fill(&any);
	world_route(400, "2001:db8::", 32, THROW);
	put_rule(0, &(struct sixlane_rule){ .table = 300 });
	put_rule(1, &(struct sixlane_rule){ .table = 400 });
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_PASS_THROW);
	assert_true(walk.has_prefix);
	put_rule(2, &(struct sixlane_rule){ .flags = SIXLANE_RULE_INVERT });
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_PASS_NO_ROUTE);
	assert_false(walk.has_prefix);
	put_rule(2, &(struct sixlane_rule){ .table = 300 });
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_PASS_NO_ROUTE);
	assert_false(walk.has_prefix);
	/* a table that lacks a prefix may not be passed over */
	meta.flags |= SIXLANE_META_GAPS;
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_PUNT_MAP_FULL);
	assert_int_equal(walk.n_rules, 1);
}

static void a_list_that_runs_in_circles_ends(void **state)
{
	static const struct row any = { .name = "" };
	struct walk_query query = world_query(IN);
	struct walk walk;

	(void)state;
	fill(&any);
	put_rule(0, &(struct sixlane_rule){ .action = SIXLANE_RULE_GOTO, .target = 0 });
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.n_rules, SIXLANE_MAX_RULES);
	assert_int_equal(walk.verdict, SIXLANE_PASS_NO_ROUTE);
	meta.rules.first = 2 * SIXLANE_MAX_RULES;
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_PUNT_RULES);
}

static void without_a_port_the_plain_ones_count(void **state)
{
	static const struct row any = { .name = "" };
	struct walk_query query = world_query(0);
	struct walk walk;

	(void)state;
	fill(&any);
	world_route(SIXLANE_TABLE_MAIN, "::", 0, HOLE);
	world_port(SLOT_OTHER, OTHER, SERVED);
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_DROP_BLACKHOLE);
	assert_int_equal(walk.depends, WALK_ON_PORT);
	ports[SLOT_OTHER].flags |= SIXLANE_PORT_RULES;
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_FORWARD);
	assert_int_equal(walk.depends, 0);
	/* a table that is asked by name needs no rule */
	query.table = LAST_TABLE;
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.verdict, SIXLANE_PASS_PROHIBIT);
	assert_false(walk.by_rules);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_selector_and_action),
		cmocka_unit_test(what_is_not_asked_is_told),
		cmocka_unit_test(the_trace_tells_each_rule),
		cmocka_unit_test(an_object_may_be_suppressed_by_another_route),
		cmocka_unit_test(the_last_rule_has_the_last_word),
		cmocka_unit_test(a_list_that_runs_in_circles_ends),
		cmocka_unit_test(without_a_port_the_plain_ones_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
