// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink parsers on built messages: what the machine that made netlink_captures.h could not be
 * brought to send, limits, and what must be refused or punted. Devices: test_parse_link.c, rules:
 * test_parse_rule.c, next hops: test_parse_nexthop.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../unit.h"
#include "netlink_build.h"
#include "netlink_messages.h"

static struct route_hop hops[ROUTE_MAX_HOPS];
static const union sixlane_addr all_ones = { .halves = { ~0ull, ~0ull } };

/* --- routes ------------------------------------------------------------------------------ */

static struct rtmsg *rtmsg_of(struct nlmsghdr *nlh)
{
	return mnl_nlmsg_get_payload(nlh);
}

static void prefix_lengths(void **state)
{
	struct route route;

	for (unsigned int len = 0; len <= 255; len++) {
		struct nlmsghdr *nlh = build_route();
		int r;

		rtmsg_of(nlh)->rtm_dst_len = (uint8_t)len;
		mnl_attr_put(nlh, RTA_DST, sizeof(all_ones), &all_ones);
		r = PARSE(parse_route, nlh, &route, hops);
		assert_int_equal(r, len <= 128 ? 0 : -EBADMSG);
		if (r < 0)
			continue;
		assert_int_equal(route.dst.len, len);
		for (unsigned int bit = 0; bit < 128; bit++)
			assert_int_equal(route.dst.addr.bytes[bit / 8] >> (7 - bit % 8) & 1,
					 bit < len);

		nlh = build_route();
		rtmsg_of(nlh)->rtm_src_len = (uint8_t)len;
		mnl_attr_put(nlh, RTA_SRC, sizeof(all_ones), &all_ones);
		assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
		assert_int_equal(route.src.len, len);
	}
}

static void prefix_without_address(void **state)
{
	struct nlmsghdr *nlh = build_route();
	struct route route;

	assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
	assert_int_equal(route.dst.len, 0);
	assert_int_equal(route.dst.addr.halves[0] | route.dst.addr.halves[1], 0);
	rtmsg_of(nlh)->rtm_dst_len = 1;
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), -EBADMSG);
	nlh = build_route();
	rtmsg_of(nlh)->rtm_src_len = 1;
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), -EBADMSG);
}

static struct nlmsghdr *build_metric(uint16_t metric, uint32_t value)
{
	struct nlmsghdr *nlh = build_route();
	struct nlattr *nest = mnl_attr_nest_start(nlh, RTA_METRICS);

	mnl_attr_put_u32(nlh, metric, value);
	mnl_attr_nest_end(nlh, nest);
	return nlh;
}

static void route_sources(void **state)
{
	static const struct {
		uint16_t metric;
		uint32_t value;
		bool own_source;
	} rows[] = {
		{ RTAX_HOPLIMIT, 64, true }, { RTAX_HOPLIMIT, 0, false }, { RTAX_MTU, 1279, true },
		{ RTAX_MTU, 1280, false },   { RTAX_ADVMSS, 64, false },
	};
	struct nlmsghdr *nlh = build_route();
	struct route route;

	assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
	assert_false(route.own_source);
	mnl_attr_put(nlh, RTA_PREFSRC, sizeof(all_ones), &all_ones);
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
	assert_true(route.own_source);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		nlh = build_metric(rows[i].metric, rows[i].value);
		assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
		assert_int_equal(route.own_source, rows[i].own_source);
	}
}

static void route_marks(void **state)
{
	struct rtvia via = { .rtvia_family = AF_INET };
	struct nlmsghdr *nlh = build_route();
	struct route route;

	rtmsg_of(nlh)->rtm_table = 77;
	rtmsg_of(nlh)->rtm_flags = RTM_F_CLONED;
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
	assert_int_equal(route.table, 77);
	assert_true(route.cloned);
	assert_false(route.encap || route.expires || route.truncated);
	assert_int_equal(route.preference, 2);
	assert_int_equal(route.n_hops, 0);

	nlh = build_route();
	mnl_attr_put(nlh, RTA_VIA, sizeof(via), &via);
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
	assert_true(route.encap);

	nlh = build_route();
	mnl_attr_put_u16(nlh, RTA_ENCAP_TYPE, 0);
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
	assert_false(route.encap);
}

