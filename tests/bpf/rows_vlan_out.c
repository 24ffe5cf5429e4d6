// SPDX-License-Identifier: GPL-2.0-only
/* VLAN tags on the way out: all that may come in with all that may leave, byte for byte. */
#include "rows.h"

#define OUT_BY(neigh) .routes = { TO(NH_VIA(NEIGH_##neigh)) }
#define LEAVES_BY(neigh) OUT_BY(neigh), .via = NEIGH_##neigh
#define CANNOT_TRIM .prog = PROG_CANNOT_TRIM, .padding = 6, PASS(TRIM_FAILED)

const struct row rows_vlan_out[] = {
	/* the way out */
	{ "untagged in, tag out", LEAVES_BY(OUT_10) },
	{ "untagged in, two tags out", LEAVES_BY(OUT_AD30_40) },
	{ "tag in, the same tag out", LEAVES_BY(OUT_10), TAG_10 },
	{ "802.1ad in, 802.1Q out", LEAVES_BY(OUT_10), .tags = { AD(30) }, .as = DEV_IN_AD30 },
	{ "tag in, two tags out", LEAVES_BY(OUT_AD30_40), TAG_10 },
	{ "two tags in, one out", LEAVES_BY(OUT_10), TAGS_10_20 },
	{ "two tags in, two others out", LEAVES_BY(OUT_AD30_40), TAGS_10_20 },
	{ "VID 0 in, tag out", LEAVES_BY(OUT_10), .tags = { Q(0xe000) } },
	{ "VID 0 twice in, tag out", LEAVES_BY(OUT_10), .tags = { Q(0), Q(0) } },
	{ "VLAN to another VLAN of the same port", LEAVES_BY(IN_AD30), TAG_10 },
	{ "VLAN to a VLAN inside it", LEAVES_BY(IN_10_20), TAG_10 },
	{ "port to its own VLAN", LEAVES_BY(IN_10) },
	{ "VLAN to itself", OUT_BY(IN_10), TAG_10, PASS(SAME_PORT) },
	{ "VLAN to the port below it", LEAVES_BY(IN), TAG_10 },
	{ "on-link behind a tag", .routes = { TO(NH_ON_LINK_10) }, .via = NEIGH_TAGGED_HOST },
	{ "on-link behind another tag", .routes = { TO(NH_ON_LINK_10) }, .dst = "2001:db8:2::2",
	  PASS(UNRESOLVED) },
	{ "egress VLAN that carries no tag", LEAVES_BY(OUT_10), WITH(FLIP_PORT(OUT_10, TAGGED)),
	  .out_hex = "a2497d9da9c9 321d3d5d7d9d 86dd 6b8fedcb 001a 11 3f" ADDRS
		     "4142434445464748494a4b4c4d4e4f505152535455565758595a" },
	{ "egress VLAN that is down", OUT_BY(OUT_10), WITH(FLIP_PORT(OUT_10, UP)),
	  PASS(EGRESS_DOWN) },
	{ "egress VLAN over a port that takes no redirected frames", OUT_BY(OUT_10),
	  WITH(FLIP_PORT(OUT_10, XMIT)), PASS(EGRESS_DEVICE) },
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
	{ "tags in and out, padding", LEAVES_BY(OUT_AD30_40), .padding = 2, TAG_10 },
	{ "tags in and out, MTU", LEAVES_BY(OUT_AD30_40), .payload = 1500 - 40, TAGS_10_20 },
	{ "tags in and out, MTU + 1", OUT_BY(OUT_AD30_40), .payload = 1500 - 40 + 1, TAGS_10_20,
	  PASS(TOO_BIG) },
	{ "MTU of the egress VLAN", OUT_BY(OUT_10), WITH(SET(PORT(OUT_10).mtu, 1400)),
	  .payload = 1400 - 40 + 1, PASS(TOO_BIG) },
	{ "MTU below the egress VLAN does not matter", LEAVES_BY(OUT_10),
	  WITH(SET(PORT(OUT).mtu, 1280)), .payload = 1500 - 40 },

	/* what fails leaves the frame as it came */
	{ "no room for a tag", OUT_BY(OUT_10), .padding = 3, .meta = ROW_META_MAX,
	  PASS(NO_HEADROOM) },
	{ "no room for two tags in the place of one", OUT_BY(OUT_AD30_40), .tags = { Q(0) },
	  .meta = ROW_META_MAX, PASS(NO_HEADROOM) },
	{ "no room for a tag that is exchanged", LEAVES_BY(OUT_10), .tags = { Q(0) },
	  .meta = ROW_META_MAX },
	{ "no room for a tag that is popped", TAG_10, .meta = ROW_META_MAX },
	{ "metadata stays with a frame that is given a tag", LEAVES_BY(OUT_10), .meta = 32 },
	{ "a driver that cannot trim what is given a tag", CANNOT_TRIM, OUT_BY(OUT_10) },
	{ "a driver that cannot trim what is given a tag, with metadata", CANNOT_TRIM,
	  OUT_BY(OUT_AD30_40), .meta = 32 },
	{ "a driver that cannot trim what loses a tag", CANNOT_TRIM, TAG_10 },
	{ "a driver that cannot trim what loses tags, with metadata", CANNOT_TRIM, TAGS_10_20,
	  .meta = 32 },
	{ "a driver that cannot trim a tag that is exchanged", CANNOT_TRIM, OUT_BY(OUT_10),
	  TAG_10 },
};
const size_t rows_vlan_out_n = sizeof(rows_vlan_out) / sizeof(rows_vlan_out[0]);
