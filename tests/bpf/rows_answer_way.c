// SPDX-License-Identifier: GPL-2.0-only
/* Packets over an MTU: to whom answers go, by which route, and what they are never about. */
#include "rows_exception.h"
#include "rows_rule.h"

#define ON_LINK(prefix) .routes = { TO(NH_GATEWAY), ROUTE(prefix, NH_ON_LINK_IN) }
#define BACK_TO(next_hop) .routes = { TO(NH_GATEWAY), ROUTE("2001:db8:1::/48", next_hop) }

#define NEXT_IS(hex, ...) PATCH(NEXT(hex), __VA_ARGS__)
#define THEN(hex)               \
	{                       \
		AT_PAYLOAD, hex \
	}
#define AT(offset, hex)                    \
	{                                  \
		AT_PAYLOAD + (offset), hex \
	}
#define OPTIONS_8                                                          \
	"3c000000000000003c000000000000003c000000000000003c00000000000000" \
	"3c000000000000003c000000000000003c00000000000000"

#define NO_SOURCE SET(PORT(IN).source.halves[0], 0), SET(PORT(IN).source.halves[1], 0)
/* The sender's address is the first of its prefix, which for on-link ones is anycast. */
#define FIRST_SENDER                                                          \
	.src = "2001:db8:1::", WITH(SET(NEIGH(SENDER).key.addr.bytes[15], 0), \
				    SET(neigh_index[NEIGH_SENDER].key.addr.bytes[15], 0))
#define IN_VRF                                                                             \
	WITH(SET_VRF(IN)), .routes = { ROUTE_IN(WORLD_VRF, "2001:db8:2::/48", NH_GATEWAY), \
				       ROUTE_IN(WORLD_VRF, "2001:db8:1::/48", NH_VIA(NEIGH_IN)) }