static void route_lifetimes(void **state)
{
	static const struct {
		uint32_t ticks; /* rta_expires: hundredths of a second, signed */
		uint8_t protocol;
		bool expires;
		uint32_t lifetime_ms;
	} cases[] = {
		{ 0, RTPROT_BOOT, false, 0 },
		{ 1, RTPROT_BOOT, true, 10 },
		{ 12345, RTPROT_BOOT, true, 123450 },
		{ (uint32_t)-1, RTPROT_BOOT, true, 0 }, /* over, not collected */
		{ 0x80000000, RTPROT_BOOT, true, 0 },
		{ 429496729, RTPROT_BOOT, true, 4294967290 },
		{ 429496730, RTPROT_BOOT, true, UINT32_MAX },
		{ INT32_MAX, RTPROT_BOOT, true, UINT32_MAX },
		{ 0, RTPROT_RA, false, 0 },
		{ 100, RTPROT_RA, true, 1000 },
	};
	struct route route;
	struct nlmsghdr *nlh;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rta_cacheinfo info = { .rta_expires = cases[i].ticks };

		nlh = build_route();
		rtmsg_of(nlh)->rtm_protocol = cases[i].protocol;
		mnl_attr_put(nlh, RTA_CACHEINFO, sizeof(info), &info);
		assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
		assert_int_equal(route.expires, cases[i].expires);
		assert_int_equal(route.lifetime_ms, cases[i].lifetime_ms);
		assert_int_equal(route.expires_ns, 0);
	}
	nlh = build_route();
	mnl_attr_put_u32(nlh, RTA_EXPIRES, 3);
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
	assert_true(route.expires);
	assert_int_equal(route.lifetime_ms, 0);
}

static void route_preferences(void **state)
{
	for (unsigned int pref = 0; pref <= UINT8_MAX; pref++) {
		struct nlmsghdr *nlh = build_route();
		struct route route;

		mnl_attr_put_u8(nlh, RTA_PREF, (uint8_t)pref);
		assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
		assert_int_equal(route.preference, pref == 1 ? 3 : pref == 3 ? 1 : 2);
	}
}

static void hop_put(struct nlmsghdr *nlh, uint16_t rtnh_len, int ifindex)
{
	struct rtnexthop *rtnh = mnl_nlmsg_get_payload_tail(nlh);

	*rtnh = (struct rtnexthop){ .rtnh_len = rtnh_len,
				    .rtnh_ifindex = ifindex,
				    .rtnh_flags = (uint8_t)ifindex };
	nlh->nlmsg_len += sizeof(*rtnh);
}

static void multipath_limits(void **state)
{
	uint8_t flags[ROUTE_MAX_HOPS];
	struct route route;

	for (unsigned int n = 0; n <= ROUTE_MAX_HOPS + 1; n++) {
		struct nlmsghdr *nlh = build_route();
		struct nlattr *nest = mnl_attr_nest_start(nlh, RTA_MULTIPATH);

		for (unsigned int i = 0; i < n; i++)
			hop_put(nlh, sizeof(struct rtnexthop), (int)i + 1);
		mnl_attr_nest_end(nlh, nest);
		assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
		assert_int_equal(route.truncated, n > ROUTE_MAX_HOPS);
		assert_int_equal(route.n_hops, n > ROUTE_MAX_HOPS ? ROUTE_MAX_HOPS : n);
		assert_int_equal(PARSE(parse_route_flags, nlh, flags), route.n_hops);
		for (unsigned int i = 0; i < route.n_hops; i++) {
			assert_int_equal(hops[i].ifindex, i + 1);
			assert_int_equal(flags[i], (uint8_t)(i + 1));
		}
	}
}

