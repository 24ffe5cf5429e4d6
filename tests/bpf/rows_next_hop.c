// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the next hop to the wire: egress devices, MTU, neighbours. The MTU is that of the IPv6
 * packet, 40 bytes of header and its payload.
 */
#include "rows.h"

static void egress_down(struct world *w)
{
	world_port(w, DEV_OUT)->flags &= ~SIXLANE_PORT_UP;
}

static void egress_ipv6_off(struct world *w)
{
	world_port(w, DEV_OUT)->flags &= ~SIXLANE_PORT_IPV6;
}

static void egress_bridge(struct world *w)
{
	world_port(w, DEV_OUT)->flags |= SIXLANE_PORT_BRIDGE;
}

static void egress_macvlan(struct world *w)
{
	world_port(w, DEV_OUT)->flags |= SIXLANE_PORT_MACVLAN;
}

static void egress_tunnel(struct world *w)
{
	world_port(w, DEV_OUT)->flags |= SIXLANE_PORT_TUNNEL;
}

static void egress_strange(struct world *w)
{
	world_port(w, DEV_OUT)->flags |= SIXLANE_PORT_STRANGE;
}

static void egress_bridge_no_xmit(struct world *w)
{
	egress_bridge(w);
	world_port(w, DEV_OUT)->flags &= ~(SIXLANE_PORT_XMIT | SIXLANE_PORT_XMIT_FRAGS);
}

static void egress_bridge_down(struct world *w)
{
	egress_bridge(w);
	world_port(w, DEV_OUT)->flags &= ~SIXLANE_PORT_UP;
}

static void egress_no_xmit_frags(struct world *w)
{
	world_port(w, DEV_OUT)->flags &= ~SIXLANE_PORT_XMIT_FRAGS;
}

static void ingress_is_a_bridge(struct world *w)
{
	world_port(w, DEV_IN)->flags |= SIXLANE_PORT_BRIDGE;
}

static void egress_no_xmit(struct world *w)
{
	world_port(w, DEV_OUT)->flags &= ~SIXLANE_PORT_XMIT;
}

static void egress_generic_no_xmit(struct world *w)
{
	world_port(w, DEV_OUT)->flags &= ~SIXLANE_PORT_XMIT;
	world_port(w, DEV_OUT)->flags |= SIXLANE_PORT_GENERIC;
}

static void egress_switched_off(struct world *w)
{
	world_port(w, DEV_OUT)->flags &= ~SIXLANE_PORT_INGRESS;
	world_port(w, DEV_OUT)->flags |= SIXLANE_PORT_PASS | SIXLANE_PORT_UPPER;
}

static void egress_gone(struct world *w)
{
	world_port(w, DEV_OUT)->ifindex = 0;
}

static void egress_slot_out_of_range(struct world *w)
{
	w->next_hops[NH_GATEWAY].nh_entry.port = SIXLANE_MAX_PORTS;
}

static void egress_mtu_1280(struct world *w)
{
	world_port(w, DEV_OUT)->mtu = 1280;
}

static void ingress_mtu_1280(struct world *w)
{
	world_port(w, DEV_IN)->mtu = 1280;
}

static void lock_over_device(struct world *w)
{
	w->next_hops[NH_LOCKED].mtu = 9000;
}

static void gateway_lost(struct world *w)
{
	world_neigh(w, NEIGH_GATEWAY)->mac.word = 0;
}

static void gateway_not_valid(struct world *w)
{
	world_neigh(w, NEIGH_GATEWAY)->mac.flags = (uint16_t)~SIXLANE_MAC_VALID;
}

static void gateway_more_flags(struct world *w)
{
	world_neigh(w, NEIGH_GATEWAY)->mac.flags = 0xffff;
}

static void gateway_slot_out_of_range(struct world *w)
{
	w->next_hops[NH_GATEWAY].nh_entry.neighbour = SIXLANE_MAX_NEIGHBOURS;
}

static void host_unknown(struct world *w)
{
	w->n_neigh_index = 0;
}

static void host_lost(struct world *w)
{
	world_neigh(w, NEIGH_HOST)->mac.word = 0;
}

