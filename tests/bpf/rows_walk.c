// SPDX-License-Identifier: GPL-2.0-only
/*
 * The walk over a list of rules: what those that apply lead to, and when the next is asked
 * (fib_rules_lookup, fib6_rule_action, fib6_rule_suppress).
 */
#include "rows_rule.h"

static void ask_iif(struct world *w)
{
	w->rules[0].flags |= SIXLANE_RULE_IIF;
	w->rules[0].iif = world_port(w, DEV_IN)->ifindex;
}

void rows_in_a_vrf(struct world *w)
{
	world_enslave(w, DEV_IN);
}

static void vlan_in_a_vrf(struct world *w)
{
	world_enslave(w, DEV_IN_10);
}

static void in_a_vrf_ask_iif(struct world *w)
{
	world_enslave(w, DEV_IN);
	ask_iif(w);
}

static void in_a_vrf_ask_its_iif(struct world *w)
{
	world_enslave(w, DEV_IN);
	w->rules[0].flags |= SIXLANE_RULE_IIF;
	w->rules[0].iif = WORLD_VRF_IFINDEX;
}

/* Its own table answers where no rules are asked. */
static void in_a_vrf_without_rules(struct world *w)
{
	world_enslave(w, DEV_IN);
	world_port(w, DEV_IN)->flags &= ~SIXLANE_PORT_RULES;
}

static void rules_at_another_port(struct world *w)
{
	world_port(w, DEV_IN)->flags &= ~SIXLANE_PORT_RULES;
}

static void gaps(struct world *w)
{
	w->meta.flags |= SIXLANE_META_GAPS;
}

static void gaps_without_rules(struct world *w)
{
	gaps(w);
	world_port(w, DEV_IN)->flags &= ~SIXLANE_PORT_RULES;
	w->n_routes = 0;
}

static void no_rules(struct world *w)
{
	w->meta.rules.n = 0;
}

static void list_out_of_range(struct world *w)
{
	w->meta.rules.first = 2 * SIXLANE_MAX_RULES;
}

static void next_hop_out_of_range(struct world *w)
{
	w->routes[0].value = sixlane_route_value(SIXLANE_MAX_NEXT_HOPS, 48);
}

static void forwarding_off(struct world *w)
{
	world_port(w, DEV_IN)->flags &= ~SIXLANE_PORT_FORWARDING;
}

/* As many rules as there may be, none of which applies but the last. */
static void longest_list(struct world *w)
{
	const struct sixlane_rule last = w->rules[w->meta.rules.n - 1];

	w->meta.rules.first = SIXLANE_MAX_RULES;
	for (uint32_t i = 0; i < SIXLANE_MAX_RULES; i++)
		w->rules[SIXLANE_MAX_RULES + i] = w->rules[0];
	w->rules[2 * SIXLANE_MAX_RULES - 1] = last;
	w->meta.rules.n = SIXLANE_MAX_RULES;
}

static void longest_list_that_ends_early(struct world *w)
{
	longest_list(w);
	w->meta.rules.n--;
}

static void list_too_long(struct world *w)
{
	longest_list(w);
	w->meta.rules.first = SIXLANE_MAX_RULES - 1;
	w->rules[SIXLANE_MAX_RULES - 1] = w->rules[SIXLANE_MAX_RULES];
	w->meta.rules.n++;
}

static void group_of_one(struct world *w)
{
	world_set_expiring(w, NH_GROUP, 0, NH_GATEWAY, UINT64_MAX);
}

static void group_that_expired(struct world *w)
{
	world_set_expiring(w, NH_GROUP, 0, NH_GATEWAY, 1);
}

static void group_by_an_object(struct world *w)
{
	group_of_one(w);
	w->next_hops[NH_GROUP].flags |= SIXLANE_NEXT_HOP_OBJECT;
}

#define SUPPRESS(len)                                                                 \
	{                                                                             \
		NUMBER(10), LOOK_UP(254), FLAGS(SUPPRESS), .rule.suppress_len = (len) \
	}

