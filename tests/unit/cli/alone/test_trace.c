// SPDX-License-Identifier: GPL-2.0-only
/* Records of the trace flavour, and what `sixlane explain` and `lookup` read out of them. */
#include "../cmd_world.h"

#include "../../../../user/cli/explain.h"
#include "../../../../user/cli/guard.h"
#include "../../../../user/cli/lookup_route.h"
#include "../cmd_stubs.h"

int maps_source_each(const struct maps *of, maps_route_fn fn, void *ctx)
{
	return 0;
}

/* No verdict here is of the guard. */
int cmd_guard_open(const struct cmd_view *view, struct cmd_guard *out)
{
	return -ENOMEM;
}

void cmd_guard_close(struct cmd_guard *guard)
{
}

void cmd_guard_reason(const struct cmd_guard *guard, enum sixlane_verdict verdict,
		      const struct sixlane_port *in, uint32_t egress, const union sixlane_addr *src,
		      const union sixlane_addr *dst, char *reason)
{
	*reason = '\0';
}

#define GROUP 50u
#define FIRST_BUCKET 1000u

enum { BY_OUT = 5, BY_OTHER };

static struct explain explain;
static struct trace *const trace = &explain.trace;

static void record(enum sixlane_trace_step step, uint32_t verdict, union sixlane_trace_facts facts)
{
	struct sixlane_trace *records = &trace->records;

	assert_in_range(records->n, 0, SIXLANE_TRACE_RECORDS - 1);
	records->records[records->n++] = (struct sixlane_trace_record){ step, verdict, facts };
}

#define RECORD(step, verdict, member, ...)              \
	record(SIXLANE_TRACE_##step, SIXLANE_##verdict, \
	       (union sixlane_trace_facts){ .member = { __VA_ARGS__ } })

static void arrive(void)
{
	explain = (struct explain){ 0 };
	RECORD(ARRIVAL, FORWARD, port, .slot = SLOT_IN, .ifindex = IN);
	RECORD(PORT, FORWARD, port, .slot = SLOT_IN, .ifindex = IN, .flags = SERVED,
	       .table = SIXLANE_TABLE_MAIN);
}

/* Two ports, a gateway, a route by it. */
static void fill(void)
{
	world_clear();
	world_port(SLOT_OTHER, OTHER, LIVE);
	world_hop(BY_OUT, SLOT_OUT, GATEWAY);
	world_hop(BY_OTHER, SLOT_OTHER, OTHER_GATEWAY);
	world_add(&routes, SIXLANE_TABLE_MAIN, "2001:db8::", 48, BY_OUT);
	arrive();
}

#define ROUTE(in_table, id)                                                                      \
	RECORD(ROUTE, FORWARD, route, .table = (in_table), .value = sixlane_route_value(id, 48), \
	       .nh_entry = next_hops[id].nh_entry)

static void end_by(uint32_t verdict)
{
	const union sixlane_addr dst = address(DESTINATION), src = address(SOURCE);

	record(SIXLANE_TRACE_END, verdict,
	       (union sixlane_trace_facts){ .end = { .slot = SLOT_IN } });
	trace_read(&maps, IN, &dst, &src, trace);
	assert_int_equal(trace->verdict, verdict);
}

/* --- records -------------------------------------------------------------------------- */

static void a_route_by_a_gateway(void **state)
{
	fill();
	ROUTE(SIXLANE_TABLE_MAIN, BY_OUT);
	RECORD(EGRESS, FORWARD, egress, .slot = SLOT_OUT, .ifindex = OUT, .flags = LIVE,
	       .tx_ifindex = OUT, .mtu = 1400);
	RECORD(MTU, FORWARD, mtu, .ip_bytes = 48, .device_mtu = 1400, .mtu = 1350);
	RECORD(NEIGHBOUR, FORWARD, neighbour, .gateway = GATEWAY, .found = 1, .mac = ~0ull);
	end_by(SIXLANE_FORWARD);
	assert_int_equal(trace->slot, SLOT_IN);
	assert_int_equal(trace->port.ifindex, IN);
	assert_false(trace->by_slave || trace->by_rules);
	assert_int_equal(trace->table, SIXLANE_TABLE_MAIN);
	assert_int_equal(trace->view.prefix_len, 48);
	assert_int_equal(trace->view.hop.port, SLOT_OUT);
	assert_int_equal(trace->view.hop.mtu, 1350);
	assert_true(trace->view.hop.has_mac && trace->view.hop.has_gateway);
	assert_int_equal(trace->view.hop.neigh.mac.bytes[0], 0xff);
}