/* The hash's element was reused while it was read: it leads to another's slot. */
static void host_slot_of_another(struct world *w)
{
	for (size_t i = 0; i < w->n_neigh_index; i++)
		w->neigh_index[i].slot = world_neigh_slot(NEIGH_GATEWAY);
}

static void host_slot_upper_half(struct world *w)
{
	world_neigh(w, NEIGH_HOST)->key.addr.bytes[0] ^= 1;
}

static void host_slot_lower_half(struct world *w)
{
	world_neigh(w, NEIGH_HOST)->key.addr.bytes[15] ^= 1;
}

static void host_slot_device(struct world *w)
{
	world_neigh(w, NEIGH_HOST)->key.ifindex++;
}

static void host_slot_zero(struct world *w)
{
	for (size_t i = 0; i < w->n_neigh_index; i++)
		w->neigh_index[i].slot = 0;
	w->neighbours[0] = *world_neigh(w, NEIGH_HOST);
}

static void host_slot_out_of_range(struct world *w)
{
	for (size_t i = 0; i < w->n_neigh_index; i++)
		w->neigh_index[i].slot = SIXLANE_MAX_NEIGHBOURS;
}

static void host_on_another_link(struct world *w)
{
	w->next_hops[NH_ON_LINK].nh_entry.port = (uint16_t)world_port_slot(DEV_ALT);
}

