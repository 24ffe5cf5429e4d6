// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parsers of routes, neighbours, addresses and generic netlink on built messages: limits, and
 * what captures.txt does not have.
 */

#include "../unit.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/if_addr.h>
#include <linux/lwtunnel.h>
#include <linux/neighbour.h>
#include <string.h>

#include "messages.h"

#define DEL_REASON 32 /* RTA_DEL_REASON of Linux 7.3, which only deletions have */

static const uint8_t ones[32] = { [0 ... 31] = 0xff }, zeros[32];

/* clang-format off */
#define ROUTE_IS "route ::/0 type 0 table 0 metric 0 proto 0"
#define METRIC(metric, value) OPEN(RTA_METRICS), U32(metric, value), CLOSE
#define TICKS(ticks) \
	DATA(RTA_CACHEINFO, sizeof(struct rta_cacheinfo), \
	     &((const struct rta_cacheinfo){ .rta_expires = (ticks) }))

static const struct built_case cases[] = {
	{ "plain route", ROUTE, { { 0 } }, ROUTE_IS },
	{ "IPv4", ROUTE, { SET(rtmsg, rtm_family, AF_INET) }, "ENOMSG" },
	{ "no route", ROUTE, { SET_TYPE(RTM_GETROUTE) }, "ENOMSG" },
	{ "second attribute of a wrong size", ROUTE, { U32(RTA_OIF, 3), U16(RTA_TABLE, 3) },
	  "EBADMSG" },
	{ "header's table, exception", ROUTE,
	  { SET(rtmsg, rtm_table, 77), SET(rtmsg, rtm_flags, RTM_F_CLONED) },
	  "route ::/0 type 0 table 77 metric 0 proto 0 cloned" },
	{ "flags of the only hop", ROUTE, { SET(rtmsg, rtm_flags, 5), U32(RTA_OIF, 3) },
	  ROUTE_IS " | dev 3 flags 5" },
	{ "the kernel's own packets: source", ROUTE, { DATA(RTA_PREFSRC, 16, ones) },
	  ROUTE_IS " own_source" },
	{ "... hop limit", ROUTE, { METRIC(RTAX_HOPLIMIT, 64) }, ROUTE_IS " own_source" },
	{ "... no hop limit", ROUTE, { METRIC(RTAX_HOPLIMIT, 0) }, ROUTE_IS },
	{ "... MTU too small to send", ROUTE, { METRIC(RTAX_MTU, 1279) },
	  ROUTE_IS " mtu 1279 own_source" },
	{ "... smallest MTU", ROUTE, { METRIC(RTAX_MTU, 1280) }, ROUTE_IS " mtu 1280" },
	{ "metric of TCP", ROUTE, { METRIC(RTAX_WINDOW, 1) }, ROUTE_IS },
	{ "... TCP_USEC_TS", ROUTE, { METRIC(RTAX_FEATURES, RTAX_FEATURE_ECN | 1u << 4) },
	  ROUTE_IS },
	{ "... ALLFRAG", ROUTE, { METRIC(RTAX_FEATURES, RTAX_FEATURE_ALLFRAG) },
	  ROUTE_IS " unknown 9" },
	{ "... feature to come", ROUTE, { METRIC(RTAX_FEATURES, 1u << 5) }, ROUTE_IS " unknown 9" },
	{ "two unknown ones: the first is reported", ROUTE, { U32(200, 1), METRIC(RTAX_UNSPEC, 1) },
	  ROUTE_IS " unknown 201" },
	{ "... and the rest is read", ROUTE,
	  { DATA(200, 5, "1234"), U32(RTA_TABLE | NLA_F_NET_BYTEORDER, 300), U32(0x3fff, 1) },
	  "route ::/0 type 0 table 300 metric 0 proto 0 unknown 201" },
	{ "why a route is deleted", ROUTE, { SET_TYPE(RTM_DELROUTE), U8(DEL_REASON, 1) },
	  ROUTE_IS },
	{ "... of a new one", ROUTE, { U8(DEL_REASON, 1) }, ROUTE_IS " unknown 33" },
	{ "... of a hop", ROUTE,
	  { SET_TYPE(RTM_DELROUTE), OPEN(RTA_MULTIPATH), HOP(16, 1), U8(DEL_REASON, 1), CLOSE },
	  ROUTE_IS " unknown 33 | dev 1 flags 1" },
	{ "gateway that is not of IPv6", ROUTE, { DATA(RTA_VIA, sizeof(struct rtvia), zeros) },
	  ROUTE_IS " encap" },
	{ "no encapsulation", ROUTE, { U16(RTA_ENCAP_TYPE, LWTUNNEL_ENCAP_NONE) }, ROUTE_IS },
	{ "type of encapsulation", ROUTE, { U16(RTA_ENCAP_TYPE, LWTUNNEL_ENCAP_SEG6) },
	  ROUTE_IS " encap" },
	{ "attribute of an encapsulation", ROUTE, { OPEN(RTA_ENCAP), DATA(7, 16, ones), CLOSE },
	  ROUTE_IS " encap" },
	{ "lifetime: none", ROUTE, { TICKS(0) }, ROUTE_IS },
	{ "... one tick", ROUTE, { TICKS(1) }, ROUTE_IS " expires ms 10" },
	{ "... of a router advertisement", ROUTE, { SET(rtmsg, rtm_protocol, RTPROT_RA),
	  TICKS(12345) },
	  "route ::/0 type 0 table 0 metric 0 proto 9 expires ms 123450" },
	{ "... over, not collected", ROUTE, { TICKS((uint32_t)-1) }, ROUTE_IS " expires" },
	{ "... long over", ROUTE, { TICKS(0x80000000) }, ROUTE_IS " expires" },
	{ "... longest exact one", ROUTE, { TICKS(429496729) }, ROUTE_IS " expires ms 4294967290" },
	{ "... longer", ROUTE, { TICKS(429496730) }, ROUTE_IS " expires ms 4294967295" },
	{ "... longest", ROUTE, { TICKS(INT32_MAX) }, ROUTE_IS " expires ms 4294967295" },
	{ "... RTA_EXPIRES", ROUTE, { U32(RTA_EXPIRES, 3) }, ROUTE_IS " expires" },

	{ "neighbour", NEIGH, { DATA(NDA_LLADDR, 6, ones), U32(NDA_FLAGS_EXT, 0x80000004),
	  U8(NDA_PROTOCOL, 186) },
	  "neigh 2000::1 dev 7 state 0 ext 2147483652 mac ff:ff:ff:ff:ff:ff has_mac" },
	{ "... attribute to come", NEIGH, { DATA(NDA_LLADDR, 6, ones), U8(18, 0) },
	  "neigh 2000::1 dev 7 state 0 unknown 19" },
	{ "... without a device", NEIGH, { SET(ndmsg, ndm_ifindex, 0) }, "EBADMSG" },
	{ "... of IPv4", NEIGH, { SET(ndmsg, ndm_family, AF_INET) }, "ENOMSG" },
	{ "... proxy entry", NEIGH, { SET(ndmsg, ndm_flags, NTF_PROXY), SET(ndmsg, ndm_ifindex,
	  0) }, "ENOMSG" },

	{ "address, deprecated", ADDRESS, { SET(ifaddrmsg, ifa_flags, IFA_F_DEPRECATED),
	  SET(ifaddrmsg, ifa_prefixlen, 3) },
	  "address 2000::1 in 2000::/3 dev 7 flags 20" },
	{ "... more flags than the header holds", ADDRESS,
	  { SET(ifaddrmsg, ifa_flags, IFA_F_DEPRECATED), U32(IFA_FLAGS, IFA_F_NOPREFIXROUTE) },
	  "address 2000::1 dev 7 flags 200" },
	{ "... with a peer, deleted", ADDRESS, { SET_TYPE(RTM_DELADDR), DATA(IFA_LOCAL, 16, ones) },
	  "address ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff dev 7 flags 0 peer 2000::1" },
	{ "... attribute that is known", ADDRESS, { U8(IFA_PROTO, 3) },
	  "address 2000::1 dev 7 flags 0" },
	{ "... attribute to come", ADDRESS, { U8(IFA_PROTO + 1, 3) },
	  "address 2000::1 dev 7 flags 0 unknown 13" },
	{ "... of IPv4", ADDRESS, { SET(ifaddrmsg, ifa_family, AF_INET) }, "ENOMSG" },
	{ "... without a device", ADDRESS, { SET(ifaddrmsg, ifa_index, 0) }, "EBADMSG" },
	{ "... negative device", ADDRESS, { SET(ifaddrmsg, ifa_index, 1u << 31) }, "EBADMSG" },

	{ "advertised prefix", ADVERTISED, { SET(prefixmsg, prefix_len, 64), U64(PREFIX_CACHEINFO,
	  1) },
	  "prefix 2000::/64 dev 7" },
	{ "... of IPv4", ADVERTISED, { SET(prefixmsg, prefix_family, AF_INET) }, "ENOMSG" },
	{ "... without a device", ADVERTISED, { SET(prefixmsg, prefix_ifindex, 0) }, "EBADMSG" },

	{ "family without the group", FAMILY, { OPEN(CTRL_ATTR_MCAST_GROUPS), OPEN(1),
	  STRING(CTRL_ATTR_MCAST_GRP_NAME, "other"), U32(CTRL_ATTR_MCAST_GRP_ID, 4), CLOSE, CLOSE },
	  "ENOMSG" },
	{ "... group without an id", FAMILY, { OPEN(CTRL_ATTR_MCAST_GROUPS), OPEN(1),
	  STRING(CTRL_ATTR_MCAST_GRP_NAME, "mgmt"), CLOSE, CLOSE }, "ENOMSG" },
	{ "... malformed groups", FAMILY, { DATA(CTRL_ATTR_MCAST_GROUPS, 3, zeros) }, "EBADMSG" },
	{ "... another command", FAMILY, { SET(genlmsghdr, cmd, CTRL_CMD_DELFAMILY) }, "ENOMSG" },
	{ "netdev without a device", NETDEV, { U32(1, 0) }, "EBADMSG" },
};
/* clang-format on */

