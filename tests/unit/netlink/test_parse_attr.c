// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules that hold for all parsers: which sizes of an attribute are accepted, which attributes are
 * known, and prefixes of every length. The lists here are a second opinion, written from the
 * kernel's policies, not from the parsers' tables.
 */

#include "../unit.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <string.h>

#include "messages.h"

/* Behind net/if.h, whose names they use. */
#include <linux/if_link.h>
#include <linux/ipv6.h>

#define MAX_SIZE 1100

enum size_kind { EXACT, AT_LEAST, TEXT_WITHIN };

/* An attribute behind others, in nests if need be. */
struct size_case {
	const char *what;
	enum base base;
	uint16_t type;
	uint16_t size;
	enum size_kind kind;
	struct put before[5];
};

/* clang-format off */
#define SIZE(of, attr, n, ...) \
	{ .what = #attr, .base = of, .type = attr, .size = n, __VA_ARGS__ }
#define IN(nest) .before = { OPEN(nest) }
#define DATA_OF(name) \
	.before = { OPEN(IFLA_LINKINFO), STRING(IFLA_INFO_KIND, name), OPEN(IFLA_INFO_DATA) }
#define SLAVE_DATA_OF(name) \
	.before = { OPEN(IFLA_LINKINFO), STRING(IFLA_INFO_SLAVE_KIND, name), \
		    OPEN(IFLA_INFO_SLAVE_DATA) }

static const struct size_case sizes[] = {
	SIZE(ROUTE, RTA_DST, 16), SIZE(ROUTE, RTA_SRC, 16), SIZE(ROUTE, RTA_OIF, 4),
	SIZE(ROUTE, RTA_GATEWAY, 16), SIZE(ROUTE, RTA_PRIORITY, 4), SIZE(ROUTE, RTA_TABLE, 4),
	SIZE(ROUTE, RTA_CACHEINFO, sizeof(struct rta_cacheinfo), .kind = AT_LEAST),
	SIZE(ROUTE, RTA_VIA, sizeof(struct rtvia), .kind = AT_LEAST),
	SIZE(ROUTE, RTA_ENCAP_TYPE, 2), SIZE(ROUTE, RTA_EXPIRES, 4), SIZE(ROUTE, RTA_NH_ID, 4),
	SIZE(ROUTE, RTA_PREF, 1), SIZE(ROUTE, RTA_PREFSRC, 16), SIZE(ROUTE, RTA_IIF, 4),
	SIZE(ROUTE, RTAX_FEATURES, 4, IN(RTA_METRICS)),
	SIZE(ROUTE, RTAX_HOPLIMIT, 4, IN(RTA_METRICS)), SIZE(ROUTE, RTAX_LOCK, 4, IN(RTA_METRICS)),
	SIZE(ROUTE, RTAX_MTU, 4, IN(RTA_METRICS)),
	SIZE(LINK, IFLA_IFNAME, IFNAMSIZ, .kind = TEXT_WITHIN), SIZE(LINK, IFLA_MTU, 4),
	SIZE(LINK, IFLA_LINK, 4), SIZE(LINK, IFLA_MASTER, 4), SIZE(LINK, IFLA_NUM_TX_QUEUES, 4),
	SIZE(LINK, IFLA_NUM_RX_QUEUES, 4), SIZE(LINK, IFLA_LINK_NETNSID, 4),
	SIZE(LINK, IFLA_NEW_NETNSID, 4), SIZE(LINK, IFLA_NEW_IFINDEX, 4),
	SIZE(LINK, IFLA_XDP_ATTACHED, 1, IN(IFLA_XDP)),
	SIZE(LINK, IFLA_XDP_PROG_ID, 4, IN(IFLA_XDP)),
	SIZE(LINK, IFLA_XDP_DRV_PROG_ID, 4, IN(IFLA_XDP)),
	SIZE(LINK, IFLA_XDP_SKB_PROG_ID, 4, IN(IFLA_XDP)),
	SIZE(LINK, IFLA_XDP_HW_PROG_ID, 4, IN(IFLA_XDP)),
	SIZE(LINK, IFLA_XDP_FLAGS, 4, IN(IFLA_XDP)),
	SIZE(LINK, IFLA_INFO_KIND, 1000, .kind = TEXT_WITHIN, IN(IFLA_LINKINFO)),
	SIZE(LINK, IFLA_INFO_SLAVE_KIND, 1000, .kind = TEXT_WITHIN, IN(IFLA_LINKINFO)),
	SIZE(LINK, IFLA_MACVLAN_MODE, 4, DATA_OF("macvtap")),
	SIZE(LINK, IFLA_VRF_TABLE, 4, DATA_OF("vrf")), SIZE(LINK, IFLA_VLAN_ID, 2, DATA_OF("vlan")),
	SIZE(LINK, IFLA_VLAN_PROTOCOL, 2, DATA_OF("vlan")),
	SIZE(LINK, IFLA_VLAN_FLAGS, 8, .kind = AT_LEAST, DATA_OF("vlan")),
	SIZE(LINK, IFLA_BOND_MODE, 1, DATA_OF("bond")),
	SIZE(LINK, IFLA_BOND_XMIT_HASH_POLICY, 1, DATA_OF("bond")),
	SIZE(LINK, IFLA_VXLAN_COLLECT_METADATA, 1, DATA_OF("vxlan")),
	SIZE(LINK, IFLA_BOND_SLAVE_STATE, 1, SLAVE_DATA_OF("bond")),
	SIZE(LINK, IFLA_BOND_SLAVE_MII_STATUS, 1, SLAVE_DATA_OF("bond")),
	SIZE(LINK_AF_SPEC, IFLA_INET6_CONF, 160, .kind = AT_LEAST,
	     .before = { OPEN(IFLA_AF_SPEC), OPEN(AF_INET6) }),
	SIZE(LINK_INET6, IFLA_INET6_CONF, 160, .kind = AT_LEAST, IN(IFLA_PROTINFO)),
	SIZE(NETCONF, NETCONFA_IFINDEX, 4), SIZE(NETCONF, NETCONFA_FORWARDING, 4),
	SIZE(NETCONF, NETCONFA_PROXY_NEIGH, 4), SIZE(NEIGH, NDA_DST, 16),
	SIZE(NEIGH, NDA_FLAGS_EXT, 4), SIZE(ADVERTISED, PREFIX_ADDRESS, 16),
	SIZE(ADDRESS, IFA_ADDRESS, 16), SIZE(ADDRESS, IFA_LOCAL, 16), SIZE(ADDRESS, IFA_FLAGS, 4),
	SIZE(ADDRESS, IFA_CACHEINFO, 16, .kind = AT_LEAST), SIZE(RULE, FRA_DST, 16),
	SIZE(RULE, FRA_SRC, 16), SIZE(RULE, FRA_IIFNAME, IFNAMSIZ, .kind = TEXT_WITHIN),
	SIZE(RULE, FRA_OIFNAME, IFNAMSIZ, .kind = TEXT_WITHIN), SIZE(RULE, FRA_GOTO, 4),
	SIZE(RULE, FRA_PRIORITY, 4), SIZE(RULE, FRA_FWMARK, 4), SIZE(RULE, FRA_FWMASK, 4),
	SIZE(RULE, FRA_TUN_ID, 8), SIZE(RULE, FRA_TABLE, 4), SIZE(RULE, FRA_SUPPRESS_PREFIXLEN, 4),
	SIZE(RULE, FRA_SUPPRESS_IFGROUP, 4), SIZE(RULE, FRA_L3MDEV, 1),
	SIZE(RULE, FRA_UID_RANGE, 8), SIZE(RULE, FRA_PROTOCOL, 1), SIZE(RULE, FRA_IP_PROTO, 1),
	SIZE(RULE, FRA_SPORT_RANGE, 4), SIZE(RULE, FRA_DPORT_RANGE, 4),
	SIZE(RULE, 25 /* FRA_DSCP */, 1), SIZE(RULE, 26 /* FRA_FLOWLABEL */, 4),
	SIZE(RULE, 27 /* FRA_FLOWLABEL_MASK */, 4), SIZE(RULE, 28 /* FRA_SPORT_MASK */, 2),
	SIZE(RULE, 29 /* FRA_DPORT_MASK */, 2), SIZE(RULE, 30 /* FRA_DSCP_MASK */, 1),
	SIZE(NEXT_HOP, NHA_ID, 4), SIZE(NEXT_HOP, NHA_OIF, 4), SIZE(NEXT_HOP, NHA_ENCAP_TYPE, 2),
	SIZE(GROUP, NHA_GROUP_TYPE, 2), SIZE(GROUP, 14 /* NHA_OP_FLAGS */, 4),
	SIZE(GROUP, NHA_RES_GROUP_BUCKETS, 2, IN(NHA_RES_GROUP)), SIZE(BUCKET, NHA_ID, 4),
	SIZE(BUCKET, NHA_RES_BUCKET_INDEX, 2,
	     .before = { OPEN(NHA_RES_BUCKET), U32(NHA_RES_BUCKET_NH_ID, 6) }),
	SIZE(BUCKET, NHA_RES_BUCKET_NH_ID, 4,
	     .before = { OPEN(NHA_RES_BUCKET), U16(NHA_RES_BUCKET_INDEX, 1) }),
	SIZE(NETDEV, 1 /* NETDEV_A_DEV_IFINDEX */, 4),
	SIZE(NETDEV, 3 /* NETDEV_A_DEV_XDP_FEATURES */, 8), SIZE(FAMILY, CTRL_ATTR_FAMILY_ID, 2),
	SIZE(FAMILY, CTRL_ATTR_MCAST_GRP_ID, 4,
	     .before = { OPEN(CTRL_ATTR_MCAST_GROUPS), OPEN(1),
			 STRING(CTRL_ATTR_MCAST_GRP_NAME, "mgmt") }),
};
/* clang-format on */

static bool size_fits(const struct size_case *c, size_t size)
{
	switch (c->kind) {
	case EXACT:
		return size == c->size;
	case AT_LEAST:
		return size >= c->size;
	default: /* a NUL within; kinds of devices have no limit of their own */
		return size > 0 && (size <= c->size || c->size == 1000);
	}
}

static void sizes_of_attributes(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		const struct size_case *c = &sizes[i];

		for (size_t size = 0; size <= c->size + 9u; size++) {
			int expected = size_fits(c, size) ? 0 : -EBADMSG, result;
			struct put puts[ARRAY_SIZE(c->before) + 1] = { { 0 } }, *put = puts;
			char value[MAX_SIZE];

			memset(value, 1, sizeof(value));
			if (c->kind == TEXT_WITHIN && size > 0)
				value[size - 1] = '\0';
			for (const struct put *at = c->before; at->kind; at++)
				*put++ = *at;
			*put = (struct put)DATA(c->type, (uint16_t)size, value);
			result = parse_built(c->base, puts)->result;
			if (result != expected)
				fail_msg("%s of %zu bytes: %d, not %d", c->what, size, result,
					 expected);
		}
	}
}