static void a_rule_that_decides(void **state)
{
	fill();
	rules[3].priority = 100;
	rules[4].priority = 200;
	RECORD(RULES, FORWARD, rules, .list = { .first = 3, .n = 2 });
	RECORD(RULE, FORWARD, rule, .at = 0, .outcome = SIXLANE_TRACE_RULE_DIFFERS,
	       .selector = SIXLANE_RULE_SOURCE);
	ROUTE(100, BY_OTHER);
	RECORD(RULE, FORWARD, rule, .at = 1, .outcome = SIXLANE_TRACE_RULE_DECIDES, .table = 100);
	end_by(SIXLANE_FORWARD);
	assert_int_equal(trace->n_rules, 2);
	assert_int_equal(trace->rules[0].rule.priority, 100);
	assert_int_equal(trace->rules[0].selector, SIXLANE_RULE_SOURCE);
	assert_int_equal(trace->rules[1].rule.priority, 200);
	assert_true(trace->by_rules);
	assert_int_equal(trace->table, 100);
	assert_int_equal(trace->view.hop.port, SLOT_OTHER);
}

static void a_route_of_a_rule_that_goes_on_does_not_count(void **state)
{
	fill();
	RECORD(RULES, FORWARD, rules, .list = { .first = 0, .n = 2 });
	ROUTE(100, BY_OTHER);
	RECORD(RULE, FORWARD, rule, .at = 0, .outcome = SIXLANE_TRACE_RULE_SUPPRESSED,
	       .table = 100);
	RECORD(RULE, FORWARD, rule, .at = 1, .outcome = SIXLANE_TRACE_RULE_DIFFERS);
	end_by(SIXLANE_PASS_NO_ROUTE);
	assert_int_equal(trace->view.value, 0);
	assert_int_equal(trace->view.hop.port, 0);
	/* nor does any if a rule has a verdict of its own */
	fill();
	RECORD(RULES, FORWARD, rules, .list = { .first = 0, .n = 2 });
	RECORD(ROUTE, PASS_NO_ROUTE, route, .table = 100);
	RECORD(RULE, FORWARD, rule, .at = 0, .outcome = SIXLANE_TRACE_RULE_NO_ROUTE, .table = 100);
	RECORD(RULE, PASS_PROHIBIT, rule, .at = 1, .outcome = SIXLANE_TRACE_RULE_DECIDES);
	end_by(SIXLANE_PASS_PROHIBIT);
	assert_int_equal(trace->table, 0);
	assert_int_equal(trace->view.value, 0);
}

static void fill_group(void)
{
	fill();
	next_hops[GROUP].nh_entry = (union sixlane_nh_entry){ .type = SIXLANE_NH_GROUP,
							      .n_buckets = 2,
							      .first_bucket = FIRST_BUCKET };
	buckets[FIRST_BUCKET] = (union sixlane_nh_bucket){ .below = BY_OUT, .above = BY_OUT };
	buckets[FIRST_BUCKET + 1] =
		(union sixlane_nh_bucket){ .below = BY_OTHER, .above = BY_OTHER };
	ROUTE(SIXLANE_TABLE_MAIN, GROUP);
	RECORD(GROUP, FORWARD, group, .nh_entry = next_hops[GROUP].nh_entry);
	RECORD(HASH, FORWARD, hash, .hash = 1);
	RECORD(BUCKET, FORWARD, bucket, .number = 0, .id = BY_OUT);
}

static void the_last_draw_counts(void **state)
{
	fill_group();
	RECORD(BUCKET, FORWARD, bucket, .number = 1, .id = BY_OTHER);
	RECORD(MEMBER, FORWARD, member, .nh_entry = next_hops[BY_OTHER].nh_entry);
	end_by(SIXLANE_FORWARD);
	assert_int_equal(trace->n_draws, 2);
	assert_true(trace->draws[0].skipped);
	assert_false(trace->draws[1].skipped || trace->scanned);
	assert_int_equal(trace->view.group.members[trace->chosen].hop.id, BY_OTHER);
	assert_int_equal(trace->view.hop.port, SLOT_OTHER);
}

