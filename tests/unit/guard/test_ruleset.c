// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rulesets as they are found: what each pair of devices may meet, and in which words it is said.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../../user/guard/ruleset_devices.h"
#include "../../../user/guard/ruleset_query.h"
#include "../../../user/guard/ruleset_store.h"
#include "../../../user/lib/util.h"
#include "../unit.h"
#include "ruleset_rules.h"

static void build_nothing(struct guard_ruleset *rules)
{
}

static void build_policy_drop(struct guard_ruleset *rules)
{
	add_forward(rules, false);
}

static void build_counter(struct guard_ruleset *rules)
{
	add_rule(rules, add_forward(rules, true)); /* without an operation: counter */
}

/* ufw disable leaves these: three chains that accept. */
static void build_ufw_disabled(struct guard_ruleset *rules)
{
	for (int i = 0; i < 3; i++)
		add_forward(rules, true);
}

/* Policy accept, two jumps, the second to rules by device. */
static void build_docker(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, true);
	uint32_t user = guard_add_chain(rules, 0, "DOCKER-USER");
	uint32_t docker = guard_add_chain(rules, 0, "DOCKER-FORWARD");

	add_rule(rules, forward);
	guard_verdict(rules, GUARD_JUMP, user);
	add_rule(rules, forward);
	guard_verdict(rules, GUARD_JUMP, docker);
	add_rule(rules, user);
	guard_verdict(rules, GUARD_RETURN, 0);
	add_rule(rules, docker);
	oifname(rules, "docker0");
	guard_add_conntrack(rules);
	guard_may_match(rules);
	guard_verdict(rules, GUARD_ACCEPT, 0);
	add_rule(rules, docker);
	oifname(rules, "docker0");
	guard_verdict(rules, GUARD_DROP, 0);
}

/* A router's firewall: what comes from the lan passes, other new things are dropped. */
static void build_stateful(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, false);

	add_rule(rules, forward);
	guard_add_conntrack(rules);
	guard_may_match(rules);
	guard_verdict(rules, GUARD_ACCEPT, 0);
	add_rule(rules, forward);
	iifname(rules, "lan*");
	guard_verdict(rules, GUARD_ACCEPT, 0);
}

static void build_order(struct guard_ruleset *rules, bool accept_first)
{
	uint32_t forward = add_forward(rules, true);

	add_rule(rules, forward);
	iifname(rules, "lan0");
	guard_verdict(rules, accept_first ? GUARD_ACCEPT : GUARD_CONTINUE, 0);
	guard_add_rule(rules, forward, 77);
	tcp_dport(rules);
	guard_verdict(rules, GUARD_DROP, 0);
}

static void build_accept_before(struct guard_ruleset *rules)
{
	build_order(rules, true);
}

static void build_drop_after(struct guard_ruleset *rules)
{
	build_order(rules, false);
}

/* An acceptance ends one base chain, not those of other tables. */
static void build_two_tables(struct guard_ruleset *rules)
{
	add_rule(rules, add_forward(rules, true));
	guard_verdict(rules, GUARD_ACCEPT, 0);
	add_rule(rules, add_forward(rules, true));
	guard_effect(rules, "log");
}

static void build_jump(struct guard_ruleset *rules, enum guard_verdict how, bool accepts)
{
	uint32_t forward = add_forward(rules, accepts);
	uint32_t outer = guard_add_chain(rules, 0, "outer");
	uint32_t inner = guard_add_chain(rules, 0, "inner");

	add_rule(rules, forward);
	guard_verdict(rules, GUARD_JUMP, outer);
	add_rule(rules, forward);
	guard_verdict(rules, GUARD_ACCEPT, 0);
	add_rule(rules, outer);
	guard_verdict(rules, how, inner);
	add_rule(rules, outer);
	guard_verdict(rules, GUARD_DROP, 0);
	add_rule(rules, inner);
	iifname(rules, "lan0");
	guard_verdict(rules, GUARD_RETURN, 0);
	add_rule(rules, inner);
	guard_verdict(rules, GUARD_ACCEPT, 0);
}

