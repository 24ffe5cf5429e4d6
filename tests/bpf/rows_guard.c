// SPDX-License-Identifier: GPL-2.0-only
/*
 * What XDP would pass by: firewall rules, traffic control, IPsec policies, open checksums.
 */
#include "rows.h"

static struct sixlane_port *in_port(struct world *w)
{
	return world_port(w, DEV_IN);
}

static void out_firewall(struct world *w)
{
	world_port(w, DEV_OUT)->flags |= SIXLANE_PORT_OUT_FIREWALL;
}

static void out_tc(struct world *w)
{
	world_port(w, DEV_OUT)->flags |= SIXLANE_PORT_OUT_TC;
}

static void out_of_the_ingress(struct world *w)
{
	in_port(w)->flags |= SIXLANE_PORT_OUT_HELD;
	world_port(w, DEV_OUT)->flags |= SIXLANE_PORT_IN_HELD;
}

static void out_held_and_down(struct world *w)
{
	out_tc(w);
	world_port(w, DEV_OUT)->flags &= ~SIXLANE_PORT_UP;
}

static void guard(struct world *w)
{
	in_port(w)->flags |= SIXLANE_PORT_GUARD;
}

static void pair_held(struct world *w)
{
	guard(w);
	w->held[world_port_slot(DEV_IN)][world_port_slot(DEV_OUT)] = true;
}

static void pair_held_without_forwarding(struct world *w)
{
	pair_held(w);
	in_port(w)->flags &= ~SIXLANE_PORT_FORWARDING;
}

static void pair_held_unguarded(struct world *w)
{
	pair_held(w);
	in_port(w)->flags &= ~SIXLANE_PORT_GUARD;
}

static void other_pairs_held(struct world *w)
{
	guard(w);
	for (uint32_t in = 0; in < WORLD_PORTS; in++)
		for (uint32_t out = 0; out < WORLD_PORTS; out++)
			w->held[in][out] =
				in != world_port_slot(DEV_IN) || out != world_port_slot(DEV_OUT);
}

static void pair_held_too_big(struct world *w)
{
	pair_held(w);
	world_port(w, DEV_OUT)->mtu = 1280;
}

static void flows(struct world *w)
{
	pair_held(w);
	in_port(w)->flags |= SIXLANE_PORT_FLOWS;
}

/* By the kernel, even if no rule holds it. */
static void flows_too_big(struct world *w)
{
	guard(w);
	in_port(w)->flags |= SIXLANE_PORT_FLOWS;
	world_port(w, DEV_OUT)->mtu = 1280;
	w->meta.flags |= SIXLANE_META_ANSWER;
}

static void fragments(struct world *w)
{
	guard(w);
	w->meta.flags |= SIXLANE_META_FRAGMENTS;
}

static void fragments_elsewhere(struct world *w)
{
	w->meta.flags |= SIXLANE_META_FRAGMENTS | SIXLANE_META_IPSEC_ALL;
}

static void ipsec_all(struct world *w)
{
	guard(w);
	w->meta.flags |= SIXLANE_META_IPSEC_ALL;
}

static void ipsec_of_icmp_errors(struct world *w)
{
	guard(w);
	w->meta.flags |= SIXLANE_META_IPSEC_ICMP6;
}

static void add_policies(struct world *w)
{
	guard(w);
	w->meta.flags |= SIXLANE_META_IPSEC;
	world_add_policy(w, 0, "2001:db8::/32", 1);
	world_add_policy(w, 0, "2001:db8:2::/48", 2);
	world_add_policy(w, 0, "::/0", 3);
	world_add_policy(w, 1, "::/0", 1);
	world_add_policy(w, 2, "2001:db8:1::1/128", 1);
	world_add_policy(w, 2, "2001:db8:1:2::/64", 1);
	world_add_policy(w, 3, "2001:db8:5::/48", 1);
}

static void policies_not_in_use(struct world *w)
{
	add_policies(w);
	w->meta.flags &= ~SIXLANE_META_IPSEC;
}