const struct row rows_answer_way[] = {
	/* the return route */
	FINE_BY("on-link sender", NEIGH_SENDER, ON_LINK("2001:db8:1::/64"), OVER),
	FINE_BY("on-link sender, default route", NEIGH_SENDER, ON_LINK("::/0"), OVER),
	FINE_BY("on-link sender, its /128", NEIGH_SENDER, ON_LINK("2001:db8:1::1/128"), OVER),
	FINE_BY("on-link sender, first of a /127", NEIGH_SENDER, ON_LINK("2001:db8:1::/127"),
		FIRST_SENDER, OVER),
	FINE_BY("on-link sender, first of nothing", NEIGH_SENDER, ON_LINK("2001:db8::/47"),
		FIRST_SENDER, OVER),
	NEVER("anycast address of a /126", ON_LINK("2001:db8:1::/126"), FIRST_SENDER),
	NEVER("anycast address of a /65", ON_LINK("2001:db8:1::/65"), FIRST_SENDER),
	NEVER("anycast address of a /64", ON_LINK("2001:db8:1::/64"), FIRST_SENDER),
	NEVER("anycast address of a /48", ON_LINK("2001:db8:1::/48"), FIRST_SENDER),
	FINE("first of a prefix behind a gateway", .src = "2001:db8:1::", OVER),
	NEVER("own address as source", BACK_TO(NH_ENTRY + SIXLANE_PASS_LOCAL)),
	NEVER("own anycast address as source", BACK_TO(NH_ENTRY + SIXLANE_PASS_ANYCAST)),
	UNSURE("no route back", .routes = { TO(NH_GATEWAY) }),
	UNSURE("unreachable sender", BACK_TO(NH_ENTRY + SIXLANE_PASS_UNREACHABLE)),
	UNSURE("sender behind a blackhole", BACK_TO(NH_ENTRY + SIXLANE_DROP_BLACKHOLE)),
	UNSURE("way back that is out of range", BACK_TO(SIXLANE_MAX_NEXT_HOPS)),
	UNSURE("way back by another port", BACK_TO(NH_ALT)),
	UNSURE("way back by the egress", BACK_TO(NH_GATEWAY)),
	UNSURE("way back by a group", BACK_TO(NH_GROUP), WITH(SET_GROUP(NH_VIA(NEIGH_IN), 0))),
	UNSURE("way back by source", BACK_TO(NH_SOURCES),
	       .sources = { SOURCE("::/0", NH_VIA(NEIGH_IN)) }),
	UNSURE("way back in another table",
	       .routes = { TO(NH_GATEWAY), ROUTE_IN(100, "2001:db8:1::/48", NH_VIA(NEIGH_IN)) }),
	UNSURE("way back with exceptions", PLAIN(NH_GATEWAY), WITH(MARK_BACK)),
	UNSURE("way back to a sender that is punt", PLAIN(NH_GATEWAY), LOOK, .punted = FRAME_SRC),
	UNSURE("way back to a sender that a message was about", PLAIN(NH_GATEWAY), LOOK,
	       .fresh = FRAME_SRC),
	UNSURE("way back with a source of its own", PLAIN(NH_GATEWAY),
	       WITH(FLIP(next_hops[NH_VIA(NEIGH_IN)].flags, SIXLANE_NEXT_HOP_NO_ANSWER))),
	UNSURE("gateway back is lost", PLAIN(NH_GATEWAY), WITH(SET(NEIGH(IN).mac.flags, 0))),
	UNSURE("on-link sender is unknown", ON_LINK("2001:db8:1::/64"), .src = "2001:db8:1::9"),
	UNSURE("on-link sender's slot is another's", ON_LINK("2001:db8:1::/64"),
	       WITH(SET(NEIGH(SENDER).key.addr.bytes[15], 9))),

	/* the port */
	UNSURE("rules", PLAIN(NH_GATEWAY), .rules = { TO_MAIN }),
	{ "port in a VRF, the kernel's", IN_VRF,
	  HIT(VALUE_IN(WORLD_VRF, FLAG(MTU) | FLAG(LOCKED) | FLAG(KERNEL), .mtu = 1400)), OVER,
	  PASSED },
	{ "port in a VRF, the operator's", IN_VRF,
	  HIT(VALUE_IN(WORLD_VRF, FLAG(MTU) | FLAG(LOCKED) | FLAG(OPERATOR), .mtu = 1400)), OVER,
	  TURNED_BACK(1400) },
	UNSURE("egress in a VRF", PLAIN(NH_GATEWAY), WITH(SET_VRF(OUT))),
	UNSURE("port of which a slave is to be chosen", PLAIN(NH_GATEWAY),
	       WITH(FLIP_PORT(IN, SLAVES))),
	UNSURE("port whose frames are like the kernel's alone", PLAIN(NH_GATEWAY),
	       WITH(FLIP_PORT(IN, UNSUPPORTED))),
	UNSURE("source that is not certain", PLAIN(NH_GATEWAY), WITH(FLIP_PORT(IN, SOURCE))),
	NOT_ABOUT("no source", WITH(FLIP_PORT(IN, SOURCE), NO_SOURCE)),
	NOT_ABOUT("source of which half is written", WITH(SET(PORT(IN).source.halves[0], 0))),
	NOT_ABOUT("source that is not certain, of which half is written",
		  WITH(FLIP_PORT(IN, SOURCE), SET(PORT(IN).source.halves[0], 0))),
	NOT_ABOUT("port that cannot send", WITH(FLIP_PORT(IN, XMIT), FLIP_PORT(IN, XMIT_FRAGS))),
	FINE("answer, slots tried first", OVER, .at_home = true),
	FINE("answer, egress of 1280", OVER, WITH(SET(PORT(OUT).mtu, 1280))),
	FINE_BY("answer by a bond", NEIGH_BOND, PLAIN_BY(NH_GATEWAY, NEIGH_BOND), .in = DEV_SLAVE,
		.as = DEV_BOND, OVER),
	{ OPERATORS("multicast MAC as source"), PATCH({ AT_SRC_MAC, "330000000001" }), OVER,
	  DROPPED },
	{ OPERATORS("broadcast as source"), PATCH({ AT_SRC_MAC, "ffffffffffff" }), OVER, DROPPED },
	FINE("multicast MAC as source, way back", OVER, PATCH({ AT_SRC_MAC, "330000000001" })),

	/* about what */
	NOT_ABOUT("Destination Unreachable", NEXT_IS("3a", THEN("01"))),
	NOT_ABOUT("Packet Too Big", NEXT_IS("3a", THEN("02"))),
	NOT_ABOUT("ICMPv6 error of any type", NEXT_IS("3a", THEN("7f"))),
	FINE("Echo Request", OVER, NEXT_IS("3a", THEN("80"))),
	FINE("ICMPv6 message of any type", OVER, NEXT_IS("3a", THEN("ff"))),
	FINE("TCP", OVER, NEXT_IS("06", THEN("01"))),
	FINE("ESP", OVER, NEXT_IS("32", THEN("3a"))),
	FINE("no next header", OVER, NEXT_IS("3b", THEN("3a"))),
	FINE("IPv6 in IPv6", OVER, NEXT_IS("29", THEN("60"))),
	NOT_ABOUT("error behind a routing header",
		  NEXT_IS("2b", THEN("3a00000000000000"), AT(8, "01"))),
	FINE("echo behind a routing header", OVER,
	     NEXT_IS("2b", THEN("3a00000000000000"), AT(8, "80"))),
	NOT_ABOUT("error behind options", NEXT_IS("3c", THEN("3a01"), AT(16, "03"))),
	FINE("echo behind options", OVER, NEXT_IS("3c", THEN("3a01"), AT(16, "81"))),
	NOT_ABOUT("error behind options, routing header and options",
		  NEXT_IS("3c", THEN("2b00"), AT(8, "3c01"), AT(24, "3a00"), AT(32, "04"))),
	NOT_ABOUT("error behind hop-by-hop options that come late",
		  NEXT_IS("3c", THEN("0000"), AT(8, "3a00"), AT(16, "01"))),
	NOT_ABOUT("error behind an authentication header",
		  NEXT_IS("33", THEN("3a04"), AT(24, "01"))),
	FINE("echo behind an authentication header", OVER,
	     NEXT_IS("33", THEN("3a04"), AT(24, "80"))),
	NOT_ABOUT("first fragment of an error", NEXT_IS("2c", THEN("3a000001"), AT(8, "01"))),
	NOT_ABOUT("first fragment of an error, reserved bits",
		  NEXT_IS("2c", THEN("3aff0006"), AT(8, "01"))),
	FINE("first fragment of an echo", OVER, NEXT_IS("2c", THEN("3a000001"), AT(8, "80"))),
	FINE("first fragment of UDP", OVER, NEXT_IS("2c", THEN("11000001"), AT(8, "01"))),
	FINE("second fragment of an error", OVER, NEXT_IS("2c", THEN("3a000008"), AT(8, "01"))),
	FINE("far fragment of an error", OVER, NEXT_IS("2c", THEN("3a000100"), AT(8, "01"))),
	FINE("eight headers", OVER, NEXT_IS("3c", THEN(OPTIONS_8 "1100"))),
	NOT_ABOUT("error behind eight headers", NEXT_IS("3c", THEN(OPTIONS_8 "3a00000000000000"
									     "01"))),
	NOT_ABOUT("nine headers", NEXT_IS("3c", THEN(OPTIONS_8 "3c00000000000000"
							       "1100"))),
	FINE("last header in sight", OVER, NEXT_IS("3c", THEN("1193"))),
	NOT_ABOUT("error in sight", NEXT_IS("3c", THEN("3a93"), AT(1184, "01"))),
	NOT_ABOUT("last header out of sight", NEXT_IS("3c", THEN("1194"))),
};
const size_t rows_answer_way_n = sizeof(rows_answer_way) / sizeof(rows_answer_way[0]);