static void without_a_good_draw_all_members_are_weighed(void **state)
{
	fill_group();
	RECORD(SCAN, FORWARD, none, .words = { 0 });
	RECORD(MEMBER, FORWARD, member, .nh_entry = next_hops[BY_OTHER].nh_entry);
	end_by(SIXLANE_FORWARD);
	assert_true(trace->scanned && trace->draws[0].skipped);
	assert_int_equal(trace->view.group.members[trace->chosen].hop.id, BY_OTHER);
	/* or none can be used */
	fill_group();
	RECORD(SCAN, FORWARD, none, .words = { 0 });
	RECORD(MEMBER, PASS_EGRESS_DOWN, member, .nh_entry = next_hops[GROUP].nh_entry);
	end_by(SIXLANE_PASS_EGRESS_DOWN);
	assert_int_equal(trace->chosen, TRACE_NO_MEMBER);
	assert_int_equal(trace->view.hop.port, 0);
}

static void an_exception_changes_the_next_hop(void **state)
{
	fill();
	ROUTE(SIXLANE_TABLE_MAIN, BY_OUT);
	RECORD(EXCEPTION, FORWARD, exception, .outcome = SIXLANE_TRACE_EXCEPTION_APPLIED,
	       .flags = SIXLANE_EXCEPTION_NEXT_HOP | SIXLANE_EXCEPTION_MTU, .mtu = 1300,
	       .next_hop = BY_OTHER);
	end_by(SIXLANE_PASS_HOP_LIMIT);
	assert_true(trace->view.exception.applies);
	assert_int_equal(trace->view.hop.port, SLOT_OTHER);
	assert_int_equal(trace->view.hop.mtu, 1300);
	assert_true(trace->view.hop.by_exception);
}

static void records_are_checked(void **state)
{
	const union sixlane_addr addr = address(DESTINATION);

	fill();
	trace_read(&maps, IN, &addr, &addr, trace);
	assert_int_equal(trace->verdict, SIXLANE_PASS_NOT_READY);
	memset(&trace->records, 0xff, sizeof(trace->records));
	trace_read(&maps, IN, &addr, &addr, trace);
	assert_int_equal(trace->verdict, SIXLANE_PASS_NOT_READY);
	memset(&trace->records, 0xff, sizeof(trace->records));
	for (uint32_t i = 0; i < SIXLANE_TRACE_RECORDS; i++)
		trace->records.records[i].step = i % SIXLANE_TRACE_N_STEPS;
	trace_read(&maps, IN, &addr, &addr, trace);
	assert_int_equal(trace->port.ifindex, 0);
	assert_string_equal(trace_step_name(SIXLANE_TRACE_N_STEPS), "unknown");
}

static void the_chosen_member_has_the_verdict(void **state)
{
	for (uint32_t decided = 0; decided < 2; decided++) {
		fill_group();
		if (decided)
			trace->records.decided = SIXLANE_PASS_SOURCE;
		RECORD(MEMBER, FORWARD, member, .nh_entry = next_hops[BY_OUT].nh_entry);
		RECORD(GUARD, PASS_IPSEC, guard, .in_flags = SIXLANE_PORT_GUARD);
		end_by(decided ? SIXLANE_PASS_SOURCE : SIXLANE_PASS_IPSEC);
		assert_int_equal(trace->view.group.members[0].hop.verdict, SIXLANE_PASS_IPSEC);
		assert_int_equal(trace->view.group.members[1].hop.verdict, SIXLANE_FORWARD);
	}
}

/* --- the steps in words ------------------------------------------------------------------ */

/* All lines of a step. */
static const char *lines_of(const char *name)
{
	static char all[2048];

	*all = '\0';
	for (size_t i = 0; i < explain.n_steps; i++) {
		if (strcmp(explain.steps[i].name, name) != 0)
			continue;
		strncat(all, explain.steps[i].text, sizeof(all) - strlen(all) - 1);
		strncat(all, "\n", sizeof(all) - strlen(all) - 1);
	}
	return all;
}

#define R(step, verdict, member, ...)                    \
	{                                                \
		SIXLANE_TRACE_##step, SIXLANE_##verdict, \
		{                                        \
			.member = { __VA_ARGS__ }        \
		}                                        \
	}
