// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets over an MTU: which MTU it is that they are over and are told, in which mode, at which
 * rate and with which tags.
 */
#include "rows_answer.h"
#include "rows_vlan.h"

static void no_xmit_generic(struct world *w)
{
	world_port(w, DEV_GENERIC)->flags &= ~(SIXLANE_PORT_XMIT | SIXLANE_PORT_XMIT_FRAGS);
}

static void alt_mtu_1280(struct world *w)
{
	world_port(w, DEV_ALT)->mtu = 1280;
}

/* --- MTUs ---------------------------------------------------------------------------------- */

static void answer_all(struct world *w)
{
	w->meta.flags |= SIXLANE_META_ANSWER;
}

static void answer_all_1280(struct world *w)
{
	answer_all(w);
	world_port(w, DEV_OUT)->mtu = 1280;
	world_port(w, DEV_ALT)->mtu = 1280;
}

static void answer_all_unsure(struct world *w)
{
	answer_all(w);
	rows_back_marked(w);
}

static void answer_all_of_route(struct world *w, uint32_t mtu, uint32_t flags)
{
	answer_all(w);
	for (uint32_t id = 1; id <= N_NEIGHBOURS; id++) {
		w->next_hops[id].mtu = mtu;
		w->next_hops[id].flags = flags;
	}
}

static void answer_all_unlocked_1400(struct world *w)
{
	answer_all_of_route(w, 1400, 0);
}

static void answer_all_unlocked_1000(struct world *w)
{
	answer_all_of_route(w, 1000, 0);
}

static void answer_all_locked_1000(struct world *w)
{
	answer_all_of_route(w, 1000, SIXLANE_NEXT_HOP_LOCKED);
}

static void answer_all_locked_1600(struct world *w)
{
	answer_all_of_route(w, 1600, SIXLANE_NEXT_HOP_LOCKED);
}

/* As of what the lower device leaves for tags. */
static void answer_all_taken_1496(struct world *w)
{
	answer_all(w);
	world_port(w, DEV_OUT_AD30_40)->mtu = 1496;
	world_port(w, DEV_OUT_10)->mtu = 1496;
}

/* --- tokens -------------------------------------------------------------------------------- */

static void no_tokens(struct world *w)
{
	w->meta.answer_ns = 1;
}

static void no_tokens_for_all(struct world *w)
{
	answer_all(w);
	no_tokens(w);
}

static void few_tokens(struct world *w)
{
	w->meta.answer_ns = 1u << 30;
	w->meta.answer_burst = 1u << 30; /* no time is so long: the bucket is as full as can be */
}

#define OVER_THE_RATE .verdict = SIXLANE_DROP_TOO_BIG_RATE