/* Behind the inner chain's end comes the outer's drop, which the accepted wan does not see. */
static void build_return_to_drop(struct guard_ruleset *rules)
{
	build_jump(rules, GUARD_JUMP, true);
}

/* The end of what a goto leads to is the end of the chain that has the goto. */
static void build_goto_past_drop(struct guard_ruleset *rules)
{
	build_jump(rules, GUARD_GOTO, true);
}

static void build_goto_to_policy(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, false);

	add_rule(rules, forward);
	iifname(rules, "lan0");
	guard_verdict(rules, GUARD_GOTO, guard_add_chain(rules, 0, "empty"));
	add_rule(rules, forward);
	guard_verdict(rules, GUARD_ACCEPT, 0);
}

static void build_set(struct guard_ruleset *rules, bool inverted)
{
	uint32_t forward = add_forward(rules, true), set = guard_add_set(rules, 16);

	set_name(rules, set, "lan0");
	set_name(rules, set, "lan1");
	add_rule(rules, forward);
	guard_load(rules, 0, 16, GUARD_META_IIFNAME);
	guard_lookup(rules, set, 0, inverted);
	guard_verdict(rules, GUARD_DROP, 0);
}

static void build_in_set(struct guard_ruleset *rules)
{
	build_set(rules, false);
}

static void build_not_in_set(struct guard_ruleset *rules)
{
	build_set(rules, true);
}

/* iifname . oifname { "lan0" . "wan0" } */
static void build_concatenation(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, true), set = guard_add_set(rules, 32);
	char key[32] = "lan0";

	memcpy(key + 16, "wan0", 5);
	guard_add_element(rules, set, key);
	add_rule(rules, forward);
	guard_load(rules, 0, 16, GUARD_META_IIFNAME);
	guard_load(rules, 16, 16, GUARD_META_OIFNAME);
	guard_lookup(rules, set, 0, false);
	guard_effect(rules, "reject");
}

/* iifname . tcp dport { "wan0" . 22 }: the part that is known decides whether it may hit. */
static void build_half_known(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, true), set = guard_add_set(rules, 20);
	char key[20] = "wan0";

	guard_add_element(rules, set, key);
	add_rule(rules, forward);
	guard_load(rules, 0, 16, GUARD_META_IIFNAME);
	guard_load(rules, 16, 2, GUARD_META_OTHER);
	guard_lookup(rules, set, 0, false);
	guard_verdict(rules, GUARD_DROP, 0);
}

/* iifname . tcp dport vmap { "wan0" . 22 : accept }, and a drop: a hit is no more than possible. */
static void build_half_known_map(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, true), map = guard_add_set(rules, 20);
	char key[20] = "wan0";

	guard_add_verdict_element(rules, map, key, GUARD_ACCEPT, 0);
	add_rule(rules, forward);
	guard_load(rules, 0, 16, GUARD_META_IIFNAME);
	guard_load(rules, 16, 2, GUARD_META_OTHER);
	guard_lookup_verdict(rules, map, 0);
	add_rule(rules, forward);
	iifname(rules, "wan0");
	guard_verdict(rules, GUARD_DROP, 0);
}

static void build_unknown_set(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, true), set = guard_add_set(rules, 16);

	guard_set_unknown(rules, set);
	add_rule(rules, forward);
	guard_load(rules, 0, 16, GUARD_META_IIFNAME);
	guard_lookup(rules, set, 0, false);
	guard_verdict(rules, GUARD_DROP, 0);
}

