// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions: where they are looked for, when they apply, and what of the route they replace.
 * Packets over an MTU: which MTU they exceed, which one the answer names, to whom it goes, and what
 * answers are never about.
 */
#include "tests.h"

#define FLAG(flag) SIXLANE_EXCEPTION_##flag
#define VALUE_IN(table_, flags_, ...) \
	ITEM(.dst = FRAME_DST, .value = { .flags = (flags_), .table = (table_), __VA_ARGS__ })
#define VALUE(flags, ...) VALUE_IN(0, flags, __VA_ARGS__)
#define MTU(mtu_) VALUE(FLAG(MTU) | FLAG(KERNEL), .mtu = (mtu_))
#define LOCKED(mtu_) VALUE(FLAG(MTU) | FLAG(LOCKED) | FLAG(KERNEL), .mtu = (mtu_))
#define OPERATOR(mtu_) VALUE(FLAG(MTU) | FLAG(LOCKED) | FLAG(OPERATOR), .mtu = (mtu_))
#define VIA(next_hop_) VALUE(FLAG(NEXT_HOP) | FLAG(KERNEL), .next_hop = (next_hop_))
#define OPERATOR_VIA(next_hop_) VALUE(FLAG(NEXT_HOP) | FLAG(OPERATOR), .next_hop = (next_hop_))
#define MARKED .marks = SIXLANE_ROUTE_EXCEPTIONS
#define PUNTED_DST .punted = FRAME_DST
#define FRESH .fresh = FRAME_DST
#define LOOK .check_punted = true

/* The first route is marked, and there is an exception, which packets find or not. */
#define HIT(...) MARKED, .exceptions = { __VA_ARGS__ }, .hit = true
#define NOT_HIT(...) MARKED, .exceptions = { __VA_ARGS__ }

/* The return route to the packet's source. */
#define BACK_BY(neighbour) ROUTE("2001:db8:1::/48", NH_VIA(neighbour))
#define PLAIN_BY(next_hop, neighbour) .routes = { TO(next_hop), BACK_BY(neighbour) }
#define PLAIN(next_hop) PLAIN_BY(next_hop, NEIGH_IN)

/* What is sent there by NEIGH_IN; about a packet as it came in, or as it would have left. */
#define ANSWERED_BY(neighbour, mtu_) \
	.verdict = SIXLANE_ANSWER_TOO_BIG, .answer.mtu = (mtu_), .answer.via = (neighbour)
#define ANSWERED(mtu) ANSWERED_BY(NEIGH_IN, mtu)
#define ANSWERED_LATE(mtu) ANSWERED(mtu), .answer.decremented = true
/* The answer goes back to the MAC that the frame came from. */
#define TURNED_BACK(mtu) ANSWERED(mtu), .answer.turned = true

#define PASSED PASS(TOO_BIG)
#define DROPPED DROP(TOO_BIG)

/* Packets over a locked exception of 1400, which is the kernel's or the operator's. */
#define OVER SIZE(1401)
#define KERNELS(name_) .name = name_ ", the kernel's", HIT(LOCKED(1400))
#define OPERATORS(name_) .name = name_ ", the operator's", HIT(OPERATOR(1400))

/* Two rows each. The kernel would send the same answer, … */
#define FINE_BY(name_, neighbour, ...)                                   \
	ITEM(KERNELS(name_), __VA_ARGS__, ANSWERED_BY(neighbour, 1400)), \
		ITEM(OPERATORS(name_), __VA_ARGS__, ANSWERED_BY(neighbour, 1400))
#define FINE(name_, ...) FINE_BY(name_, NEIGH_IN, PLAIN(NH_GATEWAY), __VA_ARGS__)
/* … or perhaps another one, … */
#define UNSURE(name_, ...)                               \
	ITEM(KERNELS(name_), OVER, __VA_ARGS__, PASSED), \
		ITEM(OPERATORS(name_), OVER, __VA_ARGS__, TURNED_BACK(1400))
