// SPDX-License-Identifier: GPL-2.0-only
/* Rules: which of them apply to a packet (fib_rule_match). */
#include "rows_rule.h"

#define SPORT(low, high) FLAGS(SPORT), .rule.sport_low = (low), .rule.sport_high = (high)
#define DPORT(low, high) FLAGS(DPORT), .rule.dport_low = (low), .rule.dport_high = (high)
#define NOT_DPORT(low, high) NOT(DPORT), .rule.dport_low = (low), .rule.dport_high = (high)
#define PROTO(n) FLAGS(PROTO), .rule.proto = (n)
#define TCLASS(value, mask) FLAGS(TCLASS), .rule.tclass = (value), .rule.tclass_mask = (mask)

/* ports 4660 and 80 */
#define PORTS                          \
	{                              \
		AT_PAYLOAD, "12340050" \
	}
#define CLASS(hex)              \
	{                       \
		AT_VERSION, hex \
	}

const struct row rows_rule[] = {
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
	{ "not both of from and to, one holds",
	  IF(.rule.flags = SIXLANE_RULE_INVERT, .src = "2001:db8:1::/48", .dst = "2001:db8:f::/48"),
	  APPLIES },
	{ "not both of from and to, both hold",
	  IF(.rule.flags = SIXLANE_RULE_INVERT, .src = "2001:db8:1::/48", .dst = "2001:db8:2::/48"),
	  APPLIES_NOT },
	{ "not all", IF(.rule.flags = SIXLANE_RULE_INVERT), APPLIES_NOT },

	/* iif */
	{ "iif", IF(), WITH(ASK_IIF(WORLD_IFINDEX(DEV_IN))), APPLIES },
	{ "iif, by another port", IF(), .in = DEV_ALT, .to = DEV_ALT,
	  WITH(ASK_IIF(WORLD_IFINDEX(DEV_IN))), APPLIES_NOT },
	{ "not iif", IF(.rule.flags = SIXLANE_RULE_INVERT), WITH(ASK_IIF(WORLD_IFINDEX(DEV_IN))),
	  APPLIES_NOT },
	{ "not iif, by another port", IF(.rule.flags = SIXLANE_RULE_INVERT), .in = DEV_GENERIC,
	  WITH(ASK_IIF(WORLD_IFINDEX(DEV_IN))), APPLIES },
	{ "iif of a VLAN", IF(), WITH(ASK_IIF(WORLD_IFINDEX(DEV_IN_10))), TAG_10, APPLIES },
	{ "iif below a VLAN", IF(), WITH(ASK_IIF(WORLD_IFINDEX(DEV_IN))), TAG_10, APPLIES_NOT },
	{ "iif of a bond", IF(), .in = DEV_SLAVE, WITH(ASK_IIF(WORLD_IFINDEX(DEV_BOND))),
	  .as = DEV_BOND, APPLIES },
	{ "iif of a bond's slave", IF(), .in = DEV_SLAVE, WITH(ASK_IIF(WORLD_IFINDEX(DEV_SLAVE))),
	  .as = DEV_BOND, APPLIES_NOT },

	/* tos: traffic class */
	{ "tos", IF(TCLASS(0xb8, 0xfc)), APPLIES },
	{ "tos, another", IF(TCLASS(0xb4, 0xfc)), APPLIES_NOT },
	{ "tos, ECN is not in it", IF(TCLASS(0xb8, 0xfc)), PATCH(CLASS("6bbf")), APPLIES },
	{ "tos, all its bits", IF(TCLASS(0xb8, 0xff)), PATCH(CLASS("6bbf")), APPLIES_NOT },
	{ "tos, the flow label is not in it", IF(TCLASS(0x0c, 0xfc)), PATCH(CLASS("60cfffff")),
	  APPLIES },
	{ "tos, the version is not in it", IF(TCLASS(0x60, 0xfc)), PATCH(CLASS("6600")), APPLIES },
	{ "tos of zero", IF(TCLASS(0, 0xfc)), PATCH(CLASS("6000")), APPLIES },

	/* ipproto */
	{ "ipproto UDP", IF(PROTO(17)), APPLIES },
	{ "ipproto TCP, of UDP", IF(PROTO(6)), APPLIES_NOT },
	{ "ipproto TCP", IF(PROTO(6)), PATCH(NEXT("06")), APPLIES },
	{ "ipproto ICMPv6", IF(PROTO(58)), PATCH(NEXT("3a")), APPLIES },
	{ "ipproto UDP, of ICMPv6", IF(PROTO(17)), PATCH(NEXT("3a")), APPLIES_NOT },
	{ "ipproto ESP", IF(PROTO(50)), PATCH(NEXT("32")), APPLIES },
	{ "ipproto SCTP", IF(PROTO(132)), PATCH(NEXT("84")), APPLIES },
	{ "ipproto DCCP", IF(PROTO(33)), PATCH(NEXT("21")), APPLIES },
	{ "ipproto UDP-Lite", IF(PROTO(136)), PATCH(NEXT("88")), APPLIES },
	{ "ipproto, of a fragment", IF(PROTO(17)), PATCH(NEXT("2c")), CANNOT_TELL },
	{ "ipproto fragment, of a fragment", IF(PROTO(44)), PATCH(NEXT("2c")), CANNOT_TELL },
	{ "ipproto, of a routing header", IF(PROTO(17)), PATCH(NEXT("2b")), CANNOT_TELL },
	{ "ipproto, of destination options", IF(PROTO(17)), PATCH(NEXT("3c")), CANNOT_TELL },
	{ "ipproto, of AH", IF(PROTO(51)), PATCH(NEXT("33")), CANNOT_TELL },
	{ "ipproto, of IPv6 in IPv6", IF(PROTO(41)), PATCH(NEXT("29")), CANNOT_TELL },
	{ "ipproto, of GRE", IF(PROTO(47)), PATCH(NEXT("2f")), CANNOT_TELL },
	{ "ipproto, of no next header", IF(PROTO(59)), PATCH(NEXT("3b")), CANNOT_TELL },
	{ "not ipproto, of a fragment", IF(NOT(PROTO), .rule.proto = 6), PATCH(NEXT("2c")),
	  CANNOT_TELL },
	{ "ipproto, of a fragment, but not from", IF(PROTO(17), NOT_FROM), PATCH(NEXT("2c")),
	  APPLIES_NOT },
	{ "not both of ipproto and from, of a fragment, not from",
	  IF(NOT(PROTO), .rule.proto = 17, NOT_FROM), PATCH(NEXT("2c")), APPLIES },
	{ "a fragment, before a rule that asks its protocol", .routes = { TABLES },
	  .rules = { TO_100, RULE(LOOK_UP(254), PROTO(17)) }, PATCH(NEXT("2c")), APPLIES },

	/* sport and dport */
	{ "dport", IF(DPORT(80, 80)), PATCH(PORTS), APPLIES },
	{ "dport, one over", IF(DPORT(79, 79)), PATCH(PORTS), APPLIES_NOT },
	{ "dport, one under", IF(DPORT(81, 81)), PATCH(PORTS), APPLIES_NOT },
	{ "dport, low end", IF(DPORT(80, 90)), PATCH(PORTS), APPLIES },
	{ "dport, high end", IF(DPORT(70, 80)), PATCH(PORTS), APPLIES },
	{ "dport, all", IF(DPORT(1, 65535)), PATCH(PORTS), APPLIES },
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
	{ "ICMPv6 has no ports, not dport", IF(NOT_DPORT(80, 80)), PATCH(PORTS, NEXT("3a")),
	  APPLIES },
	{ "dport, of a fragment", IF(DPORT(80, 80)), PATCH(PORTS, NEXT("2c")), CANNOT_TELL },
	{ "dport, of destination options", IF(DPORT(80, 80)), PATCH(PORTS, NEXT("3c")),
	  CANNOT_TELL },
	{ "dport, cut after 3 bytes", IF(DPORT(80, 80)), .payload = 3, CANNOT_TELL },
	{ "dport, cut after 3 bytes, padding behind", IF(DPORT(80, 80)), .payload = 3,
	  .padding = 20, PATCH(PORTS), CANNOT_TELL },
	{ "dport in the last bytes", IF(DPORT(80, 80)), .payload = 4, PATCH(PORTS), APPLIES },
	{ "ipproto, cut after 3 bytes", IF(PROTO(17)), .payload = 3, CANNOT_TELL },
	{ "dport behind a tag", IF(DPORT(80, 80)), PATCH(PORTS), TAG_10, APPLIES },
	{ "all of ipproto, sport and dport",
	  IF(.rule.flags = SIXLANE_RULE_PROTO | SIXLANE_RULE_SPORT | SIXLANE_RULE_DPORT,
	     .rule.proto = 17, .rule.sport_low = 0x1234, .rule.sport_high = 0x1234,
	     .rule.dport_low = 80, .rule.dport_high = 80),
	  PATCH(PORTS), APPLIES },
	{ "all of ipproto, sport and dport, but one",
	  IF(.rule.flags = SIXLANE_RULE_PROTO | SIXLANE_RULE_SPORT | SIXLANE_RULE_DPORT,
	     .rule.proto = 17, .rule.sport_low = 0x1235, .rule.sport_high = 0x1235,
	     .rule.dport_low = 80, .rule.dport_high = 80),
	  PATCH(PORTS), APPLIES_NOT },

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
	{ "unknown behind the rule that answers", .routes = { TABLES },
	  .rules = { TO_100, RULE(LOOK_UP(254), FLAGS(UNKNOWN)) }, APPLIES },
	{ "unknown before the rule that answers", .routes = { TABLES },
	  .rules = { RULE(LOOK_UP(254), FLAGS(UNKNOWN)), TO_100 }, CANNOT_TELL },
	{ "a verdict behind what is unknown",
	  .rules = { RULE(FLAGS(UNKNOWN), .rule.action = SIXLANE_RULE_VERDICT,
			  .rule.verdict = SIXLANE_DROP_BLACKHOLE) },
	  CANNOT_TELL },
};
const size_t rows_rule_n = sizeof(rows_rule) / sizeof(rows_rule[0]);
