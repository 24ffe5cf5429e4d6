// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules: which of them apply to a packet (fib_rule_match), what those lead to, and when the next is
 * asked (fib_rules_lookup, fib6_rule_action, fib6_rule_suppress).
 */
#include "tests.h"

#define IIF(dev) WITH(ASK_IIF(WORLD_IFINDEX(DEV_##dev)))
#define IF_NOT(...) IF(.rule.flags = SIXLANE_RULE_INVERT, __VA_ARGS__)
#define SPORT(low, high) FLAGS(SPORT), .rule.sport_low = (low), .rule.sport_high = (high)
#define TO_80 IF(DPORT(80, 80)), PATCH(PORTS)
#define DPORT(low, high) FLAGS(DPORT), .rule.dport_low = (low), .rule.dport_high = (high)
#define NOT_DPORT(low, high) NOT(DPORT), .rule.dport_low = (low), .rule.dport_high = (high)
#define UDP_FROM(port)                                                              \
	.rule.flags = SIXLANE_RULE_PROTO | SIXLANE_RULE_SPORT | SIXLANE_RULE_DPORT, \
	.rule.proto = 17, .rule.sport_low = (port), .rule.sport_high = (port),      \
	.rule.dport_low = 80, .rule.dport_high = 80
#define PROTO(n) FLAGS(PROTO), .rule.proto = (n)
#define TCLASS(value, mask) FLAGS(TCLASS), .rule.tclass = (value), .rule.tclass_mask = (mask)

/* ports 4660 and 80 */
#define PORTS                          \
	{                              \
		AT_PAYLOAD, "12340050" \
	}
#define CLASS(hex) ITEM(AT_VERSION, hex)