/* firewalld's shape: zones by device, and one for the others. */
static void build_verdict_map(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, true), map = guard_add_set(rules, 16);
	uint32_t trusted = guard_add_chain(rules, 0, "trusted");
	uint32_t strict = guard_add_chain(rules, 0, "public");

	add_rule(rules, trusted);
	guard_verdict(rules, GUARD_ACCEPT, 0);
	add_rule(rules, strict);
	guard_effect(rules, "reject");
	map_name(rules, map, "lan0", GUARD_GOTO, trusted);
	map_name(rules, map, "wg0", GUARD_JUMP, trusted);
	guard_add_verdict_element(rules, map, NULL, GUARD_GOTO, strict);
	add_rule(rules, forward);
	guard_load(rules, 0, 16, GUARD_META_IIFNAME);
	guard_lookup_verdict(rules, map, 0);
}

/* A miss goes on with the next rule; so does "continue", with the rest of its own. */
static void build_map_without_others(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, true), map = guard_add_set(rules, 16);

	map_name(rules, map, "lan0", GUARD_CONTINUE, 0);
	map_name(rules, map, "wan0", GUARD_ACCEPT, 0);
	add_rule(rules, forward);
	guard_load(rules, 0, 16, GUARD_META_IIFNAME);
	guard_lookup_verdict(rules, map, 0);
	guard_verdict(rules, GUARD_ACCEPT, 0);
	add_rule(rules, forward);
	guard_verdict(rules, GUARD_DROP, 0);
}

/* Ports lead to verdicts, none of which drops; then one does. */
static void build_inexact_map(struct guard_ruleset *rules, enum guard_verdict last)
{
	uint32_t forward = add_forward(rules, true), map = guard_add_set(rules, 2);

	guard_set_inexact(rules, map);
	guard_add_verdict_element(rules, map, "22", GUARD_ACCEPT, 0);
	guard_add_verdict_element(rules, map, "80", last, 0);
	add_rule(rules, forward);
	guard_load(rules, 0, 2, GUARD_META_OTHER);
	guard_lookup_verdict(rules, map, 0);
}

static void build_accepting_ports(struct guard_ruleset *rules)
{
	build_inexact_map(rules, GUARD_RETURN);
}

static void build_dropping_ports(struct guard_ruleset *rules)
{
	build_inexact_map(rules, GUARD_DROP);
}

/* What a packet may lack (a port, in a fragment) ends the rule, whatever the map has for others. */
static void build_missing_header(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, false), map = guard_add_set(rules, 2);

	guard_add_verdict_element(rules, map, NULL, GUARD_ACCEPT, 0);
	add_rule(rules, forward);
	guard_load(rules, 0, 2, GUARD_META_OTHER);
	guard_lookup_verdict(rules, map, 0);
}

static void build_unknown_map(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, true), map = guard_add_set(rules, 2);

	guard_set_unknown(rules, map);
	add_rule(rules, forward);
	guard_load(rules, 0, 2, GUARD_META_OTHER);
	guard_lookup_verdict(rules, map, 0);
}

/* meta nfproto ipv4 drop, and of IPv6 what comes from the wan. */
static void build_protocols(struct guard_ruleset *rules)
{
	static const uint8_t ipv4 = 2, ipv6 = 10;
	uint32_t forward = add_forward(rules, true);

	add_rule(rules, forward);
	guard_load(rules, 4, 1, GUARD_META_NFPROTO);
	guard_compare(rules, 4, 1, GUARD_EQ, &ipv4);
	guard_verdict(rules, GUARD_DROP, 0);
	add_rule(rules, forward);
	guard_load(rules, 4, 1, GUARD_META_PROTOCOL);
	guard_compare(rules, 4, 2, GUARD_NE, "\x86\xdd");
	guard_verdict(rules, GUARD_DROP, 0);
	add_rule(rules, forward);
	guard_load(rules, 4, 1, GUARD_META_NFPROTO);
	guard_compare(rules, 4, 1, GUARD_EQ, &ipv6);
	iifname(rules, "wan0");
	guard_verdict(rules, GUARD_DROP, 0);
}

static void build_index(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, true);

	add_rule(rules, forward);
	guard_load(rules, 0, 4, GUARD_META_IIF);
	guard_compare(rules, 0, 4, GUARD_EQ, &wan.ifindex);
	guard_effect(rules, "meta mark set");
}

