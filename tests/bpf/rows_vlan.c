// SPDX-License-Identifier: GPL-2.0-only
/*
 * VLAN tags: which device takes a frame (vlan_do_receive), whom it is for, and all tags that may
 * come in with all that may leave. What every cut does to tagged frames is in sweeps.c.
 */
#include "tests.h"

/* DEV_IN_10 becomes a device of VID 0. */
#define VID_ZERO SET(PORT(IN_10).tag.tci, 0), SET(vlans[0].key.tag.tci, 0)
#define TAGS(...) .tags = { __VA_ARGS__ }
#define UNKNOWN PASS(VLAN_UNKNOWN)
#define UNKNOWN_AS(dev) .as = DEV_##dev, UNKNOWN

#define CANNOT_TRIM .prog = PROG_CANNOT_TRIM, .padding = 6, PASS(TRIM_FAILED)

static const struct row rows_vlan[] = {
	/* whose tag it is */
	{ "802.1ad tag", TAGS(AD(30)), .as = DEV_IN_AD30 },
	{ "VID of another port", .in = DEV_ALT, TAGS(Q(10)), UNKNOWN },
	{ "unknown VID in a known one", TAGS(Q(10), Q(21)), UNKNOWN_AS(IN_10) },
	{ "inner VID known to the port, not to the VLAN", TAGS(Q(10), Q(10)), UNKNOWN_AS(IN_10) },
	{ "known VID in an unknown one", TAGS(Q(11), Q(20)), UNKNOWN },
	{ "tags in the wrong order", TAGS(Q(20), Q(10)), UNKNOWN },
	{ "no VLANs at all", WITH(SET(n_vlans, 0)), TAGS(Q(10)), UNKNOWN },
	{ "tag at a port without a slot", .in = DEV_STRANGER, TAGS(Q(10)), PASS(UNKNOWN_PORT) },
	{ "VLAN whose slots are those tried first", TAG_10, .at_home = true },
	{ "tag before IPv4", PATCH({ AT_ETHERTYPE, "0800" }), TAG_10, PASS(NOT_IPV6) },

	/* three tags */
	{ "three tags, the last a priority", TAGS(AD(30), Q(40), Q(0)), .as = DEV_IN_AD30_40,
	  PUNT(VLAN_DEPTH) },
	{ "three tags, two of them priorities", TAGS(Q(0), Q(0), Q(10)), PUNT(VLAN_DEPTH) },
	{ "three tags, the third 802.1ad", TAGS(Q(10), Q(20), AD(30)), .as = DEV_IN_10_20,
	  PUNT(VLAN_DEPTH) },
	{ "three tags, the second unknown", TAGS(Q(10), Q(11), Q(20)), UNKNOWN_AS(IN_10) },
	{ "three tags, the third no VLAN's", TAGS(Q(10), Q(20), 0x91000001), .as = DEV_IN_10_20,
	  PASS(NOT_IPV6) },

	/* priorities: VID 0 is no VLAN, and a VID is one whatever its priority */
	{ "VID 0 twice", TAGS(Q(0), Q(0)) },
	{ "VID 0 before a VID", TAGS(Q(0x6000), Q(10)), .as = DEV_IN_10 },
	{ "VID 0 behind a VID", TAGS(Q(10), Q(0)), .as = DEV_IN_10 },
	{ "VID 0 before an unknown VID", TAGS(Q(0), Q(11)), UNKNOWN },
	{ "VID 0, port not served", PORT_FLAG(IN, INGRESS), TAGS(Q(0)), PASS(UNKNOWN_PORT) },
	{ "VID 0 at a port of a bridge", PORT_FLAG(IN, UPPER), TAGS(Q(0)), PASS(PORT_UPPER) },
	{ "VID 0 with a device", WITH(VID_ZERO), TAGS(Q(0)), .as = DEV_IN_10 },
	{ "VID 0, device is down", WITH(VID_ZERO, FLIP_PORT(IN_10, UP)), TAGS(Q(0)), UNKNOWN },
	{ "VID 0 with a device whose slot was reused", WITH(SET(vlans[0].key.tag.tci, 0)),
	  TAGS(Q(0)), UNKNOWN },
	{ "priorities of two VIDs", TAGS(AD(0xf01e), Q(0x3028)), .as = DEV_IN_AD30_40 },

	/* the VLAN device's own state */
	{ "VLAN that is down", PORT_FLAG(IN_10, UP), TAGS(Q(10)), UNKNOWN },
	{ "VLAN that is down below another", PORT_FLAG(IN_10, UP), TAGS(Q(10), Q(20)), UNKNOWN },
	{ "inner VLAN, down", PORT_FLAG(IN_10_20, UP), TAGS(Q(10), Q(20)), UNKNOWN_AS(IN_10) },
	{ "VLAN of another lower device", WITH(SET(PORT(IN_10).lower, WORLD_IFINDEX(DEV_ALT))),
	  TAGS(Q(10)), UNKNOWN },
	{ "VLAN of another tag", WITH(SET(PORT(IN_10).tag.tci, 0x0b00)), TAGS(Q(10)), UNKNOWN },
	{ "VLAN whose slot is out of range", WITH(SET(vlans[0].slot, SIXLANE_MAX_PORTS)),
	  TAGS(Q(10)), UNKNOWN },
	{ "VLAN that is not served", PORT_FLAG(IN_10, INGRESS), TAG_10, PASS(UNKNOWN_PORT) },
	{ "VLAN that is served over a port that is not", PORT_FLAG(IN, INGRESS), TAG_10 },
	{ "VLAN over a port of a bridge", PORT_FLAG(IN, UPPER), TAG_10 },
	{ "VLAN, port without IPv6", WITH(FLIP_PORT(IN, IPV6), FLIP_PORT(IN, FORWARDING)), TAG_10 },
	{ "VLAN without IPv6", PORT_FLAG(IN_10, IPV6), TAG_10, PASS(IPV6_OFF) },
	{ "port whose VLAN is without IPv6", PORT_FLAG(IN_10, IPV6) },
	{ "VLAN in a bridge", PORT_FLAG(IN_10, UPPER), TAG_10, PASS(PORT_UPPER) },
	{ "VLAN in a bond", PORT_FLAG(IN_10, SLAVE), TAG_10, PASS(PORT_UPPER) },
	{ "VLAN over a VLAN in a bridge", PORT_FLAG(IN_10, UPPER), TAGS_10_20 },
	{ "pass port, of a VLAN", PORT_FLAG(IN_10, PASS), TAG_10, PASS(PORT) },
	{ "table of a VLAN", TABLE_1000, WITH(SET(PORT(IN_10).table, 1000)), TAG_10, VIA_ALT },

	/* whom it is for */
	{ "VLAN, for its own MAC", TAG_10, .to = DEV_IN_10 },
	{ "VLAN, for the MAC of another VLAN", TAG_10, .to = DEV_IN_AD30, PASS(OTHER_MAC) },
	{ "VLAN in VLAN, for the outer's MAC", TAGS_10_20, .to = DEV_IN_10 },
	{ "VLAN in VLAN, for its own MAC", TAGS_10_20, .to = DEV_IN_10_20 },
	{ "VLAN in VLAN, for another MAC", TAGS_10_20, .to = DEV_OUT, PASS(OTHER_MAC) },
	{ "VLAN, broadcast", PATCH({ AT_DST_MAC, "ffffffffffff" }), TAG_10, PASS(OTHER_MAC) },
	{ "no tag, for a VLAN's MAC", .to = DEV_IN_10, PASS(OTHER_MAC) },
	{ "VID 0, for a VLAN's MAC", TAGS(Q(0)), .to = DEV_IN_10, PASS(OTHER_MAC) },

	/* the way out */
	{ "802.1ad in, 802.1Q out", LEAVES_BY(OUT_10), TAGS(AD(30)), .as = DEV_IN_AD30 },
	{ "two tags in, one out", LEAVES_BY(OUT_10), TAGS_10_20 },
	{ "VID 0 twice in, tag out", LEAVES_BY(OUT_10), TAGS(Q(0), Q(0)) },
	{ "VLAN to another VLAN of the same port", LEAVES_BY(IN_AD30), TAG_10 },
	{ "VLAN to a VLAN inside it", LEAVES_BY(IN_10_20), TAG_10 },
	{ "port to its own VLAN", LEAVES_BY(IN_10) },
	{ "VLAN to itself", ROUTED_BY(IN_10), TAG_10, PASS(SAME_PORT) },
	{ "VLAN to the port below it", LEAVES_BY(IN), TAG_10 },
	{ "on-link behind a tag", ROUTED(NH_ON_LINK_10), .via = NEIGH_TAGGED_HOST },
	{ "on-link, another tag", ROUTED(NH_ON_LINK_10), .dst = "2001:db8:2::2", PASS(UNRESOLVED) },
	{ "egress VLAN that carries no tag", LEAVES_BY(OUT_10), PORT_FLAG(OUT_10, TAGGED),
	  .out_hex = "a2497d9da9c9 321d3d5d7d9d 86dd 6b8fedcb 001a 11 3f" ADDRS
		     "4142434445464748494a4b4c4d4e4f505152535455565758595a" },
	{ "egress VLAN that is down", ROUTED_BY(OUT_10), PORT_FLAG(OUT_10, UP), PASS(EGRESS_DOWN) },
	{ "egress VLAN over a port that takes no redirected frames", ROUTED_BY(OUT_10),
	  PORT_FLAG(OUT_10, XMIT), PASS(EGRESS_DEVICE) },
	{ "a program on the VLAN device is not the one that runs",
	  WITH(FLIP_PORT(IN_10, GENERIC), FLIP_PORT(OUT, XMIT)), TAG_10, PASS(EGRESS_DEVICE) },
	{ "the program below the VLAN device is the one that runs",
	  WITH(FLIP_PORT(IN, GENERIC), FLIP_PORT(OUT, XMIT)), TAG_10 },

	/* every byte */
	{ "every byte, tag popped",
	  .in_hex = "021121314151 02000000ee01 8100b00a 86dd 6b8fedcb 0008 11 40" ADDRS
		    "0035d43100081234",
	  .as = DEV_IN_10,
	  .out_hex =
		  "2261718191a1 061222324252 86dd 6b8fedcb 0008 11 3f" ADDRS "0035d43100081234" },
	{ "every byte, two tags popped, padding cut",
	  .in_hex = "021121314151 02000000ee01 88a8001e 81000028 86dd 6b8fedcb 0004 3b 02" ADDRS
		    "deadbeef ffffff",
	  .as = DEV_IN_AD30_40,
	  .out_hex = "2261718191a1 061222324252 86dd 6b8fedcb 0004 3b 01" ADDRS "deadbeef" },
	{ "every byte, two tags pushed", LEAVES_BY(OUT_AD30_40),
	  .in_hex = "021121314151 02000000ee01 86dd 6b8fedcb 0004 3b 02" ADDRS "deadbeef ff",
	  .out_hex = "a64a7e9eaaca 3a1f3f5f7f9f 88a8001e 81000028 86dd 6b8fedcb 0004 3b 01" ADDRS
		     "deadbeef" },
	{ "every byte, tag exchanged", LEAVES_BY(OUT_10),
	  .in_hex = "021121314151 02000000ee01 88a8e01e 86dd 60000000 0000 3b ff" ADDRS,
	  .as = DEV_IN_AD30,
	  .out_hex = "a2497d9da9c9 321d3d5d7d9d 8100000a 86dd 60000000 0000 3b fe" ADDRS },

	/* length: padding counts from the tags on, the MTU does not know them */
	{ "tag in, payload length one over the frame", PATCH({ AT_PAYLOAD_LEN, "001b" }), TAG_10,
	  PASS(TRUNCATED) },
	{ "tag in, payload length as if there were none", PATCH({ AT_PAYLOAD_LEN, "001e" }), TAG_10,
	  PASS(TRUNCATED) },
	{ "tags in and out, MTU", LEAVES_BY(OUT_AD30_40), SIZE(1500), TAGS_10_20 },
	{ "tags in and out, MTU + 1", ROUTED_BY(OUT_AD30_40), SIZE(1501), TAGS_10_20,
	  PASS(TOO_BIG) },
	{ "MTU of the egress VLAN", ROUTED_BY(OUT_10), WITH(SET(PORT(OUT_10).mtu, 1400)),
	  SIZE(1401), PASS(TOO_BIG) },
	{ "MTU below the egress VLAN", LEAVES_BY(OUT_10), WITH(SET(PORT(OUT).mtu, 1280)),
	  SIZE(1500) },

	/* what fails leaves the frame as it came */
	{ "no room for a tag", ROUTED_BY(OUT_10), .padding = 3, .meta = ROW_META_MAX,
	  PASS(NO_HEADROOM) },
	{ "no room for two tags in the place of one", ROUTED_BY(OUT_AD30_40), TAGS(Q(0)),
	  .meta = ROW_META_MAX, PASS(NO_HEADROOM) },
	{ "no room, tag exchanged", LEAVES_BY(OUT_10), TAGS(Q(0)), .meta = ROW_META_MAX },
	{ "no room for a tag that is popped", TAG_10, .meta = ROW_META_MAX },
	{ "metadata stays with a frame that is given a tag", LEAVES_BY(OUT_10), .meta = 32 },
	{ "a driver that cannot trim, tag out", CANNOT_TRIM, ROUTED_BY(OUT_10) },
	{ "a driver that cannot trim, tags out, metadata", CANNOT_TRIM, ROUTED_BY(OUT_AD30_40),
	  .meta = 32 },
	{ "a driver that cannot trim, tag in", CANNOT_TRIM, TAG_10 },
	{ "a driver that cannot trim, tags in, metadata", CANNOT_TRIM, TAGS_10_20, .meta = 32 },
	{ "a driver that cannot trim, tag exchanged", CANNOT_TRIM, ROUTED_BY(OUT_10), TAG_10 },
};
ROWS(rows_vlan)