static void documented(void **state)
{
	assert_cases(cases);
}

static void preferences(void **state)
{
	for (unsigned int pref = 0; pref <= UINT8_MAX; pref++)
		assert_int_equal(BUILT(ROUTE, U8(RTA_PREF, pref))->route.preference, pref == 1 ? 3
										     : pref == 3
											     ? 1
											     : 2);
}

/* Every number of hops up to more than are kept, with their devices and flags. */
static void numbers_of_hops(void **state)
{
	struct put puts[ROUTE_MAX_HOPS + 5] = { OPEN(RTA_MULTIPATH) };

	for (unsigned int n = 0; n <= ROUTE_MAX_HOPS + 1; n++) {
		unsigned int kept = n > ROUTE_MAX_HOPS ? ROUTE_MAX_HOPS : n;
		const struct parsed *p;

		puts[n + 1] = (struct put)CLOSE;
		p = parse_built(ROUTE, puts);
		puts[n + 1] = (struct put)HOP(sizeof(struct rtnexthop), n + 1);
		assert_int_equal(p->result, 0);
		assert_int_equal(p->route.truncated, n > ROUTE_MAX_HOPS);
		assert_int_equal(p->route.n_hops, kept);
		for (unsigned int i = 0; i < kept; i++) {
			assert_int_equal(p->hops[i].ifindex, i + 1);
			assert_int_equal(p->flags[i], (uint8_t)(i + 1));
		}
	}
}

