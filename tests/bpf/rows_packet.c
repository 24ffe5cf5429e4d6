// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is decided before any route: switches for all ports, the ingress port, and the frame by
 * itself. Everything here would be forwarded but for the one thing that the row names.
 */
#include "tests.h"

/* The proxy takes this next header for a message or what may hold one. */
#define PROXY(next) PORT_FLAG(IN, PROXY_NDP), NEXT_IS(next), PASS(PROXY_NDP)
#define LOST PASS(UNKNOWN_PORT), .slot_lost = true
#define DEFAULT_ROUTE .routes = { ROUTE("::/0", NH_GATEWAY) }

static const struct row rows_packet[] = {
	{ .name = "plain packet" },
	{ "every byte of a forwarded frame",
	  .in_hex = "021121314151 02000000ee01 86dd 6b8fedcb 0008 11 40" ADDRS "0035d43100081234",
	  .out_hex =
		  "2261718191a1 061222324252 86dd 6b8fedcb 0008 11 3f" ADDRS "0035d43100081234" },
	{ "every byte of a frame that is padded to 60",
	  .in_hex = "021121314151 02000000ee01 86dd 6b8fedcb 0004 3b 02" ADDRS "deadbeef ffff",
	  .out_hex = "2261718191a1 061222324252 86dd 6b8fedcb 0004 3b 01" ADDRS "deadbeef" },

	/* Ethernet */
	{ "IPv4", PATCH({ AT_ETHERTYPE, "0800" }), PASS(NOT_IPV6) },
	{ "802.1ad tag before the standard", .tags = { 0x91000064 }, PASS(NOT_IPV6) },
	{ "first byte of the MAC differs", PATCH({ AT_DST_MAC, "00" }), PASS(OTHER_MAC) },
	{ "third byte of the MAC differs", PATCH({ AT_DST_MAC + 2, "20" }), PASS(OTHER_MAC) },
	{ "last byte of the MAC differs", PATCH({ AT_DST_MAC + 5, "50" }), PASS(OTHER_MAC) },
	{ "broadcast MAC", PATCH({ AT_DST_MAC, "ffffffffffff" }), PASS(OTHER_MAC) },
	{ "multicast MAC", PATCH({ AT_DST_MAC, "333300000001" }), PASS(OTHER_MAC) },
	{ "another port's MAC", PATCH({ AT_DST_MAC, "061222324252" }), PASS(OTHER_MAC) },
	{ "disable_ipv6 on the port", PORT_FLAG(IN, IPV6), PASS(IPV6_OFF) },

	/* IPv6 header: version, class, flow label, lengths */
	{ "version 4", PATCH({ AT_VERSION, "4b" }), PASS(NOT_IPV6) },
	{ "version 7", PATCH({ AT_VERSION, "7b" }), PASS(NOT_IPV6) },
	{ "version 14", PATCH({ AT_VERSION, "eb" }), PASS(NOT_IPV6) },
	{ "traffic class and flow label of zeros", PATCH({ AT_VERSION, "60000000" }) },
	{ "payload length one over the frame", PATCH({ AT_PAYLOAD_LEN, "001b" }), PASS(TRUNCATED) },
	{ "payload length 65535", PATCH({ AT_PAYLOAD_LEN, "ffff" }), PASS(TRUNCATED) },
	{ "payload length of zero", PATCH({ AT_PAYLOAD_LEN, "0000" }, { AT_NEXT_HEADER, "3b" }) },

	/* next headers: only hop-by-hop is looked at */
	{ "hop-by-hop options", NEXT_IS("00"), PASS(HOP_BY_HOP) },

	/* the NDP proxy */
	{ "NDP proxy: ICMPv6", PROXY("3a") },
	{ "NDP proxy: routing header", PROXY("2b") },
	{ "NDP proxy: fragment header", PROXY("2c") },
	{ "NDP proxy: authentication header", PROXY("33") },
	{ "NDP proxy: no next header", PROXY("3b") },
	{ "NDP proxy: destination options", PROXY("3c") },
	{ "NDP proxy: UDP is not its business", PORT_FLAG(IN, PROXY_NDP) },
	{ "NDP proxy: 64 over ICMPv6", PORT_FLAG(IN, PROXY_NDP), NEXT_IS("7a") },

	/* sources */
	{ "source ::", .src = "::", PASS(SOURCE) },
	{ "source ::1", .src = "::1", PASS(SOURCE) },
	{ "source ::2", .src = "::2" },
	{ "source 0:0:0:1::", .src = "0:0:0:1::" },
	{ "source ::1:0:0:0", .src = "::1:0:0:0" },
	{ "source ff00::", .src = "ff00::", PASS(SOURCE) },
	{ "source ff0e::1", .src = "ff0e::1", PASS(SOURCE) },
	{ "source feff::1", .src = "feff::1" },
	{ "source fe80::1", .src = "fe80::1", PASS(SOURCE) },
	{ "source febf:ffff::", .src = "febf:ffff::", PASS(SOURCE) },
	{ "source fe7f:ffff::1", .src = "fe7f:ffff::1" },
	{ "source fec0::1", .src = "fec0::1" },
	{ "source ::ffff:192.0.2.1", .src = "::ffff:192.0.2.1" },

	/* destinations, with a default route that would take them */
	{ "destination ::", DEFAULT_ROUTE, .dst = "::", PASS(DESTINATION) },
	{ "destination ::1", DEFAULT_ROUTE, .dst = "::1", PASS(DESTINATION) },
	{ "destination ::2", DEFAULT_ROUTE, .dst = "::2" },
	{ "destination 0:0:0:1::", DEFAULT_ROUTE, .dst = "0:0:0:1::" },
	{ "destination ff02::1", DEFAULT_ROUTE, .dst = "ff02::1", PASS(DESTINATION) },
	{ "destination ffff:ffff::", DEFAULT_ROUTE, .dst = "ffff:ffff::", PASS(DESTINATION) },
	{ "destination fe80::1", DEFAULT_ROUTE, .dst = "fe80::1", PASS(DESTINATION) },
	{ "destination febf::1", DEFAULT_ROUTE, .dst = "febf::1", PASS(DESTINATION) },
	{ "destination fe7f::1", DEFAULT_ROUTE, .dst = "fe7f::1" },
	{ "destination fec0::1", DEFAULT_ROUTE, .dst = "fec0::1" },

	/* hop limits; all 256 are swept elsewhere */
	{ "hop limit 1", PATCH({ AT_HOP_LIMIT, "01" }), PASS(HOP_LIMIT) },

	/* padding */
	{ "a driver that cannot trim", .prog = PROG_CANNOT_TRIM, .padding = 6, PASS(TRIM_FAILED) },
	{ "a driver that cannot trim what needs none", .prog = PROG_CANNOT_TRIM },

	{ "maps of another ABI", WITH(SET(meta.abi, SIXLANE_ABI + 1)), PASS(NOT_READY) },
	{ "maps that no daemon has seen", WITH(SET(meta.abi, 0)), PASS(NOT_READY) },
	{ "maps that were never complete", META_FLAG(READY), PASS(NOT_READY) },
	{ "maps that are being synchronised again", META_FLAG(IN_SYNC) },
	{ "pass all", META_FLAG(PASS_ALL), PASS(ALL) },
	{ "pass all, no slot", .in = DEV_STRANGER, META_FLAG(PASS_ALL), PASS(ALL) },
	{ "rules beyond the default", META_FLAG(RULES), PUNT(RULES) },
	{ "pass all before the rules", WITH(FLIP_META(PASS_ALL), FLIP_META(RULES)), PASS(ALL) },
	{ "port without a slot", .in = DEV_STRANGER, PASS(UNKNOWN_PORT) },
	{ "port that is not served", PORT_FLAG(IN, INGRESS), PASS(UNKNOWN_PORT) },
	{ "pass port", PORT_FLAG(IN, PASS), PASS(PORT) },
	{ "port with a master", PORT_FLAG(IN, UPPER), PASS(PORT_UPPER) },
	{ "pass port, of another port", WITH(FLIP_PORT(ALT, PASS), FLIP_PORT(ALT, UPPER)) },
	{ "forwarding off", PORT_FLAG(IN, FORWARDING), PASS(NO_FORWARDING) },
	{ "forwarding off at the egress does not matter", PORT_FLAG(OUT, FORWARDING) },
	{ "forwarding off does not save from a blackhole", ROUTE_TYPE(DROP_BLACKHOLE),
	  PORT_FLAG(IN, FORWARDING), DROP(BLACKHOLE) },
	{ "index names another's slot", WITH(SET(port_index[DEV_IN].slot, DEV_ALT + 1)), LOST },
	{ "index out of range", WITH(SET(port_index[DEV_IN].slot, SIXLANE_MAX_PORTS)), LOST },
	{ "index names slot 0", WITH(SET(port_index[DEV_IN].slot, 0)), LOST },
	{ "slot was freed", WITH(SET(PORT(IN).ifindex, 0)), LOST },
	{ "ports in the slots tried first", .at_home = true },
	{ "slot tried first is another's",
	  WITH(SET(ports[WORLD_IFINDEX(DEV_IN)].ifindex, WORLD_IFINDEX(DEV_ALT))) },
	{ "port without a slot, others in the slots tried first", .in = DEV_STRANGER,
	  .at_home = true, LOST },
	{ "back out, in the slots tried first", ROUTED(NH_BACK), .at_home = true, PASS(SAME_PORT) },
	{ "flags beside a port's MAC stay out of frames",
	  WITH(SET(PORT(IN).mac.flags, 0xffff), SET(PORT(OUT).mac.flags, 0xffff)) },
	{ "another port as ingress", .in = DEV_ALT },
	{ "ingress in generic mode", .in = DEV_GENERIC },
};
ROWS(rows_packet)
