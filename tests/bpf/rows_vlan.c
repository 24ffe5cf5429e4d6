// SPDX-License-Identifier: GPL-2.0-only
/*
 * VLAN tags on the way in: which device takes a frame (vlan_do_receive), and whom it is for. What
 * every cut does to tagged frames is swept elsewhere.
 */
#include "rows_vlan.h"

static void down(struct world *w)
{
	world_port(w, DEV_IN_10)->flags &= ~SIXLANE_PORT_UP;
}

static void inner_down(struct world *w)
{
	world_port(w, DEV_IN_10_20)->flags &= ~SIXLANE_PORT_UP;
}

/* DEV_IN_10 becomes a device of VID 0. */
static void vid_zero(struct world *w)
{
	world_port(w, DEV_IN_10)->tag.tci = 0;
	for (size_t i = 0; i < w->n_vlans; i++)
		if (w->vlans[i].slot == world_port_slot(DEV_IN_10))
			w->vlans[i].key.tag.tci = 0;
}

static void vid_zero_down(struct world *w)
{
	vid_zero(w);
	down(w);
}

static void vid_zero_slot_reused(struct world *w)
{
	vid_zero(w);
	world_port(w, DEV_IN_10)->tag.tci = 0x6300;
}

static void slot_of_another_lower(struct world *w)
{
	world_port(w, DEV_IN_10)->lower = world_port(w, DEV_ALT)->ifindex;
}

static void slot_of_another_tag(struct world *w)
{
	world_port(w, DEV_IN_10)->tag.tci = 0x0b00;
}

static void slot_out_of_range(struct world *w)
{
	for (size_t i = 0; i < w->n_vlans; i++)
		w->vlans[i].slot = SIXLANE_MAX_PORTS;
}

static void no_vlans(struct world *w)
{
	w->n_vlans = 0;
}

static void not_served(struct world *w)
{
	world_port(w, DEV_IN_10)->flags &= ~SIXLANE_PORT_INGRESS;
}

static void lower_not_served(struct world *w)
{
	world_port(w, DEV_IN)->flags &= ~SIXLANE_PORT_INGRESS;
}

static void lower_in_a_bridge(struct world *w)
{
	world_port(w, DEV_IN)->flags |= SIXLANE_PORT_UPPER;
}

static void lower_without_ipv6(struct world *w)
{
	world_port(w, DEV_IN)->flags &= ~(SIXLANE_PORT_IPV6 | SIXLANE_PORT_FORWARDING);
}

static void without_ipv6(struct world *w)
{
	world_port(w, DEV_IN_10)->flags &= ~SIXLANE_PORT_IPV6;
}

static void in_a_bridge(struct world *w)
{
	world_port(w, DEV_IN_10)->flags |= SIXLANE_PORT_UPPER;
}

static void in_a_bond(struct world *w)
{
	world_port(w, DEV_IN_10)->flags |= SIXLANE_PORT_SLAVE;
}

static void another_table(struct world *w)
{
	world_port(w, DEV_IN_10)->table = 1000;
}

static void pass_port(struct world *w)
{
	world_port(w, DEV_IN_10)->flags |= SIXLANE_PORT_PASS;
}

#define UNKNOWN_AS(dev) .as = DEV_##dev, .verdict = SIXLANE_PASS_VLAN_UNKNOWN