const struct row rows_next_hop[] = {
	/* egress */
	{ .name = "egress by the port it came in by",
	  .routes = { TO(NH_BACK) },
	  .verdict = SIXLANE_PASS_SAME_PORT },
	{ .name = "egress down", .arrange = egress_down, .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "egress without IPv6",
	  .arrange = egress_ipv6_off,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "egress gone", .arrange = egress_gone, .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "egress slot out of range",
	  .arrange = egress_slot_out_of_range,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "egress is a bridge", .arrange = egress_bridge, .verdict = SIXLANE_PUNT_BRIDGE },
	{ .name = "egress is a bridge, ingress generic",
	  .in = DEV_GENERIC,
	  .arrange = egress_bridge,
	  .verdict = SIXLANE_PUNT_BRIDGE },
	{ .name = "egress is a bridge that takes no redirected frames",
	  .arrange = egress_bridge_no_xmit,
	  .verdict = SIXLANE_PUNT_BRIDGE },
	{ .name = "egress is a bridge that is down",
	  .arrange = egress_bridge_down,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "egress is a macvlan",
	  .arrange = egress_macvlan,
	  .verdict = SIXLANE_PUNT_MACVLAN },
	{ .name = "egress is a macvlan, ingress generic",
	  .in = DEV_GENERIC,
	  .arrange = egress_macvlan,
	  .verdict = SIXLANE_PUNT_MACVLAN },
	{ .name = "egress is a tunnel", .arrange = egress_tunnel, .verdict = SIXLANE_PUNT_TUNNEL },
	{ .name = "egress is a tunnel, ingress generic",
	  .in = DEV_GENERIC,
	  .arrange = egress_tunnel,
	  .verdict = SIXLANE_PUNT_TUNNEL },
	{ .name = "egress is something else",
	  .arrange = egress_strange,
	  .verdict = SIXLANE_PASS_EGRESS_DEVICE },
	{ .name = "egress is something else, ingress generic",
	  .in = DEV_GENERIC,
	  .arrange = egress_strange,
	  .verdict = SIXLANE_PASS_EGRESS_DEVICE },
	{ .name = "what the ingress is as an egress does not matter",
	  .arrange = ingress_is_a_bridge },
	{ .name = "egress that takes no frames of several buffers, in one",
	  .arrange = egress_no_xmit_frags },
	{ .name = "egress that takes no redirected frames",
	  .arrange = egress_no_xmit,
	  .verdict = SIXLANE_PASS_EGRESS_DEVICE },
	{ .name = "egress that takes no redirected frames, ingress generic",
	  .in = DEV_GENERIC,
	  .arrange = egress_no_xmit },
	{ .name = "egress that takes no redirected frames and is generic itself",
	  .arrange = egress_generic_no_xmit,
	  .verdict = SIXLANE_PASS_EGRESS_DEVICE },
	{ .name = "egress whose own ingress is switched off", .arrange = egress_switched_off },

	/* MTU */
	{ .name = "MTU - 1", .payload = 1500 - 40 - 1 },
	{ .name = "MTU", .payload = 1500 - 40 },
	{ .name = "MTU + 1", .payload = 1500 - 40 + 1, .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "MTU + 4", .payload = 1500 - 40 + 4, .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "MTU + 5", .payload = 1500 - 40 + 5, .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "MTU + 40", .payload = 1500, .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "MTU + 41", .payload = 1501, .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "MTU, padding does not count", .payload = 1500 - 40, .padding = 100 },
	{ .name = "MTU of 1280", .arrange = egress_mtu_1280, .payload = 1280 - 40 },
	{ .name = "MTU of 1280 + 1",
	  .arrange = egress_mtu_1280,
	  .payload = 1280 - 40 + 1,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "MTU of the ingress does not matter",
	  .arrange = ingress_mtu_1280,
	  .payload = 1500 - 40 },
	{ .name = "locked MTU - 1", .routes = { TO(NH_LOCKED) }, .payload = 1400 - 40 - 1 },
	{ .name = "locked MTU", .routes = { TO(NH_LOCKED) }, .payload = 1400 - 40 },
	{ .name = "locked MTU + 1",
	  .routes = { TO(NH_LOCKED) },
	  .payload = 1400 - 40 + 1,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "locked MTU over the device's",
	  .routes = { TO(NH_LOCKED) },
	  .arrange = lock_over_device,
	  .payload = 1500 - 40 + 1,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "locked MTU over the device's, packet under",
	  .routes = { TO(NH_LOCKED) },
	  .arrange = lock_over_device,
	  .payload = 1500 - 40 },
	{ .name = "hop limit before MTU",
	  .payload = 1500,
	  .patches = { { AT_HOP_LIMIT, "01" } },
	  .verdict = SIXLANE_PASS_HOP_LIMIT },

	/* gateways */
	{ .name = "gateway never resolved",
	  .routes = { TO(NH_SILENT) },
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "gateway lost", .arrange = gateway_lost, .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "gateway with a MAC that must not be used",
	  .arrange = gateway_not_valid,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "flags beside a gateway's MAC stay out of frames",
	  .arrange = gateway_more_flags },
	{ .name = "gateway slot out of range",
	  .arrange = gateway_slot_out_of_range,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "same gateway address on another port",
	  .routes = { TO(NH_ALT) },
	  .via = NEIGH_ALT },

	/* on-link destinations */
	{ .name = "on-link", .routes = { TO(NH_ON_LINK) }, .via = NEIGH_HOST },
	{ .name = "on-link, another host",
	  .routes = { TO(NH_ON_LINK) },
	  .dst = "2001:db8:2::2",
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "on-link, unknown",
	  .routes = { TO(NH_ON_LINK) },
	  .arrange = host_unknown,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "on-link, lost",
	  .routes = { TO(NH_ON_LINK) },
	  .arrange = host_lost,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "on-link, index names another's slot",
	  .routes = { TO(NH_ON_LINK) },
	  .arrange = host_slot_of_another,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "on-link, slot of another upper half",
	  .routes = { TO(NH_ON_LINK) },
	  .arrange = host_slot_upper_half,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "on-link, slot of another lower half",
	  .routes = { TO(NH_ON_LINK) },
	  .arrange = host_slot_lower_half,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "on-link, slot of another device",
	  .routes = { TO(NH_ON_LINK) },
	  .arrange = host_slot_device,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "on-link, index names slot 0",
	  .routes = { TO(NH_ON_LINK) },
	  .arrange = host_slot_zero,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "on-link, index names a slot out of range",
	  .routes = { TO(NH_ON_LINK) },
	  .arrange = host_slot_out_of_range,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "on-link on a link where nobody knows it",
	  .routes = { TO(NH_ON_LINK) },
	  .arrange = host_on_another_link,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
};
const size_t rows_next_hop_n = sizeof(rows_next_hop) / sizeof(rows_next_hop[0]);