#define RULE(name, ...)                                                                           \
	{                                                                                         \
		R(RULES, FORWARD, rules, .list = { .first = 0, .n = 1 }),                         \
			R(RULE, FORWARD, rule, .outcome = SIXLANE_TRACE_RULE_##name, __VA_ARGS__) \
	}

static void explain_all(uint32_t verdict)
{
	end_by(verdict);
	explain.view.maps = maps;
	explain.view.ports = (struct ports){ .links = links, .n = 3 };
	explain.port = explain.ingress = &links[0];
	explain.result.verdict = verdict;
	explain_add_ingress(&explain);
	explain_add_route(&explain);
	explain_add_egress(&explain);
	explain_add_verdict(&explain);
}

static void forget(void)
{
	for (size_t i = 0; i < explain.n_steps; i++)
		free(explain.steps[i].text);
	explain.n_steps = 0;
}

static const struct {
	const char *step, *words;
	bool by_route; /* and a route by BY_OUT */
	uint32_t verdict, decided;
	struct sixlane_trace_record records[2];
} decisions[] = {
	{ "rules", "another source\n", .verdict = SIXLANE_PASS_NO_ROUTE,
	  .records = RULE(DIFFERS, .selector = SIXLANE_RULE_SOURCE) },
	{ "rules", "another destination port", .verdict = SIXLANE_PASS_NO_ROUTE,
	  .records = RULE(DIFFERS, .selector = SIXLANE_RULE_DPORT) },
	{ "rules", "XDP cannot see", .records = RULE(UNSEEN) },
	{ "rules", "0: from all iif in0 ipproto 0 sport 0 lookup 0: applies, and leads on",
	  .records = RULE(GOTO) },
	{ "rules", "no route", .records = RULE(NO_ROUTE) },
	{ "rules", "throw", .records = RULE(THROW) },
	{ "rules", "suppresses so short", .records = RULE(SUPPRESSED) },
	{ "rules", "next-hop object", .records = RULE(SHARED) },
	{ "rules", "not an exception of the destination", .records = RULE(EXCEPTED) },
	{ "rules", "decides", .records = RULE(DECIDES) },
	{ "prefix", "incomplete", .verdict = SIXLANE_PUNT_MAP_FULL,
	  .records = RULE(DECIDES, .table = SIXLANE_TABLE_MAIN) },
	{ "decided", "pass_port", true, SIXLANE_PASS_PORT, .decided = SIXLANE_PASS_PORT },
	{ "egress", "out0", true, SIXLANE_PASS_PORT, .decided = SIXLANE_PASS_PORT },
	{ "verdict", "pass_port", true, SIXLANE_PASS_PORT, .decided = SIXLANE_PASS_PORT },
	{ "guard", "bit 2 of word 16 in sl_guard is clear", true,
	  .records = { R(PAIR, FORWARD, pair, .value = 0, .word = 16, .bit = 2) } },
	{ "guard", "bit 2 of word 16 in sl_guard is set", true,
	  .records = { R(PAIR, FORWARD, pair, .value = 4, .word = 16, .bit = 2) } },
	{ "mac", "for 00:00:00:00:00:09", true, SIXLANE_PASS_OTHER_MAC, SIXLANE_PASS_OTHER_MAC,
	  .records = { R(ADDRESSEE, PASS_OTHER_MAC, addressee, .dst = 1) } },
};

static void every_decision_is_explained(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(decisions); i++) {
		fill();
		explain.has_mac = true;
		explain.packet.dst_mac[5] = 9;
		rules[0].flags = SIXLANE_RULE_IIF | SIXLANE_RULE_PROTO | SIXLANE_RULE_SPORT;
		rules[0].iif = IN;
		trace->records.decided = (uint16_t)decisions[i].decided;
		for (size_t k = 0; k < 2 && decisions[i].records[k].step; k++)
			record(decisions[i].records[k].step, decisions[i].records[k].verdict,
			       decisions[i].records[k].facts);
		if (decisions[i].by_route)
			ROUTE(SIXLANE_TABLE_MAIN, BY_OUT);
		explain_all(decisions[i].verdict);
		if (!strstr(lines_of(decisions[i].step), decisions[i].words))
			fail_msg("\"%s\" lacks \"%s\"", lines_of(decisions[i].step),
				 decisions[i].words);
		forget();
	}
}

