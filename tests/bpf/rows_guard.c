// SPDX-License-Identifier: GPL-2.0-only
/*
 * What XDP would pass by: firewall rules, traffic control, IPsec policies, open checksums.
 */
#include "tests.h"

static void other_pairs_held(struct world *w)
{
	for (uint32_t in = 0; in < WORLD_PORTS; in++)
		for (uint32_t out = 0; out < WORLD_PORTS; out++)
			w->held[in][out] =
				in != world_port_slot(DEV_IN) || out != world_port_slot(DEV_OUT);
}

static void add_policies(struct world *w)
{
	world_add_policy(w, 0, "2001:db8::/32", 1);
	world_add_policy(w, 0, "2001:db8:2::/48", 2);
	world_add_policy(w, 0, "::/0", 3);
	world_add_policy(w, 1, "::/0", 1);
	world_add_policy(w, 2, "2001:db8:1::1/128", 1);
	world_add_policy(w, 2, "2001:db8:1:2::/64", 1);
	world_add_policy(w, 3, "2001:db8:5::/48", 1);
}

#define GUARD FLIP_PORT(IN, GUARD)
#define HELD GUARD, SET(held[DEV_IN + 1][DEV_OUT + 1], true)
#define REASSEMBLY WITH(GUARD, FLIP_META(FRAGMENTS))
#define IPSEC_ERRORS WITH(GUARD, FLIP_META(IPSEC_ICMP6))
#define OPEN PORT_FLAG(IN, OPEN_CHECKSUMS)
#define POLICIES .arrange = add_policies, WITH(GUARD, FLIP_META(IPSEC))
#define UDP_TO(hex) PATCH({ AT_PAYLOAD + 2, hex })
#define CHECKSUM .verdict = SIXLANE_PASS_CHECKSUM
/* The pseudo header of UDP and 26 bytes sums up to 5ba2, of TCP to 5b97. */
#define UDP_CHECK(hex) PATCH({ AT_PAYLOAD + 6, hex })
#define TCP_CHECK(hex) PATCH(NEXT("06"), { AT_PAYLOAD + 16, hex })