static void build_type(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, true);

	add_rule(rules, forward);
	guard_load(rules, 0, 2, GUARD_META_IIFTYPE);
	guard_compare(rules, 0, 2, GUARD_NE, &lan.type);
	guard_verdict(rules, GUARD_DROP, 0);
}

/* A device without a kind is not one of another kind: to ask for it ends the rule. */
static void build_kind(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, true);

	add_rule(rules, forward);
	compare_name(rules, GUARD_META_IIFKIND, GUARD_NE, "veth");
	guard_verdict(rules, GUARD_DROP, 0);
}

/* Names are ordered as bytes: "lan0" < "m" < "wan0", "wg0". */
static void build_ordered(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, true);

	add_rule(rules, forward);
	compare_name(rules, GUARD_META_IIFNAME, GUARD_GT, "m");
	compare_name(rules, GUARD_META_IIFNAME, GUARD_LE, "wan0");
	guard_verdict(rules, GUARD_DROP, 0);
}

/* What one rule has loaded is not relied on in the next. */
static void build_left_register(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, true);

	add_rule(rules, forward);
	guard_load(rules, 0, 16, GUARD_META_IIFNAME);
	add_rule(rules, forward);
	guard_compare(rules, 0, 3, GUARD_EQ, "lan");
	guard_verdict(rules, GUARD_DROP, 0);
}

/* Of a condition that surely fails before it, an effect is none. */
static void build_effect_elsewhere(struct guard_ruleset *rules)
{
	add_rule(rules, add_forward(rules, true));
	iifname(rules, "ppp*");
	guard_effect(rules, "limit");
}

static void build_circle(struct guard_ruleset *rules)
{
	uint32_t forward = add_forward(rules, true);

	add_rule(rules, forward);
	guard_verdict(rules, GUARD_JUMP, forward);
}

static void build_no_chain(struct guard_ruleset *rules)
{
	add_rule(rules, add_forward(rules, true));
	guard_verdict(rules, GUARD_JUMP, 7);
}

/* What each meets at the forward hook. A reason without a rule's number: it has any. */
static const struct {
	const char *name;
	void (*build)(struct guard_ruleset *rules);
	const char *from_lan, *from_wan, *from_tunnel; /* NULL: nothing */
} cases[] = {
	{ "nothing", build_nothing, NULL, NULL, NULL },
	{ "policy drop", build_policy_drop, "table inet fw, chain forward: policy drop",
	  "policy drop", "policy drop" },
	{ "counter", build_counter, NULL, NULL, NULL },
	{ "ufw disable", build_ufw_disabled, NULL, NULL, NULL },
	{ "Docker", build_docker, NULL, NULL, NULL },
	{ "stateful firewall", build_stateful, NULL, "policy drop", "policy drop" },
	{ "accept before a drop", build_accept_before, NULL,
	  "table inet fw, chain forward, rule handle 77: drop", "drop" },
	{ "continue before a drop", build_drop_after, "drop", "drop", "drop" },
	{ "two tables", build_two_tables, ": log", ": log", ": log" },
	{ "jump", build_return_to_drop, "chain outer, rule", NULL, NULL },
	{ "goto", build_goto_past_drop, NULL, NULL, NULL },
	{ "goto of a base chain", build_goto_to_policy, "policy drop", NULL, NULL },
	{ "set", build_in_set, "drop", NULL, NULL },
	{ "not in a set", build_not_in_set, NULL, "drop", "drop" },
	{ "two devices in a set", build_concatenation, "reject", NULL, NULL },
	{ "device and port in a set", build_half_known, NULL, "drop", NULL },
	{ "device and port in a map", build_half_known_map, NULL, "drop", NULL },
	{ "unknown set", build_unknown_set, "drop", "drop", "drop" },
	{ "zones", build_verdict_map, NULL, "chain public", NULL },
	{ "a miss in a map", build_map_without_others, NULL, NULL, "drop" },
	{ "map of ports", build_accepting_ports, NULL, NULL, NULL },
	{ "map of ports, drop", build_dropping_ports, "drop", "drop", "drop" },
	{ "no header", build_missing_header, "policy drop", "policy drop", "policy drop" },
	{ "unknown map", build_unknown_map, "unknown verdict map", "unknown verdict map",
	  "unknown verdict map" },
	{ "protocols", build_protocols, NULL, "drop", NULL },
	{ "ifindex", build_index, NULL, "meta mark set", NULL },
	{ "type", build_type, NULL, NULL, "drop" },
	{ "kind", build_kind, NULL, NULL, "drop" },
	{ "order", build_ordered, NULL, "drop", NULL },
	{ "register of another rule", build_left_register, "drop", "drop", "drop" },
	{ "effect elsewhere", build_effect_elsewhere, NULL, NULL, NULL },
	{ "circle", build_circle, "a loop", "a loop", "a loop" },
	{ "no such chain", build_no_chain, "cannot read", "cannot read", "cannot read" },
};

