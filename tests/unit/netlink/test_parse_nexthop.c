// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parsers of next-hop objects and of resilient groups' buckets on built messages: what only
 * older kernels send, limits, and what must be refused or punted.
 */

#include "../unit.h"

#include <errno.h>
#include <linux/nexthop.h>

#include "messages.h"

#define OP_FLAGS 14 /* NHA_OP_FLAGS, which the oldest headers lack */
#define ENTRIES_CLEAN (1u << 31)

/* clang-format off */
/* A group of the object 6 and of the object 7, whose entry has these bytes behind the id. */
#define MEMBERS(weight, high, reserved) \
	DATA(NHA_GROUP, 16, ((const uint8_t[16]){ 6, [8] = 7, [12] = (weight), (high), \
	  (reserved) }))
#define TWO "nexthop 5 group is_group 6*1 7*"
#define OTHER "nexthop 5 other"
#define BUCKET_IS(...) OPEN(NHA_RES_BUCKET), __VA_ARGS__, U64(NHA_RES_BUCKET_IDLE_TIME, 100), CLOSE
#define BUCKETS(n) OPEN(NHA_RES_GROUP), U16(NHA_RES_GROUP_BUCKETS, n), CLOSE

static const struct built_case cases[] = {
	{ "on a device", NEXT_HOP, { U32(NHA_OIF, 3) }, "nexthop 5 one dev 3" },
	{ "highest id", NEXT_HOP, { U32(NHA_OIF, 3), U32(NHA_ID, UINT32_MAX) },
	  "nexthop 4294967295 one dev 3" },
	{ "no id", NEXT_HOP, { U32(NHA_OIF, 3), U32(NHA_ID, 0) }, "EBADMSG" },
	{ "no next hop", NEXT_HOP, { SET_TYPE(RTM_NEWROUTE) }, "ENOMSG" },
	{ "IPv4", NEXT_HOP, { SET(nhmsg, nh_family, AF_INET) }, "ENOMSG" },
	{ "no family", NEXT_HOP, { SET(nhmsg, nh_family, AF_UNSPEC) }, "EBADMSG" },
	{ "group", GROUP, { { 0 } }, "nexthop 5 group is_group 6*1" },
	{ "... of IPv4", GROUP, { SET(nhmsg, nh_family, AF_INET) }, "ENOMSG" },
	{ "... of bridges", GROUP, { SET(nhmsg, nh_family, AF_BRIDGE) }, "ENOMSG" },

	{ "nothing", NEXT_HOP, { { 0 } }, OTHER },
	{ "blackhole", NEXT_HOP, { EMPTY(NHA_BLACKHOLE) }, "nexthop 5 blackhole" },
	{ "... with a device", NEXT_HOP, { EMPTY(NHA_BLACKHOLE), U32(NHA_OIF, 3) },
	  "nexthop 5 blackhole dev 3" },
	{ "... of a bridge", NEXT_HOP, { EMPTY(NHA_FDB), EMPTY(NHA_BLACKHOLE) }, OTHER },
	{ "... with an attribute to come", NEXT_HOP, { EMPTY(NHA_BLACKHOLE), EMPTY(18) },
	  OTHER " unknown 19" },
	{ "bridge", NEXT_HOP, { EMPTY(NHA_FDB), U32(NHA_OIF, 3) }, OTHER " dev 3" },
	{ "encapsulation", NEXT_HOP, { EMPTY(NHA_ENCAP), U32(NHA_OIF, 3) }, OTHER " dev 3" },
	{ "... of a type", NEXT_HOP, { U16(NHA_ENCAP_TYPE, 5), U32(NHA_OIF, 3) }, OTHER " dev 3" },
	{ "... of none", NEXT_HOP, { U16(NHA_ENCAP_TYPE, 0), U32(NHA_OIF, 3) },
	  "nexthop 5 one dev 3" },
	{ "statistics", NEXT_HOP, { EMPTY(15), EMPTY(17), U32(NHA_OIF, 3) },
	  "nexthop 5 one dev 3" },
	{ "attribute to come", NEXT_HOP, { EMPTY(18), U32(NHA_OIF, 3) },
	  OTHER " dev 3 unknown 19" },
	{ "... of a group", GROUP, { U16(18, 1) }, OTHER " is_group 6*1 unknown 19" },

	/* before 6.12 it is unknown whether the bytes behind the weight are valid */
	{ "weight 1", GROUP, { MEMBERS(0, 0, 0) }, TWO "1" },
	{ "... 256", GROUP, { MEMBERS(255, 0, 0) }, TWO "256" },
	{ "... or more", GROUP, { MEMBERS(0, 1, 0) }, OTHER " is_group" },
	{ "... other bytes", GROUP, { MEMBERS(0, 0, 1) }, OTHER " is_group" },
	{ "... or more, no flag", GROUP, { MEMBERS(0, 1, 0), U32(OP_FLAGS, 0) },
	  OTHER " is_group" },
	{ "... or more, other flags", GROUP, { MEMBERS(0, 1, 0), U32(OP_FLAGS, 0x7fffffff) },
	  OTHER " is_group" },
	{ "weight of 16 bits: 1", GROUP, { MEMBERS(0, 0, 0), U32(OP_FLAGS, ENTRIES_CLEAN) },
	  TWO "1" },
	{ "... 257", GROUP, { MEMBERS(0, 1, 0), U32(OP_FLAGS, ENTRIES_CLEAN) }, TWO "257" },
	{ "... 1000", GROUP, { MEMBERS(0xe7, 3, 0), U32(OP_FLAGS, ENTRIES_CLEAN | 1) },
	  TWO "1000" },
	{ "... 65536", GROUP, { MEMBERS(255, 255, 0), U32(OP_FLAGS, ENTRIES_CLEAN) }, TWO "65536" },
	{ "... other bytes", GROUP, { MEMBERS(0, 0, 1), U32(OP_FLAGS, ENTRIES_CLEAN) },
	  OTHER " is_group" },
	{ "member without an id", GROUP, { DATA(NHA_GROUP, 16, ((const uint8_t[16]){ 6 })) },
	  "EBADMSG" },

	{ "multipath group", GROUP, { U16(NHA_GROUP_TYPE, NEXTHOP_GRP_TYPE_MPATH) },
	  "nexthop 5 group is_group 6*1" },
	{ "resilient group", GROUP, { U16(NHA_GROUP_TYPE, NEXTHOP_GRP_TYPE_RES), BUCKETS(1) },
	  "nexthop 5 resilient is_group buckets 1 6*1" },
	{ "... with all buckets", GROUP, { U16(NHA_GROUP_TYPE, NEXTHOP_GRP_TYPE_RES),
	  BUCKETS(65535) },
	  "nexthop 5 resilient is_group buckets 65535 6*1" },
	{ "... without buckets", GROUP, { U16(NHA_GROUP_TYPE, NEXTHOP_GRP_TYPE_RES), BUCKETS(0) },
	  "EBADMSG" },
	{ "... number unknown", GROUP, { U16(NHA_GROUP_TYPE, NEXTHOP_GRP_TYPE_RES) }, "EBADMSG" },
	{ "type to come", GROUP, { U16(NHA_GROUP_TYPE, 2) }, OTHER " is_group 6*1" },
	{ "last type", GROUP, { U16(NHA_GROUP_TYPE, 65535), BUCKETS(8) }, OTHER " is_group 6*1" },

	/* only the id of a deleted object counts */
	{ "deleted", NEXT_HOP, { SET_TYPE(RTM_DELNEXTHOP), SET(nhmsg, nh_family, AF_UNSPEC) },
	  OTHER },
	{ "... group without members", GROUP, { SET_TYPE(RTM_DELNEXTHOP), EMPTY(NHA_GROUP),
	  U16(NHA_GROUP_TYPE, NEXTHOP_GRP_TYPE_RES) }, OTHER },

	{ "bucket", BUCKET, { { 0 } }, "bucket 5/3 member 6" },
	{ "... highest index", BUCKET, { BUCKET_IS(U16(NHA_RES_BUCKET_INDEX, 65535),
	  U32(NHA_RES_BUCKET_NH_ID, 6)) },
	  "bucket 5/65535 member 6" },
	{ "... no index", BUCKET, { BUCKET_IS(U32(NHA_RES_BUCKET_NH_ID, 6)) }, "EBADMSG" },
	{ "... no member", BUCKET, { BUCKET_IS(U16(NHA_RES_BUCKET_INDEX, 1)) }, "EBADMSG" },
	{ "... member 0", BUCKET, { BUCKET_IS(U16(NHA_RES_BUCKET_INDEX, 1),
	  U32(NHA_RES_BUCKET_NH_ID, 0)) }, "EBADMSG" },
	{ "... attribute to come", BUCKET, { U16(18, 1) }, "bucket 5/3 member 0 unknown 19" },
	{ "... of IPv4", BUCKET, { SET(nhmsg, nh_family, AF_INET) }, "ENOMSG" },
	{ "... deleted", BUCKET, { SET_TYPE(RTM_DELNEXTHOPBUCKET) }, "ENOMSG" },
	{ "... empty", BUCKET, { EMPTY(NHA_RES_BUCKET) }, "EBADMSG" },
	{ "... of no group", BUCKET, { U32(NHA_ID, 0) }, "EBADMSG" },
};
/* clang-format on */

