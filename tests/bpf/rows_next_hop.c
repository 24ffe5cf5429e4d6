// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the next hop to the wire: egress devices, MTU, neighbours. The MTU is that of the IPv6
 * packet, 40 bytes of header and its payload.
 */
#include "tests.h"

static void host_slot_zero(struct world *w)
{
	for (size_t i = 0; i < w->n_neigh_index; i++)
		w->neigh_index[i].slot = 0;
	w->neighbours[0] = *world_neigh(w, NEIGH_HOST);
}

#define NO_XMIT FLIP_PORT(OUT, XMIT), FLIP_PORT(OUT, XMIT_FRAGS)
#define ON_LINK ROUTED(NH_ON_LINK)
#define LOCKED ROUTED(NH_LOCKED)
#define LOCKED_9000 ROUTED(NH_LOCKED), WITH(SET(next_hops[NH_LOCKED].mtu, 9000))
#define UNRESOLVED PASS(UNRESOLVED)
static const struct row rows_next_hop[] = {
	/* egress */
	{ "egress by the port it came in by", ROUTED(NH_BACK), PASS(SAME_PORT) },
	{ "egress down", PORT_FLAG(OUT, UP), PASS(EGRESS_DOWN) },
	{ "egress without IPv6", PORT_FLAG(OUT, IPV6), PASS(EGRESS_DOWN) },
	{ "egress gone", WITH(SET(PORT(OUT).ifindex, 0)), PASS(EGRESS_DOWN) },
	{ "egress slot out of range",
	  WITH(SET(next_hops[NH_GATEWAY].nh_entry.port, SIXLANE_MAX_PORTS)), PASS(EGRESS_DOWN) },
	{ "egress is a bridge", PORT_FLAG(OUT, BRIDGE), PUNT(BRIDGE) },
	{ "bridge, ingress generic", .in = DEV_GENERIC, PORT_FLAG(OUT, BRIDGE), PUNT(BRIDGE) },
	{ "egress is a bridge that takes no redirected frames",
	  WITH(FLIP_PORT(OUT, BRIDGE), NO_XMIT), PUNT(BRIDGE) },
	{ "egress is a bridge that is down", WITH(FLIP_PORT(OUT, BRIDGE), FLIP_PORT(OUT, UP)),
	  PASS(EGRESS_DOWN) },
	{ "egress is a macvlan", PORT_FLAG(OUT, MACVLAN), PUNT(MACVLAN) },
	{ "egress is a tunnel", PORT_FLAG(OUT, TUNNEL), PUNT(TUNNEL) },
	{ "egress is something else", PORT_FLAG(OUT, UNSUPPORTED), PASS(EGRESS_DEVICE) },
	{ "what the ingress is as an egress does not matter", PORT_FLAG(IN, BRIDGE) },
	{ "egress that takes no frames of several buffers, in one", PORT_FLAG(OUT, XMIT_FRAGS) },
	{ "egress that takes no redirected frames", PORT_FLAG(OUT, XMIT), PASS(EGRESS_DEVICE) },
	{ "egress that takes no redirected frames, ingress generic", .in = DEV_GENERIC,
	  PORT_FLAG(OUT, XMIT) },
	{ "generic egress that takes no redirected frames",
	  WITH(FLIP_PORT(OUT, XMIT), FLIP_PORT(OUT, GENERIC)), PASS(EGRESS_DEVICE) },
	{ "egress whose own ingress is switched off",
	  WITH(FLIP_PORT(OUT, INGRESS), FLIP_PORT(OUT, PASS), FLIP_PORT(OUT, UPPER)) },

	/* MTU */
	{ "MTU of 1280", WITH(SET(PORT(OUT).mtu, 1280)), SIZE(1280) },
	{ "MTU of 1280 + 1", WITH(SET(PORT(OUT).mtu, 1280)), SIZE(1281), PASS(TOO_BIG) },
	{ "MTU of the ingress does not matter", WITH(SET(PORT(IN).mtu, 1280)), SIZE(1500) },
	{ "locked MTU over the device's", LOCKED_9000, SIZE(1501), PASS(TOO_BIG) },
	{ "locked MTU over the device's, packet under", LOCKED_9000, SIZE(1500) },
	{ "hop limit before MTU", .payload = 1500, PATCH({ AT_HOP_LIMIT, "01" }), PASS(HOP_LIMIT) },

	/* gateways */
	{ "gateway never resolved", ROUTED(NH_SILENT), UNRESOLVED },
	{ "gateway lost", WITH(SET(NEIGH(GATEWAY).mac.word, 0)), UNRESOLVED },
	{ "gateway with a MAC that must not be used",
	  WITH(SET(NEIGH(GATEWAY).mac.flags, (uint16_t)~SIXLANE_MAC_VALID)), UNRESOLVED },
	{ "flags beside a gateway's MAC", WITH(SET(NEIGH(GATEWAY).mac.flags, 0xffff)) },
	{ "gateway slot out of range",
	  WITH(SET(next_hops[NH_GATEWAY].nh_entry.neighbour, SIXLANE_MAX_NEIGHBOURS)), UNRESOLVED },
	{ "same gateway address on another port", ROUTED(NH_ALT), VIA_ALT },

	/* on-link destinations */
	{ "on-link", ON_LINK, .via = NEIGH_HOST },
	{ "on-link, another host", ON_LINK, .dst = "2001:db8:2::2", UNRESOLVED },
	{ "on-link, unknown", ON_LINK, WITH(SET(n_neigh_index, 0)), UNRESOLVED },
	{ "on-link, lost", ON_LINK, WITH(SET(NEIGH(HOST).mac.word, 0)), UNRESOLVED },
	{ "on-link, index names another's slot", ON_LINK,
	  WITH(SET(neigh_index[NEIGH_HOST].slot, NEIGH_GATEWAY + 1)), UNRESOLVED },
	{ "on-link, slot of another upper half", ON_LINK,
	  WITH(FLIP(NEIGH(HOST).key.addr.bytes[0], 1)), UNRESOLVED },
	{ "on-link, slot of another lower half", ON_LINK,
	  WITH(FLIP(NEIGH(HOST).key.addr.bytes[15], 1)), UNRESOLVED },
	{ "on-link, slot of another device", ON_LINK,
	  WITH(SET(NEIGH(HOST).key.ifindex, WORLD_IFINDEX(DEV_ALT))), UNRESOLVED },
	{ "on-link, index names slot 0", ON_LINK, .arrange = host_slot_zero, UNRESOLVED },
	{ "on-link, index names a slot out of range", ON_LINK,
	  WITH(SET(neigh_index[NEIGH_HOST].slot, SIXLANE_MAX_NEIGHBOURS)), UNRESOLVED },
	{ "on-link on a link where nobody knows it", ON_LINK,
	  WITH(SET(next_hops[NH_ON_LINK].nh_entry.port, DEV_ALT + 1)), UNRESOLVED },
};
ROWS(rows_next_hop)