static void open_checksums(struct world *w)
{
	in_port(w)->flags |= SIXLANE_PORT_OPEN_CHECKSUMS;
}

static void open_checksums_of_the_vlan(struct world *w)
{
	world_port(w, DEV_IN_10)->flags |= SIXLANE_PORT_OPEN_CHECKSUMS;
}

#define NEXT(hex)                          \
	{                                  \
		{ AT_NEXT_HEADER, (hex) }, \
	}
/* The pseudo header of UDP and 26 bytes sums up to 5ba2, of TCP to 5b97. */
#define UDP_CHECK(hex)                     \
	{                                  \
		{ AT_PAYLOAD + 6, (hex) }, \
	}
#define TCP_CHECK(hex)                                                \
	{                                                             \
		{ AT_NEXT_HEADER, "06" }, { AT_PAYLOAD + 16, (hex) }, \
	}

const struct row rows_guard[] = {
	{ .name = "guard has not read yet",
	  .meta_turned = SIXLANE_META_GUARDED,
	  .verdict = SIXLANE_PASS_NOT_READY },
	{ .name = "firewall on the ingress",
	  .in_turned = SIXLANE_PORT_IN_FIREWALL,
	  .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "firewall on the ingress saves from a blackhole",
	  .routes = { TO(NH_FATE + SIXLANE_DROP_BLACKHOLE) },
	  .in_turned = SIXLANE_PORT_IN_FIREWALL,
	  .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "tc on the ingress",
	  .in_turned = SIXLANE_PORT_IN_TC,
	  .verdict = SIXLANE_PASS_TC },
	{ .name = "firewall and tc on the ingress",
	  .in_turned = SIXLANE_PORT_IN_HELD,
	  .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "firewall on the egress",
	  .arrange = out_firewall,
	  .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "tc on the egress", .arrange = out_tc, .verdict = SIXLANE_PASS_TC },
	{ .name = "tc on an egress that is down",
	  .arrange = out_held_and_down,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "egress causes of the ingress and ingress causes of the egress",
	  .arrange = out_of_the_ingress },
	{ .name = "guarded, nothing held", .arrange = guard },
	{ .name = "pair held", .arrange = pair_held, .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "pair held, forwarding off",
	  .arrange = pair_held_without_forwarding,
	  .verdict = SIXLANE_PASS_NO_FORWARDING },
	{ .name = "pair held, port not guarded", .arrange = pair_held_unguarded },
	{ .name = "all other pairs held", .arrange = other_pairs_held },
	{ .name = "pair held, packet over the MTU",
	  .payload = 1300,
	  .arrange = pair_held_too_big,
	  .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "pair held, of no flow", .arrange = flows, .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "flows are looked up, blackhole",
	  .routes = { TO(NH_FATE + SIXLANE_DROP_BLACKHOLE) },
	  .arrange = flows,
	  .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "flows are looked up, packet over the MTU",
	  .payload = 1300,
	  .arrange = flows_too_big,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "pair held, ports in the slots tried first",
	  .at_home = true,
	  .arrange = pair_held,
	  .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "fragment that is put together",
	  .patches = NEXT("2c"),
	  .arrange = fragments,
	  .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "routing header before a fragment, perhaps",
	  .patches = NEXT("2b"),
	  .arrange = fragments,
	  .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "authentication header before a fragment, perhaps",
	  .patches = NEXT("33"),
	  .arrange = fragments,
	  .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "destination options before a fragment, perhaps",
	  .patches = NEXT("3c"),
	  .arrange = fragments,
	  .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "no fragment, where they are put together", .arrange = fragments },
	{ .name = "fragment at a port without a guard",
	  .patches = NEXT("2c"),
	  .arrange = fragments_elsewhere },
	{ .name = "IPsec for all", .arrange = ipsec_all, .verdict = SIXLANE_PASS_IPSEC },
	{ .name = "IPsec of ICMPv6 errors",
	  .patches = NEXT("3a"),
	  .arrange = ipsec_of_icmp_errors,
	  .verdict = SIXLANE_PASS_IPSEC },
	{ .name = "IPsec of ICMPv6 errors behind a header, perhaps",
	  .patches = NEXT("3c"),
	  .arrange = ipsec_of_icmp_errors,
	  .verdict = SIXLANE_PASS_IPSEC },
	{ .name = "IPsec of ICMPv6 errors, and none", .arrange = ipsec_of_icmp_errors },
	{ .name = "under a policy", .arrange = add_policies, .verdict = SIXLANE_PASS_IPSEC },
	{ .name = "source under no policy of its destination",
	  .src = "2001:db8:1::2",
	  .arrange = add_policies },
	{ .name = "source under a policy of another destination",
	  .src = "2001:db8:5::2",
	  .arrange = add_policies },
	{ .name = "policy of a shorter prefix of the source",
	  .src = "2001:db8:1:2::7",
	  .arrange = add_policies,
	  .verdict = SIXLANE_PASS_IPSEC },
	{ .name = "policies that are not in use", .arrange = policies_not_in_use },
	{ .name = "UDP with the sum of its pseudo header",
	  .patches = UDP_CHECK("5ba2"),
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "UDP with another sum", .patches = UDP_CHECK("5ba3"), .arrange = open_checksums },
	{ .name = "UDP with the sum of its pseudo header from a NIC",
	  .patches = UDP_CHECK("5ba2") },
	{ .name = "TCP with the sum of its pseudo header",
	  .patches = TCP_CHECK("5b97"),
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "TCP with another sum", .patches = TCP_CHECK("5ba2"), .arrange = open_checksums },
	{ .name = "sum that carries twice",
	  .src = "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	  .dst = "2001:db8:2:ffff:ffff:ffff:ffff:ffff",
	  .patches = UDP_CHECK("4de7"),
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "UDP without room for a checksum",
	  .payload = 7,
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "UDP with no more than a header", .payload = 8, .arrange = open_checksums },
	{ .name = "TCP without room for a checksum",
	  .payload = 17,
	  .patches = NEXT("06"),
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "VXLAN may hold an open checksum",
	  .patches = { { AT_PAYLOAD + 2, "12b5" } },
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "VXLAN by Linux's own port",
	  .patches = { { AT_PAYLOAD + 2, "2118" } },
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "GENEVE",
	  .patches = { { AT_PAYLOAD + 2, "17c1" } },
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "L2TP",
	  .patches = { { AT_PAYLOAD + 2, "06a5" } },
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "GTP",
	  .patches = { { AT_PAYLOAD + 2, "0868" } },
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "GRE in UDP",
	  .patches = { { AT_PAYLOAD + 2, "1292" } },
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "VXLAN-GPE",
	  .patches = { { AT_PAYLOAD + 2, "12b6" } },
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "GUE",
	  .patches = { { AT_PAYLOAD + 2, "17c0" } },
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "MPLS in UDP",
	  .patches = { { AT_PAYLOAD + 2, "19eb" } },
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "ICMPv6 has its checksum", .patches = NEXT("3a"), .arrange = open_checksums },
	{ .name = "no next header, no checksum", .patches = NEXT("3b"), .arrange = open_checksums },
	{ .name = "ESP", .patches = NEXT("32"), .arrange = open_checksums },
	{ .name = "fragment, whose checksum is out of reach",
	  .patches = NEXT("2c"),
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "SCTP, whose checksum is left open, too",
	  .patches = NEXT("84"),
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "IPv6 in IPv6",
	  .patches = NEXT("29"),
	  .arrange = open_checksums,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "open checksum behind a tag",
	  .tags = { 0x8100000a },
	  .as = DEV_IN_10,
	  .patches = UDP_CHECK("5ba2"),
	  .arrange = open_checksums_of_the_vlan,
	  .verdict = SIXLANE_PASS_CHECKSUM },
};
const size_t rows_guard_n = sizeof(rows_guard) / sizeof(rows_guard[0]);