static void assert_met(const char *name, const struct guard_ruleset *rules,
		       const struct guard_iface *in, const char *expected)
{
	/* wan's packets go to the lan, all others to the wan. */
	const struct guard_iface *out = in == &wan ? &lan : &wan;
	char reason[GUARD_REASON_LEN] = "";
	bool held = guard_ruleset_holds(rules, GUARD_HOOK_FORWARD, in, out, reason);

	if (held != !!expected || (held && !strstr(reason, expected)))
		fail_msg("%s: from %s expected '%s', not '%s'", name, in->name,
			 expected ? expected : "", reason);
	assert_int_equal(held, reason[0] != '\0');
	/* A packet of any device may meet whatever one of a certain device may. */
	if (held)
		assert_true(guard_ruleset_holds(rules, GUARD_HOOK_FORWARD, NULL, NULL, NULL));
}

static void test_cases(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = guard_ruleset_new();

		assert_non_null(rules);
		cases[i].build(rules);
		assert_met(cases[i].name, rules, &lan, cases[i].from_lan);
		assert_met(cases[i].name, rules, &wan, cases[i].from_wan);
		assert_met(cases[i].name, rules, &tunnel, cases[i].from_tunnel);
		assert_false(!guard_ruleset_error(rules) &&
			     guard_ruleset_holds(rules, GUARD_HOOK_POSTROUTING, &lan, &wan, NULL));
	}
}

/* A base chain at some hook whose only rule drops what has that device. */
static bool meets(enum guard_hook hook, enum guard_meta meta, enum guard_compare how,
		  const char *name)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = guard_ruleset_new();
	uint32_t table = guard_add_table(rules, "table inet fw");
	uint32_t chain = guard_add_chain(rules, table, "chain");

	guard_set_base(rules, chain, hook, true, NULL, false);
	add_rule(rules, chain);
	compare_name(rules, meta, how, name);
	guard_verdict(rules, GUARD_DROP, 0);
	return guard_ruleset_holds(rules, hook, &lan, &wan, NULL);
}

/* The same of what nft calls iiftype. */
static bool meets_type(enum guard_hook hook, const struct guard_iface *in,
		       const struct guard_iface *out, uint16_t type)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = guard_ruleset_new();
	uint32_t table = guard_add_table(rules, "table inet fw");
	uint32_t chain = guard_add_chain(rules, table, "chain");

	guard_set_base(rules, chain, hook, true, NULL, false);
	add_rule(rules, chain);
	guard_load(rules, 0, 2, GUARD_META_IIFTYPE);
	guard_compare(rules, 0, 2, GUARD_EQ, &type);
	guard_verdict(rules, GUARD_DROP, 0);
	return guard_ruleset_holds(rules, hook, in, out, NULL);
}

