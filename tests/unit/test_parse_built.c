// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink parsers on built messages: what the machine that made netlink_captures.h could not be
 * brought to send, limits, and what must be refused or punted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <net/if_arp.h>

#include "netlink_build.h"
#include "netlink_messages.h"

static struct route_hop hops[ROUTE_MAX_HOPS];
static const union sixlane_addr all_ones = { .halves = { ~0ull, ~0ull } };

/* Parse what was built, from exactly its size. */
#define PARSE(parse, nlh, ...)                                         \
	({                                                             \
		size_t size_ = (nlh)->nlmsg_len;                       \
		_cleanup_free_ struct nlmsghdr *copy_ = malloc(size_); \
		memcpy(copy_, nlh, size_);                             \
		parse(copy_, __VA_ARGS__);                             \
	})

/* --- routes ------------------------------------------------------------------------------ */

static struct rtmsg *rtmsg_of(struct nlmsghdr *nlh)
{
	return mnl_nlmsg_get_payload(nlh);
}

static void prefix_lengths(void **state)
{
	struct route route;

	(void)state;
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

	(void)state;
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
	assert_int_equal(route.dst.len, 0);
	assert_int_equal(route.dst.addr.halves[0] | route.dst.addr.halves[1], 0);
	rtmsg_of(nlh)->rtm_dst_len = 1;
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), -EBADMSG);
	nlh = build_route();
	rtmsg_of(nlh)->rtm_src_len = 1;
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), -EBADMSG);
}

static void route_marks(void **state)
{
	struct rta_cacheinfo info = { .rta_expires = (uint32_t)-5 }; /* expired, not collected */
	struct rtvia via = { .rtvia_family = AF_INET };
	struct nlmsghdr *nlh = build_route();
	struct route route;

	(void)state;
	rtmsg_of(nlh)->rtm_table = 77;
	rtmsg_of(nlh)->rtm_flags = RTM_F_CLONED;
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
	assert_int_equal(route.table, 77);
	assert_true(route.cloned);
	assert_false(route.encap || route.expires || route.truncated || route.mtu_locked);
	assert_int_equal(route.n_hops, 0);

	nlh = build_route();
	mnl_attr_put(nlh, RTA_CACHEINFO, sizeof(info), &info);
	mnl_attr_put(nlh, RTA_VIA, sizeof(via), &via);
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
	assert_true(route.expires);
	assert_true(route.encap);

	nlh = build_route();
	mnl_attr_put_u32(nlh, RTA_EXPIRES, 3);
	mnl_attr_put_u16(nlh, RTA_ENCAP_TYPE, 0);
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
	assert_true(route.expires);
	assert_false(route.encap);
}

static void hop_put(struct nlmsghdr *nlh, uint16_t rtnh_len, int ifindex)
{
	struct rtnexthop *rtnh = mnl_nlmsg_get_payload_tail(nlh);

	*rtnh = (struct rtnexthop){ .rtnh_len = rtnh_len, .rtnh_ifindex = ifindex };
	nlh->nlmsg_len += sizeof(*rtnh);
}

static void multipath_limits(void **state)
{
	struct route route;

	(void)state;
	for (unsigned int n = 0; n <= ROUTE_MAX_HOPS + 1; n++) {
		struct nlmsghdr *nlh = build_route();
		struct nlattr *nest = mnl_attr_nest_start(nlh, RTA_MULTIPATH);

		for (unsigned int i = 0; i < n; i++)
			hop_put(nlh, sizeof(struct rtnexthop), (int)i + 1);
		mnl_attr_nest_end(nlh, nest);
		assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
		assert_int_equal(route.truncated, n > ROUTE_MAX_HOPS);
		assert_int_equal(route.n_hops, n > ROUTE_MAX_HOPS ? ROUTE_MAX_HOPS : n);
		for (unsigned int i = 0; i < route.n_hops; i++)
			assert_int_equal(hops[i].ifindex, i + 1);
	}
}

static void multipath_malformed(void **state)
{
	static const uint8_t bytes[32];
	struct route route;

	(void)state;
	/* The second hop's length: only its very size ends where the attribute does. */
	for (unsigned int len = 0; len < 64; len++) {
		struct nlmsghdr *nlh = build_route();
		struct nlattr *nest = mnl_attr_nest_start(nlh, RTA_MULTIPATH);

		hop_put(nlh, sizeof(struct rtnexthop), 1);
		hop_put(nlh, (uint16_t)len, 2);
		mnl_attr_nest_end(nlh, nest);
		assert_int_equal(PARSE(parse_route, nlh, &route, hops),
				 len == sizeof(struct rtnexthop) ? 0 : -EBADMSG);
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

	(void)state;
	memset(&route, 0x5a, sizeof(route));
	memcpy(&before, &route, sizeof(route));
	mnl_attr_put_u32(nlh, RTA_OIF, 3);
	mnl_attr_put_u16(nlh, RTA_TABLE, 3);
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), -EBADMSG);
	rtmsg_of(nlh)->rtm_family = AF_INET;
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), -ENOMSG);
	assert_memory_equal(&route, &before, sizeof(route));
}