static void a_group_is_explained(void **state)
{
	json_t *json, *one;

	fill_group();
	neighbours[OTHER_GATEWAY].mac.bytes[5] = 7;
	RECORD(BUCKET, FORWARD, bucket, .number = 1, .id = BY_OTHER);
	RECORD(MEMBER, FORWARD, member, .nh_entry = next_hops[BY_OTHER].nh_entry);
	explain_all(SIXLANE_FORWARD);
	assert_string_equal(lines_of("bucket"), "0 of 0 to 1, by the hash: member 1, passed over\n"
						"1 of 0 to 1, by the hash mixed again: member 2\n");
	assert_non_null(strstr(lines_of("group"), "2 members, in 2 buckets of equal size\n"));
	assert_string_equal(lines_of("member"), "2, via :: dev #3, weight 1 (50.0 %)\n");
	assert_string_equal(lines_of("neighbour"), "the gateway ::, resolved: 00:00:00:00:00:07\n");
	assert_non_null(strstr(lines_of("mtu"), "1500 bytes, that of other0: the packet has 0"));
	json = explain_json(&explain);
	assert_int_equal(json_array_size(json_object_get(json, "draws")), 2);
	assert_int_equal(json_array_size(json_object_get(json, "group")), 2);
	assert_string_equal(json_string_value(json_object_get(json, "group_type")), "hash");
	one = json_object_get(json, "member");
	assert_string_equal(json_string_value(json_object_get(one, "port")), "#3");
	assert_string_equal(json_string_value(json_object_get(one, "dst_mac")),
			    "00:00:00:00:00:07");
	assert_true(json_is_null(json_object_get(json, "differs_at")));
	json_decref(json);
	forget();
	fill_group();
	explain_all(SIXLANE_PASS_EGRESS_DOWN);
	assert_string_equal(lines_of("member"), "none: packets pass all of them over\n");
	forget();
}

static void an_expiry_may_be_in_the_past(void **state)
{
	const uint64_t minute_ns = 60ull * 1000000000;
	char expiry[SHOW_EXPIRY_LEN];
	double seconds;

	assert_int_equal(sscanf(show_expiry(util_now_ns() + 2 * minute_ns, expiry),
				"expires in %lf s", &seconds),
			 1);
	assert_true(seconds > 60 && seconds <= 120);
	assert_int_equal(sscanf(show_expiry(util_now_ns() - minute_ns, expiry), "expired %lf s ago",
				&seconds),
			 1);
	assert_true(seconds >= 60 && seconds < 120);
}

/* --- what a lookup depends on ------------------------------------------------------------ */

static void an_answer_depends_on_selectors_that_are_not_given(void **state)
{
	const uint32_t differs = SIXLANE_TRACE_RULE_DIFFERS, decides = SIXLANE_TRACE_RULE_DECIDES;
	const struct {
		uint32_t flags, outcome, selector;
		bool has_src, has_port;
		uint32_t open;
	} rows[] = {
		{ SIXLANE_RULE_SOURCE, differs, SIXLANE_RULE_SOURCE, false, true,
		  LOOKUP_ON_SOURCE },
		{ SIXLANE_RULE_SOURCE, differs, SIXLANE_RULE_SOURCE, true, true, 0 },
		{ SIXLANE_RULE_IIF, differs, SIXLANE_RULE_IIF, true, false, LOOKUP_ON_PORT },
		{ SIXLANE_RULE_TCLASS, decides, 0, true, true, LOOKUP_ON_TCLASS },
		{ SIXLANE_RULE_SOURCE | SIXLANE_RULE_PROTO, differs, SIXLANE_RULE_PROTO, true, true,
		  LOOKUP_ON_FLOW },
		{ SIXLANE_RULE_SOURCE | SIXLANE_RULE_PROTO, differs, SIXLANE_RULE_SOURCE, true,
		  true, 0 },
		/* another destination decides, whatever the source */
		{ SIXLANE_RULE_SOURCE | SIXLANE_RULE_DESTINATION, differs, SIXLANE_RULE_SOURCE,
		  false, true, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct trace_rule tried = {
			.rule = { .flags = rows[i].flags,
				  .dst = { .bytes = { 1 } },
				  .dst_mask = { .bytes = { 0xff } } },
			.outcome = rows[i].outcome,
			.selector = rows[i].selector,
		};
		const struct lookup_query query = { .has_src = rows[i].has_src,
						    .ingress = rows[i].has_port ? IN : 0 };

		assert_int_equal(lookup_depends(&tried, 1, &query), rows[i].open);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_route_by_a_gateway),
		cmocka_unit_test(a_rule_that_decides),
		cmocka_unit_test(a_route_of_a_rule_that_goes_on_does_not_count),
		cmocka_unit_test(the_last_draw_counts),
		cmocka_unit_test(without_a_good_draw_all_members_are_weighed),
		cmocka_unit_test(an_exception_changes_the_next_hop),
		cmocka_unit_test(records_are_checked),
		cmocka_unit_test(every_decision_is_explained),
		cmocka_unit_test(a_group_is_explained),
		cmocka_unit_test(the_chosen_member_has_the_verdict),
		cmocka_unit_test(an_expiry_may_be_in_the_past),
		cmocka_unit_test(an_answer_depends_on_selectors_that_are_not_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