/* A name of a device has an end within its 128 bytes. */
static void sizes_of_names(void **state)
{
	char name[140];

	for (unsigned int size = 0; size < sizeof(name); size++)
		for (int whole = 0; whole < 2; whole++) {
			const struct parsed *p;

			memset(name, 'n', sizeof(name));
			if (whole && size)
				name[size - 1] = '\0';
			p = BUILT(LINK, OPEN(IFLA_PROP_LIST), DATA(IFLA_ALT_IFNAME, size, name));
			assert_int_equal(p->result, 0);
			assert_int_equal(p->results[PARSER_LINK_NAMES],
					 whole && size && size <= 128 ? 0 : -EBADMSG);
		}
}

#define BIT(type) (1ull << (type))
#define TO(type) (BIT((type) + 1) - 1)

/* clang-format off */
#define ROUTE_ATTRS \
	(BIT(RTA_DST) | BIT(RTA_SRC) | BIT(RTA_IIF) | BIT(RTA_OIF) | BIT(RTA_GATEWAY) | \
	 BIT(RTA_PRIORITY) | BIT(RTA_PREFSRC) | BIT(RTA_METRICS) | BIT(RTA_MULTIPATH) | \
	 BIT(RTA_CACHEINFO) | BIT(RTA_TABLE) | BIT(RTA_VIA) | BIT(RTA_PREF) | \
	 BIT(RTA_ENCAP_TYPE) | BIT(RTA_ENCAP) | BIT(RTA_EXPIRES) | BIT(RTA_PAD) | BIT(RTA_NH_ID))

