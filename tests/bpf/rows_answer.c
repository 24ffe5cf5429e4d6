// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets over an MTU: which MTU they exceed and which one the answer names, in which mode, at
 * which rate and with which tags.
 */
#include "rows_exception.h"

#define ROUTE_MTU(bytes) SET(next_hops[NH_GATEWAY].mtu, bytes)
#define LOCKED_MTU(bytes) \
	ROUTE_MTU(bytes), SET(next_hops[NH_GATEWAY].flags, SIXLANE_NEXT_HOP_LOCKED)
#define OVER_THE_RATE DROP(TOO_BIG_RATE)
/* Packets over MTUs of routes and devices are answered, too. */
#define ANSWER_ALL(...) WITH(FLIP_META(ANSWER), __VA_ARGS__)
#define DEVICES_1280 SET(PORT(OUT).mtu, 1280), SET(PORT(ALT).mtu, 1280)
#define DEVICES_1496 SET(PORT(OUT_AD30_40).mtu, 1496), SET(PORT(OUT_10).mtu, 1496)
#define ALT_1280 WITH(SET(PORT(ALT).mtu, 1280))
#define NO_TOKENS SET(meta.answer_ns, 1)
/* In generic mode, with a return route by that port. */
#define BY_GENERIC .in = DEV_GENERIC, PLAIN_BY(NH_GATEWAY, NEIGH_MEMBER + 2)
#define FINE_BACK(name, neigh, ...) \
	FINE_BY(name, NEIGH_##neigh, PLAIN_BY(NH_GATEWAY, NEIGH_##neigh), __VA_ARGS__)

const struct row rows_answer[] = {
	/* whose MTU it is, and which one the answer names */
	FINE("answer", OVER),
	FINE("answer, over the device's MTU, too", SIZE(1501)),
	FINE("answer to a frame with padding", OVER, .padding = 3),
	FINE("answer to the longest packet of one buffer", SIZE(3400)),
	FINE("answer, hop limit 2", OVER, PATCH({ AT_HOP_LIMIT, "02" })),
	{ "answer, hop limit 2, which would be 1", HIT(MTU(1400)), PLAIN(NH_GATEWAY), OVER,
	  PATCH({ AT_HOP_LIMIT, "02" }), ANSWERED_LATE(1400) },
	{ "answer, odd checksum of the quoted packet", HIT(MTU(1399)), PLAIN(NH_GATEWAY), OVER,
	  PATCH({ AT_PAYLOAD, "fffefffd" }, { AT_PAYLOAD + 1190, "ff" }), ANSWERED_LATE(1399) },
	{ "operator's MTU that is not locked", HIT(VALUE(FLAG(MTU) | FLAG(OPERATOR), .mtu = 1400)),
	  PLAIN(NH_GATEWAY), OVER, ANSWERED_LATE(1400) },
	{ "operator's MTU, no way back", HIT(OPERATOR(1400)), OVER, TURNED_BACK(1400) },
	{ "operator's MTU, a message has just come", HIT(OPERATOR(1400)), FRESH, LOOK, SIZE(1401),
	  PUNT(EXCEPTION) },
	{ "operator's next hop, MTU of its device", HIT(OPERATOR_VIA(NH_ALT)), PLAIN(NH_GATEWAY),
	  ALT_1280, SIZE(1281), ANSWERED(1280) },
	{ "operator's next hop, MTU of its device, no way back", HIT(OPERATOR_VIA(NH_ALT)),
	  ALT_1280, SIZE(1281), TURNED_BACK(1280) },
	{ "operator's next hop, locked MTU of the route", HIT(OPERATOR_VIA(NH_ALT)),
	  PLAIN(NH_LOCKED), OVER, ANSWERED(1400) },
	{ "operator's MTU, over the device's first",
	  HIT(VALUE(FLAG(MTU) | FLAG(OPERATOR), .mtu = 1400)), PLAIN(NH_GATEWAY), SIZE(1501),
	  PASSED },

	/* MTUs of routes and devices, which are answered if the operator wants it */
	{ "device's MTU", PLAIN(NH_GATEWAY), SIZE(1501), PASSED },
	{ "device's MTU, all answered", PLAIN(NH_GATEWAY), ANSWER_ALL(), SIZE(1501),
	  ANSWERED(1500) },
	{ "device's MTU of 1280, all answered", PLAIN(NH_GATEWAY), ANSWER_ALL(DEVICES_1280),
	  SIZE(1281), ANSWERED(1280) },
	{ "device's MTU of 1280, not over it", PLAIN(NH_GATEWAY), ANSWER_ALL(DEVICES_1280),
	  SIZE(1280) },
	{ "device's MTU, all answered, unsure", PLAIN(NH_GATEWAY), ANSWER_ALL(MARK_BACK),
	  SIZE(1501), PASSED },
	{ "device's MTU, all answered, no way back", ANSWER_ALL(), SIZE(1501), PASSED },
	{ "device's MTU, all answered, of an exception without one", HIT(VIA(NH_ALT)),
	  PLAIN(NH_GATEWAY), ANSWER_ALL(DEVICES_1280), SIZE(1281), ANSWERED(1280) },
	{ "device's MTU, all answered, before a smaller one of the route", PLAIN(NH_GATEWAY),
	  ANSWER_ALL(ROUTE_MTU(1400)), SIZE(1501), ANSWERED(1500) },
	{ "device's MTU, one tag", PLAIN(NH_VIA(NEIGH_OUT_10)), ANSWER_ALL(DEVICES_1496),
	  SIZE(1497), ANSWERED(1496) },
	{ "device's MTU, two tags may leave less", PLAIN(NH_VIA(NEIGH_OUT_AD30_40)),
	  ANSWER_ALL(DEVICES_1496), SIZE(1497), PASSED },
	{ "operator's next hop, two tags may leave less",
	  HIT(OPERATOR_VIA(NH_VIA(NEIGH_OUT_AD30_40))), PLAIN(NH_GATEWAY), ANSWER_ALL(DEVICES_1496),
	  SIZE(1497), ANSWERED(1496) },
	{ "locked Path MTU, two tags", HIT(LOCKED(1400)), PLAIN(NH_VIA(NEIGH_OUT_AD30_40)),
	  ANSWER_ALL(DEVICES_1496), SIZE(1497), ANSWERED(1400) },
	{ "route's MTU, all answered", PLAIN(NH_GATEWAY), ANSWER_ALL(ROUTE_MTU(1400)), OVER,
	  ANSWERED_LATE(1400) },
	{ "route's locked MTU, all answered", PLAIN(NH_LOCKED), ANSWER_ALL(), OVER,
	  ANSWERED(1400) },
	{ "route's locked MTU over the device's, all answered", PLAIN(NH_GATEWAY),
	  ANSWER_ALL(LOCKED_MTU(1600)), SIZE(1501), PASSED },
	{ "route's locked MTU over the device's, over both", PLAIN(NH_GATEWAY),
	  ANSWER_ALL(LOCKED_MTU(1600)), SIZE(1601), ANSWERED(1600) },
	{ "route's locked MTU under 1280, raised", PLAIN(NH_GATEWAY), ANSWER_ALL(LOCKED_MTU(1000)),
	  SIZE(1281), ANSWERED(1280) },
	{ "route's locked MTU under 1280, packet between", PLAIN(NH_GATEWAY),
	  ANSWER_ALL(LOCKED_MTU(1000)), SIZE(1280), PASSED },
	{ "route's MTU under 1280", PLAIN(NH_GATEWAY), ANSWER_ALL(ROUTE_MTU(1000)), SIZE(1281),
	  PASSED },
	{ "route's MTU under 1280, packet as long", ANSWER_ALL(ROUTE_MTU(1000)), SIZE(1000) },

	/* generic mode, where a frame may be several packets */
	{ KERNELS("generic mode"), BY_GENERIC, OVER, PASSED },
	{ OPERATORS("generic mode"), BY_GENERIC, OVER, ANSWERED_BY(NEIGH_MEMBER + 2, 1400) },
	{ OPERATORS("generic mode, cannot send natively"), BY_GENERIC, OVER,
	  WITH(FLIP_PORT(GENERIC, XMIT), FLIP_PORT(GENERIC, XMIT_FRAGS)),
	  ANSWERED_BY(NEIGH_MEMBER + 2, 1400) },
	{ OPERATORS("generic mode, longest single packet"), .in = DEV_GENERIC, SIZE(1500),
	  TURNED_BACK(1400) },
	{ OPERATORS("generic mode, too long for one packet"), .in = DEV_GENERIC, SIZE(1501),
	  PASSED },
	{ "generic mode, all answered", BY_GENERIC, ANSWER_ALL(), SIZE(1501), PASSED },

	/* tags */
	FINE_BACK("answer, one tag", IN_10, TAG_10, OVER),
	FINE_BACK("answer, 802.1ad tag", IN_AD30, .tags = { AD(30) }, .as = DEV_IN_AD30, OVER),
	FINE_BACK("answer, two tags", IN_10_20, TAGS_10_20, OVER),
	FINE_BACK("answer, two tags and padding", IN_10_20, .tags = { Q(0x200a), Q(0x4014) },
		  .as = DEV_IN_10_20, OVER, .padding = 7),
	FINE_BACK("answer, VID 0 before a VID", IN_10, .tags = { Q(0xe000), Q(10) },
		  .as = DEV_IN_10, OVER),
	FINE("answer, VID 0", .tags = { Q(0xe000) }, OVER),
	UNSURE("way back by the port below a VLAN", PLAIN(NH_GATEWAY), TAG_10),
	UNSURE("two tags, no way back", .tags = { AD(30), Q(40) }, .as = DEV_IN_AD30_40),

	/* rate */
	{ KERNELS("no tokens"), PLAIN(NH_GATEWAY), WITH(NO_TOKENS), OVER, OVER_THE_RATE },
	{ OPERATORS("no tokens"), WITH(NO_TOKENS), OVER, OVER_THE_RATE },
	{ "no tokens, all answered", PLAIN(NH_GATEWAY), ANSWER_ALL(NO_TOKENS), SIZE(1501),
	  OVER_THE_RATE },
	{ "no tokens, none needed", PLAIN(NH_GATEWAY), WITH(NO_TOKENS), SIZE(1501), PASSED },
	NOT_ABOUT("no tokens, error", WITH(NO_TOKENS), PATCH(NEXT("3a"), { AT_PAYLOAD, "01" })),
	FINE("tokens", OVER, WITH(SET(meta.answer_ns, 1u << 30), SET(meta.answer_burst, 1u << 30))),

	/* room */
	{ KERNELS("no room for the answer"), PLAIN(NH_GATEWAY), OVER, .meta = ROW_META_MAX,
	  PASS(NO_HEADROOM) },
	{ OPERATORS("no room for the answer"), OVER, .meta = ROW_META_MAX, DROPPED },
	{ KERNELS("no room for the answer, padding"), PLAIN(NH_GATEWAY), OVER, .padding = 5,
	  .meta = ROW_META_MAX, PASS(NO_HEADROOM) },
	FINE("answer, metadata in front of the frame", OVER, .meta = 32),
};
const size_t rows_answer_n = sizeof(rows_answer) / sizeof(rows_answer[0]);
