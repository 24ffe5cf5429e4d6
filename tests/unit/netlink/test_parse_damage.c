// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink parsers on what no sane kernel sends: real messages cut at every byte and with every
 * byte spoilt, in memory of exactly their size, for AddressSanitizer to see a read beyond
 * it; and built messages whose attributes have each size but the right one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../unit.h"
#include "netlink_build.h"
#include "netlink_messages.h"

/* What each capture is for: the number of parsers that take it. */
static int takers(const char *name)
{
	static const struct {
		const char *prefix;
		int takers;
	} table[] = {
		{ "link_ipv6", 1 }, { "link_bridge_port", 0 }, { "link_del", 1 },
		{ "link_", 2 },	    { "neigh_proxy", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (strncmp(name, table[i].prefix, strlen(table[i].prefix)) == 0)
			return table[i].takers;
	return 1;
}

static void each_by_its_own_parser_only(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(netlink_captures); i++) {
		_cleanup_free_ uint8_t *bytes;
		size_t size;

		print_message("%s\n", netlink_captures[i].name);
		bytes = capture_bytes(&netlink_captures[i], &size);
		assert_int_equal(parse_all(bytes, size), takers(netlink_captures[i].name));
	}
}

/* Nothing that a real kernel said of an object makes it the kernel's for lack of a name. */
static void nothing_captured_is_unknown(void **state)
{
	static struct next_hop_member members[NEXT_HOP_MAX_MEMBERS];
	static struct route_hop hops[ROUTE_MAX_HOPS];

	for (size_t i = 0; i < ARRAY_SIZE(netlink_captures); i++) {
		_cleanup_free_ struct nlmsghdr *nlh = capture_message(netlink_captures[i].name);
		struct next_hop_bucket bucket = { 0 };
		struct next_hop next_hop = { 0 };
		struct address address = { 0 };
		struct neigh neigh = { 0 };
		struct route route = { 0 };
		struct rule rule = { 0 };
		struct link link = { 0 };

		print_message("%s\n", netlink_captures[i].name);
		parse_route(nlh, &route, hops);
		parse_next_hop(nlh, &next_hop, members);
		parse_next_hop_bucket(nlh, &bucket);
		parse_address(nlh, &address);
		parse_neigh(nlh, &neigh);
		parse_rule(nlh, &rule);
		parse_link(nlh, &link);
		assert_int_equal(route.unknown_attr | next_hop.unknown_attr | bucket.unknown_attr |
					 address.unknown_attr | neigh.unknown_attr |
					 rule.unknown_attr | link.unknown_attr,
				 0);
	}
}

static void cut_at_every_byte(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(netlink_captures); i++) {
		_cleanup_free_ uint8_t *bytes;
		size_t size;

		bytes = capture_bytes(&netlink_captures[i], &size);
		for (size_t n = sizeof(struct nlmsghdr); n < size; n++)
			assert_true(parse_all(bytes, n) >= 0);
	}
}

static void every_byte_spoilt(void **state)
{
	static const uint8_t values[] = { 0, 1, 3, 5, 0x7f, 0x80, 0xff };

	for (size_t i = 0; i < ARRAY_SIZE(netlink_captures); i++) {
		_cleanup_free_ uint8_t *bytes;
		size_t size;

		bytes = capture_bytes(&netlink_captures[i], &size);
		for (size_t at = sizeof(uint32_t); at < size; at++) {
			uint8_t original = bytes[at];

			for (size_t v = 0; v < ARRAY_SIZE(values); v++) {
				bytes[at] = values[v];
				assert_true(parse_all(bytes, size) >= 0);
			}
			bytes[at] = original;
		}
	}
}

/* --- built messages ---------------------------------------------------------------------- */

static struct route_hop route_hops[ROUTE_MAX_HOPS];

static int take_route(const struct nlmsghdr *nlh)
{
	struct route out;

	return parse_route(nlh, &out, route_hops);
}

static int take_link(const struct nlmsghdr *nlh)
{
	struct link out;
	size_t name_bytes = 0;

	return parse_link(nlh, &out) ?: parse_link_names(nlh, name_read, &name_bytes);
}

static int take_link_ipv6(const struct nlmsghdr *nlh)
{
	struct link_ipv6 out;

	return parse_link_ipv6(nlh, &out);
}

static int take_netconf(const struct nlmsghdr *nlh)
{
	struct netconf out;

	return parse_netconf(nlh, &out);
}

