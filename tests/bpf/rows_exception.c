// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions: where they are looked for, when they hold, and what they put in the place of what the
 * route says. Whether and how a packet over an MTU is answered is rows_answer.c's.
 */
#include "rows_exception.h"

#include "rows_rule.h"

static void no_forwarding(struct world *w)
{
	world_port(w, DEV_IN)->flags &= ~SIXLANE_PORT_FORWARDING;
}

static void source_marked_alone(struct world *w)
{
	w->sources[0].value |= SIXLANE_ROUTE_EXCEPTIONS;
}

/* NH_GATEWAY with an MTU of 1400 that is not locked. */
static void unlocked_1400(struct world *w)
{
	w->next_hops[NH_GATEWAY].mtu = 1400;
}

static void alt_1280(struct world *w)
{
	world_port(w, DEV_ALT)->mtu = 1280;
}

/* It was taken away while a packet had it, and its memory is another's now. */
static void reused(struct world *w)
{
	w->exceptions[0].value.check ^= 0x01000000;
}

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
#define PUNTED .verdict = SIXLANE_PUNT_EXCEPTION

/* An exception, and a packet of so many bytes that meets it and may be answered. */
#define MEETS_BY(next_hop, bytes, ...) PLAIN(next_hop), HIT(__VA_ARGS__), SIZE(bytes)
#define MEETS(bytes, ...) MEETS_BY(NH_GATEWAY, bytes, __VA_ARGS__)

/* A rule suppresses this route, and the next one has another. */
#define SUPPRESSED                                                                         \
	.routes = { TO(NH_GATEWAY), ROUTE_IN(100, "2001:db8:2::/48", NH_ALT) },            \
	.rules = { { NUMBER(10), LOOK_UP(254), FLAGS(SUPPRESS), .rule.suppress_len = 48 }, \
		   TO_100 }
#define HELD SUPPRESSED, .verdict = SIXLANE_PUNT_RULE

#define ENDED(flags) VALUE((flags) | FLAG(MTU) | FLAG(LOCKED), .mtu = 1280, .expires_ns = 1)