/* known: attributes whose empty one is refused, or changes nothing. Others are reported. */
static const struct {
	enum base base;
	struct put before[4];
	size_t unknown_attr;
	uint16_t reported; /* 0: the attribute itself */
	uint64_t known;
} tables[] = {
	{ ROUTE, { { 0 } }, offsetof(struct parsed, route.unknown_attr), 0,
	  ROUTE_ATTRS },
	{ ROUTE, { OPEN(RTA_MULTIPATH), HOP(8, 1), HOP(12, 2) }, offsetof(struct parsed,
	  route.unknown_attr), 0,
	  ROUTE_ATTRS },
	{ ROUTE, { OPEN(RTA_METRICS) }, offsetof(struct parsed, route.unknown_attr), RTA_METRICS,
	  TO(RTAX_FASTOPEN_NO_COOKIE) & ~BIT(RTAX_UNSPEC) },
	{ LINK, { OPEN(IFLA_XDP), U8(IFLA_XDP_ATTACHED, 1) }, offsetof(struct parsed,
	  link.unknown_attr), 0,
	  TO(IFLA_XDP_HW_PROG_ID) & ~BIT(IFLA_XDP_UNSPEC) & ~BIT(IFLA_XDP_FD) },
	{ NEIGH, { { 0 } }, offsetof(struct parsed, neigh.unknown_attr), 0,
	  BIT(NDA_DST) | BIT(NDA_LLADDR) | BIT(NDA_FLAGS_EXT) | BIT(NDA_CACHEINFO) |
	  BIT(NDA_PROBES) |
	  BIT(NDA_PROTOCOL) },
	{ ADDRESS, { { 0 } }, offsetof(struct parsed, address.unknown_attr), 0,
	  BIT(IFA_ADDRESS) | BIT(IFA_LOCAL) | BIT(IFA_CACHEINFO) | BIT(IFA_FLAGS) |
	  BIT(IFA_RT_PRIORITY) |
	  BIT(IFA_TARGET_NETNSID) | BIT(IFA_PROTO) },
	{ RULE, { { 0 } }, offsetof(struct parsed, rule.unknown_attr), 0,
	  TO(30 /* FRA_DSCP_MASK */) & ~(BIT(FRA_UNSPEC) | BIT(5) | BIT(7) | BIT(8) | BIT(9) |
	  BIT(FRA_FLOW)) },
	{ NEXT_HOP, { { 0 } }, offsetof(struct parsed, next_hop.unknown_attr), 0,
	  TO(17) & ~(BIT(NHA_UNSPEC) | BIT(NHA_GROUPS) | BIT(NHA_MASTER)) },
	{ GROUP, { OPEN(NHA_RES_GROUP) }, offsetof(struct parsed, next_hop.unknown_attr),
	  NHA_RES_GROUP,
	  TO(NHA_RES_GROUP_UNBALANCED_TIME) },
	{ BUCKET, { OPEN(NHA_RES_BUCKET), U16(NHA_RES_BUCKET_INDEX, 3), U32(NHA_RES_BUCKET_NH_ID,
	  6) },
	  offsetof(struct parsed, bucket.unknown_attr), NHA_RES_BUCKET, TO(NHA_RES_BUCKET_NH_ID) },
};
/* clang-format on */