#define SUPPRESSED_TO(next_hop)                                               \
	.routes = { TO(next_hop), ROUTE_IN(100, "2001:db8:2::/48", NH_ALT) }, \
	.rules = { SUPPRESS(48), { NUMBER(20), LOOK_UP(100) } }
#define SUPPRESSED_FATE(v) SUPPRESSED_TO(NH_FATE + SIXLANE_##v)
#define RULE_VERDICT(v) \
	.rule.priority = 10, .rule.action = SIXLANE_RULE_VERDICT, .rule.verdict = SIXLANE_##v
#define RULE_SAYS(v)                                                                     \
	{                                                                                \
		.name = "rule that says " #v, .rules = { { RULE_VERDICT(v) }, TO_MAIN }, \
		.verdict = SIXLANE_##v,                                                  \
	}
#define GOTO(number, target_)                                                \
	{                                                                    \
		.rule.priority = (number), .rule.action = SIXLANE_RULE_GOTO, \
		.rule.target = (target_)                                     \
	}

const struct row rows_walk[] = {
	/* a list */
	{ .name = "one rule", .rules = { TO_MAIN } },
	{ .name = "the first table that answers",
	  .routes = { TABLES },
	  .rules = { TO_100, TO_MAIN },
	  APPLIES },
	{ .name = "a table that has nothing, then one that has",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(100, "2001:db8:3::/48", NH_ALT) },
	  .rules = { TO_100, TO_MAIN } },
	{ .name = "a longer prefix in a later table does not count",
	  .routes = { ROUTE_IN(100, "::/0", NH_ALT), ROUTE("2001:db8:2::1/128", NH_GATEWAY) },
	  .rules = { TO_100, TO_MAIN },
	  APPLIES },
	{ .name = "no table has anything",
	  .routes = { ROUTE_IN(101, "::/0", NH_GATEWAY) },
	  .rules = { TO_100, TO_MAIN },
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "no rule",
	  .rules = { TO_MAIN },
	  .arrange = no_rules,
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "rules that another port asks",
	  .routes = { TABLES },
	  .rules = { TO_100 },
	  .arrange = rules_at_another_port },
	{ .name = "local, then main",
	  .routes = { TO(NH_GATEWAY),
		      ROUTE_IN(255, "2001:db8:2::1/128", NH_FATE + SIXLANE_PASS_LOCAL) },
	  .rules = { { NUMBER(1), LOOK_UP(255) }, TO_MAIN },
	  .verdict = SIXLANE_PASS_LOCAL },
	{ .name = "table of more than 8 bits",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(0x12345678, "::/0", NH_ALT) },
	  .rules = { { NUMBER(10), LOOK_UP(0x12345678) }, TO_MAIN },
	  APPLIES },
	{ .name = "throw goes on to the next rule",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(100, "::/0", NH_FATE + SIXLANE_PASS_THROW) },
	  .rules = { TO_100, TO_MAIN } },
	{ .name = "throw in the last table",
	  .routes = { TO(NH_FATE + SIXLANE_PASS_THROW) },
	  .rules = { TO_100, TO_MAIN },
	  .verdict = SIXLANE_PASS_THROW },
	{ .name = "throw, then a rule that does not apply",
	  .routes = { ROUTE_IN(100, "::/0", NH_FATE + SIXLANE_PASS_THROW) },
	  .rules = { TO_100, { NUMBER(20), LOOK_UP(254), .src = "2001:db8:f::/48" } },
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "throw, then a table that has nothing",
	  .routes = { ROUTE_IN(100, "::/0", NH_FATE + SIXLANE_PASS_THROW) },
	  .rules = { TO_100, TO_MAIN },
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "a route that says none goes on to the next rule",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(100, "::/0", NH_FATE + SIXLANE_PASS_NO_ROUTE) },
	  .rules = { TO_100, TO_MAIN } },
	{ .name = "unreachable ends the walk",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(100, "::/0", NH_FATE + SIXLANE_PASS_UNREACHABLE) },
	  .rules = { TO_100, TO_MAIN },
	  .verdict = SIXLANE_PASS_UNREACHABLE },
	{ .name = "blackhole ends the walk",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(100, "::/0", NH_FATE + SIXLANE_DROP_BLACKHOLE) },
	  .rules = { TO_100, TO_MAIN },
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "a punt ends the walk",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(100, "::/0", NH_FATE + SIXLANE_PUNT_ENCAP) },
	  .rules = { TO_100, TO_MAIN },
	  .verdict = SIXLANE_PUNT_ENCAP },
	{ .name = "a next hop out of range ends the walk",
	  .routes = { ROUTE_IN(100, "::/0", NH_GATEWAY), TO(NH_GATEWAY) },
	  .rules = { TO_100, TO_MAIN },
	  .arrange = next_hop_out_of_range,
	  .verdict = SIXLANE_PUNT_ROUTE },
	{ .name = "the longest list",
	  .routes = { TABLES },
	  .rules = { { NUMBER(10), LOOK_UP(100), .src = "2001:db8:f::/48" }, TO_MAIN },
	  .arrange = longest_list },
	{ .name = "the longest list, without its last rule",
	  .routes = { TABLES },
	  .rules = { { NUMBER(10), LOOK_UP(100), .src = "2001:db8:f::/48" }, TO_MAIN },
	  .arrange = longest_list_that_ends_early,
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "a list longer than the longest",
	  .routes = { TABLES },
	  .rules = { { NUMBER(10), LOOK_UP(100), .src = "2001:db8:f::/48" }, TO_MAIN },
	  .arrange = list_too_long,
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "a list out of range",
	  .rules = { TO_MAIN },
	  .arrange = list_out_of_range,
	  .verdict = SIXLANE_PUNT_RULES },

	/* gaps: what a table has not may be what it had no room for */
	{ .name = "gaps, no table but the last has it",
	  .rules = { TO_100, TO_MAIN },
	  .arrange = gaps,
	  .verdict = SIXLANE_PUNT_MAP_FULL },
	{ .name = "gaps, the first table has it",
	  .routes = { TABLES },
	  .rules = { TO_100, TO_MAIN },
	  .arrange = gaps,
	  APPLIES },
	{ .name = "gaps, in a table that a throw leads on from",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(100, "::/0", NH_FATE + SIXLANE_PASS_THROW) },
	  .rules = { TO_100, TO_MAIN },
	  .arrange = gaps },
	{ .name = "gaps, a rule that does not apply",
	  IF(.src = "2001:db8:f::/48"),
	  .arrange = gaps,
	  APPLIES_NOT },
	{ .name = "gaps, where no rules are asked",
	  .rules = { TO_100 },
	  .arrange = gaps_without_rules,
	  .verdict = SIXLANE_PASS_NO_ROUTE },

	/* what a rule says */
	RULE_SAYS(DROP_BLACKHOLE),
	RULE_SAYS(PASS_UNREACHABLE),
	RULE_SAYS(PASS_PROHIBIT),
	RULE_SAYS(PUNT_RULE),
	{ .name = "blackhole rule with forwarding off",
	  .rules = { { RULE_VERDICT(DROP_BLACKHOLE) } },
	  .arrange = forwarding_off,
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "blackhole rule that does not apply",
	  .rules = { { RULE_VERDICT(DROP_BLACKHOLE), .src = "2001:db8:f::/48" }, TO_MAIN } },
	{ .name = "rule that says forward",
	  .rules = { { .rule.priority = 10, .rule.action = SIXLANE_RULE_VERDICT }, TO_MAIN },
	  .verdict = SIXLANE_PUNT_RULES },
	{ .name = "rule that says nothing known",
	  .rules = { { RULE_VERDICT(N_VERDICTS) }, TO_MAIN },
	  .verdict = SIXLANE_PUNT_RULES },
	{ .name = "rule that says answer",
	  .rules = { { RULE_VERDICT(ANSWER_TOO_BIG) }, TO_MAIN },
	  .verdict = SIXLANE_PUNT_RULES },
	{ .name = "rule that does nothing known",
	  .rules = { { .rule.priority = 10, .rule.action = 3 }, TO_MAIN },
	  .verdict = SIXLANE_PUNT_RULES },

	/* goto */
	{ .name = "goto", .routes = { TABLES }, .rules = { GOTO(5, 2), TO_100, TO_MAIN } },
	{ .name = "goto the next", .routes = { TABLES }, .rules = { GOTO(5, 1), TO_100 }, APPLIES },
	{ .name = "goto that does not apply",
	  .routes = { TABLES },
	  .rules = { { .rule.priority = 5,
		       .rule.action = SIXLANE_RULE_GOTO,
		       .rule.target = 2,
		       .src = "2001:db8:f::/48" },
		     TO_100,
		     TO_MAIN },
	  APPLIES },
	{ .name = "goto a goto",
	  .routes = { TABLES },
	  .rules = { GOTO(5, 2), TO_100, GOTO(6, 4), TO_100, TO_MAIN } },
	{ .name = "goto behind the end",
	  .rules = { GOTO(5, 2), TO_MAIN },
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "goto far behind the end",
	  .rules = { GOTO(5, 0xffffffff), TO_MAIN },
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "goto itself, for ever",
	  .rules = { GOTO(5, 0), TO_MAIN },
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "goto on what is unknown",
	  .rules = { { .rule.priority = 5,
		       .rule.flags = SIXLANE_RULE_UNKNOWN,
		       .rule.action = SIXLANE_RULE_GOTO,
		       .rule.target = 1 },
		     TO_MAIN },
	  CANNOT_TELL },

	/* suppress_prefixlength: asked only of routes without an error */
	{ .name = "suppress, of the length", SUPPRESSED_TO(NH_GATEWAY), .via = NEIGH_ALT },
	{ .name = "suppress, one longer",
	  .routes = { TABLES },
	  .rules = { SUPPRESS(47), { NUMBER(20), LOOK_UP(100) } } },
	{ .name = "suppress, one shorter",
	  .routes = { TABLES },
	  .rules = { SUPPRESS(49), { NUMBER(20), LOOK_UP(100) } },
	  .via = NEIGH_ALT },
	{ .name = "suppress the default route",
	  .routes = { ROUTE("::/0", NH_GATEWAY), ROUTE_IN(100, "::/0", NH_ALT) },
	  .rules = { SUPPRESS(0), { NUMBER(20), LOOK_UP(100) } },
	  .via = NEIGH_ALT },
	{ .name = "suppress, and no other table",
	  .rules = { SUPPRESS(48) },
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "suppress is not for rules that do not say it",
	  .rules = { { .rule.priority = 10, .rule.table = 254, .rule.suppress_len = 128 } } },
	{ .name = "suppress, local", SUPPRESSED_FATE(PASS_LOCAL), .via = NEIGH_ALT },
	{ .name = "suppress, anycast", SUPPRESSED_FATE(PASS_ANYCAST), .via = NEIGH_ALT },
	{ .name = "suppress, multicast", SUPPRESSED_FATE(PASS_MULTICAST), .via = NEIGH_ALT },
	{ .name = "suppress, group",
	  SUPPRESSED_TO(NH_GROUP),
	  .arrange = group_of_one,
	  .via = NEIGH_ALT },
	{ .name = "suppress, by a next-hop object",
	  SUPPRESSED_TO(NH_GROUP),
	  .arrange = group_by_an_object,
	  .verdict = SIXLANE_PUNT_RULE },
	{ .name = "suppress, by a next-hop object, one longer",
	  .routes = { TO(NH_GROUP) },
	  .rules = { SUPPRESS(47) },
	  .arrange = group_by_an_object,
	  .verdict = SIXLANE_PUNT_RULE },
	{ .name = "suppress, blackhole",
	  SUPPRESSED_FATE(DROP_BLACKHOLE),
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "suppress, unreachable",
	  SUPPRESSED_FATE(PASS_UNREACHABLE),
	  .verdict = SIXLANE_PASS_UNREACHABLE },
	{ .name = "suppress, prohibit",
	  SUPPRESSED_FATE(PASS_PROHIBIT),
	  .verdict = SIXLANE_PASS_PROHIBIT },
	{ .name = "suppress, throw", SUPPRESSED_FATE(PASS_THROW), .via = NEIGH_ALT },
	{ .name = "suppress, encapsulation",
	  SUPPRESSED_FATE(PUNT_ENCAP),
	  .verdict = SIXLANE_PUNT_ENCAP },
	{ .name = "suppress, map full",
	  SUPPRESSED_FATE(PUNT_MAP_FULL),
	  .verdict = SIXLANE_PUNT_MAP_FULL },
	{ .name = "suppress, mismatch",
	  SUPPRESSED_FATE(PUNT_MISMATCH),
	  .verdict = SIXLANE_PUNT_MISMATCH },
	{ .name = "suppress, expires whenever",
	  SUPPRESSED_FATE(PUNT_EXPIRES),
	  .verdict = SIXLANE_PUNT_EXPIRES },
	{ .name = "suppress and gaps: a route is there",
	  SUPPRESSED_TO(NH_GATEWAY),
	  .arrange = gaps,
	  .via = NEIGH_ALT },
	{ .name = "group by a rule",
	  .routes = { TO(NH_GROUP) },
	  .rules = { TO_MAIN },
	  .arrange = group_of_one },
	{ .name = "group that expired, by a rule",
	  .routes = { TO(NH_GROUP), ROUTE_IN(100, "::/0", NH_ALT) },
	  .rules = { { NUMBER(10), LOOK_UP(254) }, { NUMBER(20), LOOK_UP(100) } },
	  .arrange = group_that_expired,
	  .verdict = SIXLANE_PUNT_EXPIRES },

	/* VRFs */
	{ .name = "VRF without rules",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(WORLD_VRF, "::/0", NH_ALT) },
	  .arrange = in_a_vrf_without_rules,
	  .via = NEIGH_ALT },
	{ .name = "l3mdev, port of a VRF",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(WORLD_VRF, "::/0", NH_ALT) },
	  .rules = { { NUMBER(10), FLAGS(L3MDEV) }, TO_MAIN },
	  .arrange = rows_in_a_vrf,
	  .via = NEIGH_ALT },
	{ .name = "l3mdev, port of none",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(WORLD_VRF, "::/0", NH_ALT) },
	  .rules = { { NUMBER(10), FLAGS(L3MDEV) }, TO_MAIN } },
	{ .name = "l3mdev, another port of a VRF",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(WORLD_VRF, "::/0", NH_ALT) },
	  .rules = { { NUMBER(10), FLAGS(L3MDEV) }, TO_MAIN },
	  .in = DEV_GENERIC,
	  .arrange = rows_in_a_vrf },
	{ .name = "l3mdev, VLAN of a VRF",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(WORLD_VRF, "::/0", NH_ALT) },
	  .rules = { { NUMBER(10), FLAGS(L3MDEV) }, TO_MAIN },
	  .arrange = vlan_in_a_vrf,
	  .tags = { 0x8100000a },
	  .as = DEV_IN_10,
	  .via = NEIGH_ALT },
	{ .name = "l3mdev, port below a VLAN of a VRF",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(WORLD_VRF, "::/0", NH_ALT) },
	  .rules = { { NUMBER(10), FLAGS(L3MDEV) }, TO_MAIN },
	  .arrange = vlan_in_a_vrf },
	{ .name = "l3mdev, VRF that has nothing",
	  .rules = { { NUMBER(10), FLAGS(L3MDEV) }, TO_MAIN },
	  .arrange = rows_in_a_vrf },
	{ .name = "l3mdev and from",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(WORLD_VRF, "::/0", NH_ALT) },
	  .rules = { { NUMBER(10), FLAGS(L3MDEV), .src = "2001:db8:f::/48" }, TO_MAIN },
	  .arrange = rows_in_a_vrf },
	{ .name = "blackhole for VRFs, port of one",
	  .rules = { { RULE_VERDICT(DROP_BLACKHOLE), FLAGS(L3MDEV) }, TO_MAIN },
	  .arrange = rows_in_a_vrf,
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "blackhole for VRFs, port of none",
	  .rules = { { RULE_VERDICT(DROP_BLACKHOLE), FLAGS(L3MDEV) }, TO_MAIN } },
	{ .name = "blackhole but for VRFs, port of one",
	  .rules = { { RULE_VERDICT(DROP_BLACKHOLE), NOT(L3MDEV) }, TO_MAIN },
	  .arrange = rows_in_a_vrf },
	{ .name = "blackhole but for VRFs, port of none",
	  .rules = { { RULE_VERDICT(DROP_BLACKHOLE), NOT(L3MDEV) }, TO_MAIN },
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "a VRF's port does not ask main but by a rule",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(WORLD_VRF, "2001:db8:3::/48", NH_ALT) },
	  .rules = { { NUMBER(10), FLAGS(L3MDEV) } },
	  .arrange = rows_in_a_vrf,
	  .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "iif of a VRF's port is the VRF",
	  IF(),
	  .arrange = in_a_vrf_ask_its_iif,
	  APPLIES },
	{ .name = "iif of a VRF's port is not itself",
	  IF(),
	  .arrange = in_a_vrf_ask_iif,
	  APPLIES_NOT },
	{ .name = "neighbour discovery in a VRF",
	  IF(),
	  .arrange = rows_in_a_vrf,
	  .patches = { NEXT("3a"), { AT_PAYLOAD, "87" } },
	  CANNOT_TELL },
	{ .name = "the first message of neighbour discovery in a VRF",
	  IF(),
	  .arrange = rows_in_a_vrf,
	  .patches = { NEXT("3a"), { AT_PAYLOAD, "85" } },
	  CANNOT_TELL },
	{ .name = "the last message of neighbour discovery in a VRF",
	  IF(),
	  .arrange = rows_in_a_vrf,
	  .patches = { NEXT("3a"), { AT_PAYLOAD, "89" } },
	  CANNOT_TELL },
	{ .name = "ICMPv6 before neighbour discovery in a VRF",
	  IF(),
	  .arrange = rows_in_a_vrf,
	  .patches = { NEXT("3a"), { AT_PAYLOAD, "84" } },
	  APPLIES },
	{ .name = "ICMPv6 after neighbour discovery in a VRF",
	  IF(),
	  .arrange = rows_in_a_vrf,
	  .patches = { NEXT("3a"), { AT_PAYLOAD, "8a" } },
	  APPLIES },
	{ .name = "UDP like neighbour discovery in a VRF",
	  IF(),
	  .arrange = rows_in_a_vrf,
	  .patches = { { AT_PAYLOAD, "87" } },
	  APPLIES },
	{ .name = "ICMPv6 without a byte in a VRF",
	  IF(),
	  .arrange = rows_in_a_vrf,
	  .in_hex = "021121314151 02000000ee01 86dd 60000000 0000 3a 40"
		    "20010db8000100000000000000000001 20010db8000200000000000000000001",
	  CANNOT_TELL },
	{ .name = "neighbour discovery without a VRF",
	  IF(),
	  .patches = { NEXT("3a"), { AT_PAYLOAD, "87" } },
	  APPLIES },
};
const size_t rows_walk_n = sizeof(rows_walk) / sizeof(rows_walk[0]);
