// SPDX-License-Identifier: GPL-2.0-only
/*
 * VLAN tags on the way in: which device takes a frame (vlan_do_receive), and whom it is for. What
 * every cut does to tagged frames is swept elsewhere.
 */
#include "rows.h"

/* DEV_IN_10 becomes a device of VID 0. */
#define VID_ZERO SET(PORT(IN_10).tag.tci, 0), SET(vlans[0].key.tag.tci, 0)
#define UNKNOWN_AS(dev) .as = DEV_##dev, PASS(VLAN_UNKNOWN)

const struct row rows_vlan[] = {
	/* whose tag it is */
	{ "802.1Q tag", TAG_10 },
	{ "802.1ad tag", .tags = { AD(30) }, .as = DEV_IN_AD30 },
	{ "802.1Q in 802.1Q", TAGS_10_20 },
	{ "802.1Q in 802.1ad", .tags = { AD(30), Q(40) }, .as = DEV_IN_AD30_40 },
	{ "unknown VID", .tags = { Q(11) }, PASS(VLAN_UNKNOWN) },
	{ "VID of another port", .in = DEV_ALT, .tags = { Q(10) }, PASS(VLAN_UNKNOWN) },
	{ "unknown VID in a known one", .tags = { Q(10), Q(21) }, UNKNOWN_AS(IN_10) },
	{ "inner VID known to the port, not to the VLAN", .tags = { Q(10), Q(10) },
	  UNKNOWN_AS(IN_10) },
	{ "known VID in an unknown one", .tags = { Q(11), Q(20) }, PASS(VLAN_UNKNOWN) },
	{ "tags in the wrong order", .tags = { Q(20), Q(10) }, PASS(VLAN_UNKNOWN) },
	{ "no VLANs at all", WITH(SET(n_vlans, 0)), .tags = { Q(10) }, PASS(VLAN_UNKNOWN) },
	{ "tag at a port without a slot", .in = DEV_STRANGER, .tags = { Q(10) },
	  PASS(UNKNOWN_PORT) },
	{ "VLAN whose slots are those tried first", TAG_10, .at_home = true },
	{ "tag of a frame that is not IPv6", PATCH({ AT_ETHERTYPE, "0800" }), TAG_10,
	  PASS(NOT_IPV6) },

	/* three tags */
	{ "three tags, two of them known", .tags = { Q(10), Q(20), Q(30) }, .as = DEV_IN_10_20,
	  PUNT(VLAN_DEPTH) },
	{ "three tags, the last a priority", .tags = { AD(30), Q(40), Q(0) }, .as = DEV_IN_AD30_40,
	  PUNT(VLAN_DEPTH) },
	{ "three tags, two of them priorities", .tags = { Q(0), Q(0), Q(10) }, PUNT(VLAN_DEPTH) },
	{ "three tags, the third 802.1ad", .tags = { Q(10), Q(20), AD(30) }, .as = DEV_IN_10_20,
	  PUNT(VLAN_DEPTH) },
	{ "three tags, the second unknown", .tags = { Q(10), Q(11), Q(20) }, UNKNOWN_AS(IN_10) },
	{ "three tags, the third no VLAN's", .tags = { Q(10), Q(20), 0x91000001 },
	  .as = DEV_IN_10_20, PASS(NOT_IPV6) },

	/* priorities: VID 0 is no VLAN, and a VID is one whatever its priority */
	{ "VID 0", .tags = { Q(0) } },
	{ "VID 0 of 802.1ad", .tags = { AD(0xa000) } },
	{ "VID 0 twice", .tags = { Q(0), Q(0) } },
	{ "VID 0 before a VID", .tags = { Q(0x6000), Q(10) }, .as = DEV_IN_10 },
	{ "VID 0 behind a VID", .tags = { Q(10), Q(0) }, .as = DEV_IN_10 },
	{ "VID 0 before an unknown VID", .tags = { Q(0), Q(11) }, PASS(VLAN_UNKNOWN) },
	{ "VID 0 at a port that is not served", WITH(FLIP_PORT(IN, INGRESS)), .tags = { Q(0) },
	  PASS(UNKNOWN_PORT) },
	{ "VID 0 at a port of a bridge", WITH(FLIP_PORT(IN, UPPER)), .tags = { Q(0) },
	  PASS(PORT_UPPER) },
	{ "VID 0 with a device", WITH(VID_ZERO), .tags = { Q(0) }, .as = DEV_IN_10 },
	{ "VID 0 with a device that is down", WITH(VID_ZERO, FLIP_PORT(IN_10, UP)),
	  .tags = { Q(0) }, PASS(VLAN_UNKNOWN) },
	{ "VID 0 with a device whose slot was reused", WITH(SET(vlans[0].key.tag.tci, 0)),
	  .tags = { Q(0) }, PASS(VLAN_UNKNOWN) },
	{ "priorities of two VIDs", .tags = { AD(0xf01e), Q(0x3028) }, .as = DEV_IN_AD30_40 },
	{ "priorities on the way in are none on the way out",
	  .routes = { TO(NH_VIA(NEIGH_OUT_AD30_40)) }, .tags = { Q(0xf00a), Q(0xf014) },
	  .as = DEV_IN_10_20, .via = NEIGH_OUT_AD30_40 },

	/* the VLAN device's own state */
	{ "VLAN that is down", WITH(FLIP_PORT(IN_10, UP)), .tags = { Q(10) }, PASS(VLAN_UNKNOWN) },
	{ "VLAN that is down below another", WITH(FLIP_PORT(IN_10, UP)), .tags = { Q(10), Q(20) },
	  PASS(VLAN_UNKNOWN) },
	{ "inner VLAN that is down", WITH(FLIP_PORT(IN_10_20, UP)), .tags = { Q(10), Q(20) },
	  UNKNOWN_AS(IN_10) },
	{ "VLAN of another lower device", WITH(SET(PORT(IN_10).lower, WORLD_IFINDEX(DEV_ALT))),
	  .tags = { Q(10) }, PASS(VLAN_UNKNOWN) },
	{ "VLAN of another tag", WITH(SET(PORT(IN_10).tag.tci, 0x0b00)), .tags = { Q(10) },
	  PASS(VLAN_UNKNOWN) },
	{ "VLAN whose slot is out of range", WITH(SET(vlans[0].slot, SIXLANE_MAX_PORTS)),
	  .tags = { Q(10) }, PASS(VLAN_UNKNOWN) },
	{ "VLAN that is not served", WITH(FLIP_PORT(IN_10, INGRESS)), TAG_10, PASS(UNKNOWN_PORT) },
	{ "VLAN that is served over a port that is not", WITH(FLIP_PORT(IN, INGRESS)), TAG_10 },
	{ "VLAN over a port of a bridge", WITH(FLIP_PORT(IN, UPPER)), TAG_10 },
	{ "VLAN over a port without IPv6", WITH(FLIP_PORT(IN, IPV6), FLIP_PORT(IN, FORWARDING)),
	  TAG_10 },
	{ "VLAN without IPv6", WITH(FLIP_PORT(IN_10, IPV6)), TAG_10, PASS(IPV6_OFF) },
	{ "port whose VLAN is without IPv6", WITH(FLIP_PORT(IN_10, IPV6)) },
	{ "VLAN in a bridge", WITH(FLIP_PORT(IN_10, UPPER)), TAG_10, PASS(PORT_UPPER) },
	{ "VLAN in a bond", WITH(FLIP_PORT(IN_10, SLAVE)), TAG_10, PASS(PORT_UPPER) },
	{ "VLAN over a VLAN in a bridge", WITH(FLIP_PORT(IN_10, UPPER)), TAGS_10_20 },
	{ "pass port, of a VLAN", WITH(FLIP_PORT(IN_10, PASS)), TAG_10, PASS(PORT) },
	{ "table of a VLAN",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(1000, "2001:db8:2::/48", NH_ALT) },
	  WITH(SET(PORT(IN_10).table, 1000)), TAG_10, .via = NEIGH_ALT },

	/* whom it is for */
	{ "VLAN, for its own MAC", TAG_10, .to = DEV_IN_10 },
	{ "VLAN, for the MAC of another VLAN", TAG_10, .to = DEV_IN_AD30, PASS(OTHER_MAC) },
	{ "VLAN in VLAN, for the outer's MAC", TAGS_10_20, .to = DEV_IN_10 },
	{ "VLAN in VLAN, for its own MAC", TAGS_10_20, .to = DEV_IN_10_20 },
	{ "VLAN in VLAN, for another MAC", TAGS_10_20, .to = DEV_OUT, PASS(OTHER_MAC) },
	{ "VLAN, broadcast", PATCH({ AT_DST_MAC, "ffffffffffff" }), TAG_10, PASS(OTHER_MAC) },
	{ "no tag, for a VLAN's MAC", .to = DEV_IN_10, PASS(OTHER_MAC) },
	{ "VID 0, for a VLAN's MAC", .tags = { Q(0) }, .to = DEV_IN_10, PASS(OTHER_MAC) },
};
const size_t rows_vlan_n = sizeof(rows_vlan) / sizeof(rows_vlan[0]);