static const struct row rows_guard[] = {
	{ "guard has not read yet", META_FLAG(GUARDED), PASS(NOT_READY) },
	{ "firewall on the ingress", PORT_FLAG(IN, IN_FIREWALL), PASS(FIREWALL) },
	{ "firewall on the ingress saves from a blackhole", ROUTE_TYPE(DROP_BLACKHOLE),
	  PORT_FLAG(IN, IN_FIREWALL), PASS(FIREWALL) },
	{ "tc on the ingress", PORT_FLAG(IN, IN_TC), PASS(TC) },
	{ "firewall and tc on the ingress", PORT_FLAG(IN, IN_HELD), PASS(FIREWALL) },
	{ "firewall on the egress", PORT_FLAG(OUT, OUT_FIREWALL), PASS(FIREWALL) },
	{ "tc on the egress", PORT_FLAG(OUT, OUT_TC), PASS(TC) },
	{ "tc on an egress that is down", WITH(FLIP_PORT(OUT, OUT_TC), FLIP_PORT(OUT, UP)),
	  PASS(EGRESS_DOWN) },
	{ "egress causes of the ingress and ingress causes of the egress",
	  WITH(FLIP_PORT(IN, OUT_HELD), FLIP_PORT(OUT, IN_HELD)) },
	{ "guarded, nothing held", WITH(GUARD) },
	{ "pair held", WITH(HELD), PASS(FIREWALL) },
	{ "pair held, forwarding off", WITH(HELD, FLIP_PORT(IN, FORWARDING)), PASS(NO_FORWARDING) },
	{ "pair held, port not guarded", WITH(SET(held[DEV_IN + 1][DEV_OUT + 1], true)) },
	{ "all other pairs held", WITH(GUARD), .arrange = other_pairs_held },
	{ "pair held, packet over the MTU", .payload = 1300, WITH(HELD, SET(PORT(OUT).mtu, 1280)),
	  PASS(FIREWALL) },
	{ "pair held, of no flow", WITH(HELD, FLIP_PORT(IN, FLOWS)), PASS(FIREWALL) },
	{ "flows are looked up, blackhole", ROUTE_TYPE(DROP_BLACKHOLE),
	  WITH(HELD, FLIP_PORT(IN, FLOWS)), PASS(FIREWALL) },
	{ "flows are looked up, packet over the MTU",
	  .routes = { TO(NH_GATEWAY), ROUTE("2001:db8:1::/48", NH_VIA(NEIGH_IN)) }, .payload = 1300,
	  WITH(GUARD, FLIP_PORT(IN, FLOWS), SET(PORT(OUT).mtu, 1280), FLIP_META(ANSWER)),
	  PASS(TOO_BIG) },
	{ "pair held, slots tried first", .at_home = true, WITH(HELD), PASS(FIREWALL) },
	{ "fragment", NEXT_IS("2c"), REASSEMBLY, PASS(FIREWALL) },
	{ "routing header, where fragments are", NEXT_IS("2b"), REASSEMBLY, PASS(FIREWALL) },
	{ "AH, where fragments are", NEXT_IS("33"), REASSEMBLY, PASS(FIREWALL) },
	{ "options, where fragments are", NEXT_IS("3c"), REASSEMBLY, PASS(FIREWALL) },
	{ "no fragment, where they are put together", REASSEMBLY },
	{ "fragment at a port without a guard", NEXT_IS("2c"),
	  WITH(FLIP_META(FRAGMENTS), FLIP_META(IPSEC_ALL)) },
	{ "IPsec for all", WITH(GUARD, FLIP_META(IPSEC_ALL)), PASS(IPSEC) },
	{ "IPsec of ICMPv6 errors", NEXT_IS("3a"), IPSEC_ERRORS, PASS(IPSEC) },
	{ "IPsec of ICMPv6 errors behind a header", NEXT_IS("3c"), IPSEC_ERRORS, PASS(IPSEC) },
	{ "IPsec of ICMPv6 errors, and none", IPSEC_ERRORS },
	{ "under a policy", POLICIES, PASS(IPSEC) },
	{ "source under no policy of its destination", .src = "2001:db8:1::2", POLICIES },
	{ "source under a policy of another destination", .src = "2001:db8:5::2", POLICIES },
	{ "policy of a shorter source", .src = "2001:db8:1:2::7", POLICIES, PASS(IPSEC) },
	{ "policies that are not in use", WITH(GUARD), .arrange = add_policies },
	{ "UDP with the sum of its pseudo header", UDP_CHECK("5ba2"), OPEN, CHECKSUM },
	{ "UDP with another sum", UDP_CHECK("5ba3"), OPEN },
	{ "UDP with the sum of its pseudo header from a NIC", UDP_CHECK("5ba2") },
	{ "TCP with the sum of its pseudo header", TCP_CHECK("5b97"), OPEN, CHECKSUM },
	{ "TCP with another sum", TCP_CHECK("5ba2"), OPEN },
	{ "sum that carries twice", .src = "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	  .dst = "2001:db8:2:ffff:ffff:ffff:ffff:ffff", UDP_CHECK("4de7"), OPEN, CHECKSUM },
	{ "sum that carries once more", .src = "2001:db8:1:60af:6e8e:d5a4:d137:41a7",
	  UDP_CHECK("1363"), OPEN, CHECKSUM },
	{ "UDP without room for a checksum", .payload = 7, OPEN, CHECKSUM },
	{ "UDP with no more than a header", .payload = 8, OPEN },
	{ "TCP without room for a checksum", .payload = 17, NEXT_IS("06"), OPEN, CHECKSUM },
	{ "VXLAN may hold an open checksum", UDP_TO("12b5"), OPEN, CHECKSUM },
	{ "VXLAN by Linux's own port", UDP_TO("2118"), OPEN, CHECKSUM },
	{ "GENEVE", UDP_TO("17c1"), OPEN, CHECKSUM },
	{ "L2TP", UDP_TO("06a5"), OPEN, CHECKSUM },
	{ "GTP", UDP_TO("0868"), OPEN, CHECKSUM },
	{ "GRE in UDP", UDP_TO("1292"), OPEN, CHECKSUM },
	{ "VXLAN-GPE", UDP_TO("12b6"), OPEN, CHECKSUM },
	{ "GUE", UDP_TO("17c0"), OPEN, CHECKSUM },
	{ "MPLS in UDP", UDP_TO("19eb"), OPEN, CHECKSUM },
	{ "ICMPv6 has its checksum", NEXT_IS("3a"), OPEN },
	{ "no next header, no checksum", NEXT_IS("3b"), OPEN },
	{ "ESP", NEXT_IS("32"), OPEN },
	{ "fragment, whose checksum is out of reach", NEXT_IS("2c"), OPEN, CHECKSUM },
	{ "SCTP, whose checksum is left open, too", NEXT_IS("84"), OPEN, CHECKSUM },
	{ "IPv6 in IPv6", NEXT_IS("29"), OPEN, CHECKSUM },
	{ "open checksum behind a tag", TAG_10, UDP_CHECK("5ba2"), PORT_FLAG(IN_10, OPEN_CHECKSUMS),
	  CHECKSUM },
};
ROWS(rows_guard)
