// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the frame itself decides, before any route: Ethernet header, lengths, addresses, next
 * header. Everything here would be forwarded but for the one thing the row names.
 */
#include "rows.h"

static void everything_to_gateway(struct world *w)
{
	world_add_route(w, "::/0", 0, NH_GATEWAY);
}

const struct row rows_packet[] = {
	{ .name = "plain packet" },
	{
		.name = "every byte of a forwarded frame",
		.in_hex = "021121314151 02000000ee01 86dd"
			  "6b8fedcb 0008 11 40"
			  "20010db8000100000000000000000001 20010db8000200000000000000000001"
			  "0035d43100081234",
		.out_hex = "2261718191a1 061222324252 86dd"
			   "6b8fedcb 0008 11 3f"
			   "20010db8000100000000000000000001 20010db8000200000000000000000001"
			   "0035d43100081234",
	},
	{
		.name = "every byte of a frame that is padded to 60",
		.in_hex = "021121314151 02000000ee01 86dd"
			  "6b8fedcb 0004 3b 02"
			  "20010db8000100000000000000000001 20010db8000200000000000000000001"
			  "deadbeef ffff",
		.out_hex = "2261718191a1 061222324252 86dd"
			   "6b8fedcb 0004 3b 01"
			   "20010db8000100000000000000000001 20010db8000200000000000000000001"
			   "deadbeef",
	},

	/* Ethernet */
	{ .name = "IPv4",
	  .patches = { { AT_ETHERTYPE, "0800" } },
	  .verdict = SIXLANE_PASS_NOT_IPV6 },
	{ .name = "ARP",
	  .patches = { { AT_ETHERTYPE, "0806" } },
	  .verdict = SIXLANE_PASS_NOT_IPV6 },
	{ .name = "ethertype with swapped bytes",
	  .patches = { { AT_ETHERTYPE, "dd86" } },
	  .verdict = SIXLANE_PASS_NOT_IPV6 },
	{ .name = "802.3 length in place of the ethertype",
	  .patches = { { AT_ETHERTYPE, "0042" } },
	  .verdict = SIXLANE_PASS_NOT_IPV6 },
	{ .name = "802.1ad tag before the standard",
	  .tags = { 0x91000064 },
	  .verdict = SIXLANE_PASS_NOT_IPV6 },
	{ .name = "first byte of the MAC differs",
	  .patches = { { AT_DST_MAC, "00" } },
	  .verdict = SIXLANE_PASS_OTHER_MAC },
	{ .name = "third byte of the MAC differs",
	  .patches = { { AT_DST_MAC + 2, "20" } },
	  .verdict = SIXLANE_PASS_OTHER_MAC },
	{ .name = "last byte of the MAC differs",
	  .patches = { { AT_DST_MAC + 5, "50" } },
	  .verdict = SIXLANE_PASS_OTHER_MAC },
	{ .name = "broadcast MAC",
	  .patches = { { AT_DST_MAC, "ffffffffffff" } },
	  .verdict = SIXLANE_PASS_OTHER_MAC },
	{ .name = "multicast MAC",
	  .patches = { { AT_DST_MAC, "333300000001" } },
	  .verdict = SIXLANE_PASS_OTHER_MAC },
	{ .name = "another port's MAC",
	  .patches = { { AT_DST_MAC, "061222324252" } },
	  .verdict = SIXLANE_PASS_OTHER_MAC },
	{ .name = "disable_ipv6 on the port",
	  .in_turned = SIXLANE_PORT_IPV6,
	  .verdict = SIXLANE_PASS_IPV6_OFF },

	/* IPv6 header: version, class, flow label, lengths */
	{ .name = "version 4",
	  .patches = { { AT_VERSION, "4b" } },
	  .verdict = SIXLANE_PASS_NOT_IPV6 },
	{ .name = "version 7",
	  .patches = { { AT_VERSION, "7b" } },
	  .verdict = SIXLANE_PASS_NOT_IPV6 },
	{ .name = "version 14",
	  .patches = { { AT_VERSION, "eb" } },
	  .verdict = SIXLANE_PASS_NOT_IPV6 },
	{ .name = "traffic class and flow label of all ones",
	  .patches = { { AT_VERSION, "6fffffff" } } },
	{ .name = "traffic class and flow label of zeros",
	  .patches = { { AT_VERSION, "60000000" } } },
	{ .name = "payload length one over the frame",
	  .patches = { { AT_PAYLOAD_LEN, "001b" } },
	  .verdict = SIXLANE_PASS_TRUNCATED },
	{ .name = "payload length 65535",
	  .patches = { { AT_PAYLOAD_LEN, "ffff" } },
	  .verdict = SIXLANE_PASS_TRUNCATED },
	{ .name = "payload length of zero",
	  .patches = { { AT_PAYLOAD_LEN, "0000" }, { AT_NEXT_HEADER, "3b" } } },
	{ .name = "payload length with a high byte", .payload = 0x0123 },

	/* next headers: only hop-by-hop is looked at */
	{ .name = "hop-by-hop options",
	  .patches = { { AT_NEXT_HEADER, "00" } },
	  .verdict = SIXLANE_PASS_HOP_BY_HOP },
	{ .name = "hop-by-hop options of a jumbogram",
	  .patches = { { AT_NEXT_HEADER, "00" }, { AT_PAYLOAD_LEN, "0000" } },
	  .verdict = SIXLANE_PASS_HOP_BY_HOP },
	{ .name = "routing header", .patches = { { AT_NEXT_HEADER, "2b" } } },
	{ .name = "fragment header", .patches = { { AT_NEXT_HEADER, "2c" } } },
	{ .name = "ICMPv6", .patches = { { AT_NEXT_HEADER, "3a" } } },
	{ .name = "next header 255", .patches = { { AT_NEXT_HEADER, "ff" } } },

	/* the NDP proxy */
	{ .name = "NDP proxy: ICMPv6",
	  .in_turned = SIXLANE_PORT_PROXY_NDP,
	  .patches = { { AT_NEXT_HEADER, "3a" } },
	  .verdict = SIXLANE_PASS_PROXY_NDP },
	{ .name = "NDP proxy: routing header",
	  .in_turned = SIXLANE_PORT_PROXY_NDP,
	  .patches = { { AT_NEXT_HEADER, "2b" } },
	  .verdict = SIXLANE_PASS_PROXY_NDP },
	{ .name = "NDP proxy: fragment header",
	  .in_turned = SIXLANE_PORT_PROXY_NDP,
	  .patches = { { AT_NEXT_HEADER, "2c" } },
	  .verdict = SIXLANE_PASS_PROXY_NDP },
	{ .name = "NDP proxy: authentication header",
	  .in_turned = SIXLANE_PORT_PROXY_NDP,
	  .patches = { { AT_NEXT_HEADER, "33" } },
	  .verdict = SIXLANE_PASS_PROXY_NDP },
	{ .name = "NDP proxy: no next header",
	  .in_turned = SIXLANE_PORT_PROXY_NDP,
	  .patches = { { AT_NEXT_HEADER, "3b" } },
	  .verdict = SIXLANE_PASS_PROXY_NDP },
	{ .name = "NDP proxy: destination options",
	  .in_turned = SIXLANE_PORT_PROXY_NDP,
	  .patches = { { AT_NEXT_HEADER, "3c" } },
	  .verdict = SIXLANE_PASS_PROXY_NDP },
	{ .name = "NDP proxy: UDP is not its business", .in_turned = SIXLANE_PORT_PROXY_NDP },
	{ .name = "NDP proxy: 64 over ICMPv6",
	  .in_turned = SIXLANE_PORT_PROXY_NDP,
	  .patches = { { AT_NEXT_HEADER, "7a" } } },

	/* sources */
	{ .name = "source ::", .src = "::", .verdict = SIXLANE_PASS_SOURCE },
	{ .name = "source ::1", .src = "::1", .verdict = SIXLANE_PASS_SOURCE },
	{ .name = "source ::2", .src = "::2" },
	{ .name = "source 0:0:0:1::", .src = "0:0:0:1::" },
	{ .name = "source ::1:0:0:0", .src = "::1:0:0:0" },
	{ .name = "source ff00::", .src = "ff00::", .verdict = SIXLANE_PASS_SOURCE },
	{ .name = "source ff0e::1", .src = "ff0e::1", .verdict = SIXLANE_PASS_SOURCE },
	{ .name = "source feff::1", .src = "feff::1" },
	{ .name = "source fe80::1", .src = "fe80::1", .verdict = SIXLANE_PASS_SOURCE },
	{ .name = "source febf:ffff::", .src = "febf:ffff::", .verdict = SIXLANE_PASS_SOURCE },
	{ .name = "source fe7f:ffff::1", .src = "fe7f:ffff::1" },
	{ .name = "source fec0::1", .src = "fec0::1" },
	{ .name = "source ::ffff:192.0.2.1", .src = "::ffff:192.0.2.1" },

	/* destinations, with a default route that would take them */
	{ .name = "destination ::",
	  .arrange = everything_to_gateway,
	  .dst = "::",
	  .verdict = SIXLANE_PASS_DESTINATION },
	{ .name = "destination ::1",
	  .arrange = everything_to_gateway,
	  .dst = "::1",
	  .verdict = SIXLANE_PASS_DESTINATION },
	{ .name = "destination ::2", .arrange = everything_to_gateway, .dst = "::2" },
	{ .name = "destination 0:0:0:1::", .arrange = everything_to_gateway, .dst = "0:0:0:1::" },
	{ .name = "destination ff02::1",
	  .arrange = everything_to_gateway,
	  .dst = "ff02::1",
	  .verdict = SIXLANE_PASS_DESTINATION },
	{ .name = "destination ffff:ffff::",
	  .arrange = everything_to_gateway,
	  .dst = "ffff:ffff::",
	  .verdict = SIXLANE_PASS_DESTINATION },
	{ .name = "destination fe80::1",
	  .arrange = everything_to_gateway,
	  .dst = "fe80::1",
	  .verdict = SIXLANE_PASS_DESTINATION },
	{ .name = "destination febf::1",
	  .arrange = everything_to_gateway,
	  .dst = "febf::1",
	  .verdict = SIXLANE_PASS_DESTINATION },
	{ .name = "destination fe7f::1", .arrange = everything_to_gateway, .dst = "fe7f::1" },
	{ .name = "destination fec0::1", .arrange = everything_to_gateway, .dst = "fec0::1" },

	/* hop limits; all 256 are swept elsewhere */
	{ .name = "hop limit 0",
	  .patches = { { AT_HOP_LIMIT, "00" } },
	  .verdict = SIXLANE_PASS_HOP_LIMIT },
	{ .name = "hop limit 1",
	  .patches = { { AT_HOP_LIMIT, "01" } },
	  .verdict = SIXLANE_PASS_HOP_LIMIT },
	{ .name = "hop limit 2", .patches = { { AT_HOP_LIMIT, "02" } } },
	{ .name = "hop limit 255", .patches = { { AT_HOP_LIMIT, "ff" } } },

	/* padding */
	{ .name = "one byte of padding", .padding = 1 },
	{ .name = "more padding than packet", .padding = 900 },
	{ .name = "a driver that cannot trim",
	  .prog = PROG_CANNOT_TRIM,
	  .padding = 6,
	  .verdict = SIXLANE_PASS_TRIM_FAILED },
	{ .name = "a driver that cannot trim what needs none", .prog = PROG_CANNOT_TRIM },
};
const size_t rows_packet_n = sizeof(rows_packet) / sizeof(rows_packet[0]);