static void multipath_malformed(void **state)
{
	static const uint8_t bytes[32];
	uint8_t flags[ROUTE_MAX_HOPS];
	struct route route;

	/* The second hop's length: only its very size ends where the attribute does. */
	for (unsigned int len = 0; len < 64; len++) {
		struct nlmsghdr *nlh = build_route();
		struct nlattr *nest = mnl_attr_nest_start(nlh, RTA_MULTIPATH);

		hop_put(nlh, sizeof(struct rtnexthop), 1);
		hop_put(nlh, (uint16_t)len, 2);
		mnl_attr_nest_end(nlh, nest);
		assert_int_equal(PARSE(parse_route, nlh, &route, hops),
				 len == sizeof(struct rtnexthop) ? 0 : -EBADMSG);
		assert_int_equal(PARSE(parse_route_flags, nlh, flags),
				 len == sizeof(struct rtnexthop) ? 2 : 1);
	}
	for (unsigned int size = 0; size < 32; size++) {
		struct nlmsghdr *nlh = build_route();
		struct nlattr *nest = mnl_attr_nest_start(nlh, RTA_MULTIPATH);

		hop_put(nlh, (uint16_t)(sizeof(struct rtnexthop) + MNL_ATTR_HDRLEN + size), 1);
		mnl_attr_put(nlh, RTA_GATEWAY, size, bytes);
		mnl_attr_nest_end(nlh, nest);
		assert_int_equal(PARSE(parse_route, nlh, &route, hops), size == 16 ? 0 : -EBADMSG);
	}
}

static void failure_leaves_the_result_alone(void **state)
{
	struct nlmsghdr *nlh = build_route();
	struct route route, before;

	memset(&route, 0x5a, sizeof(route));
	memcpy(&before, &route, sizeof(route));
	mnl_attr_put_u32(nlh, RTA_OIF, 3);
	mnl_attr_put_u16(nlh, RTA_TABLE, 3);
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), -EBADMSG);
	rtmsg_of(nlh)->rtm_family = AF_INET;
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), -ENOMSG);
	assert_memory_equal(&route, &before, sizeof(route));
}

/* --- what later kernels may say ------------------------------------------------------------ */

#define FLOWLABEL 31 /* RTA_FLOWLABEL, of questions */

/* The rest of the message is read; the first that is not known is named. */
static void unknown_attributes(void **state)
{
	struct nlmsghdr *nlh = build_route();
	struct route route;

	mnl_attr_put(nlh, 200, 5, "1234");
	mnl_attr_put_u32(nlh, RTA_TABLE | NLA_F_NET_BYTEORDER, 300);
	mnl_attr_put_u32(nlh, 0x3fff, 1);
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
	assert_int_equal(route.table, 300);
	assert_int_equal(route.unknown_attr, 201);
	assert_true(route.unknown && !route.encap);
}

#define DEL_REASON 32 /* RTA_DEL_REASON of Linux 7.3, which only deletions have */

static void why_a_route_is_deleted(void **state)
{
	struct nlmsghdr *nlh = build_route();
	struct route route;

	mnl_attr_put_u8(nlh, DEL_REASON, 1);
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
	assert_int_equal(route.unknown_attr, DEL_REASON + 1);
	nlh->nlmsg_type = RTM_DELROUTE;
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
	assert_false(route.unknown);
}

static bool is_known(uint16_t type)
{
	static const uint16_t known[] = {
		RTA_DST,	RTA_SRC,     RTA_IIF,	    RTA_OIF,   RTA_GATEWAY, RTA_PRIORITY,
		RTA_PREFSRC,	RTA_METRICS, RTA_CACHEINFO, RTA_TABLE, RTA_VIA,	    RTA_PREF,
		RTA_ENCAP_TYPE, RTA_ENCAP,   RTA_EXPIRES,   RTA_PAD,   RTA_NH_ID,
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i] == type)
			return true;
	return false;
}

