// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parsers of next-hop objects and of resilient groups' buckets: on what a kernel really sent,
 * and on built messages: what only older kernels say, limits, and what must be refused or punted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../unit.h"
#include "netlink_build.h"
#include "netlink_messages.h"

#define SIX0 3 /* ifindex */
#define SIX1 2
#define OP_FLAGS 14 /* NHA_OP_FLAGS, which the oldest headers lack */
#define ENTRIES_CLEAN (1u << 31)

static struct next_hop_member members[NEXT_HOP_MAX_MEMBERS];

struct next_hop_case {
	const char *capture;
	const char *gateway; /* NULL: none */
	struct next_hop expected;
	struct next_hop_member members[2];
};

static const struct next_hop_case next_hop_cases[] = {
	{ "nexthop", "fe80::1", { 7, NEXT_HOP_ONE, .hop = { .ifindex = SIX0 } }, { { 0 } } },
	{ "nexthop_on_link", NULL, { 8, NEXT_HOP_ONE, .hop = { .ifindex = SIX1 } }, { { 0 } } },
	{ "nexthop_blackhole", NULL, { 10, NEXT_HOP_BLACKHOLE, .n_members = 0 }, { { 0 } } },
	{ "nexthop_encap",
	  "fe80::1",
	  { 11, NEXT_HOP_OTHER, .hop = { .ifindex = SIX0 } },
	  { { 0 } } },
	{ "nexthop_fdb", "fe80::9", { 12, NEXT_HOP_OTHER, .n_members = 0 }, { { 0 } } },
	{ "nexthop_group", NULL, { 9, NEXT_HOP_GROUP, .n_members = 2 }, { { 7, 3 }, { 8, 256 } } },
	{ "nexthop_group_fdb", NULL, { 13, NEXT_HOP_OTHER, .n_members = 1 }, { { 12, 1 } } },
	{ "nexthop_resilient",
	  NULL,
	  { 15, NEXT_HOP_RESILIENT, .n_buckets = 4, .n_members = 2 },
	  { { 7, 1 }, { 8, 1 } } },
	{ "nexthop_group_wide",
	  NULL,
	  { 14, NEXT_HOP_GROUP, .n_members = 2 },
	  { { 7, 1000 }, { 8, 65535 } } },
	{ "nexthop_shrunk_group", NULL, { 9, NEXT_HOP_GROUP, .n_members = 1 }, { { 7, 3 } } },
};

static void captured(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(next_hop_cases); i++) {
		const struct next_hop_case *c = &next_hop_cases[i];
		_cleanup_free_ struct nlmsghdr *nlh = capture_message(c->capture);
		struct next_hop out;

		print_message("%s\n", c->capture);
		memset(&out, 0xa5, sizeof(out));
		memset(members, 0xa5, sizeof(members));
		assert_int_equal(parse_next_hop(nlh, &out, members), 0);
		assert_int_equal(out.id, c->expected.id);
		assert_int_equal(out.kind, c->expected.kind);
		assert_int_equal(out.hop.ifindex, c->expected.hop.ifindex);
		assert_int_equal(out.hop.weight, c->members[0].id == 0);
		assert_int_equal(out.hop.has_gateway, c->gateway != NULL);
		assert_true(addr_is(&out.hop.gateway, c->gateway));
		assert_int_equal(out.n_buckets, c->expected.n_buckets);
		assert_int_equal(out.n_members, c->expected.n_members);
		assert_ptr_equal(out.members, members);
		assert_memory_equal(members, c->members, out.n_members * sizeof(members[0]));
	}
}

static void captured_deletes(void **state)
{
	_cleanup_free_ struct nlmsghdr *one = capture_message("nexthop_del");
	_cleanup_free_ struct nlmsghdr *group = capture_message("nexthop_del_group");
	struct next_hop out;

	assert_int_equal(parse_next_hop(one, &out, members), 0);
	assert_int_equal(out.id, 10);
	assert_int_equal(parse_next_hop(group, &out, members), 0);
	assert_int_equal(out.id, 14);
	assert_int_equal(out.n_members, 0);
}