static void unknown_attributes_are_skipped(void **state)
{
	struct nlmsghdr *nlh = build_route();
	struct route route;

	(void)state;
	mnl_attr_put(nlh, 200, 5, "1234");
	mnl_attr_put_u32(nlh, RTA_TABLE | NLA_F_NET_BYTEORDER, 300);
	mnl_attr_put_u32(nlh, 0x3fff, 1);
	assert_int_equal(PARSE(parse_route, nlh, &route, hops), 0);
	assert_int_equal(route.table, 300);
}

/* --- links ------------------------------------------------------------------------------- */

static void link_below_another_namespace(void **state)
{
	struct nlmsghdr *nlh = build_link(AF_UNSPEC);
	struct link link;

	(void)state;
	mnl_attr_put_u32(nlh, IFLA_LINK, 12);
	assert_int_equal(PARSE(parse_link, nlh, &link), 0);
	assert_int_equal(link.lower, 12);
	mnl_attr_put_u32(nlh, IFLA_LINK_NETNSID, 0);
	assert_int_equal(PARSE(parse_link, nlh, &link), 0);
	assert_int_equal(link.lower, 0);
	nlh = build_link(AF_UNSPEC);
	mnl_attr_put_u32(nlh, IFLA_LINK, 7); /* itself */
	assert_int_equal(PARSE(parse_link, nlh, &link), 0);
	assert_int_equal(link.lower, 0);
}

static void link_addresses(void **state)
{
	static const uint8_t zero[6], address[20] = { 2, 4, 6, 8, 10, 12, 14 };

	(void)state;
	for (size_t size = 0; size <= sizeof(address); size++) {
		struct nlmsghdr *nlh = build_link(AF_UNSPEC);
		struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
		struct link link;

		mnl_attr_put(nlh, IFLA_ADDRESS, size, address);
		ifi->ifi_type = ARPHRD_ETHER;
		assert_int_equal(PARSE(parse_link, nlh, &link), 0);
		assert_memory_equal(link.mac, size == 6 ? address : zero, 6);
		ifi->ifi_type = ARPHRD_TUNNEL6;
		assert_int_equal(PARSE(parse_link, nlh, &link), 0);
		assert_memory_equal(link.mac, zero, 6);
	}
}

static void link_xdp(void **state)
{
	static const struct {
		uint8_t attached;
		uint32_t prog, drv, skb, hw;
		int expected;
		enum xdp_mode mode;
		uint32_t id;
	} cases[] = {
		{ XDP_ATTACHED_NONE, 0, 0, 0, 0, 0, XDP_MODE_NONE, 0 },
		{ XDP_ATTACHED_DRV, 4, 4, 0, 0, 0, XDP_MODE_NATIVE, 4 },
		{ XDP_ATTACHED_SKB, 5, 0, 5, 0, 0, XDP_MODE_GENERIC, 5 },
		{ XDP_ATTACHED_HW, 6, 0, 0, 6, 0, XDP_MODE_OFFLOAD, 6 },
		{ XDP_ATTACHED_MULTI, 0, 7, 8, 9, 0, XDP_MODE_MULTI, 7 },
		{ XDP_ATTACHED_MULTI, 0, 0, 8, 9, 0, XDP_MODE_MULTI, 8 },
		{ XDP_ATTACHED_MULTI + 1, 1, 1, 1, 1, -EBADMSG, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint32_t ids[] = { cases[i].prog, cases[i].drv, cases[i].skb, cases[i].hw };
		struct nlmsghdr *nlh = build_link(AF_UNSPEC);
		struct nlattr *nest = mnl_attr_nest_start(nlh, IFLA_XDP);
		struct link link;

		mnl_attr_put_u8(nlh, IFLA_XDP_ATTACHED, cases[i].attached);
		for (size_t id = 0; id < ARRAY_SIZE(ids); id++)
			if (ids[id])
				mnl_attr_put_u32(nlh, (uint16_t)(IFLA_XDP_PROG_ID + id), ids[id]);
		mnl_attr_nest_end(nlh, nest);
		assert_int_equal(PARSE(parse_link, nlh, &link), cases[i].expected);
		if (cases[i].expected < 0)
			continue;
		assert_int_equal(link.xdp_mode, cases[i].mode);
		assert_int_equal(link.xdp_prog_id, cases[i].id);
	}
}

static bool link_takes_frames(const char *kind, uint32_t mode, char *got_kind)
{
	struct nlmsghdr *nlh = build_link(AF_UNSPEC);
	struct nlattr *info = mnl_attr_nest_start(nlh, IFLA_LINKINFO), *data;
	struct link link;

	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, kind);
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	mnl_attr_put_u32(nlh, IFLA_MACVLAN_MODE, mode);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	assert_int_equal(PARSE(parse_link, nlh, &link), 0);
	strcpy(got_kind, link.kind);
	return link.takes_frames;
}