/* Of a size that all of them may have: too short for most that are known, which are refused. */
static void every_other_attribute_of_a_route(void **state)
{
	assert_false(is_known(FLOWLABEL));
	for (uint16_t type = 0; type < 64; type++) {
		struct nlmsghdr *nlh = build_route(), *deep;
		struct nlattr *nest;
		struct route route;
		int r;

		mnl_attr_put(nlh, type, 0, "");
		r = PARSE(parse_route, nlh, &route, hops);
		assert_int_equal(r < 0 || !route.unknown, is_known(type) || type == RTA_MULTIPATH);
		assert_true(r < 0 || route.unknown_attr == (route.unknown ? type + 1 : 0));
		deep = build_route();
		nest = mnl_attr_nest_start(deep, RTA_MULTIPATH);
		hop_put(deep, sizeof(struct rtnexthop), 1);
		hop_put(deep, sizeof(struct rtnexthop) + MNL_ATTR_HDRLEN, 2);
		mnl_attr_put(deep, type, 0, "");
		mnl_attr_nest_end(deep, nest);
		r = PARSE(parse_route, deep, &route, hops);
		assert_int_equal(r < 0 || !route.unknown, is_known(type) || type == RTA_MULTIPATH);
		assert_true(r < 0 || route.n_hops == 2);
	}
}