static void captured_buckets(void **state)
{
	static const char *const names[] = { "nexthop_bucket_1", "nexthop_bucket_2",
					     "nexthop_bucket_3", "nexthop_bucket_4" };
	_cleanup_free_ struct nlmsghdr *moved = capture_message("nexthop_bucket_moved");
	unsigned int of_each[9] = { 0 };
	struct next_hop_bucket out;

	for (uint32_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ struct nlmsghdr *nlh = capture_message(names[i]);

		memset(&out, 0xa5, sizeof(out));
		assert_int_equal(parse_next_hop_bucket(nlh, &out), 0);
		assert_int_equal(out.group, 15);
		assert_int_equal(out.index, i);
		assert_in_range(out.member, 7, 8);
		of_each[out.member]++;
	}
	assert_int_equal(of_each[7], 2);
	assert_int_equal(of_each[8], 2);
	assert_int_equal(parse_next_hop_bucket(moved, &out), 0);
	assert_int_equal(out.group, 15);
	assert_in_range(out.index, 0, 3);
	assert_int_equal(out.member, 8);
}

/* --- built: one hop -------------------------------------------------------------------------- */

static void families(void **state)
{
	static const struct {
		uint8_t family;
		bool group;
		int expected;
	} cases[] = {
		{ AF_INET6, false, 0 }, { AF_INET, false, -ENOMSG }, { AF_UNSPEC, false, -EBADMSG },
		{ AF_UNSPEC, true, 0 }, { AF_INET, true, -ENOMSG },  { AF_BRIDGE, true, -ENOMSG },
	};
	const struct nexthop_grp member = { .id = 6 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nlmsghdr *nlh = build_next_hop_of(cases[i].family);
		struct next_hop out;

		if (cases[i].group)
			mnl_attr_put(nlh, NHA_GROUP, sizeof(member), &member);
		assert_int_equal(PARSE(parse_next_hop, nlh, &out, members), cases[i].expected);
	}
}

static void ids(void **state)
{
	struct nlmsghdr *nlh = message_start();
	struct next_hop out, before;

	memset(&out, 0x5a, sizeof(out));
	memcpy(&before, &out, sizeof(out));
	nlh->nlmsg_type = RTM_NEWNEXTHOP;
	header_put(nlh, sizeof(struct nhmsg), AF_INET6);
	mnl_attr_put_u32(nlh, NHA_OIF, 3);
	assert_int_equal(PARSE(parse_next_hop, nlh, &out, members), -EBADMSG);
	mnl_attr_put_u32(nlh, NHA_ID, 0);
	assert_int_equal(PARSE(parse_next_hop, nlh, &out, members), -EBADMSG);
	nlh->nlmsg_type = RTM_NEWROUTE;
	assert_int_equal(PARSE(parse_next_hop, nlh, &out, members), -ENOMSG);
	assert_memory_equal(&out, &before, sizeof(out));
	nlh->nlmsg_type = RTM_NEWNEXTHOP;
	mnl_attr_put_u32(nlh, NHA_ID, UINT32_MAX);
	assert_int_equal(PARSE(parse_next_hop, nlh, &out, members), 0);
	assert_int_equal(out.id, UINT32_MAX);
	assert_int_equal(out.kind, NEXT_HOP_ONE);
}

/* A gateway of IPv4 is none that an IPv6 route could be sent by here. */
static void gateways(void **state)
{
	static const uint8_t zero[32];

	for (size_t size = 0; size <= 20; size++) {
		struct nlmsghdr *nlh = build_next_hop();
		struct next_hop out;

		mnl_attr_put_u32(nlh, NHA_OIF, 3);
		mnl_attr_put(nlh, NHA_GATEWAY, size, zero);
		assert_int_equal(PARSE(parse_next_hop, nlh, &out, members),
				 size == 4 || size == 16 ? 0 : -EBADMSG);
		if (size != 4 && size != 16)
			continue;
		assert_int_equal(out.kind, size == 16 ? NEXT_HOP_ONE : NEXT_HOP_OTHER);
		assert_false(out.is_group);
		assert_int_equal(out.hop.has_gateway, size == 16);
	}
}