static void malformed_hops(void **state)
{
	const unsigned int whole = sizeof(struct rtnexthop);

	/* The second hop's length: only its very size ends where the attribute does. */
	for (unsigned int len = 0; len < 64; len++) {
		const struct parsed *p =
			BUILT(ROUTE, OPEN(RTA_MULTIPATH), HOP(whole, 1), HOP(len, 2), CLOSE);

		assert_int_equal(p->result, len == whole ? 0 : -EBADMSG);
		assert_int_equal(p->results[PARSER_ROUTE_FLAGS], len == whole ? 2 : 1);
	}
	for (unsigned int size = 0; size < 32; size++)
		assert_int_equal(BUILT(ROUTE, OPEN(RTA_MULTIPATH), HOP(whole + 4 + size, 1),
				       DATA(RTA_GATEWAY, size, zeros), CLOSE)
					 ->result,
				 size == 16 ? 0 : -EBADMSG);
}

static void sizes_of_link_layer_addresses(void **state)
{
	for (unsigned int size = 0; size <= 20; size++) {
		const struct parsed *p = BUILT(NEIGH, DATA(NDA_LLADDR, size, ones));

		assert_int_equal(p->result, 0);
		assert_int_equal(p->neigh.has_mac, size == 6);
	}
}

static void netdev_commands(void **state)
{
	for (unsigned int cmd = 0; cmd < 16; cmd++)
		assert_int_equal(BUILT(NETDEV, SET(genlmsghdr, cmd, cmd))->result,
				 cmd == 1 || cmd == 2 || cmd == 4 ? 0 : -ENOMSG);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documented),
		cmocka_unit_test(preferences),
		cmocka_unit_test(numbers_of_hops),
		cmocka_unit_test(malformed_hops),
		cmocka_unit_test(sizes_of_link_layer_addresses),
		cmocka_unit_test(netdev_commands),
	};

	return cmocka_run_group_tests_name("parse_route", tests, NULL, NULL);
}