/* Behind the routing it is the type of the egress device, or was until Linux 5.16 not. */
static void test_iiftype(void **state)
{
	assert_true(meets_type(GUARD_HOOK_FORWARD, &tunnel, &lan, ARPHRD_NONE));
	assert_false(meets_type(GUARD_HOOK_FORWARD, &tunnel, &lan, ARPHRD_ETHER));
	assert_true(meets_type(GUARD_HOOK_POSTROUTING, &tunnel, &lan, ARPHRD_NONE));
	assert_true(meets_type(GUARD_HOOK_POSTROUTING, &tunnel, &lan, ARPHRD_ETHER));
	assert_true(meets_type(GUARD_HOOK_POSTROUTING, &wan, &lan, ARPHRD_ETHER));
	assert_false(meets_type(GUARD_HOOK_POSTROUTING, &wan, &lan, ARPHRD_NONE));
	assert_true(meets_type(GUARD_HOOK_EGRESS, NULL, &lan, ARPHRD_ETHER));
	assert_false(meets_type(GUARD_HOOK_EGRESS, NULL, &lan, ARPHRD_NONE));
}

static void test_devices_of_hooks(void **state)
{
	static const struct {
		enum guard_hook hook;
		bool has_in, has_out;
	} hooks[] = {
		{ GUARD_HOOK_INGRESS, true, false },	{ GUARD_HOOK_PREROUTING, true, false },
		{ GUARD_HOOK_FORWARD, true, true },	{ GUARD_HOOK_OUTPUT, false, true },
		{ GUARD_HOOK_POSTROUTING, true, true }, { GUARD_HOOK_EGRESS, false, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++) {
		enum guard_hook hook = hooks[i].hook;

		assert_int_equal(meets(hook, GUARD_META_IIFNAME, GUARD_EQ, "lan0"),
				 hooks[i].has_in);
		assert_int_equal(meets(hook, GUARD_META_IIFNAME, GUARD_NE, "lan0"),
				 !hooks[i].has_in);
		assert_int_equal(meets(hook, GUARD_META_OIFNAME, GUARD_EQ, "wan*"),
				 hooks[i].has_out);
		assert_int_equal(meets(hook, GUARD_META_OIFKIND, GUARD_EQ, "veth"),
				 hooks[i].has_out);
		assert_int_equal(meets(hook, GUARD_META_OIFKIND, GUARD_NE, "bond"),
				 hooks[i].has_out);
	}
}

static void test_chains_at_devices(void **state)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = guard_ruleset_new();
	uint32_t table = guard_add_table(rules, "table netdev fw");
	uint32_t at_lan = guard_add_chain(rules, table, "in");
	uint32_t at_tunnels = guard_add_chain(rules, table, "out");
	char reason[GUARD_REASON_LEN];

	guard_set_base(rules, at_lan, GUARD_HOOK_INGRESS, false, "lan0", false);
	guard_set_base(rules, at_tunnels, GUARD_HOOK_EGRESS, false, "wg*", false);
	assert_true(guard_ruleset_holds(rules, GUARD_HOOK_INGRESS, &lan, NULL, reason));
	assert_string_equal(reason, "table netdev fw, chain in: policy drop");
	assert_false(guard_ruleset_holds(rules, GUARD_HOOK_INGRESS, &wan, NULL, NULL));
	assert_true(guard_ruleset_holds(rules, GUARD_HOOK_EGRESS, NULL, &tunnel, NULL));
	assert_false(guard_ruleset_holds(rules, GUARD_HOOK_EGRESS, NULL, &lan, NULL));
	assert_true(guard_ruleset_names(rules, &lan));
	assert_true(guard_ruleset_names(rules, &tunnel));
	assert_false(guard_ruleset_names(rules, &wan));
}