static int take_neigh(const struct nlmsghdr *nlh)
{
	struct neigh out;

	return parse_neigh(nlh, &out);
}

static int take_rule(const struct nlmsghdr *nlh)
{
	struct rule out;

	return parse_rule(nlh, &out);
}

static int take_next_hop(const struct nlmsghdr *nlh)
{
	static struct next_hop_member members[NEXT_HOP_MAX_MEMBERS];
	struct next_hop out;

	return parse_next_hop(nlh, &out, members);
}

static int take_bucket(const struct nlmsghdr *nlh)
{
	struct next_hop_bucket out;

	return parse_next_hop_bucket(nlh, &out);
}

static int take_address(const struct nlmsghdr *nlh)
{
	struct address out;

	return parse_address(nlh, &out);
}

static int take_netdev(const struct nlmsghdr *nlh)
{
	uint32_t ifindex;
	uint64_t features;

	return parse_netdev(nlh, &ifindex, &features);
}

static int take_family(const struct nlmsghdr *nlh)
{
	uint32_t group;
	uint16_t family;

	return parse_genl_family(nlh, "mgmt", &family, &group);
}

enum size_kind { EXACT, AT_LEAST, STRING_WITHIN };

/* An attribute that is put, in nests if need be, behind what its builder made. */
struct size_case {
	const char *what;
	struct nlmsghdr *(*build)(void);
	int (*take)(const struct nlmsghdr *nlh);
	uint16_t nests[2]; /* 0: none */
	uint16_t type;
	enum size_kind kind;
	size_t size;
	const char *info_kind; /* put into the first nest, as the kind that the second is data of */
};

#define ROUTE(attr, ...)                                                  \
	{                                                                 \
#attr, build_route, take_route, .type = attr, __VA_ARGS__ \
	}
#define LINK(attr, ...)                                                        \
	{                                                                      \
#attr, build_link_unspec, take_link, .type = attr, __VA_ARGS__ \
	}
#define NETCONF(attr)                                                       \
	{                                                                   \
#attr, build_netconf, take_netconf, .type = attr, .size = 4 \
	}
#define RULE(attr, ...)                                                         \
	{                                                                       \
#attr, build_rule, take_rule, .type = attr, .size = __VA_ARGS__ \
	}
#define NEXT_HOP(builder, attr, ...)                                             \
	{                                                                        \
#attr, builder, take_next_hop, .type = attr, .size = __VA_ARGS__ \
	}