static void every_other_attribute_is_unknown(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (uint16_t type = 0; type < 64; type++) {
			struct put puts[ARRAY_SIZE(tables[i].before) + 1] = { { 0 } }, *put = puts;
			bool known = type < 63 && tables[i].known & BIT(type);
			uint16_t reported = tables[i].reported ?: type, unknown_attr;
			const struct parsed *p;

			for (const struct put *at = tables[i].before; at->kind; at++)
				*put++ = *at;
			*put = (struct put)EMPTY(type);
			p = parse_built(tables[i].base, puts);
			memcpy(&unknown_attr, (const char *)p + tables[i].unknown_attr,
			       sizeof(unknown_attr));
			if (known ? !p->result && unknown_attr
				  : p->result || unknown_attr != reported + 1)
				fail_msg("table %zu, attribute %u: result %d, unknown %u", i, type,
					 p->result, unknown_attr);
		}
}

/* clang-format off */
static const struct {
	enum base base;
	struct put len;
	uint16_t address;
	size_t prefix;
} prefixes[] = {
	{ ROUTE, SET(rtmsg, rtm_dst_len, 0), RTA_DST, offsetof(struct parsed, route.dst) },
	{ ROUTE, SET(rtmsg, rtm_src_len, 0), RTA_SRC, offsetof(struct parsed, route.src) },
	{ RULE, SET(fib_rule_hdr, dst_len, 0), FRA_DST, offsetof(struct parsed, rule.dst) },
	{ RULE, SET(fib_rule_hdr, src_len, 0), FRA_SRC, offsetof(struct parsed, rule.src) },
	{ ADDRESS, SET(ifaddrmsg, ifa_prefixlen, 0), IFA_ADDRESS, offsetof(struct parsed,
	  address.prefix) },
	{ ADVERTISED, SET(prefixmsg, prefix_len, 0), PREFIX_ADDRESS, offsetof(struct parsed,
	  advertised) },
};
/* clang-format on */

