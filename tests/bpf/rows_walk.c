// SPDX-License-Identifier: GPL-2.0-only
/*
 * The walk over a list of rules: what those that apply lead to, and when the next is asked
 * (fib_rules_lookup, fib6_rule_action, fib6_rule_suppress).
 */
#include "rows_rule.h"

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

#define SUPPRESSED_TO(next_hop)                                               \
	.routes = { TO(next_hop), ROUTE_IN(100, "2001:db8:2::/48", NH_ALT) }, \
	.rules = { SUPPRESS(48), TO_100 }
#define SUPPRESSED_ENTRY(v) SUPPRESSED_TO(NH_ENTRY + SIXLANE_##v)
#define RULE_VERDICT(v) .rule.action = SIXLANE_RULE_VERDICT, .rule.verdict = SIXLANE_##v
#define RULE_OF(v)                                                                         \
	{                                                                                  \
		.name = "rule that says " #v, .rules = { RULE(RULE_VERDICT(v)), TO_MAIN }, \
		.verdict = SIXLANE_##v,                                                    \
	}
#define GOTO(target_) RULE(.rule.action = SIXLANE_RULE_GOTO, .rule.target = (target_))
/* Table 100 has this verdict, main leads to the gateway. */
#define VERDICT_100(verdict)                                                               \
	.routes = { TO(NH_GATEWAY), ROUTE_IN(100, "::/0", NH_ENTRY + SIXLANE_##verdict) }, \
	.rules = { TO_100, TO_MAIN }
#define VRF_TABLE .routes = { TO(NH_GATEWAY), ROUTE_IN(WORLD_VRF, "::/0", NH_ALT) }
#define BY_VRF .rules = { RULE(FLAGS(L3MDEV)), TO_MAIN }

#define GROUP SET_GROUP(NH_GATEWAY, UINT64_MAX)
#define GROUP_OBJECT GROUP, FLIP(next_hops[NH_GROUP].flags, SIXLANE_NEXT_HOP_OBJECT)
#define IN_VRF IF(), WITH(SET_VRF(IN))
#define ICMP6(type)              \
	NEXT("3a"),              \
	{                        \
		AT_PAYLOAD, type \
	}

const struct row rows_walk[] = {
	/* a list */
	{ "one rule", .rules = { TO_MAIN } },
	{ "the first table that answers", .routes = { TABLES }, .rules = { TO_100, TO_MAIN },
	  APPLIES },
	{ "a table that has nothing, then one that has",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(100, "2001:db8:3::/48", NH_ALT) },
	  .rules = { TO_100, TO_MAIN } },
	{ "a longer prefix in a later table does not count",
	  .routes = { ROUTE_IN(100, "::/0", NH_ALT), ROUTE("2001:db8:2::1/128", NH_GATEWAY) },
	  .rules = { TO_100, TO_MAIN }, APPLIES },
	{ "no table has anything", .routes = { ROUTE_IN(101, "::/0", NH_GATEWAY) },
	  .rules = { TO_100, TO_MAIN }, PASS(NO_ROUTE) },
	{ "no rule", .rules = { TO_MAIN }, WITH(SET(meta.rules.n, 0)), PASS(NO_ROUTE) },
	{ "rules that another port asks", .routes = { TABLES }, .rules = { TO_100 },
	  WITH(FLIP_PORT(IN, RULES)) },
	{ "local, then main",
	  .routes = { TO(NH_GATEWAY),
		      ROUTE_IN(255, "2001:db8:2::1/128", NH_ENTRY + SIXLANE_PASS_LOCAL) },
	  .rules = { RULE(LOOK_UP(255)), TO_MAIN }, PASS(LOCAL) },
	{ "table of more than 8 bits",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(0x12345678, "::/0", NH_ALT) },
	  .rules = { RULE(LOOK_UP(0x12345678)), TO_MAIN }, APPLIES },
	{ "throw goes on to the next rule", VERDICT_100(PASS_THROW) },
	{ "throw in the last table", .routes = { TO_ENTRY(PASS_THROW) },
	  .rules = { TO_100, TO_MAIN }, PASS(THROW) },
	{ "throw, then a rule that does not apply",
	  .routes = { ROUTE_IN(100, "::/0", NH_ENTRY + SIXLANE_PASS_THROW) },
	  .rules = { TO_100, RULE(LOOK_UP(254), NOT_FROM) }, PASS(NO_ROUTE) },
	{ "throw, then a table that has nothing",
	  .routes = { ROUTE_IN(100, "::/0", NH_ENTRY + SIXLANE_PASS_THROW) },
	  .rules = { TO_100, TO_MAIN }, PASS(NO_ROUTE) },
	{ "a route that says none goes on to the next rule", VERDICT_100(PASS_NO_ROUTE) },
	{ "unreachable ends the walk", VERDICT_100(PASS_UNREACHABLE), PASS(UNREACHABLE) },
	{ "blackhole ends the walk", VERDICT_100(DROP_BLACKHOLE), DROP(BLACKHOLE) },
	{ "a punt ends the walk", VERDICT_100(PUNT_ENCAP), PUNT(ENCAP) },
	{ "a next hop out of range ends the walk",
	  .routes = { ROUTE_IN(100, "::/0", NH_GATEWAY), TO(NH_GATEWAY) },
	  .rules = { TO_100, TO_MAIN }, WITH(SET(routes[0].value, SIXLANE_MAX_NEXT_HOPS)),
	  PUNT(ROUTE) },
	{ "the longest list", .routes = { TABLES },
	  .rules = { RULE(LOOK_UP(100), NOT_FROM), TO_MAIN }, .arrange = longest_list },
	{ "the longest list, without its last rule", .routes = { TABLES },
	  .rules = { RULE(LOOK_UP(100), NOT_FROM), TO_MAIN },
	  .arrange = longest_list_that_ends_early, PASS(NO_ROUTE) },
	{ "a list longer than the longest", .routes = { TABLES },
	  .rules = { RULE(LOOK_UP(100), NOT_FROM), TO_MAIN }, .arrange = list_too_long,
	  PASS(NO_ROUTE) },
	{ "a list out of range", .rules = { TO_MAIN },
	  WITH(SET(meta.rules.first, 2 * SIXLANE_MAX_RULES)), PUNT(RULES) },

	/* gaps: what a table has not may be what it had no room for */
	{ "gaps, no table but the last has it", .rules = { TO_100, TO_MAIN }, WITH(FLIP_META(GAPS)),
	  PUNT(MAP_FULL) },
	{ "gaps, the first table has it", .routes = { TABLES }, .rules = { TO_100, TO_MAIN },
	  WITH(FLIP_META(GAPS)), APPLIES },
	{ "gaps, in a table that a throw leads on from", VERDICT_100(PASS_THROW),
	  WITH(FLIP_META(GAPS)) },
	{ "gaps, a rule that does not apply", IF(NOT_FROM), WITH(FLIP_META(GAPS)), APPLIES_NOT },
	{ "gaps, where no rules are asked", .rules = { TO_100 },
	  WITH(FLIP_META(GAPS), FLIP_PORT(IN, RULES), SET(n_routes, 0)), PASS(NO_ROUTE) },

	/* verdicts of rules */
	RULE_OF(DROP_BLACKHOLE),
	RULE_OF(PASS_UNREACHABLE),
	RULE_OF(PASS_PROHIBIT),
	RULE_OF(PUNT_RULE),
	{ "blackhole rule with forwarding off", .rules = { RULE(RULE_VERDICT(DROP_BLACKHOLE)) },
	  WITH(FLIP_PORT(IN, FORWARDING)), DROP(BLACKHOLE) },
	{ "blackhole rule that does not apply",
	  .rules = { RULE(RULE_VERDICT(DROP_BLACKHOLE), NOT_FROM), TO_MAIN } },
	{ "rule that says forward", .rules = { RULE(.rule.action = SIXLANE_RULE_VERDICT), TO_MAIN },
	  PUNT(RULES) },
	{ "rule that says nothing known", .rules = { RULE(RULE_VERDICT(N_VERDICTS)), TO_MAIN },
	  PUNT(RULES) },
	{ "rule that says answer", .rules = { RULE(RULE_VERDICT(ANSWER_TOO_BIG)), TO_MAIN },
	  PUNT(RULES) },
	{ "rule that does nothing known", .rules = { RULE(.rule.action = 3), TO_MAIN },
	  PUNT(RULES) },

	/* goto */
	{ "goto", .routes = { TABLES }, .rules = { GOTO(2), TO_100, TO_MAIN } },
	{ "goto the next", .routes = { TABLES }, .rules = { GOTO(1), TO_100 }, APPLIES },
	{ "goto that does not apply", .routes = { TABLES },
	  .rules = { RULE(.rule.action = SIXLANE_RULE_GOTO, .rule.target = 2, NOT_FROM), TO_100,
		     TO_MAIN },
	  APPLIES },
	{ "goto a goto", .routes = { TABLES },
	  .rules = { GOTO(2), TO_100, GOTO(4), TO_100, TO_MAIN } },
	{ "goto behind the end", .rules = { GOTO(2), TO_MAIN }, PASS(NO_ROUTE) },
	{ "goto far behind the end", .rules = { GOTO(0xffffffff), TO_MAIN }, PASS(NO_ROUTE) },
	{ "goto itself, for ever", .rules = { GOTO(0), TO_MAIN }, PASS(NO_ROUTE) },
	{ "goto on what is unknown",
	  .rules = { RULE(FLAGS(UNKNOWN), .rule.action = SIXLANE_RULE_GOTO, .rule.target = 1),
		     TO_MAIN },
	  CANNOT_TELL },

	/* suppress_prefixlength: asked only of routes without an error */
	{ "suppress, of the length", SUPPRESSED_TO(NH_GATEWAY), .via = NEIGH_ALT },
	{ "suppress, one longer", .routes = { TABLES }, .rules = { SUPPRESS(47), TO_100 } },
	{ "suppress, one shorter", .routes = { TABLES }, .rules = { SUPPRESS(49), TO_100 },
	  .via = NEIGH_ALT },
	{ "suppress the default route",
	  .routes = { ROUTE("::/0", NH_GATEWAY), ROUTE_IN(100, "::/0", NH_ALT) },
	  .rules = { SUPPRESS(0), TO_100 }, .via = NEIGH_ALT },
	{ "suppress, and no other table", .rules = { SUPPRESS(48) }, PASS(NO_ROUTE) },
	{ "suppress is not for rules that do not say it",
	  .rules = { RULE(.rule.table = 254, .rule.suppress_len = 128) } },
	{ "suppress, local", SUPPRESSED_ENTRY(PASS_LOCAL), .via = NEIGH_ALT },
	{ "suppress, anycast", SUPPRESSED_ENTRY(PASS_ANYCAST), .via = NEIGH_ALT },
	{ "suppress, multicast", SUPPRESSED_ENTRY(PASS_MULTICAST), .via = NEIGH_ALT },
	{ "suppress, group", SUPPRESSED_TO(NH_GROUP), WITH(GROUP), .via = NEIGH_ALT },
	{ "suppress, by a next-hop object", SUPPRESSED_TO(NH_GROUP), WITH(GROUP_OBJECT),
	  PUNT(RULE) },
	{ "suppress, by a next-hop object, one longer", .routes = { TO(NH_GROUP) },
	  .rules = { SUPPRESS(47) }, WITH(GROUP_OBJECT), PUNT(RULE) },
	{ "suppress, blackhole", SUPPRESSED_ENTRY(DROP_BLACKHOLE), DROP(BLACKHOLE) },
	{ "suppress, prohibit", SUPPRESSED_ENTRY(PASS_PROHIBIT), PASS(PROHIBIT) },
	{ "suppress, throw", SUPPRESSED_ENTRY(PASS_THROW), .via = NEIGH_ALT },
	{ "suppress, encapsulation", SUPPRESSED_ENTRY(PUNT_ENCAP), PUNT(ENCAP) },
	{ "suppress and gaps: a route is there", SUPPRESSED_TO(NH_GATEWAY), WITH(FLIP_META(GAPS)),
	  .via = NEIGH_ALT },
	{ "group by a rule", .routes = { TO(NH_GROUP) }, .rules = { TO_MAIN }, WITH(GROUP) },
	{ "group that expired, by a rule",
	  .routes = { TO(NH_GROUP), ROUTE_IN(100, "::/0", NH_ALT) }, .rules = { TO_MAIN, TO_100 },
	  WITH(SET_GROUP(NH_GATEWAY, 1)), PUNT(EXPIRES) },

	/* VRFs */
	{ "VRF without rules", VRF_TABLE, WITH(SET_VRF(IN)), .via = NEIGH_ALT },
	{ "l3mdev, port of a VRF", VRF_TABLE, BY_VRF, WITH(SET_VRF(IN)), .via = NEIGH_ALT },
	{ "l3mdev, port of none", VRF_TABLE, BY_VRF },
	{ "l3mdev, another port of a VRF", VRF_TABLE, BY_VRF, .in = DEV_GENERIC,
	  WITH(SET_VRF(IN)) },
	{ "l3mdev, VLAN of a VRF", VRF_TABLE, BY_VRF, WITH(SET_VRF(IN_10)), TAG_10,
	  .via = NEIGH_ALT },
	{ "l3mdev, port below a VLAN of a VRF", VRF_TABLE, BY_VRF, WITH(SET_VRF(IN_10)) },
	{ "l3mdev, VRF that has nothing", BY_VRF, WITH(SET_VRF(IN)) },
	{ "l3mdev and from", VRF_TABLE, .rules = { RULE(FLAGS(L3MDEV), NOT_FROM), TO_MAIN },
	  WITH(SET_VRF(IN)) },
	{ "blackhole for VRFs, port of one",
	  .rules = { RULE(RULE_VERDICT(DROP_BLACKHOLE), FLAGS(L3MDEV)), TO_MAIN },
	  WITH(SET_VRF(IN)), DROP(BLACKHOLE) },
	{ "blackhole for VRFs, port of none",
	  .rules = { RULE(RULE_VERDICT(DROP_BLACKHOLE), FLAGS(L3MDEV)), TO_MAIN } },
	{ "blackhole but for VRFs, port of one",
	  .rules = { RULE(RULE_VERDICT(DROP_BLACKHOLE), NOT(L3MDEV)), TO_MAIN },
	  WITH(SET_VRF(IN)) },
	{ "blackhole but for VRFs, port of none",
	  .rules = { RULE(RULE_VERDICT(DROP_BLACKHOLE), NOT(L3MDEV)), TO_MAIN }, DROP(BLACKHOLE) },
	{ "a VRF's port does not ask main but by a rule",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(WORLD_VRF, "2001:db8:3::/48", NH_ALT) },
	  .rules = { RULE(FLAGS(L3MDEV)) }, WITH(SET_VRF(IN)), PASS(NO_ROUTE) },
	{ "iif of a VRF's port is the VRF", IF(), WITH(SET_VRF(IN), ASK_IIF(WORLD_VRF_IFINDEX)),
	  APPLIES },
	{ "iif of a VRF's port is not itself", IF(),
	  WITH(SET_VRF(IN), ASK_IIF(WORLD_IFINDEX(DEV_IN))), APPLIES_NOT },
	{ "neighbour discovery in a VRF", IN_VRF, PATCH(ICMP6("87")), CANNOT_TELL },
	{ "the first message of neighbour discovery in a VRF", IN_VRF, PATCH(ICMP6("85")),
	  CANNOT_TELL },
	{ "the last message of neighbour discovery in a VRF", IN_VRF, PATCH(ICMP6("89")),
	  CANNOT_TELL },
	{ "ICMPv6 before neighbour discovery in a VRF", IN_VRF, PATCH(ICMP6("84")), APPLIES },
	{ "ICMPv6 after neighbour discovery in a VRF", IN_VRF, PATCH(ICMP6("8a")), APPLIES },
	{ "UDP like neighbour discovery in a VRF", IN_VRF, PATCH({ AT_PAYLOAD, "87" }), APPLIES },
	{ "ICMPv6 without a byte in a VRF", IN_VRF,
	  .in_hex = "021121314151 02000000ee01 86dd 60000000 0000 3a 40" ADDRS, CANNOT_TELL },
	{ "neighbour discovery without a VRF", IF(), PATCH(ICMP6("87")), APPLIES },
};
const size_t rows_walk_n = sizeof(rows_walk) / sizeof(rows_walk[0]);
