// SPDX-License-Identifier: GPL-2.0-only
/* VLAN tags on the way out: all that may come in with all that may leave, byte for byte. */
#include "rows_vlan.h"

static void mtu_of_the_vlan(struct world *w)
{
	world_port(w, DEV_OUT_10)->mtu = 1400;
}

static void mtu_below_the_vlan(struct world *w)
{
	world_port(w, DEV_OUT)->mtu = 1280;
}

/* The VLAN device has a generic program of its own, the port has a native one. */
static void program_on_the_vlan(struct world *w)
{
	world_port(w, DEV_IN_10)->flags |= SIXLANE_PORT_GENERIC;
	world_port(w, DEV_OUT)->flags &= ~SIXLANE_PORT_XMIT;
}

static void program_below_the_vlan(struct world *w)
{
	world_port(w, DEV_IN)->flags |= SIXLANE_PORT_GENERIC;
	world_port(w, DEV_OUT)->flags &= ~SIXLANE_PORT_XMIT;
}

static void egress_not_tagged(struct world *w)
{
	world_port(w, DEV_OUT_10)->flags &= ~SIXLANE_PORT_TAGGED;
}

static void egress_vlan_down(struct world *w)
{
	world_port(w, DEV_OUT_10)->flags &= ~SIXLANE_PORT_UP;
}

static void egress_vlan_no_xmit(struct world *w)
{
	world_port(w, DEV_OUT_10)->flags &= ~SIXLANE_PORT_XMIT;
}