/* … or perhaps none. */
#define NEVER(name_, ...)                                \
	ITEM(KERNELS(name_), OVER, __VA_ARGS__, PASSED), \
		ITEM(OPERATORS(name_), OVER, __VA_ARGS__, DROPPED)
#define NOT_ABOUT(name_, ...) NEVER(name_, PLAIN(NH_GATEWAY), __VA_ARGS__)

#define MARK_BACK FLIP(routes[1].value, SIXLANE_ROUTE_EXCEPTIONS) /* of the return route */

/* Each byte is another destination's, perhaps. */
static void halves_0_and_1(struct world *w)
{
	world_add_fresh(w, FRAME_DST, 0, 1);
}

#define VIA_IN(table, next_hop_) \
	VALUE_IN(table, FLAG(NEXT_HOP) | FLAG(KERNEL), .next_hop = (next_hop_))
#define BY_ALT_IN(table) HIT(VIA_IN(table, NH_ALT)), VIA_ALT
#define BY_ALT BY_ALT_IN(0)
#define UNMARKED(...) .exceptions = { __VA_ARGS__ }
#define PUNTED PUNT(EXCEPTION)

/* An exception, and a packet of so many bytes that finds it and may be answered. */
#define MEETS_BY(next_hop, bytes, ...) PLAIN(next_hop), HIT(__VA_ARGS__), SIZE(bytes)
#define MEETS(bytes, ...) MEETS_BY(NH_GATEWAY, bytes, __VA_ARGS__)

/* A rule suppresses this route, and the next one has another. */
#define SUPPRESSED                                                              \
	.routes = { TO(NH_GATEWAY), ROUTE_IN(100, "2001:db8:2::/48", NH_ALT) }, \
	.rules = { RULE(LOOK_UP(254), FLAGS(SUPPRESS), .rule.suppress_len = 48), TO_100 }
#define HELD SUPPRESSED, PUNT(RULE)

#define ENDED(flags) VALUE((flags) | FLAG(MTU) | FLAG(LOCKED), .mtu = 1280, .expires_ns = 1)

#define ROUTE_MTU(bytes) SET(next_hops[NH_GATEWAY].mtu, bytes)
#define LOCKED_MTU(bytes) \
	ROUTE_MTU(bytes), SET(next_hops[NH_GATEWAY].flags, SIXLANE_NEXT_HOP_LOCKED)