/* As many rules as there may be. Only the last one applies. */
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
#define RULE_OF(v) \
	ITEM(.name = "rule of type " #v, FIRST(RULE_VERDICT(v)), .verdict = SIXLANE_##v, )
#define BOTH .rules = { TO_100, TO_MAIN }
#define FIRST(...) .rules = { RULE(__VA_ARGS__), TO_MAIN }
#define GOTO(target_) RULE(.rule.action = SIXLANE_RULE_GOTO, .rule.target = (target_))
/* Table 100 has this verdict, main leads to the gateway. */
#define VERDICT_100(verdict) \
	.routes = { TO(NH_GATEWAY), ROUTE_IN(100, "::/0", NH_ENTRY + SIXLANE_##verdict) }, BOTH
#define VRF_TABLE .routes = { TO(NH_GATEWAY), ROUTE_IN(WORLD_VRF, "::/0", NH_ALT) }
#define BY_VRF FIRST(FLAGS(L3MDEV))

#define GROUP SET_GROUP(NH_GATEWAY, UINT64_MAX)
#define GROUP_OBJECT GROUP, FLIP(next_hops[NH_GROUP].flags, SIXLANE_NEXT_HOP_OBJECT)
#define IN_VRF IF(), WITH(SET_VRF(IN))
#define ICMP6(type)              \
	NEXT("3a"),              \
	{                        \
		AT_PAYLOAD, type \
	}

static const struct row rows_rule[] = {
	/* from and to */
	{ "from", IF(.src = "2001:db8:1::/48"), APPLIES },
	{ "from, beside", IF(.src = "2001:db8:1:1::/64"), APPLIES_NOT },
	{ "from a /128", IF(.src = "2001:db8:1::1/128"), APPLIES },
	{ "from a /128, beside", IF(.src = "2001:db8:1::2/128"), APPLIES_NOT },
	{ "from a /65, beside", IF(.src = "2001:db8:1:0:8000::/65"), APPLIES_NOT },
	{ "from ::/0", IF(.src = "::/0"), APPLIES },
	{ "from the destination", IF(.src = "2001:db8:2::/48"), APPLIES_NOT },
	{ "not from", IF(NOT(SOURCE), .src = "2001:db8:1::/48"), APPLIES_NOT },
	{ "not from, beside", IF(NOT(SOURCE), NOT_FROM), APPLIES },
	{ "to", IF(.dst = "2001:db8:2::/47"), APPLIES },
	{ "to, beside", IF(.dst = "2001:db8:2:1::/64"), APPLIES_NOT },
	{ "to a /128, beside", IF(.dst = "2001:db8:2::/128"), APPLIES_NOT },
	{ "to the source", IF(.dst = "2001:db8:1::/48"), APPLIES_NOT },
	{ "from and to", IF(.src = "2001:db8:1::/48", .dst = "2001:db8:2::/48"), APPLIES },
	{ "from, but not to", IF(.src = "2001:db8:1::/48", .dst = "2001:db8:f::/48"), APPLIES_NOT },
	{ "not both of from and to, one matches",
	  IF_NOT(.src = "2001:db8:1::/48", .dst = "2001:db8:f::/48"), APPLIES },
	{ "not both of from and to, both match",
	  IF_NOT(.src = "2001:db8:1::/48", .dst = "2001:db8:2::/48"), APPLIES_NOT },
	{ "not all", IF_NOT(), APPLIES_NOT },

	/* iif */
	{ "iif", IF(), IIF(IN), APPLIES },
	{ "iif, by another port", IF(), .in = DEV_ALT, .to = DEV_ALT, IIF(IN), APPLIES_NOT },
	{ "not iif", IF_NOT(), IIF(IN), APPLIES_NOT },
	{ "not iif, by another port", IF_NOT(), .in = DEV_GENERIC, IIF(IN), APPLIES },
	{ "iif of a VLAN", IF(), IIF(IN_10), TAG_10, APPLIES },
	{ "iif below a VLAN", IF(), IIF(IN), TAG_10, APPLIES_NOT },
	{ "iif of a bond", IF(), .in = DEV_SLAVE, IIF(BOND), .as = DEV_BOND, APPLIES },
	{ "iif of a bond's slave", IF(), .in = DEV_SLAVE, IIF(SLAVE), .as = DEV_BOND, APPLIES_NOT },

	/* tos: traffic class */
	{ "tos", IF(TCLASS(0xb8, 0xfc)), APPLIES },
	{ "tos, another", IF(TCLASS(0xb4, 0xfc)), APPLIES_NOT },
	{ "tos, ECN is not in it", IF(TCLASS(0xb8, 0xfc)), PATCH(CLASS("6bbf")), APPLIES },
	{ "tos, all its bits", IF(TCLASS(0xb8, 0xff)), PATCH(CLASS("6bbf")), APPLIES_NOT },
	{ "tos without flow label", IF(TCLASS(0x0c, 0xfc)), PATCH(CLASS("60cfffff")), APPLIES },
	{ "tos, the version is not in it", IF(TCLASS(0x60, 0xfc)), PATCH(CLASS("6600")), APPLIES },
	{ "tos of zero", IF(TCLASS(0, 0xfc)), PATCH(CLASS("6000")), APPLIES },

	/* ipproto */
	{ "ipproto UDP", IF(PROTO(17)), APPLIES },
	{ "ipproto TCP, of UDP", IF(PROTO(6)), APPLIES_NOT },
	{ "ipproto TCP", IF(PROTO(6)), NEXT_IS("06"), APPLIES },
	{ "ipproto ICMPv6", IF(PROTO(58)), NEXT_IS("3a"), APPLIES },
	{ "ipproto UDP, of ICMPv6", IF(PROTO(17)), NEXT_IS("3a"), APPLIES_NOT },
	{ "ipproto ESP", IF(PROTO(50)), NEXT_IS("32"), APPLIES },
	{ "ipproto SCTP", IF(PROTO(132)), NEXT_IS("84"), APPLIES },
	{ "ipproto DCCP", IF(PROTO(33)), NEXT_IS("21"), APPLIES },
	{ "ipproto UDP-Lite", IF(PROTO(136)), NEXT_IS("88"), APPLIES },
	{ "ipproto, of a fragment", IF(PROTO(17)), NEXT_IS("2c"), CANNOT_TELL },
	{ "ipproto fragment, of a fragment", IF(PROTO(44)), NEXT_IS("2c"), CANNOT_TELL },
	{ "ipproto, of a routing header", IF(PROTO(17)), NEXT_IS("2b"), CANNOT_TELL },
	{ "ipproto, of destination options", IF(PROTO(17)), NEXT_IS("3c"), CANNOT_TELL },
	{ "ipproto, of AH", IF(PROTO(51)), NEXT_IS("33"), CANNOT_TELL },
	{ "ipproto, of IPv6 in IPv6", IF(PROTO(41)), NEXT_IS("29"), CANNOT_TELL },
	{ "ipproto, of GRE", IF(PROTO(47)), NEXT_IS("2f"), CANNOT_TELL },
	{ "ipproto, of no next header", IF(PROTO(59)), NEXT_IS("3b"), CANNOT_TELL },
	{ "not ipproto, fragment", IF(NOT(PROTO), .rule.proto = 6), NEXT_IS("2c"), CANNOT_TELL },
	{ "ipproto, fragment, not from", IF(PROTO(17), NOT_FROM), NEXT_IS("2c"), APPLIES_NOT },
	{ "not both of ipproto and from, of a fragment, not from",
	  IF(NOT(PROTO), .rule.proto = 17, NOT_FROM), NEXT_IS("2c"), APPLIES },
	{ "a fragment, before a rule that asks its protocol", TWO_TABLES,
	  .rules = { TO_100, RULE(LOOK_UP(254), PROTO(17)) }, NEXT_IS("2c"), APPLIES },

	/* sport and dport */
	{ "dport", TO_80, APPLIES },
	{ "dport, one over", IF(DPORT(79, 79)), PATCH(PORTS), APPLIES_NOT },
	{ "dport, one under", IF(DPORT(81, 81)), PATCH(PORTS), APPLIES_NOT },
	{ "dport, low end", IF(DPORT(80, 90)), PATCH(PORTS), APPLIES },
	{ "dport, high end", IF(DPORT(70, 80)), PATCH(PORTS), APPLIES },
	{ "dport is not sport", IF(DPORT(0x1234, 0x1234)), PATCH(PORTS), APPLIES_NOT },
	{ "sport", IF(SPORT(0x1234, 0x1234)), PATCH(PORTS), APPLIES },
	{ "sport is not dport", IF(SPORT(80, 80)), PATCH(PORTS), APPLIES_NOT },
	{ "sport, low end", IF(SPORT(0x1234, 0x1235)), PATCH(PORTS), APPLIES },
	{ "sport, one under", IF(SPORT(0x1235, 0xffff)), PATCH(PORTS), APPLIES_NOT },
	{ "sport, high end", IF(SPORT(1, 0x1234)), PATCH(PORTS), APPLIES },
	{ "sport, one over", IF(SPORT(1, 0x1233)), PATCH(PORTS), APPLIES_NOT },
	{ "dport of TCP", IF(DPORT(80, 80)), PATCH(PORTS, NEXT("06")), APPLIES },
	{ "dport of ESP is half of its SPI", IF(DPORT(80, 80)), PATCH(PORTS, NEXT("32")), APPLIES },
	{ "ICMPv6 has no ports", IF(DPORT(80, 80)), PATCH(PORTS, NEXT("3a")), APPLIES_NOT },
	{ "ICMPv6 ports, not dport", IF(NOT_DPORT(80, 80)), PATCH(PORTS, NEXT("3a")), APPLIES },
	{ "dport, of a fragment", IF(DPORT(80, 80)), PATCH(PORTS, NEXT("2c")), CANNOT_TELL },
	{ "dport, of options", IF(DPORT(80, 80)), PATCH(PORTS, NEXT("3c")), CANNOT_TELL },
	{ "dport, cut after 3 bytes", IF(DPORT(80, 80)), .payload = 3, CANNOT_TELL },
	{ "dport, cut after 3 bytes, padding behind", IF(DPORT(80, 80)), .payload = 3,
	  .padding = 20, PATCH(PORTS), CANNOT_TELL },
	{ "dport in the last bytes", IF(DPORT(80, 80)), .payload = 4, PATCH(PORTS), APPLIES },
	{ "ipproto, cut after 3 bytes", IF(PROTO(17)), .payload = 3, CANNOT_TELL },
	{ "dport behind a tag", TO_80, TAG_10, APPLIES },
	{ "all of ipproto, sport and dport", IF(UDP_FROM(0x1234)), PATCH(PORTS), APPLIES },
	{ "ipproto and dport, another sport", IF(UDP_FROM(0x1235)), PATCH(PORTS), APPLIES_NOT },

	/* what XDP cannot see */
	{ "unknown", IF(FLAGS(UNKNOWN)), CANNOT_TELL },
	{ "not unknown", IF(NOT(UNKNOWN)), CANNOT_TELL },
	{ "unknown, but not from", IF(FLAGS(UNKNOWN), NOT_FROM), APPLIES_NOT },
	{ "unknown and from", IF(FLAGS(UNKNOWN), .src = "2001:db8:1::/48"), CANNOT_TELL },
	{ "not both of unknown and from, not from", IF(NOT(UNKNOWN), NOT_FROM), APPLIES },
	{ "unknown and another dport",
	  IF(.rule.flags = SIXLANE_RULE_UNKNOWN | SIXLANE_RULE_DPORT, .rule.dport_low = 81,
	     .rule.dport_high = 81),
	  PATCH(PORTS), APPLIES_NOT },
	{ "unknown behind the rule that answers", TWO_TABLES,
	  .rules = { TO_100, RULE(LOOK_UP(254), FLAGS(UNKNOWN)) }, APPLIES },
	{ "unknown before the rule that answers", TWO_TABLES,
	  .rules = { RULE(LOOK_UP(254), FLAGS(UNKNOWN)), TO_100 }, CANNOT_TELL },
	{ "a verdict behind what is unknown",
	  .rules = { RULE(FLAGS(UNKNOWN), .rule.action = SIXLANE_RULE_VERDICT,
			  .rule.verdict = SIXLANE_DROP_BLACKHOLE) },
	  CANNOT_TELL },

	/* a list */
	{ "one rule", .rules = { TO_MAIN } },
	{ "the first table that answers", TWO_TABLES, BOTH, APPLIES },
	{ "a table that has nothing, then one that has",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(100, "2001:db8:3::/48", NH_ALT) }, BOTH },
	{ "a longer prefix in a later table does not count",
	  .routes = { ROUTE_IN(100, "::/0", NH_ALT), ROUTE("2001:db8:2::1/128", NH_GATEWAY) }, BOTH,
	  APPLIES },
	{ "not there", .routes = { ROUTE_IN(101, "::/0", NH_GATEWAY) }, BOTH, PASS(NO_ROUTE) },
	{ "no rule", .rules = { TO_MAIN }, WITH(SET(meta.rules.n, 0)), PASS(NO_ROUTE) },
	{ "rules that another port asks", TWO_TABLES, .rules = { TO_100 }, PORT_FLAG(IN, RULES) },
	{ "local, then main",
	  .routes = { TO(NH_GATEWAY),
		      ROUTE_IN(255, "2001:db8:2::1/128", NH_ENTRY + SIXLANE_PASS_LOCAL) },
	  FIRST(LOOK_UP(255)), PASS(LOCAL) },
	{ "table of more than 8 bits",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(0x12345678, "::/0", NH_ALT) },
	  FIRST(LOOK_UP(0x12345678)), APPLIES },
	{ "throw goes on to the next rule", VERDICT_100(PASS_THROW) },
	{ "throw in the last table", ROUTE_TYPE(PASS_THROW), BOTH, PASS(THROW) },
	{ "throw, then a rule that does not apply",
	  .routes = { ROUTE_IN(100, "::/0", NH_ENTRY + SIXLANE_PASS_THROW) },
	  .rules = { TO_100, RULE(LOOK_UP(254), NOT_FROM) }, PASS(NO_ROUTE) },
	{ "throw, then a table that has nothing",
	  .routes = { ROUTE_IN(100, "::/0", NH_ENTRY + SIXLANE_PASS_THROW) }, BOTH,
	  PASS(NO_ROUTE) },
	{ "a route of no route goes on to the next rule", VERDICT_100(PASS_NO_ROUTE) },
	{ "unreachable ends the lookup", VERDICT_100(PASS_UNREACHABLE), PASS(UNREACHABLE) },
	{ "blackhole ends the lookup", VERDICT_100(DROP_BLACKHOLE), DROP(BLACKHOLE) },
	{ "a punt ends the lookup", VERDICT_100(PUNT_ENCAP), PUNT(ENCAP) },
	{ "a next hop out of range ends the lookup",
	  .routes = { ROUTE_IN(100, "::/0", NH_GATEWAY), TO(NH_GATEWAY) }, BOTH,
	  WITH(SET(routes[0].value, SIXLANE_MAX_NEXT_HOPS)), PUNT(ROUTE) },
	{ "the longest list", TWO_TABLES, FIRST(LOOK_UP(100), NOT_FROM), .arrange = longest_list },
	{ "the longest list, without its last rule", TWO_TABLES, FIRST(LOOK_UP(100), NOT_FROM),
	  .arrange = longest_list_that_ends_early, PASS(NO_ROUTE) },
	{ "a list longer than the longest", TWO_TABLES, FIRST(LOOK_UP(100), NOT_FROM),
	  .arrange = list_too_long, PASS(NO_ROUTE) },
	{ "a list out of range", .rules = { TO_MAIN },
	  WITH(SET(meta.rules.first, 2 * SIXLANE_MAX_RULES)), PUNT(RULES) },

	/* gaps: what a table has not may be what it had no room for */
	{ "gaps, no table but the last has it", BOTH, META_FLAG(GAPS), PUNT(MAP_FULL) },
	{ "gaps, the first table has it", TWO_TABLES, BOTH, META_FLAG(GAPS), APPLIES },
	{ "gaps, in a table that a throw leads on from", VERDICT_100(PASS_THROW), META_FLAG(GAPS) },
	{ "gaps, a rule that does not apply", IF(NOT_FROM), META_FLAG(GAPS), APPLIES_NOT },
	{ "gaps, where no rules are asked", .rules = { TO_100 },
	  WITH(FLIP_META(GAPS), FLIP_PORT(IN, RULES), SET(n_routes, 0)), PASS(NO_ROUTE) },

	/* verdicts of rules */
	RULE_OF(DROP_BLACKHOLE),
	RULE_OF(PASS_UNREACHABLE),
	RULE_OF(PASS_PROHIBIT),
	RULE_OF(PUNT_RULE),
	{ "blackhole rule with forwarding off", .rules = { RULE(RULE_VERDICT(DROP_BLACKHOLE)) },
	  PORT_FLAG(IN, FORWARDING), DROP(BLACKHOLE) },
	{ "blackhole rule that does not apply", FIRST(RULE_VERDICT(DROP_BLACKHOLE), NOT_FROM) },
	{ "rule to forward", FIRST(.rule.action = SIXLANE_RULE_VERDICT), PUNT(RULES) },
	{ "rule of an unknown verdict", FIRST(RULE_VERDICT(N_VERDICTS)), PUNT(RULES) },
	{ "rule to answer", FIRST(RULE_VERDICT(ANSWER_TOO_BIG)), PUNT(RULES) },
	{ "rule of an unknown action", FIRST(.rule.action = 3), PUNT(RULES) },

	/* goto */
	{ "goto", TWO_TABLES, .rules = { GOTO(2), TO_100, TO_MAIN } },
	{ "goto the next", TWO_TABLES, .rules = { GOTO(1), TO_100 }, APPLIES },
	{ "goto that does not apply", TWO_TABLES,
	  .rules = { RULE(.rule.action = SIXLANE_RULE_GOTO, .rule.target = 2, NOT_FROM), TO_100,
		     TO_MAIN },
	  APPLIES },
	{ "goto a goto", TWO_TABLES, .rules = { GOTO(2), TO_100, GOTO(4), TO_100, TO_MAIN } },
	{ "goto behind the end", .rules = { GOTO(2), TO_MAIN }, PASS(NO_ROUTE) },
	{ "goto far behind the end", .rules = { GOTO(0xffffffff), TO_MAIN }, PASS(NO_ROUTE) },
	{ "goto itself, for ever", .rules = { GOTO(0), TO_MAIN }, PASS(NO_ROUTE) },
	{ "goto on what is unknown",
	  .rules = { RULE(FLAGS(UNKNOWN), .rule.action = SIXLANE_RULE_GOTO, .rule.target = 1),
		     TO_MAIN },
	  CANNOT_TELL },

	/* suppress_prefixlength: asked only of routes without an error */
	{ "suppress, of the length", SUPPRESSED_TO(NH_GATEWAY), VIA_ALT },
	{ "suppress, one longer", TWO_TABLES, .rules = { SUPPRESS(47), TO_100 } },
	{ "suppress, one shorter", TWO_TABLES, .rules = { SUPPRESS(49), TO_100 }, VIA_ALT },
	{ "suppress the default route",
	  .routes = { ROUTE("::/0", NH_GATEWAY), ROUTE_IN(100, "::/0", NH_ALT) },
	  .rules = { SUPPRESS(0), TO_100 }, VIA_ALT },
	{ "suppress, and no other table", .rules = { SUPPRESS(48) }, PASS(NO_ROUTE) },
	{ "suppress is not for rules without it",
	  .rules = { RULE(.rule.table = 254, .rule.suppress_len = 128) } },
	{ "suppress, local", SUPPRESSED_ENTRY(PASS_LOCAL), VIA_ALT },
	{ "suppress, anycast", SUPPRESSED_ENTRY(PASS_ANYCAST), VIA_ALT },
	{ "suppress, multicast", SUPPRESSED_ENTRY(PASS_MULTICAST), VIA_ALT },
	{ "suppress, group", SUPPRESSED_TO(NH_GROUP), WITH(GROUP), VIA_ALT },
	{ "suppress, next-hop object", SUPPRESSED_TO(NH_GROUP), WITH(GROUP_OBJECT), PUNT(RULE) },
	{ "suppress, by a next-hop object, one longer", ROUTED(NH_GROUP), .rules = { SUPPRESS(47) },
	  WITH(GROUP_OBJECT), PUNT(RULE) },
	{ "suppress, blackhole", SUPPRESSED_ENTRY(DROP_BLACKHOLE), DROP(BLACKHOLE) },
	{ "suppress, prohibit", SUPPRESSED_ENTRY(PASS_PROHIBIT), PASS(PROHIBIT) },
	{ "suppress, throw", SUPPRESSED_ENTRY(PASS_THROW), VIA_ALT },
	{ "suppress, encapsulation", SUPPRESSED_ENTRY(PUNT_ENCAP), PUNT(ENCAP) },
	{ "suppress and gaps, a route", SUPPRESSED_TO(NH_GATEWAY), META_FLAG(GAPS), VIA_ALT },
	{ "group by a rule", ROUTED(NH_GROUP), .rules = { TO_MAIN }, WITH(GROUP) },
	{ "group that expired, by a rule",
	  .routes = { TO(NH_GROUP), ROUTE_IN(100, "::/0", NH_ALT) }, .rules = { TO_MAIN, TO_100 },
	  WITH(SET_GROUP(NH_GATEWAY, 1)), PUNT(EXPIRES) },

	/* VRFs */
	{ "VRF without rules", VRF_TABLE, WITH(SET_VRF(IN)), VIA_ALT },
	{ "l3mdev, port of a VRF", VRF_TABLE, BY_VRF, WITH(SET_VRF(IN)), VIA_ALT },
	{ "l3mdev, port of none", VRF_TABLE, BY_VRF },
	{ "l3mdev, another VRF port", VRF_TABLE, BY_VRF, .in = DEV_GENERIC, WITH(SET_VRF(IN)) },
	{ "l3mdev, VLAN of a VRF", VRF_TABLE, BY_VRF, WITH(SET_VRF(IN_10)), TAG_10, VIA_ALT },
	{ "l3mdev, port below a VLAN of a VRF", VRF_TABLE, BY_VRF, WITH(SET_VRF(IN_10)) },
	{ "l3mdev, VRF that has nothing", BY_VRF, WITH(SET_VRF(IN)) },
	{ "l3mdev and from", VRF_TABLE, FIRST(FLAGS(L3MDEV), NOT_FROM), WITH(SET_VRF(IN)) },
	{ "blackhole for VRFs, port of one", FIRST(RULE_VERDICT(DROP_BLACKHOLE), FLAGS(L3MDEV)),
	  WITH(SET_VRF(IN)), DROP(BLACKHOLE) },
	{ "blackhole for VRFs, port of none", FIRST(RULE_VERDICT(DROP_BLACKHOLE), FLAGS(L3MDEV)) },
	{ "blackhole but for VRFs, port of one", FIRST(RULE_VERDICT(DROP_BLACKHOLE), NOT(L3MDEV)),
	  WITH(SET_VRF(IN)) },
	{ "blackhole but for VRFs, port of none", FIRST(RULE_VERDICT(DROP_BLACKHOLE), NOT(L3MDEV)),
	  DROP(BLACKHOLE) },
	{ "a VRF's port does not ask main but by a rule",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(WORLD_VRF, "2001:db8:3::/48", NH_ALT) },
	  .rules = { RULE(FLAGS(L3MDEV)) }, WITH(SET_VRF(IN)), PASS(NO_ROUTE) },
	{ "iif of a VRF's port", IF(), WITH(SET_VRF(IN), ASK_IIF(WORLD_VRF_IFINDEX)), APPLIES },
	{ "iif of a VRF's port is not itself", IF(),
	  WITH(SET_VRF(IN), ASK_IIF(WORLD_IFINDEX(DEV_IN))), APPLIES_NOT },
	{ "neighbour discovery in a VRF", IN_VRF, PATCH(ICMP6("87")), CANNOT_TELL },
	{ "first type of neighbour discovery in a VRF", IN_VRF, PATCH(ICMP6("85")), CANNOT_TELL },
	{ "last type of neighbour discovery in a VRF", IN_VRF, PATCH(ICMP6("89")), CANNOT_TELL },
	{ "ICMPv6 before neighbour discovery in a VRF", IN_VRF, PATCH(ICMP6("84")), APPLIES },
	{ "ICMPv6 after neighbour discovery in a VRF", IN_VRF, PATCH(ICMP6("8a")), APPLIES },
	{ "UDP like neighbour discovery in a VRF", IN_VRF, PATCH({ AT_PAYLOAD, "87" }), APPLIES },
	{ "ICMPv6 without a byte in a VRF", IN_VRF,
	  .in_hex = "021121314151 02000000ee01 86dd 60000000 0000 3a 40" ADDRS, CANNOT_TELL },
	{ "neighbour discovery without a VRF", IF(), PATCH(ICMP6("87")), APPLIES },
};
ROWS(rows_rule)