static void link_kinds(void **state)
{
	char kind[16];

	(void)state;
	assert_true(link_takes_frames("macvlan", MACVLAN_MODE_PASSTHRU, kind));
	assert_true(link_takes_frames("macvtap", MACVLAN_MODE_PASSTHRU, kind));
	assert_true(link_takes_frames("macvlan", MACVLAN_MODE_SOURCE, kind));
	assert_false(link_takes_frames("macvlan", MACVLAN_MODE_BRIDGE, kind));
	assert_false(link_takes_frames("ipvlan", MACVLAN_MODE_PASSTHRU, kind));
	assert_string_equal(kind, "ipvlan");
	assert_false(link_takes_frames("an_out_of_tree_driver", MACVLAN_MODE_PASSTHRU, kind));
	assert_string_equal(kind, "an_out_of_tree_");
}

static void link_not_described(void **state)
{
	struct nlmsghdr *nlh = message_start();
	struct ifinfomsg *ifi;
	struct link link;

	(void)state;
	nlh->nlmsg_type = RTM_NEWLINK;
	ifi = header_put(nlh, sizeof(*ifi), AF_UNSPEC);
	ifi->ifi_index = 7;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, "wlan0");
	mnl_attr_put(nlh, IFLA_WIRELESS, 8, "\1\2\3\4\5\6\7");
	assert_int_equal(PARSE(parse_link, nlh, &link), -ENOMSG);
	nlh = build_link(AF_UNSPEC);
	ifi = mnl_nlmsg_get_payload(nlh);
	ifi->ifi_index = 0;
	assert_int_equal(PARSE(parse_link, nlh, &link), -EBADMSG);
	ifi->ifi_index = 7;
	ifi->ifi_family = AF_BRIDGE;
	assert_int_equal(PARSE(parse_link, nlh, &link), -ENOMSG);
}

static void link_conf_of_older_kernels(void **state)
{
	(void)state;
	for (size_t n = DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN + 1; n <= 64; n++) {
		struct nlmsghdr *nlh = build_link(AF_INET6);
		struct nlattr *nest = mnl_attr_nest_start(nlh, IFLA_PROTINFO);
		struct link_ipv6 out;
		int32_t conf[64] = { [DEVCONF_MTU6] = 1280, [59] = 1 };

		conf[DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN] = 1;
		mnl_attr_put(nlh, IFLA_INET6_CONF, n * sizeof(conf[0]), conf);
		mnl_attr_nest_end(nlh, nest);
		assert_int_equal(PARSE(parse_link_ipv6, nlh, &out), 0);
		assert_int_equal(out.mtu6, 1280);
		assert_true(out.ignore_linkdown);
		assert_int_equal(out.force_forwarding, n > 59);
	}
}

static void link_without_ipv6(void **state)
{
	struct nlmsghdr *nlh = build_link(AF_UNSPEC);
	struct link_ipv6 out;

	(void)state;
	assert_int_equal(PARSE(parse_link_ipv6, nlh, &out), -ENOMSG);
	nlh->nlmsg_type = RTM_DELLINK;
	assert_int_equal(PARSE(parse_link_ipv6, nlh, &out), -ENOMSG);
}

/* --- the rest ---------------------------------------------------------------------------- */

static void netconf_of_a_device_that_lost_ipv6(void **state)
{
	struct nlmsghdr *nlh = build_netconf();
	struct netconf out;

	(void)state;
	nlh->nlmsg_type = RTM_DELNETCONF;
	assert_int_equal(PARSE(parse_netconf, nlh, &out), 0);
	assert_int_equal(out.ifindex, 7);
	assert_false(out.has_forwarding || out.has_proxy_ndp || out.has_ignore_linkdown);
	nlh = message_start();
	nlh->nlmsg_type = RTM_NEWNETCONF;
	header_put(nlh, sizeof(struct netconfmsg), AF_INET6);
	assert_int_equal(PARSE(parse_netconf, nlh, &out), -EBADMSG);
}