const struct row rows_vlan_out[] = {
	/* the way out */
	{ .name = "untagged in, tag out", .routes = { OUT_OF(OUT_10) }, .via = NEIGH_OUT_10 },
	{ .name = "untagged in, two tags out",
	  .routes = { OUT_OF(OUT_AD30_40) },
	  .via = NEIGH_OUT_AD30_40 },
	{ .name = "tag in, the same tag out",
	  .routes = { OUT_OF(OUT_10) },
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .via = NEIGH_OUT_10 },
	{ .name = "802.1ad in, 802.1Q out",
	  .routes = { OUT_OF(OUT_10) },
	  .tags = { AD(30) },
	  .as = DEV_IN_AD30,
	  .via = NEIGH_OUT_10 },
	{ .name = "tag in, two tags out",
	  .routes = { OUT_OF(OUT_AD30_40) },
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .via = NEIGH_OUT_AD30_40 },
	{ .name = "two tags in, one out",
	  .routes = { OUT_OF(OUT_10) },
	  .tags = { Q(10), Q(20) },
	  .as = DEV_IN_10_20,
	  .via = NEIGH_OUT_10 },
	{ .name = "two tags in, two others out",
	  .routes = { OUT_OF(OUT_AD30_40) },
	  .tags = { Q(10), Q(20) },
	  .as = DEV_IN_10_20,
	  .via = NEIGH_OUT_AD30_40 },
	{ .name = "VID 0 in, tag out",
	  .routes = { OUT_OF(OUT_10) },
	  .tags = { Q(0xe000) },
	  .via = NEIGH_OUT_10 },
	{ .name = "VID 0 twice in, tag out",
	  .routes = { OUT_OF(OUT_10) },
	  .tags = { Q(0), Q(0) },
	  .via = NEIGH_OUT_10 },
	{ .name = "VLAN to another VLAN of the same port",
	  .routes = { OUT_OF(IN_AD30) },
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .via = NEIGH_IN_AD30 },
	{ .name = "VLAN to a VLAN inside it",
	  .routes = { OUT_OF(IN_10_20) },
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .via = NEIGH_IN_10_20 },
	{ .name = "port to its own VLAN", .routes = { OUT_OF(IN_10) }, .via = NEIGH_IN_10 },
	{ .name = "VLAN to itself",
	  .routes = { OUT_OF(IN_10) },
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .verdict = SIXLANE_PASS_SAME_PORT },
	{ .name = "VLAN to the port below it",
	  .routes = { OUT_OF(IN) },
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .via = NEIGH_IN },
	{ .name = "on-link behind a tag",
	  .routes = { TO(NH_ON_LINK_10) },
	  .via = NEIGH_TAGGED_HOST },
	{ .name = "on-link behind another tag",
	  .routes = { TO(NH_ON_LINK_10) },
	  .dst = "2001:db8:2::2",
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "egress VLAN that carries no tag",
	  .routes = { OUT_OF(OUT_10) },
	  .arrange = egress_not_tagged,
	  .via = NEIGH_OUT_10,
	  .out_hex = "a2497d9da9c9 321d3d5d7d9d 86dd 6b8fedcb 001a 11 3f"
		     "20010db8000100000000000000000001 20010db8000200000000000000000001"
		     "4142434445464748494a4b4c4d4e4f505152535455565758595a" },
	{ .name = "egress VLAN that is down",
	  .routes = { OUT_OF(OUT_10) },
	  .arrange = egress_vlan_down,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "egress VLAN over a port that takes no redirected frames",
	  .routes = { OUT_OF(OUT_10) },
	  .arrange = egress_vlan_no_xmit,
	  .verdict = SIXLANE_PASS_EGRESS_DEVICE },
	{ .name = "a program on the VLAN device is not the one that runs",
	  .arrange = program_on_the_vlan,
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .verdict = SIXLANE_PASS_EGRESS_DEVICE },
	{ .name = "the program below the VLAN device is the one that runs",
	  .arrange = program_below_the_vlan,
	  .tags = { Q(10) },
	  .as = DEV_IN_10 },

	/* every byte */
	{
		.name = "every byte, tag popped",
		.in_hex = "021121314151 02000000ee01 8100b00a 86dd"
			  "6b8fedcb 0008 11 40"
			  "20010db8000100000000000000000001 20010db8000200000000000000000001"
			  "0035d43100081234",
		.as = DEV_IN_10,
		.out_hex = "2261718191a1 061222324252 86dd"
			   "6b8fedcb 0008 11 3f"
			   "20010db8000100000000000000000001 20010db8000200000000000000000001"
			   "0035d43100081234",
	},
	{
		.name = "every byte, two tags popped, padding cut",
		.in_hex = "021121314151 02000000ee01 88a8001e 81000028 86dd"
			  "6b8fedcb 0004 3b 02"
			  "20010db8000100000000000000000001 20010db8000200000000000000000001"
			  "deadbeef ffffff",
		.as = DEV_IN_AD30_40,
		.out_hex = "2261718191a1 061222324252 86dd"
			   "6b8fedcb 0004 3b 01"
			   "20010db8000100000000000000000001 20010db8000200000000000000000001"
			   "deadbeef",
	},
	{
		.name = "every byte, two tags pushed",
		.routes = { OUT_OF(OUT_AD30_40) },
		.in_hex = "021121314151 02000000ee01 86dd"
			  "6b8fedcb 0004 3b 02"
			  "20010db8000100000000000000000001 20010db8000200000000000000000001"
			  "deadbeef ff",
		.via = NEIGH_OUT_AD30_40,
		.out_hex = "a64a7e9eaaca 3a1f3f5f7f9f 88a8001e 81000028 86dd"
			   "6b8fedcb 0004 3b 01"
			   "20010db8000100000000000000000001 20010db8000200000000000000000001"
			   "deadbeef",
	},
	{
		.name = "every byte, tag exchanged",
		.routes = { OUT_OF(OUT_10) },
		.in_hex = "021121314151 02000000ee01 88a8e01e 86dd"
			  "60000000 0000 3b ff"
			  "20010db8000100000000000000000001 20010db8000200000000000000000001",
		.as = DEV_IN_AD30,
		.via = NEIGH_OUT_10,
		.out_hex = "a2497d9da9c9 321d3d5d7d9d 8100000a 86dd"
			   "60000000 0000 3b fe"
			   "20010db8000100000000000000000001 20010db8000200000000000000000001",
	},

	/* length: padding counts from the tags on, the MTU does not know them */
	{ .name = "tag in, padding", .padding = 17, .tags = { Q(10) }, .as = DEV_IN_10 },
	{ .name = "tag in, payload length one over the frame",
	  .patches = { { AT_PAYLOAD_LEN, "001b" } },
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .verdict = SIXLANE_PASS_TRUNCATED },
	{ .name = "tag in, payload length as if there were none",
	  .patches = { { AT_PAYLOAD_LEN, "001e" } },
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .verdict = SIXLANE_PASS_TRUNCATED },
	{ .name = "tag out, padding",
	  .routes = { OUT_OF(OUT_10) },
	  .padding = 17,
	  .via = NEIGH_OUT_10 },
	{ .name = "tags in and out, padding",
	  .routes = { OUT_OF(OUT_AD30_40) },
	  .padding = 2,
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .via = NEIGH_OUT_AD30_40 },
	{ .name = "tags in and out, MTU",
	  .routes = { OUT_OF(OUT_AD30_40) },
	  .payload = 1500 - 40,
	  .tags = { Q(10), Q(20) },
	  .as = DEV_IN_10_20,
	  .via = NEIGH_OUT_AD30_40 },
	{ .name = "tags in and out, MTU + 1",
	  .routes = { OUT_OF(OUT_AD30_40) },
	  .payload = 1500 - 40 + 1,
	  .tags = { Q(10), Q(20) },
	  .as = DEV_IN_10_20,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "MTU of the egress VLAN",
	  .routes = { OUT_OF(OUT_10) },
	  .arrange = mtu_of_the_vlan,
	  .payload = 1400 - 40 + 1,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "MTU below the egress VLAN does not matter",
	  .routes = { OUT_OF(OUT_10) },
	  .arrange = mtu_below_the_vlan,
	  .payload = 1500 - 40,
	  .via = NEIGH_OUT_10 },

	/* what fails leaves the frame as it came */
	{ .name = "no room for a tag",
	  .routes = { OUT_OF(OUT_10) },
	  .padding = 3,
	  .meta = ROW_META_MAX,
	  .verdict = SIXLANE_PASS_NO_HEADROOM },
	{ .name = "no room for two tags in the place of one",
	  .routes = { OUT_OF(OUT_AD30_40) },
	  .tags = { Q(0) },
	  .meta = ROW_META_MAX,
	  .verdict = SIXLANE_PASS_NO_HEADROOM },
	{ .name = "no room for a tag that is exchanged",
	  .routes = { OUT_OF(OUT_10) },
	  .tags = { Q(0) },
	  .meta = ROW_META_MAX,
	  .via = NEIGH_OUT_10 },
	{ .name = "no room for a tag that is popped",
	  .tags = { Q(10) },
	  .meta = ROW_META_MAX,
	  .as = DEV_IN_10 },
	{ .name = "metadata stays with a frame that is given a tag",
	  .routes = { OUT_OF(OUT_10) },
	  .meta = 32,
	  .via = NEIGH_OUT_10 },
	{ .name = "a driver that cannot trim what is given a tag",
	  .prog = PROG_CANNOT_TRIM,
	  .routes = { OUT_OF(OUT_10) },
	  .padding = 6,
	  .verdict = SIXLANE_PASS_TRIM_FAILED },
	{ .name = "a driver that cannot trim what is given a tag, with metadata",
	  .prog = PROG_CANNOT_TRIM,
	  .routes = { OUT_OF(OUT_AD30_40) },
	  .padding = 6,
	  .meta = 32,
	  .verdict = SIXLANE_PASS_TRIM_FAILED },
	{ .name = "a driver that cannot trim what loses a tag",
	  .prog = PROG_CANNOT_TRIM,
	  .padding = 6,
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .verdict = SIXLANE_PASS_TRIM_FAILED },
	{ .name = "a driver that cannot trim what loses tags, with metadata",
	  .prog = PROG_CANNOT_TRIM,
	  .padding = 6,
	  .tags = { Q(10), Q(20) },
	  .meta = 32,
	  .as = DEV_IN_10_20,
	  .verdict = SIXLANE_PASS_TRIM_FAILED },
	{ .name = "a driver that cannot trim a tag that is exchanged",
	  .prog = PROG_CANNOT_TRIM,
	  .routes = { OUT_OF(OUT_10) },
	  .padding = 6,
	  .tags = { Q(10) },
	  .as = DEV_IN_10,
	  .verdict = SIXLANE_PASS_TRIM_FAILED },
};
const size_t rows_vlan_out_n = sizeof(rows_vlan_out) / sizeof(rows_vlan_out[0]);