const struct row rows_answer[] = {
	/* whose MTU it is and what is told of it */
	FINE("answer", OVER),
	FINE("answer, two bytes over", SIZE(1402)),
	FINE("answer, three bytes over", SIZE(1403)),
	FINE("answer, over the device's MTU, too", SIZE(1501)),
	FINE("answer to a frame with padding", OVER, .padding = 3),
	FINE("answer to the longest packet of one buffer", SIZE(3400)),
	FINE("answer, hop limit 255", OVER, .patches = { { AT_HOP_LIMIT, "ff" } }),
	FINE("answer, hop limit 2", OVER, .patches = { { AT_HOP_LIMIT, "02" } }),
	{ .name = "answer, hop limit 2, which would be 1",
	  HIT(MTU(1400)),
	  PLAIN(NH_GATEWAY),
	  OVER,
	  .patches = { { AT_HOP_LIMIT, "02" } },
	  ANSWERED_LATE(1400) },
	{ .name = "answer, odd checksum of the quoted packet",
	  HIT(MTU(1399)),
	  PLAIN(NH_GATEWAY),
	  OVER,
	  .patches = { { AT_PAYLOAD, "fffefffd" }, { AT_PAYLOAD + 1190, "ff" } },
	  ANSWERED_LATE(1399) },
	{ .name = "operator's MTU that is not locked",
	  HIT(VALUE(FLAG(MTU) | FLAG(OPERATOR), .mtu = 1400)),
	  PLAIN(NH_GATEWAY),
	  OVER,
	  ANSWERED_LATE(1400) },
	{ .name = "operator's MTU, no way back", HIT(OPERATOR(1400)), OVER, TURNED_BACK(1400) },
	{ .name = "operator's MTU, a message has just come",
	  HIT(OPERATOR(1400)),
	  FRESH,
	  LOOK,
	  SIZE(1401),
	  .verdict = SIXLANE_PUNT_EXCEPTION },
	{ .name = "operator's next hop, MTU of its device",
	  HIT(OPERATOR_VIA(NH_ALT)),
	  PLAIN(NH_GATEWAY),
	  .arrange = alt_mtu_1280,
	  SIZE(1281),
	  ANSWERED(1280) },
	{ .name = "operator's next hop, MTU of its device, no way back",
	  HIT(OPERATOR_VIA(NH_ALT)),
	  .arrange = alt_mtu_1280,
	  SIZE(1281),
	  TURNED_BACK(1280) },
	{ .name = "operator's next hop, locked MTU of the route",
	  HIT(OPERATOR_VIA(NH_ALT)),
	  PLAIN(NH_LOCKED),
	  OVER,
	  ANSWERED(1400) },
	{ .name = "operator's MTU, over the device's first",
	  HIT(VALUE(FLAG(MTU) | FLAG(OPERATOR), .mtu = 1400)),
	  PLAIN(NH_GATEWAY),
	  SIZE(1501),
	  PASSED },

	/* MTUs of routes and devices, which are answered if the operator wants it */
	{ .name = "device's MTU", PLAIN(NH_GATEWAY), SIZE(1501), PASSED },
	{ .name = "device's MTU, all answered",
	  PLAIN(NH_GATEWAY),
	  .arrange = answer_all,
	  SIZE(1501),
	  ANSWERED(1500) },
	{ .name = "device's MTU of 1280, all answered",
	  PLAIN(NH_GATEWAY),
	  .arrange = answer_all_1280,
	  SIZE(1281),
	  ANSWERED(1280) },
	{ .name = "device's MTU of 1280, not over it",
	  PLAIN(NH_GATEWAY),
	  .arrange = answer_all_1280,
	  SIZE(1280) },
	{ .name = "device's MTU, all answered, unsure",
	  PLAIN(NH_GATEWAY),
	  .arrange = answer_all_unsure,
	  SIZE(1501),
	  PASSED },
	{ .name = "device's MTU, all answered, no way back",
	  .arrange = answer_all,
	  SIZE(1501),
	  PASSED },
	{ .name = "device's MTU, all answered, of an exception without one",
	  HIT(VIA(NH_ALT)),
	  PLAIN(NH_GATEWAY),
	  .arrange = answer_all_1280,
	  SIZE(1281),
	  ANSWERED(1280) },
	{ .name = "device's MTU, all answered, before a smaller one of the route",
	  PLAIN(NH_GATEWAY),
	  .arrange = answer_all_unlocked_1400,
	  SIZE(1501),
	  ANSWERED(1500) },
	{ .name = "device's MTU, one tag",
	  PLAIN(NH_VIA(NEIGH_OUT_10)),
	  .arrange = answer_all_taken_1496,
	  SIZE(1497),
	  ANSWERED(1496) },
	{ .name = "device's MTU, two tags may leave less",
	  PLAIN(NH_VIA(NEIGH_OUT_AD30_40)),
	  .arrange = answer_all_taken_1496,
	  SIZE(1497),
	  PASSED },
	{ .name = "operator's next hop, two tags may leave less",
	  HIT(OPERATOR_VIA(NH_VIA(NEIGH_OUT_AD30_40))),
	  PLAIN(NH_GATEWAY),
	  .arrange = answer_all_taken_1496,
	  SIZE(1497),
	  ANSWERED(1496) },
	{ .name = "locked Path MTU, two tags",
	  HIT(LOCKED(1400)),
	  PLAIN(NH_VIA(NEIGH_OUT_AD30_40)),
	  .arrange = answer_all_taken_1496,
	  SIZE(1497),
	  ANSWERED(1400) },
	{ .name = "route's MTU, all answered",
	  PLAIN(NH_GATEWAY),
	  .arrange = answer_all_unlocked_1400,
	  OVER,
	  ANSWERED_LATE(1400) },
	{ .name = "route's locked MTU, all answered",
	  PLAIN(NH_LOCKED),
	  .arrange = answer_all,
	  OVER,
	  ANSWERED(1400) },
	{ .name = "route's locked MTU over the device's, all answered",
	  PLAIN(NH_GATEWAY),
	  .arrange = answer_all_locked_1600,
	  SIZE(1501),
	  PASSED },
	{ .name = "route's locked MTU over the device's, over both",
	  PLAIN(NH_GATEWAY),
	  .arrange = answer_all_locked_1600,
	  SIZE(1601),
	  ANSWERED(1600) },
	{ .name = "route's locked MTU under 1280, raised",
	  PLAIN(NH_GATEWAY),
	  .arrange = answer_all_locked_1000,
	  SIZE(1281),
	  ANSWERED(1280) },
	{ .name = "route's locked MTU under 1280, packet between",
	  PLAIN(NH_GATEWAY),
	  .arrange = answer_all_locked_1000,
	  SIZE(1280),
	  PASSED },
	{ .name = "route's MTU under 1280",
	  PLAIN(NH_GATEWAY),
	  .arrange = answer_all_unlocked_1000,
	  SIZE(1281),
	  PASSED },
	{ .name = "route's MTU under 1280, packet as long",
	  .arrange = answer_all_unlocked_1000,
	  SIZE(1000) },

	/* generic mode, where a frame may be several packets */
	{ KERNELS("generic mode"), .in = DEV_GENERIC,
	  .routes = { TO(NH_GATEWAY), BACK_BY(NEIGH_MEMBER + 2) }, OVER, PASSED },
	{ OPERATORS("generic mode"), .in = DEV_GENERIC,
	  .routes = { TO(NH_GATEWAY), BACK_BY(NEIGH_MEMBER + 2) }, OVER,
	  ANSWERED_BY(NEIGH_MEMBER + 2, 1400) },
	{ OPERATORS("generic mode, cannot send natively"), .in = DEV_GENERIC,
	  .routes = { TO(NH_GATEWAY), BACK_BY(NEIGH_MEMBER + 2) }, OVER, .arrange = no_xmit_generic,
	  ANSWERED_BY(NEIGH_MEMBER + 2, 1400) },
	{ OPERATORS("generic mode, longest single packet"), .in = DEV_GENERIC, SIZE(1500),
	  TURNED_BACK(1400) },
	{ OPERATORS("generic mode, too long for one packet"), .in = DEV_GENERIC, SIZE(1501),
	  PASSED },
	{ .name = "generic mode, all answered",
	  .in = DEV_GENERIC,
	  .routes = { TO(NH_GATEWAY), BACK_BY(NEIGH_MEMBER + 2) },
	  .arrange = answer_all,
	  SIZE(1501),
	  PASSED },

	/* tags */
	FINE_BY("answer, one tag", NEIGH_IN_10, .routes = { TO(NH_GATEWAY), BACK_BY(NEIGH_IN_10) },
		.tags = { Q(10) }, .as = DEV_IN_10, OVER),
	FINE_BY("answer, one tag with a priority", NEIGH_IN_10,
		.routes = { TO(NH_GATEWAY), BACK_BY(NEIGH_IN_10) }, .tags = { Q(0xf00a) },
		.as = DEV_IN_10, OVER),
	FINE_BY("answer, 802.1ad tag", NEIGH_IN_AD30,
		.routes = { TO(NH_GATEWAY), BACK_BY(NEIGH_IN_AD30) }, .tags = { AD(30) },
		.as = DEV_IN_AD30, OVER),
	FINE_BY("answer, two tags", NEIGH_IN_10_20,
		.routes = { TO(NH_GATEWAY), BACK_BY(NEIGH_IN_10_20) }, .tags = { Q(10), Q(20) },
		.as = DEV_IN_10_20, OVER),
	FINE_BY("answer, two tags and padding", NEIGH_IN_10_20,
		.routes = { TO(NH_GATEWAY), BACK_BY(NEIGH_IN_10_20) },
		.tags = { Q(0x200a), Q(0x4014) }, .as = DEV_IN_10_20, OVER, .padding = 7),
	FINE_BY("answer, VID 0 before a VID", NEIGH_IN_10,
		.routes = { TO(NH_GATEWAY), BACK_BY(NEIGH_IN_10) }, .tags = { Q(0xe000), Q(10) },
		.as = DEV_IN_10, OVER),
	FINE("answer, VID 0", .tags = { Q(0xe000) }, OVER),
	FINE("answer, VID 0 twice", .tags = { Q(0), Q(0) }, OVER),
	UNSURE("way back by the port below a VLAN", PLAIN(NH_GATEWAY), .tags = { Q(10) },
	       .as = DEV_IN_10),
	UNSURE("two tags, no way back", .tags = { AD(30), Q(40) }, .as = DEV_IN_AD30_40),

	/* rate */
	{ KERNELS("no tokens"), PLAIN(NH_GATEWAY), .arrange = no_tokens, OVER, OVER_THE_RATE },
	{ OPERATORS("no tokens"), .arrange = no_tokens, OVER, OVER_THE_RATE },
	{ .name = "no tokens, all answered",
	  PLAIN(NH_GATEWAY),
	  .arrange = no_tokens_for_all,
	  SIZE(1501),
	  OVER_THE_RATE },
	{ .name = "no tokens, none needed",
	  PLAIN(NH_GATEWAY),
	  .arrange = no_tokens,
	  SIZE(1501),
	  PASSED },
	NOT_ABOUT("no tokens, error", .arrange = no_tokens,
		  .patches = { { AT_NEXT_HEADER, "3a" }, { AT_PAYLOAD, "01" } }),
	FINE("tokens", OVER, .arrange = few_tokens),

	/* room */
	{ KERNELS("no room for the answer"), PLAIN(NH_GATEWAY), OVER, .meta = ROW_META_MAX,
	  .verdict = SIXLANE_PASS_NO_HEADROOM },
	{ OPERATORS("no room for the answer"), OVER, .meta = ROW_META_MAX, DROPPED },
	{ KERNELS("no room for the answer, padding"), PLAIN(NH_GATEWAY), OVER, .padding = 5,
	  .meta = ROW_META_MAX, .verdict = SIXLANE_PASS_NO_HEADROOM },
	FINE("answer, metadata in front of the frame", OVER, .meta = 32),
};
const size_t rows_answer_n = sizeof(rows_answer) / sizeof(rows_answer[0]);