static void kinds(void **state)
{
	static const struct {
		uint16_t types[3]; /* put with no payload but for NHA_OIF and NHA_ENCAP_TYPE */
		uint16_t encap_type;
		enum next_hop_kind expected;
	} cases[] = {
		{ { NHA_OIF }, 0, NEXT_HOP_ONE },
		{ { 0 }, 0, NEXT_HOP_OTHER },
		{ { NHA_BLACKHOLE }, 0, NEXT_HOP_BLACKHOLE },
		{ { NHA_BLACKHOLE, NHA_OIF }, 0, NEXT_HOP_BLACKHOLE },
		{ { NHA_FDB, NHA_OIF }, 0, NEXT_HOP_OTHER },
		{ { NHA_FDB, NHA_BLACKHOLE }, 0, NEXT_HOP_OTHER },
		{ { NHA_ENCAP, NHA_OIF }, 0, NEXT_HOP_OTHER },
		{ { NHA_ENCAP_TYPE, NHA_OIF }, 0, NEXT_HOP_ONE },
		{ { NHA_ENCAP_TYPE, NHA_OIF }, 5, NEXT_HOP_OTHER },
		{ { 15, 17, NHA_OIF }, 0, NEXT_HOP_ONE }, /* statistics */
		{ { 18, NHA_OIF }, 0, NEXT_HOP_OTHER },	  /* of a kernel to come */
		{ { NHA_BLACKHOLE, 18 }, 0, NEXT_HOP_OTHER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nlmsghdr *nlh = build_next_hop();
		struct next_hop out;

		for (size_t t = 0; t < ARRAY_SIZE(cases[i].types); t++) {
			if (cases[i].types[t] == NHA_OIF)
				mnl_attr_put_u32(nlh, NHA_OIF, 3);
			else if (cases[i].types[t] == NHA_ENCAP_TYPE)
				mnl_attr_put_u16(nlh, NHA_ENCAP_TYPE, cases[i].encap_type);
			else if (cases[i].types[t] != 0)
				mnl_attr_put(nlh, cases[i].types[t], 0, "");
		}
		assert_int_equal(PARSE(parse_next_hop, nlh, &out, members), 0);
		assert_int_equal(out.kind, cases[i].expected);
		assert_int_equal(out.n_members, 0);
	}
}

/* --- built: groups --------------------------------------------------------------------------- */

/* What a kernel to come adds to a group, or to the nest of a resilient one or of a bucket. */
static void groups_of_later_kernels(void **state)
{
	for (uint16_t type = 0; type < 32; type++) {
		bool in_group = type <= NHA_RES_GROUP_UNBALANCED_TIME;
		bool in_bucket = type <= NHA_RES_BUCKET_NH_ID;
		struct nlmsghdr *nlh = build_group();
		struct nlattr *nest = mnl_attr_nest_start(nlh, NHA_RES_GROUP);
		struct next_hop_bucket bucket;
		struct next_hop group;

		mnl_attr_put_u16(nlh, NHA_RES_GROUP_BUCKETS, 4);
		mnl_attr_put_u16(nlh, type, 4);
		mnl_attr_nest_end(nlh, nest);
		mnl_attr_put_u16(nlh, NHA_GROUP_TYPE, NEXTHOP_GRP_TYPE_RES);
		assert_int_equal(PARSE(parse_next_hop, nlh, &group, members), 0);
		assert_int_equal(group.kind, in_group ? NEXT_HOP_RESILIENT : NEXT_HOP_OTHER);
		assert_int_equal(group.unknown_attr, in_group ? 0 : NHA_RES_GROUP + 1);
		assert_true(group.is_group);
		nlh = build_bucket();
		nest = mnl_attr_nest_start(nlh, NHA_RES_BUCKET);
		mnl_attr_put_u16(nlh, NHA_RES_BUCKET_INDEX, 3);
		if (!in_bucket)
			mnl_attr_put_u16(nlh, type, 4);
		mnl_attr_put_u32(nlh, NHA_RES_BUCKET_NH_ID, 6);
		mnl_attr_nest_end(nlh, nest);
		assert_int_equal(PARSE(parse_next_hop_bucket, nlh, &bucket), 0);
		assert_int_equal(bucket.member, in_bucket ? 6 : 0);
		assert_int_equal(bucket.unknown_attr, in_bucket ? 0 : NHA_RES_BUCKET + 1);
	}
}

static void groups_with_unknown_attributes(void **state)
{
	struct nlmsghdr *nlh = build_group();
	struct next_hop_bucket bucket;
	struct next_hop group;

	mnl_attr_put_u16(nlh, 18, 1);
	assert_int_equal(PARSE(parse_next_hop, nlh, &group, members), 0);
	assert_int_equal(group.kind, NEXT_HOP_OTHER);
	assert_int_equal(group.unknown_attr, 19);
	assert_true(group.is_group);
	nlh = build_bucket();
	mnl_attr_put_u16(nlh, 18, 1);
	assert_int_equal(PARSE(parse_next_hop_bucket, nlh, &bucket), 0);
	assert_int_equal(bucket.member, 0);
	assert_int_equal(bucket.unknown_attr, 19);
}

/* Before 6.12 nothing says whether the bytes behind the weight mean anything. */
static void weights(void **state)
{
	static const struct {
		uint8_t weight, high;
		uint16_t reserved;
		int64_t op_flags;  /* -1: not said */
		uint32_t expected; /* 0: NEXT_HOP_OTHER */
	} cases[] = {
		{ 0, 0, 0, -1, 1 },
		{ 255, 0, 0, -1, 256 },
		{ 0, 1, 0, -1, 0 },
		{ 0, 0, 1, -1, 0 },
		{ 0, 1, 0, 0, 0 },
		{ 0, 1, 0, 0x7fffffff, 0 },
		{ 0, 0, 0, ENTRIES_CLEAN, 1 },
		{ 0, 1, 0, ENTRIES_CLEAN, 257 },
		{ 0xe7, 3, 0, ENTRIES_CLEAN | 1, 1000 },
		{ 255, 255, 0, ENTRIES_CLEAN, 65536 },
		{ 0, 0, 1, ENTRIES_CLEAN, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t entries[2][8] = { { 6 }, { 7 } };
		struct nlmsghdr *nlh = build_next_hop_of(AF_UNSPEC);
		struct next_hop out;

		entries[1][4] = cases[i].weight;
		entries[1][5] = cases[i].high;
		memcpy(&entries[1][6], &cases[i].reserved, sizeof(cases[i].reserved));
		mnl_attr_put(nlh, NHA_GROUP, sizeof(entries), entries);
		if (cases[i].op_flags >= 0)
			mnl_attr_put_u32(nlh, OP_FLAGS, (uint32_t)cases[i].op_flags);
		assert_int_equal(PARSE(parse_next_hop, nlh, &out, members), 0);
		assert_int_equal(out.kind, cases[i].expected ? NEXT_HOP_GROUP : NEXT_HOP_OTHER);
		assert_int_equal(out.n_members, cases[i].expected ? 2 : 0);
		assert_true(out.is_group);
		if (!cases[i].expected)
			continue;
		assert_int_equal(members[0].id, 6);
		assert_int_equal(members[0].weight, 1);
		assert_int_equal(members[1].id, 7);
		assert_int_equal(members[1].weight, cases[i].expected);
	}
}

static void numbers_of_members(void **state)
{
	static struct nexthop_grp entries[NEXT_HOP_MAX_MEMBERS + 2];
	struct next_hop out;

	for (uint32_t i = 0; i < ARRAY_SIZE(entries); i++)
		entries[i].id = i + 1;
	for (size_t size = 0; size <= sizeof(entries); size++) {
		struct nlmsghdr *nlh = build_next_hop_of(AF_UNSPEC);
		size_t n = size / sizeof(entries[0]);

		mnl_attr_put(nlh, NHA_GROUP, size, entries);
		if (n == 0 || size % sizeof(entries[0]) != 0) {
			assert_int_equal(PARSE(parse_next_hop, nlh, &out, members), -EBADMSG);
			continue;
		}
		assert_int_equal(PARSE(parse_next_hop, nlh, &out, members), 0);
		assert_int_equal(out.kind,
				 n <= NEXT_HOP_MAX_MEMBERS ? NEXT_HOP_GROUP : NEXT_HOP_OTHER);
		assert_int_equal(out.n_members, n <= NEXT_HOP_MAX_MEMBERS ? n : 0);
		assert_true(out.is_group);
		for (uint32_t i = 0; i < out.n_members; i++)
			assert_int_equal(members[i].id, i + 1);
	}
}

static void a_member_without_an_id(void **state)
{
	const struct nexthop_grp entries[] = { { .id = 6 }, { .id = 0 } };
	struct nlmsghdr *nlh = build_next_hop_of(AF_UNSPEC);
	struct next_hop out;

	mnl_attr_put(nlh, NHA_GROUP, sizeof(entries), entries);
	assert_int_equal(PARSE(parse_next_hop, nlh, &out, members), -EBADMSG);
}

static void group_types(void **state)
{
	static const struct {
		int type; /* -1: not said */
		int n_buckets;
		int expected;
		enum next_hop_kind kind;
	} cases[] = {
		{ -1, -1, 0, NEXT_HOP_GROUP },
		{ NEXTHOP_GRP_TYPE_MPATH, -1, 0, NEXT_HOP_GROUP },
		{ NEXTHOP_GRP_TYPE_RES, 1, 0, NEXT_HOP_RESILIENT },
		{ NEXTHOP_GRP_TYPE_RES, 65535, 0, NEXT_HOP_RESILIENT },
		{ NEXTHOP_GRP_TYPE_RES, 0, -EBADMSG, NEXT_HOP_OTHER },
		{ NEXTHOP_GRP_TYPE_RES, -1, -EBADMSG, NEXT_HOP_OTHER },
		{ 2, -1, 0, NEXT_HOP_OTHER },
		{ 65535, 8, 0, NEXT_HOP_OTHER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nlmsghdr *nlh = build_group();
		struct next_hop out;
		struct nlattr *nest;

		if (cases[i].type >= 0)
			mnl_attr_put_u16(nlh, NHA_GROUP_TYPE, (uint16_t)cases[i].type);
		if (cases[i].n_buckets >= 0) {
			nest = mnl_attr_nest_start(nlh, NHA_RES_GROUP);
			mnl_attr_put_u16(nlh, NHA_RES_GROUP_BUCKETS, (uint16_t)cases[i].n_buckets);
			mnl_attr_nest_end(nlh, nest);
		}
		assert_int_equal(PARSE(parse_next_hop, nlh, &out, members), cases[i].expected);
		if (cases[i].expected < 0)
			continue;
		assert_int_equal(out.kind, cases[i].kind);
		assert_int_equal(out.n_buckets,
				 out.kind == NEXT_HOP_RESILIENT ? cases[i].n_buckets : 0);
	}
}

/* Whatever the kernel tells of an object that is gone must not keep it. */
static void deletes_need_the_id_only(void **state)
{
	struct nlmsghdr *nlh = build_next_hop_of(AF_UNSPEC);
	struct next_hop out;

	nlh->nlmsg_type = RTM_DELNEXTHOP;
	assert_int_equal(PARSE(parse_next_hop, nlh, &out, members), 0);
	assert_int_equal(out.id, 5);
	mnl_attr_put(nlh, NHA_GROUP, 0, ""); /* no member left */
	mnl_attr_put_u16(nlh, NHA_GROUP_TYPE, NEXTHOP_GRP_TYPE_RES);
	assert_int_equal(PARSE(parse_next_hop, nlh, &out, members), 0);
	assert_int_equal(out.id, 5);
	assert_int_equal(out.n_members, 0);
}

/* --- built: buckets -------------------------------------------------------------------------- */

static void bucket_attributes(void **state)
{
	static const struct {
		size_t index_size, member_size; /* 0: not there */
		uint32_t member;
		int expected;
	} cases[] = {
		{ 2, 4, 6, 0 },	       { 0, 4, 6, -EBADMSG }, { 2, 0, 6, -EBADMSG },
		{ 2, 4, 0, -EBADMSG }, { 1, 4, 6, -EBADMSG }, { 4, 4, 6, -EBADMSG },
		{ 2, 3, 6, -EBADMSG }, { 2, 8, 6, -EBADMSG },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint64_t index = 65535, member = cases[i].member;
		struct nlmsghdr *nlh = build_bucket();
		struct nlattr *nest = mnl_attr_nest_start(nlh, NHA_RES_BUCKET);
		struct next_hop_bucket out;

		if (cases[i].index_size)
			mnl_attr_put(nlh, NHA_RES_BUCKET_INDEX, cases[i].index_size, &index);
		if (cases[i].member_size)
			mnl_attr_put(nlh, NHA_RES_BUCKET_NH_ID, cases[i].member_size, &member);
		mnl_attr_put_u64(nlh, NHA_RES_BUCKET_IDLE_TIME, 100);
		mnl_attr_nest_end(nlh, nest);
		assert_int_equal(PARSE(parse_next_hop_bucket, nlh, &out), cases[i].expected);
		if (cases[i].expected < 0)
			continue;
		assert_int_equal(out.group, 5);
		assert_int_equal(out.index, 65535);
		assert_int_equal(out.member, 6);
	}
}

static void bucket_messages(void **state)
{
	struct nlmsghdr *nlh = build_bucket();
	struct nhmsg *nhm = mnl_nlmsg_get_payload(nlh);
	struct next_hop_bucket out;

	assert_int_equal(PARSE(parse_next_hop_bucket, nlh, &out), 0);
	assert_int_equal(out.index, 3);
	nhm->nh_family = AF_INET;
	assert_int_equal(PARSE(parse_next_hop_bucket, nlh, &out), -ENOMSG);
	nhm->nh_family = AF_UNSPEC;
	nlh->nlmsg_type = RTM_DELNEXTHOPBUCKET;
	assert_int_equal(PARSE(parse_next_hop_bucket, nlh, &out), -ENOMSG);
	nlh = build_next_hop_of(AF_UNSPEC); /* no bucket in it */
	nlh->nlmsg_type = RTM_NEWNEXTHOPBUCKET;
	assert_int_equal(PARSE(parse_next_hop_bucket, nlh, &out), -EBADMSG);
	nlh = build_bucket();
	mnl_attr_put_u32(nlh, NHA_ID, 0);
	assert_int_equal(PARSE(parse_next_hop_bucket, nlh, &out), -EBADMSG);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captured),
		cmocka_unit_test(captured_deletes),
		cmocka_unit_test(captured_buckets),
		cmocka_unit_test(families),
		cmocka_unit_test(ids),
		cmocka_unit_test(gateways),
		cmocka_unit_test(kinds),
		cmocka_unit_test(groups_of_later_kernels),
		cmocka_unit_test(groups_with_unknown_attributes),
		cmocka_unit_test(weights),
		cmocka_unit_test(numbers_of_members),
		cmocka_unit_test(a_member_without_an_id),
		cmocka_unit_test(group_types),
		cmocka_unit_test(deletes_need_the_id_only),
		cmocka_unit_test(bucket_attributes),
		cmocka_unit_test(bucket_messages),
	};

	return cmocka_run_group_tests_name("parse_nexthop", tests, NULL, NULL);
}
