// SPDX-License-Identifier: GPL-2.0-only
/*
 * Qdiscs as the kernel attaches them by default, and as operators limit them; the list of reasons;
 * messages about traffic control, and which malformed ones are refused.
 */

#include "../unit.h"

#include <errno.h>

#include "../../../user/guard/queueing.h"
#include "tc_build.h"

static void set(struct qdisc *qdisc, unsigned int option, uint32_t value)
{
	qdisc->has |= 1u << option;
	qdisc->options[option] = value;
}

/* At the root of device 7, with the options that Linux 6.12 dumps. */
static struct qdisc default_qdisc(const char *kind)
{
	static const uint32_t fq[][2] = {
		{ TCA_FQ_PLIMIT, 10000 },
		{ TCA_FQ_FLOW_PLIMIT, 100 },
		{ TCA_FQ_QUANTUM, 3028 },
		{ TCA_FQ_INITIAL_QUANTUM, 15140 },
		{ TCA_FQ_RATE_ENABLE, 1 },
		{ TCA_FQ_FLOW_MAX_RATE, UINT32_MAX },
		{ TCA_FQ_CE_THRESHOLD, UINT32_MAX },
		{ TCA_FQ_HORIZON, 10000000 },
		{ 16, 0 }, /* TCA_FQ_PRIOMAP */
		{ 17, 0 }, /* TCA_FQ_WEIGHTS */
	};
	static const uint32_t fq_codel[][2] = {
		{ TCA_FQ_CODEL_TARGET, 4999 },	      { TCA_FQ_CODEL_LIMIT, 10240 },
		{ TCA_FQ_CODEL_INTERVAL, 99999 },     { TCA_FQ_CODEL_ECN, 1 },
		{ TCA_FQ_CODEL_FLOWS, 1024 },	      { TCA_FQ_CODEL_QUANTUM, 1514 },
		{ TCA_FQ_CODEL_DROP_BATCH_SIZE, 64 }, { TCA_FQ_CODEL_MEMORY_LIMIT, 32u << 20 },
	};
	struct qdisc qdisc = { .ifindex = 7, .handle = 0x80010000, .parent = TC_H_ROOT };

	strcpy(qdisc.kind, kind);
	for (size_t i = 0; !strcmp(kind, "fq") && i < ARRAY_SIZE(fq); i++)
		set(&qdisc, fq[i][0], fq[i][1]);
	for (size_t i = 0; !strcmp(kind, "fq_codel") && i < ARRAY_SIZE(fq_codel); i++)
		set(&qdisc, fq_codel[i][0], fq_codel[i][1]);
	return qdisc;
}

/* How it differs from the default. */
enum change { AS_IT_IS, SET, UNSET, HAS_MORE, HAS_SIZES, OF_HOOK };

#define DEFAULT AS_IT_IS, 0, 0
#define WITH(option, value) SET, option, value
#define WITHOUT(option) UNSET, option, 0
#define CHANGED(how) how, 0, 0

static const struct row {
	const char *kind, *reason; /* what follows the handle; NULL: it does not punt */
	enum change change;
	uint32_t option, value;
} rows[] = {
	{ "noqueue", NULL, DEFAULT },
	{ "mq", NULL, DEFAULT },
	{ "pfifo_fast", NULL, DEFAULT },
	{ "pfifo_fast", " with a size table", CHANGED(HAS_SIZES) },
	{ "htb", "", DEFAULT },
	{ "cake", "", DEFAULT },
	{ "tbf", "", DEFAULT },
	{ "netem", "", DEFAULT },
	{ "prio", "", DEFAULT },
	{ "red", "", DEFAULT },
	{ "codel", "", DEFAULT },
	{ "clsact", "", DEFAULT }, /* at the root */
	{ "ingress", "", DEFAULT },
	{ "clsact", NULL, CHANGED(OF_HOOK) },
	{ "ingress", NULL, CHANGED(OF_HOOK) },
	{ "htb", "", CHANGED(OF_HOOK) },
	{ "pfifo", NULL, WITH(0, 1000) },
	{ "pfifo", NULL, WITH(0, 2000) },
	{ "pfifo", " with limit 999", WITH(0, 999) },
	{ "pfifo", " with an unknown limit", DEFAULT },
	{ "bfifo", NULL, WITH(0, 1514000) },
	{ "bfifo", " with limit 1513999", WITH(0, 1513999) },
	{ "fq_codel", NULL, DEFAULT },
	{ "fq_codel", " with limit 10", WITH(TCA_FQ_CODEL_LIMIT, 10) },
	{ "fq_codel", NULL, WITH(TCA_FQ_CODEL_LIMIT, 20480) },
	{ "fq_codel", " with target 1000", WITH(TCA_FQ_CODEL_TARGET, 1000) },
	{ "fq_codel", " with interval 20000", WITH(TCA_FQ_CODEL_INTERVAL, 20000) },
	{ "fq_codel", " with ecn 0", WITH(TCA_FQ_CODEL_ECN, 0) },
	{ "fq_codel", " with memory_limit 1048576", WITH(TCA_FQ_CODEL_MEMORY_LIMIT, 1u << 20) },
	{ "fq_codel", " with ce_threshold", WITH(TCA_FQ_CODEL_CE_THRESHOLD, 1000) },
	{ "fq_codel", NULL, WITH(TCA_FQ_CODEL_QUANTUM, 300) },
	{ "fq_codel", NULL, WITH(TCA_FQ_CODEL_FLOWS, 1) },
	{ "fq_codel", NULL, WITH(TCA_FQ_CODEL_DROP_BATCH_SIZE, 1) },
	{ "fq_codel", " with options unknown to sixlane", WITH(12, 0) },
	{ "fq", NULL, DEFAULT },
	{ "fq", NULL, WITH(18, 0) }, /* TCA_FQ_OFFLOAD_HORIZON of Linux 6.13 */
	{ "fq", " with options unknown to sixlane", WITH(19, 0) },
	{ "fq", " with options unknown to sixlane", CHANGED(HAS_MORE) },
	{ "fq", " with maxrate 125000", WITH(TCA_FQ_FLOW_MAX_RATE, 125000) },
	{ "fq", " with flow_limit 5", WITH(TCA_FQ_FLOW_PLIMIT, 5) },
	{ "fq", NULL, WITH(TCA_FQ_RATE_ENABLE, 0) }, /* does not pace sockets */
	{ "fq", " with an unknown limit", WITHOUT(TCA_FQ_PLIMIT) },
};

