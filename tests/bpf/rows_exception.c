// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions: where they are looked for, when they hold, and what they put in the place of what the
 * route says. Answers to packets over an MTU are in rows_answer.c.
 */
#include "rows_exception.h"

#include "rows_rule.h"

/* Each byte is another destination's, perhaps. */
static void halves_0_and_1(struct world *w)
{
	world_add_fresh(w, FRAME_DST, 0, 1);
}

#define VIA_IN(table, next_hop_) \
	VALUE_IN(table, FLAG(NEXT_HOP) | FLAG(KERNEL), .next_hop = (next_hop_))
#define BY_ALT_IN(table) HIT(VIA_IN(table, NH_ALT)), .via = NEIGH_ALT
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

const struct row rows_exception[] = {
	/* where they are looked for */
	{ "exception", BY_ALT },
	{ "exception, no mark", UNMARKED(VIA(NH_ALT)) },
	{ "exception of another table, no mark, look", UNMARKED(VIA_IN(100, NH_ALT)), LOOK },
	{ "look, nothing there", LOOK },
	{ "mark, no exception", MARKED },

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
	{ "mark of a source alone", .routes = { TO(NH_SOURCES) },
	  .sources = { SOURCE("::/0", NH_GATEWAY) }, UNMARKED(VIA(NH_ALT)),
	  WITH(FLIP(sources[0].value, SIXLANE_ROUTE_EXCEPTIONS)) },

	/* an exception is a prefix of 128 bits to suppress_prefixlength */
	{ "exception under a suppressed route", HELD, NOT_HIT(VIA(NH_ALT)) },
	{ "exception of another table under a suppressed route", SUPPRESSED,
	  NOT_HIT(VIA_IN(100, NH_ALT)), .via = NEIGH_ALT },
	{ "punt under a suppressed route", HELD, MARKED, PUNTED_DST },
	{ "a message was about it, under a suppressed route", HELD, FRESH, LOOK },

	/* while they change */
	{ "exception of some version",
	  HIT(VALUE(FLAG(NEXT_HOP) | SIXLANE_EXCEPTION_VERSION, .next_hop = NH_ALT)),
	  .via = NEIGH_ALT },
	{ "exception whose memory is another's", WITH(FLIP(exceptions[0].value.check, 0x01000000)),
	  NOT_HIT(VIA(NH_ALT)), PUNTED },
	{ "exception that is being changed",
	  NOT_HIT(VALUE(FLAG(NEXT_HOP) | FLAG(CHANGING), .next_hop = NH_ALT)), PUNTED },

	/* only what is forwarded finds them, before anything else is checked */
	{ "exception of a blackhole", .routes = { TO_ENTRY(DROP_BLACKHOLE) }, NOT_HIT(VIA(NH_ALT)),
	  DROP(BLACKHOLE) },
	{ "exception, forwarding off", WITH(FLIP_PORT(IN, FORWARDING)), HIT(VIA(NH_ALT)),
	  PASS(NO_FORWARDING) },

	/* expiry */
	{ "Path MTU that has expired", NOT_HIT(ENDED(FLAG(KERNEL))), PUNTED },
	{ "operator's MTU that has expired", NOT_HIT(ENDED(FLAG(OPERATOR))), SIZE(1500) },
	{ "observed Path MTU that has expired", NOT_HIT(ENDED(FLAG(KERNEL) | FLAG(OBSERVE))),
	  SIZE(1500) },

	/* which of those that are found are applied */
	{ "observed Path MTU", HIT(VALUE(FLAG(OBSERVE) | FLAG(MTU) | FLAG(LOCKED), .mtu = 1280)),
	  SIZE(1500) },

	/* next hops */
	{ "next hop on-link", HIT(VIA(NH_ON_LINK)), .via = NEIGH_HOST },
	{ "next hop that is none", HIT(VIA(0)), PUNTED },
	{ "next hop that leads back", HIT(VIA(NH_BACK)), PASS(SAME_PORT) },

	/* MTUs: the exception's, or the route's */
	{ "Path MTU", HIT(MTU(1400)), SIZE(1400) },
	{ "Path MTU + 1", MEETS(1401, MTU(1400)), ANSWERED_LATE(1400) },
	{ "Path MTU without its flag", HIT(VALUE(FLAG(LOCKED), .mtu = 1280)), SIZE(1500) },
	{ "over the device's MTU, which counts before a Path MTU", MEETS(1501, MTU(1400)), PASSED },
	{ "Path MTU in the place of a smaller one of the route", .routes = { TO(NH_LOCKED) },
	  HIT(MTU(1450)), SIZE(1450) },
	{ "Path MTU that is not locked, the route's was", MEETS_BY(NH_LOCKED, 1391, MTU(1390)),
	  ANSWERED_LATE(1390) },
	{ "locked Path MTU, the route's was not", WITH(SET(next_hops[NH_GATEWAY].mtu, 1400)),
	  MEETS(1391, LOCKED(1390)), ANSWERED(1390) },
	{ "next hop, MTU of the route", MEETS_BY(NH_LOCKED, 1401, VIA(NH_ALT)), PASSED },
	{ "next hop, its own MTU does not count", HIT(VIA(NH_LOCKED)), SIZE(1500) },
	{ "next hop and Path MTU + 1",
	  MEETS(1401, VALUE(FLAG(NEXT_HOP) | FLAG(MTU), .next_hop = NH_ALT, .mtu = 1400)),
	  ANSWERED_LATE(1400) },
	{ "next hop, MTU of its device", WITH(SET(PORT(ALT).mtu, 1280)), HIT(VIA(NH_ALT)),
	  SIZE(1281), PASSED },
	{ "Path MTU before a silent gateway", MEETS_BY(NH_SILENT, 1401, MTU(1400)),
	  ANSWERED_LATE(1400) },
};
const size_t rows_exception_n = sizeof(rows_exception) / sizeof(rows_exception[0]);