static void test_connection_tracking(void **state)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = guard_ruleset_new();
	char reason[GUARD_REASON_LEN];
	uint32_t chain;

	build_docker(rules);
	assert_true(guard_ruleset_tracks(rules, reason));
	assert_non_null(strstr(reason, "chain DOCKER-FORWARD, rule"));
	guard_ruleset_freep(&rules);
	rules = guard_ruleset_new();
	/* Of IPv4 only, behind a drop, at another hook: no forwarded packet comes there. */
	chain = add_forward(rules, true);
	add_rule(rules, chain);
	guard_load(rules, 0, 1, GUARD_META_NFPROTO);
	guard_compare(rules, 0, 1, GUARD_EQ, "\x02");
	guard_add_conntrack(rules);
	add_rule(rules, chain);
	guard_verdict(rules, GUARD_DROP, 0);
	add_rule(rules, chain);
	guard_add_conntrack(rules);
	chain = guard_add_chain(rules, 0, "output");
	guard_set_base(rules, chain, GUARD_HOOK_OUTPUT, true, NULL, true);
	add_rule(rules, chain);
	guard_add_conntrack(rules);
	assert_false(guard_ruleset_tracks(rules, NULL));
	assert_false(guard_ruleset_nat(rules, GUARD_HOOK_FORWARD, NULL));
	assert_true(guard_ruleset_nat(rules, GUARD_HOOK_OUTPUT, reason));
	assert_string_equal(reason, "table inet fw, chain output: type nat");
}

/* A side effect may end a rule, and does not hide what comes behind it. */
static void test_tracking_behind_an_effect(void **state)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = guard_ruleset_new();
	uint32_t chain = add_forward(rules, true);

	add_rule(rules, chain);
	guard_effect(rules, "limit");
	guard_verdict(rules, GUARD_ACCEPT, 0);
	add_rule(rules, chain);
	guard_add_conntrack(rules);
	assert_true(guard_ruleset_tracks(rules, NULL));
}

static const struct guard_iface other = {
	.ifindex = 9, .type = ARPHRD_LOOPBACK, .name = "other", .kind = ""
};

static void test_names(void **state)
{
	static const struct {
		const char *name;
		void (*build)(struct guard_ruleset *rules);
		bool lan, wan, tunnel, other;
	} rows[] = {
		{ "no name", build_policy_drop, false, false, false, false },
		{ "one that is not here", build_docker, false, false, false, false },
		{ "a prefix", build_stateful, true, false, false, false },
		{ "a set", build_in_set, true, false, false, false },
		{ "a concatenation", build_concatenation, true, true, false, false },
		{ "half a key", build_half_known, false, true, false, false },
		{ "a map", build_verdict_map, true, false, true, false },
		{ "an ifindex", build_index, false, true, false, false },
		{ "a type", build_type, true, true, false, false },
		{ "a kind", build_kind, false, true, true, false },
		{ "an order", build_ordered, true, true, true, true },
		{ "a register of another rule", build_left_register, false, false, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = guard_ruleset_new();

		rows[i].build(rules);
		if (guard_ruleset_names(rules, &lan) != rows[i].lan ||
		    guard_ruleset_names(rules, &wan) != rows[i].wan ||
		    guard_ruleset_names(rules, &tunnel) != rows[i].tunnel ||
		    guard_ruleset_names(rules, &other) != rows[i].other)
			fail_msg("%s", rows[i].name);
	}
}

/* Elements that come after the rule are named, too. */
static void test_names_of_late_elements(void **state)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = guard_ruleset_new();
	uint32_t forward = add_forward(rules, true), set = guard_add_set(rules, 16);

	add_rule(rules, forward);
	guard_load(rules, 0, 16, GUARD_META_OIFNAME);
	guard_lookup(rules, set, 0, false);
	guard_verdict(rules, GUARD_DROP, 0);
	assert_false(guard_ruleset_names(rules, &wan));
	set_name(rules, set, "wan0");
	assert_true(guard_ruleset_names(rules, &wan));
	assert_false(guard_ruleset_names(rules, &lan));
	assert_true(guard_ruleset_holds(rules, GUARD_HOOK_FORWARD, &lan, &wan, NULL));
	assert_false(guard_ruleset_holds(rules, GUARD_HOOK_FORWARD, &wan, &lan, NULL));
}