static const struct size_case size_cases[] = {
	ROUTE(RTA_DST, .size = 16),
	ROUTE(RTA_SRC, .size = 16),
	ROUTE(RTA_OIF, .size = 4),
	ROUTE(RTA_GATEWAY, .size = 16),
	ROUTE(RTA_PRIORITY, .size = 4),
	ROUTE(RTA_CACHEINFO, .kind = AT_LEAST, .size = sizeof(struct rta_cacheinfo)),
	ROUTE(RTA_TABLE, .size = 4),
	ROUTE(RTA_VIA, .kind = AT_LEAST, .size = sizeof(struct rtvia)),
	ROUTE(RTA_ENCAP_TYPE, .size = 2),
	ROUTE(RTA_EXPIRES, .size = 4),
	ROUTE(RTA_NH_ID, .size = 4),
	ROUTE(RTA_PREF, .size = 1),
	ROUTE(RTA_PREFSRC, .size = 16),
	ROUTE(RTA_IIF, .size = 4),
	ROUTE(RTAX_FEATURES, .nests = { RTA_METRICS }, .size = 4),
	ROUTE(RTAX_HOPLIMIT, .nests = { RTA_METRICS }, .size = 4),
	ROUTE(RTAX_LOCK, .nests = { RTA_METRICS }, .size = 4),
	ROUTE(RTAX_MTU, .nests = { RTA_METRICS }, .size = 4),
	LINK(IFLA_IFNAME, .kind = STRING_WITHIN, .size = IFNAMSIZ),
	LINK(IFLA_ALT_IFNAME, .nests = { IFLA_PROP_LIST }, .kind = STRING_WITHIN, .size = 128),
	LINK(IFLA_MTU, .size = 4),
	LINK(IFLA_LINK, .size = 4),
	LINK(IFLA_MASTER, .size = 4),
	LINK(IFLA_NUM_TX_QUEUES, .size = 4),
	LINK(IFLA_NUM_RX_QUEUES, .size = 4),
	LINK(IFLA_LINK_NETNSID, .size = 4),
	LINK(IFLA_XDP_ATTACHED, .nests = { IFLA_XDP }, .size = 1),
	LINK(IFLA_XDP_PROG_ID, .nests = { IFLA_XDP }, .size = 4),
	LINK(IFLA_XDP_DRV_PROG_ID, .nests = { IFLA_XDP }, .size = 4),
	LINK(IFLA_XDP_SKB_PROG_ID, .nests = { IFLA_XDP }, .size = 4),
	LINK(IFLA_XDP_HW_PROG_ID, .nests = { IFLA_XDP }, .size = 4),
	LINK(IFLA_INFO_KIND, .nests = { IFLA_LINKINFO }, .kind = STRING_WITHIN, .size = 1000),
	LINK(IFLA_MACVLAN_MODE, .nests = { IFLA_LINKINFO, IFLA_INFO_DATA }, .size = 4,
	     .info_kind = "macvtap"),
	LINK(IFLA_INFO_SLAVE_KIND, .nests = { IFLA_LINKINFO }, .kind = STRING_WITHIN, .size = 1000),
	LINK(IFLA_VLAN_ID, .nests = { IFLA_LINKINFO, IFLA_INFO_DATA }, .size = 2,
	     .info_kind = "vlan"),
	LINK(IFLA_VLAN_PROTOCOL, .nests = { IFLA_LINKINFO, IFLA_INFO_DATA }, .size = 2,
	     .info_kind = "vlan"),
	LINK(IFLA_VRF_TABLE, .nests = { IFLA_LINKINFO, IFLA_INFO_DATA }, .size = 4,
	     .info_kind = "vrf"),
	LINK(IFLA_BOND_MODE, .nests = { IFLA_LINKINFO, IFLA_INFO_DATA }, .size = 1,
	     .info_kind = "bond"),
	LINK(IFLA_BOND_XMIT_HASH_POLICY, .nests = { IFLA_LINKINFO, IFLA_INFO_DATA }, .size = 1,
	     .info_kind = "bond"),
	LINK(IFLA_BOND_SLAVE_STATE, .nests = { IFLA_LINKINFO, IFLA_INFO_SLAVE_DATA }, .size = 1,
	     .info_kind = "bond"),
	{ "IFLA_INET6_CONF",
	  build_link_unspec,
	  take_link_ipv6,
	  { IFLA_AF_SPEC, AF_INET6 },
	  IFLA_INET6_CONF,
	  AT_LEAST,
	  160,
	  NULL },
	{ "IFLA_INET6_CONF of AF_INET6",
	  build_link_inet6,
	  take_link_ipv6,
	  { IFLA_PROTINFO },
	  IFLA_INET6_CONF,
	  AT_LEAST,
	  160,
	  NULL },
	NETCONF(NETCONFA_IFINDEX),
	NETCONF(NETCONFA_FORWARDING),
	NETCONF(NETCONFA_PROXY_NEIGH),
	NETCONF(NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN),
	{ "NDA_DST", build_neigh, take_neigh, { 0 }, NDA_DST, EXACT, 16, NULL },
	{ "NDA_FLAGS_EXT", build_neigh, take_neigh, { 0 }, NDA_FLAGS_EXT, EXACT, 4, NULL },
	{ "IFA_ADDRESS", build_address, take_address, { 0 }, IFA_ADDRESS, EXACT, 16, NULL },
	{ "IFA_LOCAL", build_address, take_address, { 0 }, IFA_LOCAL, EXACT, 16, NULL },
	{ "IFA_FLAGS", build_address, take_address, { 0 }, IFA_FLAGS, EXACT, 4, NULL },
	{ "IFA_CACHEINFO", build_address, take_address, { 0 }, IFA_CACHEINFO, AT_LEAST, 16, NULL },
	RULE(FRA_DST, 16),
	RULE(FRA_SRC, 16),
	RULE(FRA_IIFNAME, IFNAMSIZ, .kind = STRING_WITHIN),
	RULE(FRA_OIFNAME, IFNAMSIZ, .kind = STRING_WITHIN),
	RULE(FRA_GOTO, 4),
	RULE(FRA_PRIORITY, 4),
	RULE(FRA_FWMARK, 4),
	RULE(FRA_FWMASK, 4),
	RULE(FRA_TUN_ID, 8),
	RULE(FRA_TABLE, 4),
	RULE(FRA_SUPPRESS_PREFIXLEN, 4),
	RULE(FRA_SUPPRESS_IFGROUP, 4),
	RULE(FRA_L3MDEV, 1),
	RULE(FRA_UID_RANGE, 8),
	RULE(FRA_PROTOCOL, 1),
	RULE(FRA_IP_PROTO, 1),
	RULE(FRA_SPORT_RANGE, 4),
	RULE(FRA_DPORT_RANGE, 4),
	RULE(25 /* FRA_DSCP */, 1),
	RULE(26 /* FRA_FLOWLABEL */, 4),
	RULE(27 /* FRA_FLOWLABEL_MASK */, 4),
	RULE(28 /* FRA_SPORT_MASK */, 2),
	RULE(29 /* FRA_DPORT_MASK */, 2),
	RULE(30 /* FRA_DSCP_MASK */, 1),
	NEXT_HOP(build_next_hop, NHA_ID, 4),
	NEXT_HOP(build_next_hop, NHA_OIF, 4),
	NEXT_HOP(build_next_hop, NHA_ENCAP_TYPE, 2),
	NEXT_HOP(build_group, NHA_GROUP_TYPE, 2),
	NEXT_HOP(build_group, NHA_RES_GROUP_BUCKETS, 2, .nests = { NHA_RES_GROUP }),
	NEXT_HOP(build_group, 14 /* NHA_OP_FLAGS */, 4),
	{ "NHA_ID of a bucket", build_bucket, take_bucket, { 0 }, NHA_ID, EXACT, 4, NULL },
	{ "NETDEV_A_DEV_IFINDEX", build_netdev, take_netdev, { 0 }, 1, EXACT, 4, NULL },
	{ "NETDEV_A_DEV_XDP_FEATURES", build_netdev, take_netdev, { 0 }, 3, EXACT, 8, NULL },
	{ "CTRL_ATTR_FAMILY_ID",
	  build_family,
	  take_family,
	  { 0 },
	  CTRL_ATTR_FAMILY_ID,
	  EXACT,
	  2,
	  NULL },
};