static void test_rows(void **state)
{
	static const struct qdisc_device device = { .queue_len = 1000, .frame_len = 1514 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		struct qdisc qdisc = default_qdisc(row->kind);
		char reason[GUARD_REASON_LEN] = "untouched";
		char expected[GUARD_REASON_LEN] = "untouched";

		if (row->change == SET)
			set(&qdisc, row->option, row->value);
		if (row->change == UNSET)
			qdisc.has &= ~(1u << row->option);
		qdisc.has_more = row->change == HAS_MORE;
		qdisc.has_size_table = row->change == HAS_SIZES;
		if (row->change == OF_HOOK)
			qdisc.parent = TC_H_INGRESS;
		if (row->reason)
			snprintf(expected, sizeof(expected), "qdisc %s 8001:%s", row->kind,
				 row->reason);
		assert_int_equal(qdisc_is_hook(&qdisc), row->change == OF_HOOK && !row->reason);
		assert_int_equal(
			qdisc_punts(&qdisc, qdisc_needs_device(&qdisc) ? &device : NULL, reason),
			row->reason != NULL);
		assert_string_equal(reason, expected);
	}
}

static void test_unknown_device(void **state)
{
	struct qdisc qdisc = default_qdisc("pfifo");
	char reason[GUARD_REASON_LEN];

	set(&qdisc, 0, 1000);
	assert_true(qdisc_punts(&qdisc, NULL, reason));
}

static void test_filters_of_classes(void **state)
{
	struct qdisc qdisc = default_qdisc("fq_codel");

	assert_true(qdisc_takes_filters(&qdisc));
	qdisc.handle = 0;
	assert_true(qdisc_takes_filters(&qdisc));
	qdisc.parent = 1; /* of mq; nothing can name it */
	assert_false(qdisc_takes_filters(&qdisc));
	qdisc = default_qdisc("fq");
	assert_false(qdisc_takes_filters(&qdisc));
}

static void test_list(void **state)
{
	struct queueing *queueing = calloc(1, sizeof(*queueing));

	assert_null(queueing_find(queueing, 5));
	for (uint32_t i = 100; i > 0; i--)
		assert_int_equal(queueing_add(queueing, i * 7 % 101, i % 2, "first"), 0);
	for (uint32_t i = 100; i > 0; i--)
		assert_int_equal(queueing_add(queueing, i * 7 % 101, true, "second"), 0);
	assert_int_equal(queueing->n, 100);
	assert_null(queueing_find(queueing, 101));
	for (uint32_t i = 1; i <= 100; i++) {
		const struct queueing_device *at = queueing_find(queueing, i * 7 % 101);

		assert_non_null(at);
		assert_string_equal(at->ingress, i % 2 ? "" : "first");
		assert_string_equal(at->egress, i % 2 ? "first" : "second");
	}
	queueing_free(queueing);
}

/* --- messages --- */

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

static void test_changes(void **state)
{
	static const struct {
		uint16_t type;
		bool expected;
	} types[] = {
		{ RTM_NEWQDISC, true },	  { RTM_DELQDISC, true },   { RTM_NEWTFILTER, true },
		{ RTM_DELTFILTER, true }, { RTM_NEWCHAIN, true },   { RTM_DELCHAIN, true },
		{ RTM_NEWTCLASS, false }, { RTM_NEWACTION, false }, { RTM_NEWLINK, false },
		{ RTM_DELLINK, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct nlmsghdr *nlh = build_pfifo();

		nlh->nlmsg_type = types[i].type;
		assert_int_equal(tc_parse_is_change(nlh, NULL), types[i].expected);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_unknown_device),
		cmocka_unit_test(test_filters_of_classes),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_qdisc),
		cmocka_unit_test(test_fifo),
		cmocka_unit_test(test_other_kind),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