#define OVER_THE_RATE DROP(TOO_BIG_RATE)
/* Packets over MTUs of routes and devices are answered, too. */
#define ANSWER_ALL(...) WITH(FLIP_META(ANSWER), __VA_ARGS__)
#define ALL(bytes, ...) PLAIN(NH_GATEWAY), ANSWER_ALL(__VA_ARGS__), SIZE(bytes)
#define DEVICES_1280 SET(PORT(OUT).mtu, 1280), SET(PORT(ALT).mtu, 1280)
#define DEVICES_1496 SET(PORT(OUT_AD30_40).mtu, 1496), SET(PORT(OUT_10).mtu, 1496)
#define ALT_1280 WITH(SET(PORT(ALT).mtu, 1280)), SIZE(1281)
#define NO_TOKENS SET(meta.answer_ns, 1)
/* The frame comes in by the port in generic mode, which its return route leaves by. */
#define BY_GENERIC .in = DEV_GENERIC, PLAIN_BY(NH_GATEWAY, NEIGH_MEMBER + 2)
#define FINE_BACK(name, neigh, ...) \
	FINE_BY(name, NEIGH_##neigh, PLAIN_BY(NH_GATEWAY, NEIGH_##neigh), __VA_ARGS__)

#define ON_LINK(prefix) .routes = { TO(NH_GATEWAY), ROUTE(prefix, NH_ON_LINK_IN) }
#define BACK_TO(next_hop) .routes = { TO(NH_GATEWAY), ROUTE("2001:db8:1::/48", next_hop) }

#define NEXT_AND(hex, ...) PATCH(NEXT(hex), __VA_ARGS__)
#define THEN(hex) ITEM(AT_PAYLOAD, hex)
#define AT(offset, hex) ITEM(AT_PAYLOAD + (offset), hex)
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

static const struct row rows_exception[] = {
	/* where they are looked for */
	{ "exception", BY_ALT },
	{ "exception, no mark", UNMARKED(VIA(NH_ALT)) },
	{ "exception of another table, no mark, look", UNMARKED(VIA_IN(100, NH_ALT)), LOOK },
	{ "look, nothing there", LOOK },
	{ "mark, no exception", MARKED },

	/* a member of a group, whose port is known with it, is no way past them */
	{ "exception of a group", ROUTED(NH_GROUP), WITH(SET_GROUP(NH_GATEWAY, 0)), BY_ALT },
	{ "punt of a group, no mark, look", ROUTED(NH_GROUP), WITH(SET_GROUP(NH_GATEWAY, 0)),
	  PUNTED_DST, LOOK, PUNTED },

	/* what is punt */
	{ "punt", MARKED, PUNTED_DST, PUNTED },
	{ "punt, no mark", PUNTED_DST },
	{ "punt, no mark, look", PUNTED_DST, LOOK, PUNTED },
	{ "a message was about it", FRESH, LOOK, PUNTED },
	{ "a message was about it, no look", MARKED, FRESH },
	{ "a message was about another", .fresh = "2001:db8:2::2", LOOK },
	{ "a byte in either half", .arrange = halves_0_and_1, LOOK },
	{ "a message was about it, exact", HIT(VIA(NH_ALT)), FRESH, LOOK, PUNTED },
	{ "a message was about it, another table's route",
	  .routes = { ROUTE_IN(100, "2001:db8:2::/48", NH_GATEWAY) }, .rules = { TO_100, TO_MAIN },
	  FRESH, LOOK, PUNTED },

	/* under which routes */
	{ "mark of a shorter prefix",
	  .routes = { ROUTE("2001:db8::/32", NH_GATEWAY), TO(NH_GATEWAY) }, NOT_HIT(VIA(NH_ALT)) },
	{ "exception of another table", NOT_HIT(VIA_IN(100, NH_ALT)) },
	{ "exception of a VRF's table",
	  .routes = { ROUTE_IN(WORLD_VRF, "2001:db8:2::/48", NH_GATEWAY) },
	  .rules = { RULE(FLAGS(L3MDEV)), TO_MAIN }, WITH(SET_VRF(IN)), BY_ALT_IN(WORLD_VRF) },
	{ "mark of a source alone", ROUTED(NH_SOURCES), .sources = { SOURCE("::/0", NH_GATEWAY) },
	  UNMARKED(VIA(NH_ALT)), WITH(FLIP(sources[0].value, SIXLANE_ROUTE_EXCEPTIONS)) },

	/* an exception is a prefix of 128 bits to suppress_prefixlength */
	{ "exception under a suppressed route", HELD, NOT_HIT(VIA(NH_ALT)) },
	{ "exception of another table under a suppressed route", SUPPRESSED,
	  NOT_HIT(VIA_IN(100, NH_ALT)), VIA_ALT },
	{ "punt under a suppressed route", HELD, MARKED, PUNTED_DST },
	{ "a message was about it, under a suppressed route", HELD, FRESH, LOOK },

	/* while they change */
	{ "exception of some version",
	  HIT(VALUE(FLAG(NEXT_HOP) | SIXLANE_EXCEPTION_VERSION, .next_hop = NH_ALT)), VIA_ALT },
	{ "exception whose memory is another's", WITH(FLIP(exceptions[0].value.check, 0x01000000)),
	  NOT_HIT(VIA(NH_ALT)), PUNTED },
	{ "exception that is being changed",
	  NOT_HIT(VALUE(FLAG(NEXT_HOP) | FLAG(CHANGING), .next_hop = NH_ALT)), PUNTED },

	/* only what is forwarded finds them, before anything else is checked */
	{ "blackhole", ROUTE_TYPE(DROP_BLACKHOLE), NOT_HIT(VIA(NH_ALT)), DROP(BLACKHOLE) },
	{ "exception, forwarding off", PORT_FLAG(IN, FORWARDING), HIT(VIA(NH_ALT)),
	  PASS(NO_FORWARDING) },

	/* expiry */
	{ "Path MTU, expired", NOT_HIT(ENDED(FLAG(KERNEL))), PUNTED },
	{ "operator's MTU, expired", NOT_HIT(ENDED(FLAG(OPERATOR))), SIZE(1500) },
	{ "observed Path MTU, expired", NOT_HIT(ENDED(FLAG(KERNEL) | FLAG(OBSERVE))), SIZE(1500) },

	/* which of those that are found are applied */
	{ "observed Path MTU", HIT(VALUE(FLAG(OBSERVE) | FLAG(MTU) | FLAG(LOCKED), .mtu = 1280)),
	  SIZE(1500) },

	/* next hops */
	{ "next hop on-link", HIT(VIA(NH_ON_LINK)), .via = NEIGH_HOST },
	{ "operator's next hop that is silent", HIT(OPERATOR_VIA(NH_SILENT)), PASS(UNRESOLVED),
	  .silent_used = true },
	{ "next hop that is none", HIT(VIA(0)), PUNTED },
	{ "next hop that leads back", HIT(VIA(NH_BACK)), PASS(SAME_PORT) },

	/* MTUs: the exception's, or the route's */
	{ "Path MTU", HIT(MTU(1400)), SIZE(1400) },
	{ "Path MTU + 1", MEETS(1401, MTU(1400)), ANSWERED_LATE(1400) },
	{ "Path MTU without its flag", HIT(VALUE(FLAG(LOCKED), .mtu = 1280)), SIZE(1500) },
	{ "over the device's MTU, which counts before a Path MTU", MEETS(1501, MTU(1400)), PASSED },
	{ "Path MTU in the place of a smaller one of the route", ROUTED(NH_LOCKED), HIT(MTU(1450)),
	  SIZE(1450) },
	{ "Path MTU that is not locked, the route's was", MEETS_BY(NH_LOCKED, 1391, MTU(1390)),
	  ANSWERED_LATE(1390) },
	{ "locked Path MTU, the route's was not", WITH(SET(next_hops[NH_GATEWAY].mtu, 1400)),
	  MEETS(1391, LOCKED(1390)), ANSWERED(1390) },
	{ "next hop, MTU of the route", MEETS_BY(NH_LOCKED, 1401, VIA(NH_ALT)), PASSED },
	{ "next hop, its own MTU does not count", HIT(VIA(NH_LOCKED)), SIZE(1500) },
	{ "next hop and Path MTU + 1",
	  MEETS(1401, VALUE(FLAG(NEXT_HOP) | FLAG(MTU), .next_hop = NH_ALT, .mtu = 1400)),
	  ANSWERED_LATE(1400) },
	{ "next hop, MTU of its device", ALT_1280, HIT(VIA(NH_ALT)), PASSED },
	{ "Path MTU, silent gateway", MEETS_BY(NH_SILENT, 1401, MTU(1400)), ANSWERED_LATE(1400) },

	/* whose MTU it is, and which one the answer names */
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
	  ALT_1280, ANSWERED(1280) },
	{ "operator's next hop, MTU of its device, no way back", HIT(OPERATOR_VIA(NH_ALT)),
	  ALT_1280, TURNED_BACK(1280) },
	{ "operator's next hop, locked MTU of the route", HIT(OPERATOR_VIA(NH_ALT)),
	  PLAIN(NH_LOCKED), OVER, ANSWERED(1400) },
	{ "operator's MTU, over the device's first",
	  HIT(VALUE(FLAG(MTU) | FLAG(OPERATOR), .mtu = 1400)), PLAIN(NH_GATEWAY), SIZE(1501),
	  PASSED },

	/* MTUs of routes and devices, which are answered if the operator wants it */
	{ "device's MTU", PLAIN(NH_GATEWAY), SIZE(1501), PASSED },
	{ "device's MTU, all answered", ALL(1501), ANSWERED(1500) },
	{ "device's MTU of 1280, all answered", ALL(1281, DEVICES_1280), ANSWERED(1280) },
	{ "device's MTU of 1280, not over it", ALL(1280, DEVICES_1280) },
	{ "device's MTU, all answered, unsure", ALL(1501, MARK_BACK), PASSED },
	{ "device's MTU, all answered, no way back", ANSWER_ALL(), SIZE(1501), PASSED },
	{ "device's MTU, of an exception without one", HIT(VIA(NH_ALT)), ALL(1281, DEVICES_1280),
	  ANSWERED(1280) },
	{ "device's MTU before a smaller route's", ALL(1501, ROUTE_MTU(1400)), ANSWERED(1500) },
	{ "device's MTU, one tag", PLAIN(NH_VIA(NEIGH_OUT_10)), ANSWER_ALL(DEVICES_1496),
	  SIZE(1497), ANSWERED(1496) },
	{ "device's MTU, two tags may leave less", PLAIN(NH_VIA(NEIGH_OUT_AD30_40)),
	  ANSWER_ALL(DEVICES_1496), SIZE(1497), PASSED },
	{ "operator's next hop, two tags may leave less",
	  HIT(OPERATOR_VIA(NH_VIA(NEIGH_OUT_AD30_40))), ALL(1497, DEVICES_1496), ANSWERED(1496) },
	{ "locked Path MTU, two tags", HIT(LOCKED(1400)), PLAIN(NH_VIA(NEIGH_OUT_AD30_40)),
	  ANSWER_ALL(DEVICES_1496), SIZE(1497), ANSWERED(1400) },
	{ "route's MTU, all answered", ALL(1401, ROUTE_MTU(1400)), ANSWERED_LATE(1400) },
	{ "route's locked MTU", PLAIN(NH_LOCKED), ANSWER_ALL(), OVER, ANSWERED(1400) },
	{ "route's locked MTU over the device's", ALL(1501, LOCKED_MTU(1600)), PASSED },
	{ "route's locked MTU over a smaller one", ALL(1601, LOCKED_MTU(1600)), ANSWERED(1600) },
	{ "route's locked MTU under 1280, raised", ALL(1281, LOCKED_MTU(1000)), ANSWERED(1280) },
	{ "route's locked MTU under 1280, packet between", ALL(1280, LOCKED_MTU(1000)), PASSED },
	{ "route's MTU under 1280", ALL(1281, ROUTE_MTU(1000)), PASSED },
	{ "route's MTU under 1280, packet as long", ANSWER_ALL(ROUTE_MTU(1000)), SIZE(1000) },

	/* generic mode, where a frame may be several packets */
	{ KERNELS("generic mode"), BY_GENERIC, OVER, PASSED },
	{ OPERATORS("generic mode"), BY_GENERIC, OVER, ANSWERED_BY(NEIGH_MEMBER + 2, 1400) },
	{ OPERATORS("generic mode, cannot send natively"), BY_GENERIC, OVER,
	  WITH(FLIP_PORT(GENERIC, XMIT), FLIP_PORT(GENERIC, XMIT_FRAGS)),
	  ANSWERED_BY(NEIGH_MEMBER + 2, 1400) },
	{ OPERATORS("generic mode, longest single packet"), .in = DEV_GENERIC, SIZE(1500),
	  TURNED_BACK(1400) },
	{ OPERATORS("generic mode, longer than a packet"), .in = DEV_GENERIC, SIZE(1501), PASSED },
	{ "generic mode, all answered", BY_GENERIC, ANSWER_ALL(), SIZE(1501), PASSED },

	/* tags */
	FINE_BACK("answer, one tag", IN_10, TAG_10, OVER),
	FINE_BACK("answer, 802.1ad tag", IN_AD30, .tags = { AD(30) }, .as = DEV_IN_AD30, OVER),
	FINE_BACK("answer, two tags", IN_10_20, TAGS_10_20, OVER),
	FINE_BACK("answer, two tags and padding", IN_10_20, .tags = { Q(0x200a), Q(0x4014) },
		  .as = DEV_IN_10_20, OVER, .padding = 7),
	FINE_BACK("VID 0 before a VID", IN_10, .tags = { Q(0xe000), Q(10) }, .as = DEV_IN_10, OVER),
	FINE("answer, VID 0", .tags = { Q(0xe000) }, OVER),
	UNSURE("way back by the port below a VLAN", PLAIN(NH_GATEWAY), TAG_10),
	UNSURE("two tags, no way back", .tags = { AD(30), Q(40) }, .as = DEV_IN_AD30_40),

	/* rate */
	{ KERNELS("no tokens"), PLAIN(NH_GATEWAY), WITH(NO_TOKENS), OVER, OVER_THE_RATE },
	{ OPERATORS("no tokens"), WITH(NO_TOKENS), OVER, OVER_THE_RATE },
	{ "no tokens, all answered", ALL(1501, NO_TOKENS), OVER_THE_RATE },
	{ "no tokens, none needed", PLAIN(NH_GATEWAY), WITH(NO_TOKENS), SIZE(1501), PASSED },
	NOT_ABOUT("no tokens, error", WITH(NO_TOKENS), PATCH(NEXT("3a"), { AT_PAYLOAD, "01" })),
	FINE("tokens", OVER, WITH(SET(meta.answer_ns, 1u << 30), SET(meta.answer_burst, 1u << 30))),

	/* room */
	{ OPERATORS("no room for the answer"), OVER, .meta = ROW_META_MAX, DROPPED },

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
	UNSURE("no route back", ROUTED(NH_GATEWAY)),
	UNSURE("unreachable sender", BACK_TO(NH_ENTRY + SIXLANE_PASS_UNREACHABLE)),
	UNSURE("sender behind a blackhole", BACK_TO(NH_ENTRY + SIXLANE_DROP_BLACKHOLE)),
	UNSURE("way back that is out of range", BACK_TO(SIXLANE_MAX_NEXT_HOPS)),
	UNSURE("way back by another port", BACK_TO(NH_ALT)),
	UNSURE("way back by the egress", BACK_TO(NH_GATEWAY)),
	UNSURE("way back by a group", BACK_TO(NH_GROUP), WITH(SET_GROUP(NH_VIA(NEIGH_IN), 0))),
	UNSURE("by source", BACK_TO(NH_SOURCES), .sources = { SOURCE("::/0", NH_VIA(NEIGH_IN)) }),
	UNSURE("way back in another table",
	       .routes = { TO(NH_GATEWAY), ROUTE_IN(100, "2001:db8:1::/48", NH_VIA(NEIGH_IN)) }),
	UNSURE("way back with exceptions", PLAIN(NH_GATEWAY), WITH(MARK_BACK)),
	UNSURE("way back to a sender that is punt", PLAIN(NH_GATEWAY), LOOK, .punted = FRAME_SRC),
	UNSURE("message about the sender", PLAIN(NH_GATEWAY), LOOK, .fresh = FRAME_SRC),
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
	UNSURE("port of which a slave is to be chosen", PLAIN(NH_GATEWAY), PORT_FLAG(IN, SLAVES)),
	UNSURE("port whose frames are like the kernel's alone", PLAIN(NH_GATEWAY),
	       PORT_FLAG(IN, UNSUPPORTED)),
	UNSURE("source that is not certain", PLAIN(NH_GATEWAY), PORT_FLAG(IN, SOURCE)),
	NOT_ABOUT("no source", WITH(FLIP_PORT(IN, SOURCE), NO_SOURCE)),
	NOT_ABOUT("source of which half is written", WITH(SET(PORT(IN).source.halves[0], 0))),
	NOT_ABOUT("source that is not certain, of which half is written",
		  WITH(FLIP_PORT(IN, SOURCE), SET(PORT(IN).source.halves[0], 0))),
	NOT_ABOUT("port that cannot send", WITH(FLIP_PORT(IN, XMIT), FLIP_PORT(IN, XMIT_FRAGS))),
	FINE("answer, slots tried first", OVER, .at_home = true),
	FINE("answer, egress of 1280", OVER, WITH(SET(PORT(OUT).mtu, 1280))),
	FINE_BY("answer by a bond", NEIGH_BOND, PLAIN_BY(NH_GATEWAY, NEIGH_BOND), .in = DEV_SLAVE,
		.as = DEV_BOND, OVER),
	{ OPERATORS("multicast source MAC"), PATCH({ AT_SRC_MAC, "330000000001" }), OVER, DROPPED },
	{ OPERATORS("broadcast as source"), PATCH({ AT_SRC_MAC, "ffffffffffff" }), OVER, DROPPED },
	FINE("multicast MAC as source, way back", OVER, PATCH({ AT_SRC_MAC, "330000000001" })),

	/* about what */
	NOT_ABOUT("error, routing header", NEXT_AND("2b", THEN("3a00000000000000"), AT(8, "01"))),
	FINE("echo, routing header", OVER, NEXT_AND("2b", THEN("3a00000000000000"), AT(8, "80"))),
	NOT_ABOUT("error behind options", NEXT_AND("3c", THEN("3a01"), AT(16, "03"))),
	FINE("echo behind options", OVER, NEXT_AND("3c", THEN("3a01"), AT(16, "81"))),
	NOT_ABOUT("error behind options, routing header and options",
		  NEXT_AND("3c", THEN("2b00"), AT(8, "3c01"), AT(24, "3a00"), AT(32, "04"))),
	NOT_ABOUT("error behind hop-by-hop options that come late",
		  NEXT_AND("3c", THEN("0000"), AT(8, "3a00"), AT(16, "01"))),
	NOT_ABOUT("error behind AH", NEXT_AND("33", THEN("3a04"), AT(24, "01"))),
	FINE("echo behind AH", OVER, NEXT_AND("33", THEN("3a04"), AT(24, "80"))),
	NOT_ABOUT("first fragment of an error", NEXT_AND("2c", THEN("3a000001"), AT(8, "01"))),
	NOT_ABOUT("first fragment of an error, reserved bits",
		  NEXT_AND("2c", THEN("3aff0006"), AT(8, "01"))),
	FINE("first fragment of an echo", OVER, NEXT_AND("2c", THEN("3a000001"), AT(8, "80"))),
	FINE("first fragment of UDP", OVER, NEXT_AND("2c", THEN("11000001"), AT(8, "01"))),
	FINE("second fragment of an error", OVER, NEXT_AND("2c", THEN("3a000008"), AT(8, "01"))),
	FINE("far fragment of an error", OVER, NEXT_AND("2c", THEN("3a000100"), AT(8, "01"))),
	FINE("eight headers", OVER, NEXT_AND("3c", THEN(OPTIONS_8 "1100"))),
	NOT_ABOUT("error behind eight", NEXT_AND("3c", THEN(OPTIONS_8 "3a0000000000000001"))),
	NOT_ABOUT("nine headers", NEXT_AND("3c", THEN(OPTIONS_8 "3c000000000000001100"))),
	FINE("last header in sight", OVER, NEXT_AND("3c", THEN("1193"))),
	NOT_ABOUT("error in sight", NEXT_AND("3c", THEN("3a93"), AT(1184, "01"))),
	NOT_ABOUT("last header out of sight", NEXT_AND("3c", THEN("1194"))),
};
ROWS(rows_exception)