/* Bits beyond the length are cleared; a length needs an address. */
static void prefixes_of_every_length(void **state)
{
	static const uint8_t ones[16] = { [0 ... 15] = 0xff };

	for (size_t i = 0; i < 256 * ARRAY_SIZE(prefixes); i++) {
		unsigned int row = i / 256, len = i % 256;
		struct put puts[3] = { prefixes[row].len };
		const struct parsed *p;
		struct prefix prefix;

		puts[0].value = len;
		if (prefixes[row].base == ROUTE || prefixes[row].base == RULE)
			assert_int_equal(parse_built(prefixes[row].base, puts)->result,
					 len ? -EBADMSG : 0);
		puts[1] = (struct put)DATA(prefixes[row].address, 16, ones);
		p = parse_built(prefixes[row].base, puts);
		assert_int_equal(p->result, len <= 128 ? 0 : -EBADMSG);
		if (p->result)
			continue;
		memcpy(&prefix, (const char *)p + prefixes[row].prefix, sizeof(prefix));
		assert_int_equal(prefix.len, len);
		for (unsigned int bit = 0; bit < 128; bit++)
			assert_int_equal(prefix.addr.bytes[bit / 8] >> (7 - bit % 8) & 1,
					 bit < len);
	}
}

static void messages_without_a_header(void **state)
{
	for (enum base base = 0; base < N_BASES; base++)
		assert_int_equal(
			BUILT(base, { PUT_SET, 0, 4, sizeof(struct nlmsghdr) + 3, NULL })->result,
			-EBADMSG);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_of_attributes),
		cmocka_unit_test(sizes_of_names),
		cmocka_unit_test(every_other_attribute_is_unknown),
		cmocka_unit_test(prefixes_of_every_length),
		cmocka_unit_test(messages_without_a_header),
	};

	return cmocka_run_group_tests_name("parse_attr", tests, NULL, NULL);
}
