// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages about IPsec policies: which policies may touch a forwarded packet.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../../user/guard/xfrm_parse.h"
#include "../../../user/lib/util.h"
#include "../unit.h"
#include "xfrm_messages.h"

#define FROM_A_TO_B .src = "2001:db8:a::", .src_len = 64, .dst = "2001:db8:b::", .dst_len = 64
#define WORDS(dir) "policy " dir " 2001:db8:a::/64 to 2001:db8:b::/64, index 17, priority 5"
#define BLOCK .action = XFRM_POLICY_BLOCK
#define FWD .dir = XFRM_POLICY_FWD
#define OUT .dir = XFRM_POLICY_OUT
#define ESP .n_templates = 1

/* Parse it from exactly its size, for ASan. */
static int parse(const struct nlmsghdr *nlh, size_t size, struct policy *out)
{
	_cleanup_free_ struct nlmsghdr *copy = malloc(size);

	memcpy(copy, nlh, size);
	copy->nlmsg_len = (uint32_t)size;
	return xfrm_parse_policy(copy, out);
}

static void test_policies(void **state)
{
	static const struct {
		const char *name;
		struct policy_row row;
		const char *words; /* "": it does not count */
		bool icmp;
	} rows[] = {
		{ "fwd block", { FROM_A_TO_B, FWD, BLOCK }, WORDS("fwd"), true },
		{ "out block", { FROM_A_TO_B, OUT, BLOCK }, WORDS("out"), false },
		{ "in block", { FROM_A_TO_B, .dir = XFRM_POLICY_IN, BLOCK }, "", false },
		{ "of a socket",
		  { FROM_A_TO_B, .dir = XFRM_POLICY_MAX + XFRM_POLICY_OUT, BLOCK },
		  "",
		  false },
		{ "fwd allow", { FROM_A_TO_B, FWD }, "", false },
		{ "out allow", { FROM_A_TO_B, OUT }, "", false },
		{ "fwd template", { FROM_A_TO_B, FWD, ESP }, WORDS("fwd"), true },
		{ "out templates", { FROM_A_TO_B, OUT, .n_templates = 2 }, WORDS("out"), false },
		{ "level use", { FROM_A_TO_B, OUT, ESP, .optional = true }, WORDS("out"), false },
		{ "flag icmp",
		  { FROM_A_TO_B, OUT, ESP, .flags = XFRM_POLICY_ICMP },
		  WORDS("out"),
		  true },
		{ "flag localok", { FROM_A_TO_B, OUT, .flags = XFRM_POLICY_LOCALOK }, "", false },
		{ "unknown action", { FROM_A_TO_B, OUT, .action = 9 }, WORDS("out"), false },
		{ "sub", { FROM_A_TO_B, FWD, .sub = true }, WORDS("fwd"), true },
		{ "use expires", { FROM_A_TO_B, OUT, .use_expires = 60 }, WORDS("out"), false },
		{ "security label", { FROM_A_TO_B, OUT, .security = true }, WORDS("out"), false },
		{ "offloaded", { FROM_A_TO_B, OUT, .offload = true }, WORDS("out"), false },
		{ "if_id", { FROM_A_TO_B, OUT, BLOCK, .if_id = 3 }, "", false },
		{ "mark", { FROM_A_TO_B, OUT, BLOCK, .mark = { 1, 1 } }, "", false },
		{ "mark without mask",
		  { FROM_A_TO_B, OUT, BLOCK, .mark = { 1, 0 } },
		  WORDS("out"),
		  false },
		{ "mark 0", { FROM_A_TO_B, OUT, BLOCK, .mark = { 0, 1 } }, WORDS("out"), false },
		{ "unknown attribute",
		  { FROM_A_TO_B, OUT, .mark = { 1, 1 }, .unknown = 99 },
		  WORDS("out"),
		  false },
		{ "attribute of states",
		  { FROM_A_TO_B, OUT, .unknown = XFRMA_LASTUSED },
		  WORDS("out"),
		  false },
		{ "IPv4",
		  { .family = AF_INET,
		    .src = "10.0.0.0",
		    .dst = "10.0.1.0",
		    .src_len = 24,
		    .dst_len = 24,
		    OUT,
		    BLOCK },
		  "",
		  false },
		{ "any family",
		  { FROM_A_TO_B, .family = 255, OUT, BLOCK },
		  "policy out ::/0 to ::/0, index 17, priority 5",
		  false },
		{ "host bits",
		  { .src = "2001:db8:a::5", .dst = "::1", .src_len = 48, OUT, BLOCK },
		  "policy out 2001:db8:a::/48 to ::/0, index 17, priority 5",
		  false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct nlmsghdr *nlh = build_policy(&rows[i].row);
		char words[GUARD_REASON_LEN] = "";
		struct policy policy = { 0 };
		int r = parse(nlh, nlh->nlmsg_len, &policy);

		if (r > 0)
			policy_words(&policy, words);
		if (r != (rows[i].words[0] != '\0') || strcmp(words, rows[i].words) != 0 ||
		    policy.icmp != rows[i].icmp)
			fail_msg("%s: %d, %s, %d", rows[i].name, r, words, policy.icmp);
		if (r > 0)
			assert_int_equal(policy.block, rows[i].row.action != XFRM_POLICY_ALLOW);
	}
}

/* Cut short anywhere, a message is refused unless it ends between two attributes. */
static void test_truncated(void **state)
{
	const struct policy_row row = { FROM_A_TO_B, OUT, ESP, .mark = { 0, 1 } };
	const struct nlmsghdr *nlh = build_policy(&row);
	struct policy policy;
	int taken = 0;

	for (size_t size = sizeof(*nlh); size < nlh->nlmsg_len; size++) {
		const int r = parse(nlh, size, &policy);

		assert_true(r == -EBADMSG || r >= 0);
		taken += r >= 0;
	}
	/* Behind the header, the templates and the type (whose padding may lack). */
	assert_in_range(taken, 3, 12);
}

static void test_malformed(void **state)
{
	struct policy_row row = { FROM_A_TO_B, OUT, BLOCK };
	struct nlmsghdr *nlh;
	struct policy policy;

	row.src_len = 129;
	nlh = build_policy(&row);
	assert_int_equal(xfrm_parse_policy(nlh, &policy), -EBADMSG);
	row.src_len = 64;
	row.dst_len = 129;
	nlh = build_policy(&row);
	assert_int_equal(xfrm_parse_policy(nlh, &policy), -EBADMSG);
	row.dst_len = 64;
	nlh = build_policy(&row);
	assert_int_equal(xfrm_parse_policy(nlh, &policy), 1);
	nlh->nlmsg_type = XFRM_MSG_NEWSA;
	assert_int_equal(xfrm_parse_policy(nlh, &policy), -EBADMSG);
}

static void test_defaults(void **state)
{
	static const struct {
		uint8_t in, fwd, out;
		const char *reason;
	} rows[] = {
		{ XFRM_USERPOLICY_ACCEPT, XFRM_USERPOLICY_ACCEPT, XFRM_USERPOLICY_ACCEPT, "" },
		{ XFRM_USERPOLICY_BLOCK, XFRM_USERPOLICY_ACCEPT, XFRM_USERPOLICY_ACCEPT, "" },
		{ XFRM_USERPOLICY_ACCEPT, XFRM_USERPOLICY_BLOCK, XFRM_USERPOLICY_ACCEPT,
		  "the default action of fwd policies is block" },
		{ XFRM_USERPOLICY_ACCEPT, XFRM_USERPOLICY_ACCEPT, XFRM_USERPOLICY_BLOCK,
		  "the default action of out policies is block" },
		{ XFRM_USERPOLICY_ACCEPT, XFRM_USERPOLICY_ACCEPT, 7,
		  "the default action of out policies is block" },
	};
	char reason[GUARD_REASON_LEN];
	struct nlmsghdr *nlh;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		nlh = build_default(rows[i].in, rows[i].fwd, rows[i].out);
		assert_int_equal(xfrm_parse_default(nlh, reason), 0);
		assert_string_equal(reason, rows[i].reason);
	}
	nlh = build_default(0, 0, 0);
	nlh->nlmsg_len = NLMSG_HDRLEN + 2;
	assert_int_equal(xfrm_parse_default(nlh, reason), -EBADMSG);
	nlh = build_default(0, 0, 0);
	nlh->nlmsg_type = XFRM_MSG_SETDEFAULT;
	assert_int_equal(xfrm_parse_default(nlh, reason), -EBADMSG);
}

static void test_changes(void **state)
{
	static const uint16_t yes[] = { XFRM_MSG_NEWPOLICY,   XFRM_MSG_DELPOLICY,
					XFRM_MSG_UPDPOLICY,   XFRM_MSG_POLEXPIRE,
					XFRM_MSG_FLUSHPOLICY, XFRM_MSG_SETDEFAULT,
					XFRM_MSG_GETDEFAULT,  999 };
	static const uint16_t no[] = { XFRM_MSG_EXPIRE, XFRM_MSG_NEWSA, XFRM_MSG_DELSA };

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		assert_true(xfrm_parse_is_change(xfrm_message(yes[i])));
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		assert_false(xfrm_parse_is_change(xfrm_message(no[i])));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policies),  cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_malformed), cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