const struct row rows_exception[] = {
	/* where they are looked for */
	{ .name = "exception", BY_ALT },
	{ .name = "exception, no mark", UNMARKED(VIA(NH_ALT)) },
	{ .name = "exception of another table, no mark, look",
	  UNMARKED(VIA_IN(100, NH_ALT)),
	  LOOK },
	{ .name = "look, nothing there", LOOK },
	{ .name = "mark, no exception", MARKED },

	/* what is punt */
	{ .name = "punt", MARKED, PUNT, PUNTED },
	{ .name = "punt, no mark", PUNT },
	{ .name = "punt, no mark, look", PUNT, LOOK, PUNTED },
	{ .name = "a message was about it", FRESH, LOOK, PUNTED },
	{ .name = "a message was about it, no look", MARKED, FRESH },
	{ .name = "a message was about another", .fresh = "2001:db8:2::2", LOOK },
	{ .name = "a byte in either half", .arrange = halves_0_and_1, LOOK },
	{ .name = "a message was about it, exact", HIT(VIA(NH_ALT)), FRESH, LOOK, PUNTED },
	{ .name = "a message was about it, another table's route",
	  .routes = { ROUTE_IN(100, "2001:db8:2::/48", NH_GATEWAY) },
	  .rules = { TO_100, TO_MAIN },
	  FRESH,
	  LOOK,
	  PUNTED },

	/* under which routes */
	{ .name = "mark of a shorter prefix",
	  .routes = { ROUTE("2001:db8::/32", NH_GATEWAY), TO(NH_GATEWAY) },
	  NOT_HIT(VIA(NH_ALT)) },
	{ .name = "exception of another table", NOT_HIT(VIA_IN(100, NH_ALT)) },
	{ .name = "exception of a VRF's table",
	  .routes = { ROUTE_IN(WORLD_VRF, "2001:db8:2::/48", NH_GATEWAY) },
	  .rules = { { NUMBER(10), FLAGS(L3MDEV) }, TO_MAIN },
	  .arrange = rows_in_a_vrf,
	  BY_ALT_IN(WORLD_VRF) },
	{ .name = "mark of a source alone",
	  .routes = { TO(NH_SOURCES) },
	  .sources = { SOURCE("::/0", NH_GATEWAY) },
	  UNMARKED(VIA(NH_ALT)),
	  .arrange = source_marked_alone },

	/* an exception is a prefix of 128 bits to suppress_prefixlength */
	{ .name = "exception under a suppressed route", HELD, NOT_HIT(VIA(NH_ALT)) },
	{ .name = "exception of another table under a suppressed route",
	  SUPPRESSED,
	  NOT_HIT(VIA_IN(100, NH_ALT)),
	  .via = NEIGH_ALT },
	{ .name = "punt under a suppressed route", HELD, MARKED, PUNT },
	{ .name = "a message was about it, under a suppressed route", HELD, FRESH, LOOK },

	/* while they change */
	{ .name = "exception of some version",
	  HIT(VALUE(FLAG(NEXT_HOP) | SIXLANE_EXCEPTION_VERSION, .next_hop = NH_ALT)),
	  .via = NEIGH_ALT },
	{ .name = "exception whose memory is another's",
	  .arrange = reused,
	  NOT_HIT(VIA(NH_ALT)),
	  PUNTED },
	{ .name = "exception that is being changed",
	  NOT_HIT(VALUE(FLAG(NEXT_HOP) | FLAG(CHANGING), .next_hop = NH_ALT)),
	  PUNTED },

	/* only what is forwarded meets them, and before anything else is asked */
	{ .name = "exception of a blackhole",
	  .routes = { TO(NH_FATE + SIXLANE_DROP_BLACKHOLE) },
	  NOT_HIT(VIA(NH_ALT)),
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "exception, forwarding off",
	  .arrange = no_forwarding,
	  HIT(VIA(NH_ALT)),
	  .verdict = SIXLANE_PASS_NO_FORWARDING },

	/* expiry */
	{ .name = "Path MTU that has expired", NOT_HIT(ENDED(FLAG(KERNEL))), PUNTED },
	{ .name = "operator's MTU that has expired", NOT_HIT(ENDED(FLAG(OPERATOR))), SIZE(1500) },
	{ .name = "observed Path MTU that has expired",
	  NOT_HIT(ENDED(FLAG(KERNEL) | FLAG(OBSERVE))),
	  SIZE(1500) },

	/* which of those that are found are applied */
	{ .name = "observed Path MTU",
	  HIT(VALUE(FLAG(OBSERVE) | FLAG(MTU) | FLAG(LOCKED), .mtu = 1280)),
	  SIZE(1500) },

	/* next hops */
	{ .name = "next hop on-link", HIT(VIA(NH_ON_LINK)), .via = NEIGH_HOST },
	{ .name = "next hop that is none", HIT(VIA(0)), PUNTED },
	{ .name = "next hop that leads back",
	  HIT(VIA(NH_BACK)),
	  .verdict = SIXLANE_PASS_SAME_PORT },

	/* MTUs: the exception's, or the route's */
	{ .name = "Path MTU", HIT(MTU(1400)), SIZE(1400) },
	{ .name = "Path MTU + 1", MEETS(1401, MTU(1400)), ANSWERED_LATE(1400) },
	{ .name = "locked Path MTU + 1", MEETS(1401, LOCKED(1400)), ANSWERED(1400) },
	{ .name = "Path MTU without its flag", HIT(VALUE(FLAG(LOCKED), .mtu = 1280)), SIZE(1500) },
	{ .name = "over the device's MTU, which counts before a Path MTU",
	  MEETS(1501, MTU(1400)),
	  PASSED },
	{ .name = "over the device's MTU, which does not count before a locked one",
	  MEETS(1501, LOCKED(1400)),
	  ANSWERED(1400) },
	{ .name = "Path MTU in the place of a smaller one of the route",
	  .routes = { TO(NH_LOCKED) },
	  HIT(MTU(1450)),
	  SIZE(1450) },
	{ .name = "Path MTU that is not locked, the route's was",
	  MEETS_BY(NH_LOCKED, 1391, MTU(1390)),
	  ANSWERED_LATE(1390) },
	{ .name = "locked Path MTU, the route's was not",
	  .arrange = unlocked_1400,
	  MEETS(1391, LOCKED(1390)),
	  ANSWERED(1390) },
	{ .name = "next hop, MTU of the route", MEETS_BY(NH_LOCKED, 1401, VIA(NH_ALT)), PASSED },
	{ .name = "next hop, its own MTU does not count", HIT(VIA(NH_LOCKED)), SIZE(1500) },
	{ .name = "next hop and Path MTU + 1",
	  MEETS(1401, VALUE(FLAG(NEXT_HOP) | FLAG(MTU), .next_hop = NH_ALT, .mtu = 1400)),
	  ANSWERED_LATE(1400) },
	{ .name = "next hop, MTU of its device",
	  .arrange = alt_1280,
	  HIT(VIA(NH_ALT)),
	  SIZE(1281),
	  PASSED },
	{ .name = "Path MTU before a silent gateway",
	  MEETS_BY(NH_SILENT, 1401, MTU(1400)),
	  ANSWERED_LATE(1400) },
};
const size_t rows_exception_n = sizeof(rows_exception) / sizeof(rows_exception[0]);