static void metrics(void **state)
{
	static const struct {
		uint16_t metric;
		uint32_t value;
		bool unknown;
	} rows[] = {
		{ RTAX_WINDOW, 1, false },
		{ RTAX_CC_ALGO, 1, false },
		{ RTAX_FASTOPEN_NO_COOKIE, 1, false },
		{ RTAX_FASTOPEN_NO_COOKIE + 1, 1, true },
		{ RTAX_UNSPEC, 1, true },
		{ RTAX_FEATURES, RTAX_FEATURE_ECN | 1u << 4 /* TCP_USEC_TS */, false },
		{ RTAX_FEATURES, RTAX_FEATURE_ALLFRAG, true },
		{ RTAX_FEATURES, 1u << 5, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nlmsghdr *nlh = build_metric(rows[i].metric, rows[i].value);
		struct route route;

		assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
		assert_int_equal(route.unknown, rows[i].unknown);
		assert_int_equal(route.unknown_attr, rows[i].unknown ? RTA_METRICS + 1 : 0);
	}
}

/* SEG6_IPTUNNEL_SRC (Linux 7.1), or whatever else: the kernel encapsulates. */
static void attributes_of_encapsulations(void **state)
{
	for (uint16_t type = 0; type < 8; type++) {
		struct nlmsghdr *nlh = build_route();
		struct nlattr *nest = mnl_attr_nest_start(nlh, RTA_ENCAP);
		struct route route;

		mnl_attr_put(nlh, type, sizeof(all_ones), &all_ones);
		mnl_attr_nest_end(nlh, nest);
		mnl_attr_put_u16(nlh, RTA_ENCAP_TYPE, LWTUNNEL_ENCAP_SEG6);
		assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
		assert_true(route.encap);
		assert_false(route.unknown);
	}
}

static void attributes_of_neighbours_and_addresses(void **state)
{
	static const uint8_t mac[6] = { 2 };
	struct nlmsghdr *nlh = build_neigh();
	struct address address;
	struct neigh neigh;

	mnl_attr_put(nlh, NDA_LLADDR, sizeof(mac), mac);
	mnl_attr_put_u32(nlh, NDA_FLAGS_EXT, 0x80000004);
	mnl_attr_put_u8(nlh, NDA_PROTOCOL, 186);
	assert_int_equal(PARSE(parse_neigh, nlh, &neigh), 0);
	assert_int_equal(neigh.flags_ext, 0x80000004);
	assert_true(neigh.has_mac && !neigh.unknown_attr);
	mnl_attr_put_u8(nlh, 18, 0);
	assert_int_equal(PARSE(parse_neigh, nlh, &neigh), 0);
	assert_true(!neigh.has_mac && neigh.unknown_attr == 19);
	nlh = build_address();
	mnl_attr_put_u8(nlh, IFA_PROTO, 3);
	assert_int_equal(PARSE(parse_address, nlh, &address), 0);
	assert_int_equal(address.unknown_attr, 0);
	mnl_attr_put_u8(nlh, IFA_PROTO + 1, 3);
	assert_int_equal(PARSE(parse_address, nlh, &address), 0);
	assert_int_equal(address.unknown_attr, IFA_PROTO + 2);
}

/* --- the rest ---------------------------------------------------------------------------- */

static void neighbour_link_layers(void **state)
{
	static const uint8_t address[20] = { 2, 4, 6, 8, 10, 12, 14 };

	for (size_t size = 0; size <= sizeof(address); size++) {
		struct nlmsghdr *nlh = build_neigh();
		struct neigh out;

		mnl_attr_put(nlh, NDA_LLADDR, size, address);
		assert_int_equal(PARSE(parse_neigh, nlh, &out), 0);
		assert_int_equal(out.has_mac, size == 6);
	}
}

static void netdev_commands(void **state)
{
	for (uint8_t cmd = 0; cmd < 16; cmd++) {
		struct nlmsghdr *nlh = build_netdev();
		struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
		uint32_t ifindex;
		uint64_t features;

		genl->cmd = cmd;
		assert_int_equal(PARSE(parse_netdev, nlh, &ifindex, &features),
				 cmd == 1 || cmd == 2 || cmd == 4 ? 0 : -ENOMSG);
	}
}

/* --- addresses ---------------------------------------------------------------------------- */

static void addresses(void **state)
{
	struct nlmsghdr *nlh = build_address();
	struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	struct address address;

	ifa->ifa_flags = IFA_F_DEPRECATED;
	assert_int_equal(PARSE(parse_address, nlh, &address), 0);
	assert_true(addr_is(&address.addr, "2000::1"));
	assert_int_equal(address.ifindex, 7);
	assert_int_equal(address.flags, IFA_F_DEPRECATED);
	assert_false(address.expires);
	/* the byte in the header has no room for all flags */
	mnl_attr_put_u32(nlh, IFA_FLAGS, IFA_F_NOPREFIXROUTE);
	assert_int_equal(PARSE(parse_address, nlh, &address), 0);
	assert_int_equal(address.flags, IFA_F_NOPREFIXROUTE);
	/* IFA_ADDRESS is the peer's then */
	mnl_attr_put(nlh, IFA_LOCAL, sizeof(all_ones), &all_ones);
	nlh->nlmsg_type = RTM_DELADDR;
	assert_int_equal(PARSE(parse_address, nlh, &address), 0);
	assert_memory_equal(&address.addr, &all_ones, sizeof(all_ones));
	ifa->ifa_family = AF_INET;
	assert_int_equal(PARSE(parse_address, nlh, &address), -ENOMSG);
}

static void addresses_of_nobody(void **state)
{
	struct nlmsghdr *nlh = build_address();
	struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	struct address address;

	ifa->ifa_index = 0;
	assert_int_equal(PARSE(parse_address, nlh, &address), -EBADMSG);
	ifa->ifa_index = 1u << 31;
	assert_int_equal(PARSE(parse_address, nlh, &address), -EBADMSG);
	nlh = message_start();
	nlh->nlmsg_type = RTM_NEWADDR;
	ifa = header_put(nlh, sizeof(*ifa), AF_INET6);
	ifa->ifa_index = 7;
	assert_int_equal(PARSE(parse_address, nlh, &address), -EBADMSG);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefix_lengths),
		cmocka_unit_test(prefix_without_address),
		cmocka_unit_test(route_sources),
		cmocka_unit_test(addresses),
		cmocka_unit_test(addresses_of_nobody),
		cmocka_unit_test(route_marks),
		cmocka_unit_test(route_lifetimes),
		cmocka_unit_test(route_preferences),
		cmocka_unit_test(multipath_limits),
		cmocka_unit_test(multipath_malformed),
		cmocka_unit_test(failure_leaves_the_result_alone),
		cmocka_unit_test(unknown_attributes),
		cmocka_unit_test(why_a_route_is_deleted),
		cmocka_unit_test(every_other_attribute_of_a_route),
		cmocka_unit_test(metrics),
		cmocka_unit_test(attributes_of_encapsulations),
		cmocka_unit_test(attributes_of_neighbours_and_addresses),
		cmocka_unit_test(neighbour_link_layers),
		cmocka_unit_test(netdev_commands),
	};

	return cmocka_run_group_tests_name("parse_built", tests, NULL, NULL);
}