static void documented(void **state)
{
	assert_cases(cases);
}

/* struct next_hop has no IPv4 gateways. */
static void gateways(void **state)
{
	static const uint8_t zeros[32];

	for (unsigned int size = 0; size <= 20; size++) {
		const struct parsed *p =
			BUILT(NEXT_HOP, U32(NHA_OIF, 3), DATA(NHA_GATEWAY, size, zeros));

		assert_int_equal(p->result, size == 4 || size == 16 ? 0 : -EBADMSG);
		if (p->result)
			continue;
		assert_int_equal(p->next_hop.kind, size == 16 ? NEXT_HOP_ONE : NEXT_HOP_OTHER);
		assert_int_equal(p->next_hop.hop.has_gateway, size == 16);
	}
}

static void numbers_of_members(void **state)
{
	static struct nexthop_grp entries[NEXT_HOP_MAX_MEMBERS + 2];

	for (uint32_t i = 0; i < ARRAY_SIZE(entries); i++)
		entries[i].id = i + 1;
	for (unsigned int size = 0; size <= sizeof(entries); size++) {
		const struct parsed *p = BUILT(GROUP, DATA(NHA_GROUP, size, entries));
		unsigned int n = size / sizeof(entries[0]);
		bool fits = n <= NEXT_HOP_MAX_MEMBERS;

		assert_int_equal(p->result, n == 0 || size % sizeof(entries[0]) ? -EBADMSG : 0);
		if (p->result)
			continue;
		assert_int_equal(p->next_hop.kind, fits ? NEXT_HOP_GROUP : NEXT_HOP_OTHER);
		assert_int_equal(p->next_hop.n_members, fits ? n : 0);
		assert_true(p->next_hop.is_group);
		for (uint32_t i = 0; i < p->next_hop.n_members; i++)
			assert_int_equal(p->members[i].id, i + 1);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documented),
		cmocka_unit_test(gateways),
		cmocka_unit_test(numbers_of_members),
	};

	return cmocka_run_group_tests_name("parse_nexthop", tests, NULL, NULL);
}
