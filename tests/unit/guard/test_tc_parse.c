// SPDX-License-Identifier: GPL-2.0-only
/* Messages about traffic control: their contents, and which malformed ones are refused. */

#include "../unit.h"

#include <errno.h>

#include "../../../user/guard/tc.h"
#include "tc_build.h"

static void test_qdisc(void **state)
{
	struct qdisc qdisc;

	assert_int_equal(PARSE(tc_parse_qdisc, build_fq_codel(), &qdisc), 0);
	assert_int_equal(qdisc.ifindex, 7);
	assert_int_equal(qdisc.handle, 0x80010000);
	assert_int_equal(qdisc.parent, TC_H_ROOT);
	assert_string_equal(qdisc.kind, "fq_codel");
	assert_false(qdisc.has_size_table);
	assert_int_equal(qdisc.options[TCA_FQ_CODEL_LIMIT], 10240);
	assert_true(qdisc.has & 1u << TCA_FQ_CODEL_FLOWS);
	assert_false(qdisc.has & 1u << TCA_FQ_CODEL_CE_THRESHOLD);
	assert_false(qdisc.has_more);
}

static void test_fifo(void **state)
{
	struct nlmsghdr *nlh = build_tc(RTM_NEWQDISC, 0, 1, "bfifo");
	struct qdisc qdisc;

	mnl_attr_put_u16(nlh, TCA_OPTIONS, 1);
	assert_int_equal(PARSE(tc_parse_qdisc, nlh, &qdisc), -EBADMSG);
	assert_int_equal(PARSE(tc_parse_qdisc, build_pfifo(), &qdisc), 0);
	assert_int_equal(qdisc.has, 1);
	assert_int_equal(qdisc.options[0], 10);
}

/* The options of other kinds are structures, which are not parsed as attributes. */
static void test_other_kind(void **state)
{
	struct nlmsghdr *nlh = build_tc(RTM_NEWQDISC, 0, TC_H_ROOT, "htb");
	struct qdisc qdisc;

	mnl_attr_put_u32(nlh, TCA_OPTIONS, UINT32_MAX);
	mnl_attr_put_u32(nlh, TCA_STAB, 0);
	assert_int_equal(PARSE(tc_parse_qdisc, nlh, &qdisc), 0);
	assert_int_equal(qdisc.has, 0);
	assert_true(qdisc.has_size_table);
}

static void test_options(void **state)
{
	struct nlmsghdr *nlh = build_tc(RTM_NEWQDISC, 0, TC_H_ROOT, "fq");
	struct nlattr *options = mnl_attr_nest_start(nlh, TCA_OPTIONS);
	struct qdisc qdisc;

	mnl_attr_put_u8(nlh, TCA_FQ_HORIZON_DROP, 1);
	mnl_attr_put_u16(nlh, 30, 0x1234);
	mnl_attr_put_u64(nlh, 31, 5);
	mnl_attr_put_u32(nlh, 32, 5);
	mnl_attr_nest_end(nlh, options);
	assert_int_equal(PARSE(tc_parse_qdisc, nlh, &qdisc), 0);
	assert_int_equal(qdisc.options[TCA_FQ_HORIZON_DROP], 1);
	assert_int_equal(qdisc.options[30], 0x1234);
	assert_int_equal(qdisc.options[31], 0);
	assert_int_equal(qdisc.has, 1u << TCA_FQ_HORIZON_DROP | 1u << 30 | 1u << 31);
	assert_true(qdisc.has_more);

	mnl_attr_put_u16(nlh, TCA_OPTIONS, 1); /* too short for an attribute */
	assert_int_equal(PARSE(tc_parse_qdisc, nlh, &qdisc), -EBADMSG);
}

static void test_filter(void **state)
{
	struct filter filter;

	assert_int_equal(PARSE(tc_parse_filter, build_filter(), &filter), 0);
	assert_string_equal(filter.kind, "flower");
	assert_int_equal(filter.priority, 49152);
	assert_int_equal(PARSE(tc_parse_filter, build_pfifo(), &filter), -ENOMSG);
}

static void test_device(void **state)
{
	struct qdisc_device device;

	assert_int_equal(PARSE(tc_parse_device, build_queue(), &device), 0);
	assert_int_equal(device.queue_len, 1000);
	assert_int_equal(device.frame_len, 1514);
	assert_int_equal(PARSE(tc_parse_device, build_link_unspec(), &device), -EBADMSG);
	assert_int_equal(PARSE(tc_parse_device, build_pfifo(), &device), -ENOMSG);
}

static void test_malformed(void **state)
{
	struct nlmsghdr *nlh = build_tc(RTM_NEWQDISC, 0, TC_H_ROOT, "kind-that-has-no-end");
	struct tcmsg *tcm;
	struct qdisc qdisc;
	struct filter filter;

	assert_int_equal(PARSE(tc_parse_qdisc, nlh, &qdisc), -EBADMSG);
	nlh = build_pfifo();
	tcm = mnl_nlmsg_get_payload(nlh);
	tcm->tcm_ifindex = 0;
	assert_int_equal(PARSE(tc_parse_qdisc, nlh, &qdisc), -EBADMSG);
	nlh->nlmsg_len = NLMSG_LENGTH(4);
	assert_int_equal(PARSE(tc_parse_qdisc, nlh, &qdisc), -EBADMSG);
	nlh->nlmsg_type = RTM_NEWTFILTER;
	assert_int_equal(PARSE(tc_parse_filter, nlh, &filter), -EBADMSG);
	nlh->nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg));
	assert_int_equal(PARSE(tc_parse_filter, nlh, &filter), -EBADMSG);
	for (uint32_t size = sizeof(*nlh); size < build_fq_codel()->nlmsg_len; size++) {
		nlh = build_fq_codel();
		nlh->nlmsg_len = size;
		(void)PARSE(tc_parse_qdisc, nlh, &qdisc);
	}
}

static void test_matters(void **state)
{
	static const struct {
		uint16_t type;
		bool expected;
	} rows[] = {
		{ RTM_NEWQDISC, true },	  { RTM_DELQDISC, true },   { RTM_NEWTFILTER, true },
		{ RTM_DELTFILTER, true }, { RTM_NEWCHAIN, true },   { RTM_DELCHAIN, true },
		{ RTM_NEWTCLASS, false }, { RTM_NEWACTION, false }, { RTM_NEWLINK, false },
		{ RTM_DELLINK, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nlmsghdr *nlh = build_pfifo();

		nlh->nlmsg_type = rows[i].type;
		assert_int_equal(tc_parse_is_change(nlh, NULL), rows[i].expected);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_qdisc),	   cmocka_unit_test(test_fifo),
		cmocka_unit_test(test_other_kind), cmocka_unit_test(test_options),
		cmocka_unit_test(test_filter),	   cmocka_unit_test(test_device),
		cmocka_unit_test(test_malformed),  cmocka_unit_test(test_matters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
