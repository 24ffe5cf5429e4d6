// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions: where they are looked for, when they hold, and what they put in the place of what the
 * route says. Whether and how a packet over an MTU is answered is rows_answer.c's.
 */
#include "rows_exception.h"

#include "rows_group.h"
#include "rows_rule.h"
#include "rows_vlan.h"

static void no_forwarding(struct world *w)
{
	world_port(w, DEV_IN)->flags &= ~SIXLANE_PORT_FORWARDING;
}

static void source_marked_alone(struct world *w)
{
	w->sources[0].value |= SIXLANE_ROUTE_EXCEPTIONS;
}

static void group_and_blackhole(struct world *w)
{
	const uint32_t members[] = { NH_FATE + SIXLANE_DROP_BLACKHOLE };

	world_set_buckets(w, NH_GROUP, 0, members, 1);
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

static void half_1(struct world *w)
{
	world_add_fresh(w, FRAME_DST, 1, 1);
}

/* Each byte is another destination's, perhaps. */
static void halves_0_and_1(struct world *w)
{
	world_add_fresh(w, FRAME_DST, 0, 1);
}

static void halves_both(struct world *w)
{
	world_add_fresh(w, FRAME_DST, 0, 1);
	world_add_fresh(w, FRAME_DST, 1, 0);
}

/* An exception of another destination. */
#define OTHER                                                   \
	{                                                       \
		.dst = "2001:db8:2::2", .value = {              \
			.flags = FLAG(NEXT_HOP) | FLAG(KERNEL), \
			.next_hop = NH_ALT                      \
		}                                               \
	}
#define VIA_IN(table, next_hop_) \
	VALUE_IN(table, FLAG(NEXT_HOP) | FLAG(KERNEL), .next_hop = (next_hop_))
#define BY_ALT HIT(VIA(NH_ALT)), .via = NEIGH_ALT

/* A rule suppresses this route, and the next one has another. */
#define SUPPRESSED                                                                         \
	.routes = { TO(NH_GATEWAY), ROUTE_IN(100, "2001:db8:2::/48", NH_ALT) },            \
	.rules = { { NUMBER(10), LOOK_UP(254), FLAGS(SUPPRESS), .rule.suppress_len = 48 }, \
		   TO_100 }

#define LATER .expires_ns = UINT64_MAX
#define LONG_AGO .expires_ns = 1

const struct row rows_exception[] = {
	/* where they are looked for */
	{ .name = "exception", BY_ALT },
	{ .name = "exception, no mark", .exceptions = { VIA(NH_ALT) } },
	{ .name = "exception, no mark, look", .exceptions = { VIA(NH_ALT) }, LOOK },
	{ .name = "exception, look", BY_ALT, LOOK },
	{ .name = "look, nothing there", LOOK },
	{ .name = "mark, no exception", MARKED },
	{ .name = "mark, exception of another destination", MARKED, .exceptions = { OTHER } },
	{ .name = "exception among others",
	  MARKED,
	  .exceptions = { OTHER,
			  VIA(NH_ALT),
			  { .dst = "2001:db8:2::", .value.flags = FLAG(CHANGING) } },
	  .hit = 2,
	  .via = NEIGH_ALT },

	/* what is punt */
	{ .name = "punt", MARKED, PUNT, .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "punt, no mark", PUNT },
	{ .name = "punt, no mark, look", PUNT, LOOK, .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "punt, another destination", MARKED, LOOK, .punted = "2001:db8:2::2" },
	{ .name = "punt beside an exception of another",
	  MARKED,
	  PUNT,
	  .exceptions = { OTHER },
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "punt and exact", HIT(VIA(NH_ALT)), PUNT, .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "punt and exact, no mark, look",
	  .exceptions = { VIA(NH_ALT) },
	  PUNT,
	  LOOK,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "punt and exact in another table",
	  NOT_HIT(VIA_IN(100, NH_ALT)),
	  PUNT,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "punt and exact, expired",
	  NOT_HIT(VALUE(FLAG(MTU), .mtu = 1280, LONG_AGO)),
	  PUNT,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "punt and observed",
	  HIT(VALUE(FLAG(OBSERVE) | FLAG(NEXT_HOP), .next_hop = NH_ALT)),
	  PUNT,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "punt, operator's next hop",
	  HIT(OPERATOR_VIA(NH_ALT)),
	  PUNT,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "punt, operator's MTU without its flag",
	  HIT(VALUE(FLAG(OPERATOR), .mtu = 1280)),
	  PUNT,
	  SIZE(1400),
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "punt, operator's MTU in another table",
	  NOT_HIT(VALUE_IN(100, FLAG(OPERATOR) | FLAG(MTU), .mtu = 1280)),
	  PUNT,
	  SIZE(1400),
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "punt, operator's MTU has expired",
	  NOT_HIT(VALUE(FLAG(OPERATOR) | FLAG(MTU), .mtu = 1280, LONG_AGO)),
	  PUNT,
	  SIZE(1400),
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "a message was about it", FRESH, LOOK, .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "a message was about it, mark",
	  MARKED,
	  FRESH,
	  LOOK,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "a message was about it, no look", MARKED, FRESH },
	{ .name = "a message was about another", .fresh = "2001:db8:2::2", LOOK },
	{ .name = "a message was about it in the other half",
	  .arrange = half_1,
	  LOOK,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "a message was about it in both halves",
	  .arrange = halves_both,
	  LOOK,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "a byte in either half", .arrange = halves_0_and_1, LOOK },
	{ .name = "a message was about it, exact",
	  HIT(VIA(NH_ALT)),
	  FRESH,
	  LOOK,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "a message was about it, group",
	  .routes = { GROUP },
	  .arrange = rows_group_two,
	  FRESH,
	  LOOK,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "a message was about another, group",
	  .routes = { GROUP },
	  .arrange = rows_group_one,
	  .fresh = "2001:db8:2::2",
	  LOOK },
	{ .name = "a message was about it, routes by source",
	  .routes = { TO(NH_SOURCES) },
	  .sources = { SOURCE("::/0", NH_GATEWAY) },
	  FRESH,
	  LOOK,
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "a message was about it, another table's route",
	  .routes = { ROUTE_IN(100, "2001:db8:2::/48", NH_GATEWAY) },
	  .rules = { TO_100, TO_MAIN },
	  FRESH,
	  LOOK,
	  .verdict = SIXLANE_PUNT_EXCEPTION },

	/* under which routes */
	{ .name = "mark of a shorter prefix",
	  .routes = { ROUTE("2001:db8::/32", NH_GATEWAY), TO(NH_GATEWAY) },
	  NOT_HIT(VIA(NH_ALT)) },
	{ .name = "mark of a longer prefix",
	  .routes = { ROUTE("2001:db8:2::1/128", NH_GATEWAY), TO(NH_ON_LINK) },
	  BY_ALT },
	{ .name = "exception of another table", NOT_HIT(VIA_IN(100, NH_ALT)) },
	{ .name = "exception of the table that a rule names",
	  .routes = { ROUTE_IN(100, "2001:db8:2::/48", NH_GATEWAY), TO(NH_GATEWAY) },
	  .rules = { TO_100, TO_MAIN },
	  HIT(VIA_IN(100, NH_ALT)),
	  .via = NEIGH_ALT },
	{ .name = "exception of the port's table, a rule names another",
	  .routes = { ROUTE_IN(100, "2001:db8:2::/48", NH_GATEWAY), TO(NH_GATEWAY) },
	  .rules = { TO_100, TO_MAIN },
	  NOT_HIT(VIA(NH_ALT)) },
	{ .name = "exception of the table that a later rule names",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(100, "2001:db8:3::/48", NH_GATEWAY) },
	  .rules = { TO_100, TO_MAIN },
	  BY_ALT },
	/* an exception is a prefix of 128 bits to suppress_prefixlength */
	{ .name = "exception under a route that is suppressed",
	  SUPPRESSED,
	  .exceptions = { VIA(NH_ALT) },
	  MARKED,
	  .verdict = SIXLANE_PUNT_RULE },
	{ .name = "exception that has expired under a route that is suppressed",
	  SUPPRESSED,
	  .exceptions = { VALUE(FLAG(MTU), .mtu = 1280, LONG_AGO) },
	  MARKED,
	  .verdict = SIXLANE_PUNT_RULE },
	{ .name = "exception of another destination under a route that is suppressed",
	  SUPPRESSED,
	  .exceptions = { OTHER },
	  MARKED,
	  .via = NEIGH_ALT },
	{ .name = "exception of another table under a route that is suppressed",
	  SUPPRESSED,
	  .exceptions = { VIA_IN(100, NH_ALT) },
	  MARKED,
	  .via = NEIGH_ALT },
	{ .name = "exception under a route that is suppressed, no mark",
	  SUPPRESSED,
	  .exceptions = { VIA(NH_ALT) },
	  .via = NEIGH_ALT },
	{ .name = "exception under a route that is suppressed, no mark, look",
	  SUPPRESSED,
	  .exceptions = { VIA(NH_ALT) },
	  LOOK,
	  .via = NEIGH_ALT },
	{ .name = "punt under a route that is suppressed",
	  SUPPRESSED,
	  MARKED,
	  PUNT,
	  .verdict = SIXLANE_PUNT_RULE },
	{ .name = "punt under a route that is suppressed, no mark",
	  SUPPRESSED,
	  PUNT,
	  .via = NEIGH_ALT },
	{ .name = "punt under a route that is suppressed, look",
	  SUPPRESSED,
	  PUNT,
	  LOOK,
	  .verdict = SIXLANE_PUNT_RULE },
	{ .name = "a message was about it, under a route that is suppressed",
	  SUPPRESSED,
	  FRESH,
	  LOOK,
	  .verdict = SIXLANE_PUNT_RULE },
	{ .name = "punt of others under a route that is suppressed",
	  SUPPRESSED,
	  MARKED,
	  LOOK,
	  .punted = "2001:db8:2::2",
	  .via = NEIGH_ALT },
	{ .name = "exception under a route that is not suppressed",
	  .rules = { { NUMBER(10), LOOK_UP(254), FLAGS(SUPPRESS), .rule.suppress_len = 47 } },
	  HIT(VIA(NH_ALT)),
	  .via = NEIGH_ALT },
	{ .name = "exception of a VRF's table",
	  .routes = { ROUTE_IN(WORLD_VRF, "2001:db8:2::/48", NH_GATEWAY) },
	  .rules = { { NUMBER(10), FLAGS(L3MDEV) }, TO_MAIN },
	  .arrange = rows_in_a_vrf,
	  HIT(VIA_IN(WORLD_VRF, NH_ALT)),
	  .via = NEIGH_ALT },
	{ .name = "exception of a VRF's table, no rules",
	  .routes = { ROUTE_IN(WORLD_VRF, "2001:db8:2::/48", NH_GATEWAY) },
	  .arrange = rows_in_a_vrf,
	  HIT(VIA_IN(WORLD_VRF, NH_ALT)),
	  .via = NEIGH_ALT },
	{ .name = "exception, routes by source",
	  .routes = { TO(NH_SOURCES) },
	  .sources = { SOURCE("::/0", NH_GATEWAY) },
	  BY_ALT },
	{ .name = "exception, routes by source behind a rule",
	  .routes = { ROUTE_IN(100, "2001:db8:2::/48", NH_SOURCES) },
	  .sources = { SOURCE("2001:db8:1::/48", NH_GATEWAY), SOURCE("::/0", NH_ALT) },
	  .rules = { TO_100, TO_MAIN },
	  HIT(VIA_IN(100, NH_ALT)),
	  .via = NEIGH_ALT },
	{ .name = "mark of a source alone",
	  .routes = { TO(NH_SOURCES) },
	  .sources = { SOURCE("::/0", NH_GATEWAY) },
	  .exceptions = { VIA(NH_ALT) },
	  .arrange = source_marked_alone },
	{ .name = "exception of a VLAN's packet", .tags = { Q(10) }, .as = DEV_IN_10, BY_ALT },
	{ .name = "exception, padding counts", HIT(VIA(NH_ALT)), .padding = 9, .via = NEIGH_ALT },

	/* while they change */
	{ .name = "exception of some version",
	  HIT(VALUE(FLAG(NEXT_HOP) | SIXLANE_EXCEPTION_VERSION, .next_hop = NH_ALT)),
	  .via = NEIGH_ALT },
	{ .name = "exception whose memory is another's",
	  .arrange = reused,
	  NOT_HIT(VIA(NH_ALT)),
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "exception that is being changed",
	  NOT_HIT(VALUE(FLAG(NEXT_HOP) | FLAG(CHANGING), .next_hop = NH_ALT)),
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "exception of another table that is being changed",
	  NOT_HIT(VALUE_IN(100, FLAG(CHANGING))),
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "observed exception whose memory is another's",
	  .arrange = reused,
	  NOT_HIT(VALUE(FLAG(OBSERVE))),
	  .verdict = SIXLANE_PUNT_EXCEPTION },

	/* only what is forwarded meets them, and before anything else is asked */
	{ .name = "exception of a local address",
	  .routes = { TO(NH_FATE + SIXLANE_PASS_LOCAL) },
	  NOT_HIT(VIA(NH_ALT)),
	  .verdict = SIXLANE_PASS_LOCAL },
	{ .name = "exception of a blackhole",
	  .routes = { TO(NH_FATE + SIXLANE_DROP_BLACKHOLE) },
	  NOT_HIT(VIA(NH_ALT)),
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "punt, blackhole",
	  .routes = { TO(NH_FATE + SIXLANE_DROP_BLACKHOLE) },
	  MARKED,
	  PUNT,
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "exception of a group",
	  .routes = { GROUP },
	  .arrange = rows_group_two,
	  HIT(VIA(NH_ALT)),
	  .via = NEIGH_ALT },
	{ .name = "exception of a group whose member is a blackhole",
	  .routes = { GROUP },
	  .arrange = group_and_blackhole,
	  NOT_HIT(VIA(NH_ALT)),
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "exception, forwarding off",
	  .arrange = no_forwarding,
	  HIT(VIA(NH_ALT)),
	  .verdict = SIXLANE_PASS_NO_FORWARDING },
	{ .name = "exception, hop limit used up",
	  HIT(VIA(NH_ALT)),
	  .patches = { { AT_HOP_LIMIT, "01" } },
	  .verdict = SIXLANE_PASS_HOP_LIMIT },

	/* expiry */
	{ .name = "exception that expires later",
	  HIT(VALUE(FLAG(NEXT_HOP), .next_hop = NH_ALT, LATER)),
	  .via = NEIGH_ALT },
	{ .name = "Path MTU that has expired",
	  NOT_HIT(VALUE(FLAG(MTU) | FLAG(LOCKED), .mtu = 1280, LONG_AGO)),
	  SIZE(1500) },
	{ .name = "next hop that has expired",
	  NOT_HIT(VALUE(FLAG(NEXT_HOP), .next_hop = NH_ALT, LONG_AGO)) },

	/* which of those that are found are applied */
	{ .name = "observed", HIT(VALUE(FLAG(OBSERVE) | FLAG(NEXT_HOP), .next_hop = NH_ALT)) },
	{ .name = "observed Path MTU",
	  HIT(VALUE(FLAG(OBSERVE) | FLAG(MTU) | FLAG(LOCKED), .mtu = 1280)),
	  SIZE(1500) },

	/* next hops */
	{ .name = "next hop", HIT(VIA(NH_ALT)), .via = NEIGH_ALT },
	{ .name = "next hop without its flag", HIT(VALUE(FLAG(KERNEL), .next_hop = NH_ALT)) },
	{ .name = "next hop on-link", HIT(VIA(NH_ON_LINK)), .via = NEIGH_HOST },
	{ .name = "next hop that is none", HIT(VIA(0)), .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "next hop out of range",
	  HIT(VIA(SIXLANE_MAX_NEXT_HOPS)),
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "next hop with a fate of its own",
	  HIT(VIA(NH_FATE + SIXLANE_PASS_UNREACHABLE)),
	  .verdict = SIXLANE_PASS_UNREACHABLE },
	{ .name = "next hop that is a group",
	  .arrange = rows_group_two,
	  HIT(VIA(NH_GROUP)),
	  .verdict = SIXLANE_PUNT_ROUTE },
	{ .name = "next hop that leads back",
	  HIT(VIA(NH_BACK)),
	  .verdict = SIXLANE_PASS_SAME_PORT },
	{ .name = "next hop that is silent",
	  HIT(VIA(NH_SILENT)),
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "next hop by a VLAN",
	  HIT(VIA(NH_VIA(NEIGH_OUT_AD30_40))),
	  .via = NEIGH_OUT_AD30_40 },
	{ .name = "next hop in the place of one that leads back",
	  .routes = { TO(NH_BACK) },
	  HIT(VIA(NH_GATEWAY)) },

	/* MTUs: the exception's, or the route's */
	{ .name = "Path MTU - 1", HIT(MTU(1400)), SIZE(1399) },
	{ .name = "Path MTU", HIT(MTU(1400)), SIZE(1400) },
	{ .name = "Path MTU, padding does not count", HIT(MTU(1400)), SIZE(1400), .padding = 9 },
	{ .name = "Path MTU + 1",
	  .routes = { TO(NH_GATEWAY), BACK },
	  HIT(MTU(1400)),
	  SIZE(1401),
	  ANSWERED_LATE(1400) },
	{ .name = "locked Path MTU", HIT(LOCKED(1400)), SIZE(1400) },
	{ .name = "locked Path MTU + 1",
	  .routes = { TO(NH_GATEWAY), BACK },
	  HIT(LOCKED(1400)),
	  SIZE(1401),
	  ANSWERED(1400) },
	{ .name = "least Path MTU", HIT(MTU(1280)), SIZE(1280) },
	{ .name = "least Path MTU + 1",
	  .routes = { TO(NH_GATEWAY), BACK },
	  HIT(MTU(1280)),
	  SIZE(1281),
	  ANSWERED_LATE(1280) },
	{ .name = "least locked Path MTU + 1",
	  .routes = { TO(NH_GATEWAY), BACK },
	  HIT(LOCKED(1280)),
	  SIZE(1281),
	  ANSWERED(1280) },
	{ .name = "Path MTU without its flag", HIT(VALUE(FLAG(LOCKED), .mtu = 1280)), SIZE(1500) },
	{ .name = "over the device's MTU, which counts before a Path MTU",
	  .routes = { TO(NH_GATEWAY), BACK },
	  HIT(MTU(1400)),
	  SIZE(1501),
	  PASSED },
	{ .name = "over the device's MTU, which does not count before a locked one",
	  .routes = { TO(NH_GATEWAY), BACK },
	  HIT(LOCKED(1400)),
	  SIZE(1501),
	  ANSWERED(1400) },
	{ .name = "Path MTU over the device's", HIT(MTU(1600)), SIZE(1500) },
	{ .name = "Path MTU over the device's, packet between",
	  .routes = { TO(NH_GATEWAY), BACK },
	  HIT(MTU(1600)),
	  SIZE(1501),
	  PASSED },
	{ .name = "locked Path MTU over the device's, packet between",
	  .routes = { TO(NH_GATEWAY), BACK },
	  HIT(LOCKED(1600)),
	  SIZE(1501),
	  PASSED },
	{ .name = "operator's MTU over the device's, packet between",
	  .routes = { TO(NH_GATEWAY), BACK },
	  HIT(OPERATOR(1600)),
	  SIZE(1501),
	  PASSED },
	{ .name = "Path MTU in the place of a smaller one of the route",
	  .routes = { TO(NH_LOCKED) },
	  HIT(MTU(1450)),
	  SIZE(1450) },
	{ .name = "Path MTU that is not locked, the route's was",
	  .routes = { TO(NH_LOCKED), BACK },
	  HIT(MTU(1390)),
	  SIZE(1391),
	  ANSWERED_LATE(1390) },
	{ .name = "locked Path MTU, the route's was not",
	  .routes = { TO(NH_GATEWAY), BACK },
	  .arrange = unlocked_1400,
	  HIT(LOCKED(1390)),
	  SIZE(1391),
	  ANSWERED(1390) },
	{ .name = "next hop, MTU of the route",
	  .routes = { TO(NH_LOCKED), BACK },
	  HIT(VIA(NH_ALT)),
	  SIZE(1401),
	  PASSED },
	{ .name = "next hop, its own MTU does not count", HIT(VIA(NH_LOCKED)), SIZE(1500) },
	{ .name = "next hop and Path MTU",
	  HIT(VALUE(FLAG(NEXT_HOP) | FLAG(MTU), .next_hop = NH_ALT, .mtu = 1400)),
	  SIZE(1400),
	  .via = NEIGH_ALT },
	{ .name = "next hop and Path MTU + 1",
	  .routes = { TO(NH_GATEWAY), BACK },
	  HIT(VALUE(FLAG(NEXT_HOP) | FLAG(MTU), .next_hop = NH_ALT, .mtu = 1400)),
	  SIZE(1401),
	  ANSWERED_LATE(1400) },
	{ .name = "next hop, MTU of its device",
	  .arrange = alt_1280,
	  HIT(VIA(NH_ALT)),
	  SIZE(1281),
	  PASSED },
	{ .name = "hop limit before Path MTU",
	  .routes = { TO(NH_GATEWAY), BACK },
	  HIT(MTU(1400)),
	  SIZE(1401),
	  .patches = { { AT_HOP_LIMIT, "01" } },
	  .verdict = SIXLANE_PASS_HOP_LIMIT },
	{ .name = "Path MTU before a silent gateway",
	  .routes = { TO(NH_SILENT), BACK },
	  HIT(MTU(1400)),
	  SIZE(1401),
	  ANSWERED_LATE(1400) },
};
const size_t rows_exception_n = sizeof(rows_exception) / sizeof(rows_exception[0]);
