// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages about IPsec policies: which policies may touch a forwarded packet.
 */
#include "../unit.h"

#include <errno.h>

#include "../../../user/guard/xfrm.h"
#include "xfrm_messages.h"

/* PUNTS_ICMP: ICMPv6 errors as well. */
enum result { IGNORED, PUNTS, PUNTS_ICMP };

static const struct {
	const char *name;
	enum result result;
	struct policy_row row;
} rows[] = {
	{ "fwd block", PUNTS_ICMP, { FWD, BLOCK } },
	{ "out block", PUNTS, { OUT, BLOCK } },
	{ "in block", IGNORED, { FROM_A_TO_B, .dir = XFRM_POLICY_IN, BLOCK } },
	{ "socket", IGNORED, { FROM_A_TO_B, .dir = XFRM_POLICY_MAX + XFRM_POLICY_OUT, BLOCK } },
	{ "fwd allow", IGNORED, { FWD } },
	{ "out allow", IGNORED, { OUT } },
	{ "fwd template", PUNTS_ICMP, { FWD, ESP } },
	{ "out templates", PUNTS, { OUT, .n_templates = 2 } },
	{ "level use", PUNTS, { OUT, ESP, .optional = true } },
	{ "flag icmp", PUNTS_ICMP, { OUT, ESP, .flags = XFRM_POLICY_ICMP } },
	{ "flag localok", IGNORED, { OUT, .flags = XFRM_POLICY_LOCALOK } },
	{ "unknown action", PUNTS, { OUT, .action = 9 } },
	{ "sub", PUNTS_ICMP, { FWD, .sub = true } },
	{ "use expires", PUNTS, { OUT, .use_expires = 60 } },
	{ "security label", PUNTS, { OUT, .security = true } },
	{ "offloaded", PUNTS, { OUT, .offload = true } },
	{ "if_id", IGNORED, { OUT, BLOCK, .if_id = 3 } },
	{ "mark", IGNORED, { OUT, BLOCK, .mark = { 1, 1 } } },
	{ "mark without mask", PUNTS, { OUT, BLOCK, .mark = { 1, 0 } } },
	{ "mark 0", PUNTS, { OUT, BLOCK, .mark = { 0, 1 } } },
	{ "unknown attribute", PUNTS, { OUT, .mark = { 1, 1 }, .unknown = 99 } },
	{ "attribute of states", PUNTS, { OUT, .unknown = XFRMA_LASTUSED } },
	{ "IPv4",
	  IGNORED,
	  { .dir = XFRM_POLICY_OUT,
	    BLOCK,
	    .family = AF_INET,
	    .src = "10.0.0.0",
	    .dst = "10.0.1.0",
	    .src_len = 24,
	    .dst_len = 24 } },
	{ "any family", PUNTS, { OUT, BLOCK, .family = 255, .text = "::/0 to ::/0" } },
	{ "host bits",
	  PUNTS,
	  { .dir = XFRM_POLICY_OUT,
	    BLOCK,
	    .src = "2001:db8:a::5",
	    .dst = "::1",
	    .src_len = 48,
	    .text = "2001:db8:a::/48 to ::/0" } },
};

static void test_policies(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct nlmsghdr *nlh = build_policy(&rows[i].row);
		char text[GUARD_REASON_LEN] = "", expected[GUARD_REASON_LEN] = "";
		struct policy policy = { 0 };
		int r = PARSE(xfrm_parse_policy, nlh, &policy);

		if (rows[i].result != IGNORED)
			snprintf(expected, sizeof(expected), "policy %s %s, index 17, priority 5",
				 rows[i].row.dir == XFRM_POLICY_FWD ? "fwd" : "out",
				 rows[i].row.text ? rows[i].row.text : FROM_A_TO_B_TEXT);
		if (r > 0)
			policy_format(&policy, text);
		if (r != (rows[i].result != IGNORED) || strcmp(text, expected) != 0 ||
		    policy.icmp != (rows[i].result == PUNTS_ICMP))
			fail_msg("%s: %d, %s, %d", rows[i].name, r, text, policy.icmp);
	}
}

/* A truncated message is refused unless it ends between two attributes. */
static void test_truncated(void **state)
{
	const struct policy_row row = { OUT, ESP, .mark = { 0, 1 } };
	struct nlmsghdr *nlh = build_policy(&row);
	struct policy policy;
	int accepted = 0;

	while (--nlh->nlmsg_len >= sizeof(*nlh)) {
		const int r = PARSE(xfrm_parse_policy, nlh, &policy);

		assert_true(r == -EBADMSG || r >= 0);
		accepted += r >= 0;
	}
	/* After the header, the templates and the type, which may have no padding. */
	assert_in_range(accepted, 3, 12);
}

static void test_malformed(void **state)
{
	static const struct policy_row lengths[] = { { OUT, BLOCK },
						     { .src = "::", .src_len = 129, .dst = "::" },
						     { .dst = "::", .dst_len = 129, .src = "::" } };
	struct nlmsghdr *nlh;
	struct policy policy;

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++)
		assert_int_equal(xfrm_parse_policy(build_policy(&lengths[i]), &policy),
				 i ? -EBADMSG : 1);
	nlh = build_policy(&lengths[0]);
	nlh->nlmsg_type = XFRM_MSG_NEWSA;
	assert_int_equal(xfrm_parse_policy(nlh, &policy), -EBADMSG);
}

static void test_defaults(void **state)
{
	static const struct {
		uint8_t in, fwd, out;
		const char *reason;
	} defaults[] = {
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

	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
		nlh = build_default(defaults[i].in, defaults[i].fwd, defaults[i].out);
		assert_int_equal(xfrm_parse_default(nlh, reason), 0);
		assert_string_equal(reason, defaults[i].reason);
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
		assert_true(xfrm_notifications.is_change(xfrm_message(yes[i]), NULL));
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		assert_false(xfrm_notifications.is_change(xfrm_message(no[i]), NULL));
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