static void neighbour_link_layers(void **state)
{
	static const uint8_t address[20] = { 2, 4, 6, 8, 10, 12, 14 };

	(void)state;
	for (size_t size = 0; size <= sizeof(address); size++) {
		struct nlmsghdr *nlh = build_neigh();
		struct neigh out;

		mnl_attr_put(nlh, NDA_LLADDR, size, address);
		assert_int_equal(PARSE(parse_neigh, nlh, &out), 0);
		assert_int_equal(out.has_mac, size == 6);
	}
}

static void rule_selectors(void **state)
{
	static const struct {
		uint8_t dst_len, src_len, tos, action;
		uint32_t flags;
		bool selective;
	} headers[] = {
		{ 0, 0, 0, FR_ACT_TO_TBL, 0, false },
		{ 0, 0, 0, FR_ACT_TO_TBL, FIB_RULE_PERMANENT, false },
		{ 0, 0, 0, FR_ACT_BLACKHOLE, 0, false },
		{ 1, 0, 0, FR_ACT_TO_TBL, 0, true },
		{ 0, 1, 0, FR_ACT_TO_TBL, 0, true },
		{ 0, 0, 4, FR_ACT_TO_TBL, 0, true },
		{ 0, 0, 0, FR_ACT_GOTO, 0, true },
		{ 0, 0, 0, FR_ACT_TO_TBL, FIB_RULE_INVERT, true },
		{ 0, 0, 0, FR_ACT_TO_TBL, FIB_RULE_OIF_DETACHED, true },
	};
	struct rule out;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		struct nlmsghdr *nlh = build_rule();
		struct fib_rule_hdr *frh = mnl_nlmsg_get_payload(nlh);

		frh->dst_len = headers[i].dst_len;
		frh->src_len = headers[i].src_len;
		frh->tos = headers[i].tos;
		frh->action = headers[i].action;
		frh->flags = headers[i].flags;
		assert_int_equal(PARSE(parse_rule, nlh, &out), 0);
		assert_int_equal(out.selective, headers[i].selective);
	}
	/* Each attribute that there is, and those that there may be one day. */
	for (uint16_t type = FRA_DST; type < 64; type++) {
		const bool harmless = type == FRA_PRIORITY || type == FRA_TABLE ||
				      type == FRA_PROTOCOL || type == FRA_PAD || type == FRA_L3MDEV;
		struct nlmsghdr *nlh = build_rule();

		if (type == FRA_PROTOCOL || type == FRA_L3MDEV)
			mnl_attr_put_u8(nlh, type, 1);
		else
			mnl_attr_put_u32(nlh, type, 1);
		assert_int_equal(PARSE(parse_rule, nlh, &out), 0);
		assert_int_equal(out.selective, !harmless);
	}
}

static void next_hop_families(void **state)
{
	struct nlmsghdr *nlh = build_next_hop();
	struct nhmsg *nhm = mnl_nlmsg_get_payload(nlh);
	uint32_t id = 0;

	(void)state;
	assert_int_equal(PARSE(parse_next_hop_id, nlh, &id), -EBADMSG);
	mnl_attr_put_u32(nlh, NHA_ID, 5);
	nhm->nh_family = AF_INET;
	assert_int_equal(PARSE(parse_next_hop_id, nlh, &id), -ENOMSG);
	nhm->nh_family = AF_UNSPEC;
	assert_int_equal(PARSE(parse_next_hop_id, nlh, &id), 0);
	assert_int_equal(id, 5);
}

static void netdev_commands(void **state)
{
	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefix_lengths),
		cmocka_unit_test(prefix_without_address),
		cmocka_unit_test(route_marks),
		cmocka_unit_test(multipath_limits),
		cmocka_unit_test(multipath_malformed),
		cmocka_unit_test(failure_leaves_the_result_alone),
		cmocka_unit_test(unknown_attributes_are_skipped),
		cmocka_unit_test(link_below_another_namespace),
		cmocka_unit_test(link_addresses),
		cmocka_unit_test(link_xdp),
		cmocka_unit_test(link_kinds),
		cmocka_unit_test(link_not_described),
		cmocka_unit_test(link_conf_of_older_kernels),
		cmocka_unit_test(link_without_ipv6),
		cmocka_unit_test(netconf_of_a_device_that_lost_ipv6),
		cmocka_unit_test(neighbour_link_layers),
		cmocka_unit_test(rule_selectors),
		cmocka_unit_test(next_hop_families),
		cmocka_unit_test(netdev_commands),
	};

	return cmocka_run_group_tests_name("parse_built", tests, NULL, NULL);
}