/* Each chain jumps twice to the next: 2^100 ways, 200 rules. */
static void test_ways_are_not_counted(void **state)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = guard_ruleset_new();
	uint32_t chain = add_forward(rules, true), next, steps;

	for (int i = 0; i < 100; i++) {
		next = guard_add_chain(rules, 0, "next");
		for (int twice = 0; twice < 2; twice++) {
			add_rule(rules, chain);
			guard_may_match(rules);
			guard_verdict(rules, GUARD_JUMP, next);
		}
		chain = next;
	}
	assert_false(ruleset_query_steps(rules, GUARD_HOOK_FORWARD, &lan, &wan, &steps));
	assert_in_range(steps, 200, 1000);
}

static void test_depth(void **state)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = guard_ruleset_new();
	uint32_t chain = add_forward(rules, true), next;
	char reason[GUARD_REASON_LEN];

	for (unsigned int i = 0; i < 100000; i++) {
		next = guard_add_chain(rules, 0, "next");
		add_rule(rules, chain);
		guard_verdict(rules, GUARD_JUMP, next);
		chain = next;
	}
	assert_true(guard_ruleset_holds(rules, GUARD_HOOK_FORWARD, &lan, &wan, reason));
	assert_non_null(strstr(reason, "nested too deeply"));
}

/* 100,000 rules of an ordinary kind: few bytes each, and a few steps each. */
static void test_many_rules(void **state)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = guard_ruleset_new();
	uint32_t chain = add_forward(rules, true), steps;
	char name[16];

	for (unsigned int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "ppp%u", i % 1000);
		add_rule(rules, chain);
		iifname(rules, name);
		tcp_dport(rules);
		guard_verdict(rules, GUARD_DROP, 0);
	}
	assert_int_equal(guard_ruleset_error(rules), 0);
	assert_false(ruleset_query_steps(rules, GUARD_HOOK_FORWARD, &lan, &wan, &steps));
	assert_in_range(steps, 300000, 400000);
	assert_in_range(rules->bytes, 100000 * 40, 100000 * 120);
}

static void assert_too_many(const struct guard_ruleset *rules)
{
	char reason[GUARD_REASON_LEN];

	assert_int_equal(guard_ruleset_error(rules), -E2BIG);
	assert_true(guard_ruleset_holds(rules, GUARD_HOOK_PREROUTING, &lan, &wan, reason));
	assert_string_equal(reason, "more rules than sixlane analyses");
	assert_true(guard_ruleset_tracks(rules, NULL));
	assert_true(guard_ruleset_nat(rules, GUARD_HOOK_OUTPUT, NULL));
}

static void test_too_many(void **state)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = guard_ruleset_new();
	uint32_t chain = add_forward(rules, true), set;
	uint8_t key[64] = { 0 };

	for (unsigned int i = 0; i < GUARD_MAX_RULES; i++)
		guard_add_rule(rules, chain, 1);
	assert_int_equal(guard_ruleset_error(rules), 0);
	guard_add_rule(rules, chain, 1);
	assert_too_many(rules);
	guard_ruleset_freep(&rules);
	rules = guard_ruleset_new();
	set = guard_add_set(rules, sizeof(key));
	for (unsigned int i = 0; i <= GUARD_MAX_BYTES / sizeof(key); i++)
		guard_add_element(rules, set, key);
	assert_too_many(rules);
	assert_true(rules->bytes <= GUARD_MAX_BYTES);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_devices_of_hooks),
		cmocka_unit_test(test_iiftype),
		cmocka_unit_test(test_chains_at_devices),
		cmocka_unit_test(test_connection_tracking),
		cmocka_unit_test(test_tracking_behind_an_effect),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_of_late_elements),
		cmocka_unit_test(test_ways_are_not_counted),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_many_rules),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests_name("ruleset", tests, NULL, NULL);
}