const struct row rows_vlan[] = {
	/* whose tag it is */
	{ .name = "802.1Q tag", .tags = { Q(10) }, .as = DEV_IN_10 },
	{ .name = "802.1ad tag", .tags = { AD(30) }, .as = DEV_IN_AD30 },
	{ .name = "802.1Q in 802.1Q", .tags = { Q(10), Q(20) }, .as = DEV_IN_10_20 },
	{ .name = "802.1Q in 802.1ad", .tags = { AD(30), Q(40) }, .as = DEV_IN_AD30_40 },
	{ .name = "unknown VID", .tags = { Q(11) }, .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "VID 4095", .tags = { Q(4095) }, .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "VID with swapped bytes",
	  .tags = { Q(0x0a00) },
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "VID known as 802.1Q, in 802.1ad",
	  .tags = { AD(10) },
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "VID known as 802.1ad, in 802.1Q",
	  .tags = { Q(30) },
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "VID of another port",
	  .in = DEV_ALT,
	  .tags = { Q(10) },
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "unknown VID in a known one", .tags = { Q(10), Q(21) }, UNKNOWN_AS(IN_10) },
	{ .name = "inner VID known to the port, not to the VLAN",
	  .tags = { Q(10), Q(10) },
	  UNKNOWN_AS(IN_10) },
	{ .name = "inner VID alone", .tags = { Q(20) }, .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "known VID in an unknown one",
	  .tags = { Q(11), Q(20) },
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "tags in the wrong order",
	  .tags = { Q(20), Q(10) },
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "no VLANs at all",
	  .arrange = no_vlans,
	  .tags = { Q(10) },
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "tag at a port without a slot",
	  .in = DEV_STRANGER,
	  .tags = { Q(10) },
	  .verdict = SIXLANE_PASS_UNKNOWN_PORT },
	{ .name = "VLAN whose slots are those tried first",
	  .tags = { Q(10) },
	  .at_home = true,
	  .as = DEV_IN_10 },
	{ .name = "tag of a frame that is not IPv6",
	  .patches = { { AT_ETHERTYPE, "0800" } },
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .verdict = SIXLANE_PASS_NOT_IPV6 },

	/* three tags */
	{ .name = "three tags, two of them known",
	  .tags = { Q(10), Q(20), Q(30) },
	  .as = DEV_IN_10_20,
	  .verdict = SIXLANE_PUNT_VLAN_DEPTH },
	{ .name = "three tags, the last a priority",
	  .tags = { AD(30), Q(40), Q(0) },
	  .as = DEV_IN_AD30_40,
	  .verdict = SIXLANE_PUNT_VLAN_DEPTH },
	{ .name = "three tags, two of them priorities",
	  .tags = { Q(0), Q(0), Q(10) },
	  .verdict = SIXLANE_PUNT_VLAN_DEPTH },
	{ .name = "three tags, the third 802.1ad",
	  .tags = { Q(10), Q(20), AD(30) },
	  .as = DEV_IN_10_20,
	  .verdict = SIXLANE_PUNT_VLAN_DEPTH },
	{ .name = "three tags, the second unknown",
	  .tags = { Q(10), Q(11), Q(20) },
	  UNKNOWN_AS(IN_10) },
	{ .name = "three tags, the third no VLAN's",
	  .tags = { Q(10), Q(20), 0x91000001 },
	  .as = DEV_IN_10_20,
	  .verdict = SIXLANE_PASS_NOT_IPV6 },

	/* priorities: VID 0 is no VLAN, and a VID is one whatever its priority */
	{ .name = "VID 0", .tags = { Q(0) } },
	{ .name = "VID 0 with a priority", .tags = { Q(0xe000) } },
	{ .name = "VID 0 with DEI", .tags = { Q(0x1000) } },
	{ .name = "VID 0 of 802.1ad", .tags = { AD(0xa000) } },
	{ .name = "VID 0 twice", .tags = { Q(0), Q(0) } },
	{ .name = "VID 0 before a VID", .tags = { Q(0x6000), Q(10) }, .as = DEV_IN_10 },
	{ .name = "VID 0 behind a VID", .tags = { Q(10), Q(0) }, .as = DEV_IN_10 },
	{ .name = "VID 0 before an unknown VID",
	  .tags = { Q(0), Q(11) },
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "VID 0 at a port that is not served",
	  .arrange = lower_not_served,
	  .tags = { Q(0) },
	  .verdict = SIXLANE_PASS_UNKNOWN_PORT },
	{ .name = "VID 0 at a port of a bridge",
	  .arrange = lower_in_a_bridge,
	  .tags = { Q(0) },
	  .verdict = SIXLANE_PASS_PORT_UPPER },
	{ .name = "VID 0 with a device", .arrange = vid_zero, .tags = { Q(0) }, .as = DEV_IN_10 },
	{ .name = "VID 0 with a device that is down",
	  .arrange = vid_zero_down,
	  .tags = { Q(0) },
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "VID 0 with a device whose slot was reused",
	  .arrange = vid_zero_slot_reused,
	  .tags = { Q(0) },
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "priority of a VID", .tags = { Q(0xe00a) }, .as = DEV_IN_10 },
	{ .name = "DEI of a VID", .tags = { Q(0x100a) }, .as = DEV_IN_10 },
	{ .name = "priorities of two VIDs",
	  .tags = { AD(0xf01e), Q(0x3028) },
	  .as = DEV_IN_AD30_40 },
	{ .name = "priorities on the way in are none on the way out",
	  .routes = { OUT_OF(OUT_AD30_40) },
	  .tags = { Q(0xf00a), Q(0xf014) },
	  .as = DEV_IN_10_20,
	  .via = NEIGH_OUT_AD30_40 },

	/* the VLAN device's own state */
	{ .name = "VLAN that is down",
	  .arrange = down,
	  .tags = { Q(10) },
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "VLAN that is down below another",
	  .arrange = down,
	  .tags = { Q(10), Q(20) },
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "inner VLAN that is down",
	  .arrange = inner_down,
	  .tags = { Q(10), Q(20) },
	  UNKNOWN_AS(IN_10) },
	{ .name = "VLAN of another lower device",
	  .arrange = slot_of_another_lower,
	  .tags = { Q(10) },
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "VLAN of another tag",
	  .arrange = slot_of_another_tag,
	  .tags = { Q(10) },
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "VLAN whose slot is out of range",
	  .arrange = slot_out_of_range,
	  .tags = { Q(10) },
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "VLAN that is not served",
	  .arrange = not_served,
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .verdict = SIXLANE_PASS_UNKNOWN_PORT },
	{ .name = "VLAN that is served over a port that is not",
	  .arrange = lower_not_served,
	  .tags = { Q(10) },
	  .as = DEV_IN_10 },
	{ .name = "VLAN over a port of a bridge",
	  .arrange = lower_in_a_bridge,
	  .tags = { Q(10) },
	  .as = DEV_IN_10 },
	{ .name = "VLAN over a port without IPv6",
	  .arrange = lower_without_ipv6,
	  .tags = { Q(10) },
	  .as = DEV_IN_10 },
	{ .name = "VLAN without IPv6",
	  .arrange = without_ipv6,
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .verdict = SIXLANE_PASS_IPV6_OFF },
	{ .name = "port whose VLAN is without IPv6", .arrange = without_ipv6 },
	{ .name = "VLAN in a bridge",
	  .arrange = in_a_bridge,
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .verdict = SIXLANE_PASS_PORT_UPPER },
	{ .name = "VLAN in a bond",
	  .arrange = in_a_bond,
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .verdict = SIXLANE_PASS_PORT_UPPER },
	{ .name = "VLAN over a VLAN in a bridge",
	  .arrange = in_a_bridge,
	  .tags = { Q(10), Q(20) },
	  .as = DEV_IN_10_20 },
	{ .name = "pass port, of a VLAN",
	  .arrange = pass_port,
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .verdict = SIXLANE_PASS_PORT },
	{ .name = "table of a VLAN",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(1000, "2001:db8:2::/48", NH_ALT) },
	  .arrange = another_table,
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .via = NEIGH_ALT },

	/* whom it is for */
	{ .name = "VLAN, for its own MAC", .tags = { Q(10) }, .to = DEV_IN_10, .as = DEV_IN_10 },
	{ .name = "VLAN, for the MAC of another VLAN",
	  .tags = { Q(10) },
	  .to = DEV_IN_AD30,
	  .as = DEV_IN_10,
	  .verdict = SIXLANE_PASS_OTHER_MAC },
	{ .name = "VLAN in VLAN, for the port's MAC",
	  .tags = { Q(10), Q(20) },
	  .as = DEV_IN_10_20 },
	{ .name = "VLAN in VLAN, for the outer's MAC",
	  .tags = { Q(10), Q(20) },
	  .to = DEV_IN_10,
	  .as = DEV_IN_10_20 },
	{ .name = "VLAN in VLAN, for its own MAC",
	  .tags = { Q(10), Q(20) },
	  .to = DEV_IN_10_20,
	  .as = DEV_IN_10_20 },
	{ .name = "VLAN in VLAN, for another MAC",
	  .tags = { Q(10), Q(20) },
	  .to = DEV_OUT,
	  .as = DEV_IN_10_20,
	  .verdict = SIXLANE_PASS_OTHER_MAC },
	{ .name = "VLAN, broadcast",
	  .patches = { { AT_DST_MAC, "ffffffffffff" } },
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .verdict = SIXLANE_PASS_OTHER_MAC },
	{ .name = "no tag, for a VLAN's MAC", .to = DEV_IN_10, .verdict = SIXLANE_PASS_OTHER_MAC },
	{ .name = "VID 0, for a VLAN's MAC",
	  .tags = { Q(0) },
	  .to = DEV_IN_10,
	  .verdict = SIXLANE_PASS_OTHER_MAC },
};
const size_t rows_vlan_n = sizeof(rows_vlan) / sizeof(rows_vlan[0]);