_Static_assert(IFLA_INFO_KIND == IFLA_INFO_DATA - 1 &&
		       IFLA_INFO_SLAVE_KIND == IFLA_INFO_SLAVE_DATA - 1,
	       "size_case_build takes the one for the other");

/* The message of a case with its attribute at a size, in exactly as much memory. */
static struct nlmsghdr *size_case_build(const struct size_case *c, size_t size)
{
	struct nlmsghdr *nlh = c->build(), *copy;
	struct nlattr *nests[ARRAY_SIZE(c->nests)] = { NULL };
	uint8_t value[2048];

	memset(value, 1, sizeof(value));
	if (c->kind == STRING_WITHIN && size > 0)
		value[size - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(nests) && c->nests[i]; i++) {
		nests[i] = mnl_attr_nest_start(nlh, c->nests[i]);
		if (i == 0 && c->info_kind)
			mnl_attr_put_strz(nlh, (uint16_t)(c->nests[1] - 1), c->info_kind);
	}
	mnl_attr_put(nlh, c->type, size, value);
	for (size_t i = ARRAY_SIZE(nests); i > 0; i--)
		if (nests[i - 1])
			mnl_attr_nest_end(nlh, nests[i - 1]);
	copy = malloc(nlh->nlmsg_len);
	assert_non_null(copy);
	memcpy(copy, nlh, nlh->nlmsg_len);
	return copy;
}

static bool size_fits(const struct size_case *c, size_t size)
{
	switch (c->kind) {
	case EXACT:
		return size == c->size;
	case AT_LEAST:
		return size >= c->size;
	default: /* any string, if its NUL is there */
		return size > 0 && (size <= c->size || c->size >= 1000);
	}
}

static void every_size(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(size_cases); i++) {
		const struct size_case *c = &size_cases[i];

		for (size_t size = 0; size <= c->size + 9; size++) {
			_cleanup_free_ struct nlmsghdr *nlh = size_case_build(c, size);
			int expected = size_fits(c, size) ? 0 : -EBADMSG;
			int r = c->take(nlh);

			if (r != expected)
				fail_msg("%s of %zu bytes: %d, not %d", c->what, size, r, expected);
		}
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_by_its_own_parser_only),
		cmocka_unit_test(nothing_captured_is_unknown),
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(every_byte_spoilt),
		cmocka_unit_test(every_size),
	};

	return cmocka_run_group_tests_name("parse_damage", tests, NULL, NULL);
}
