// SPDX-License-Identifier: GPL-2.0-only
/*
 * Qdiscs as the kernel attaches them, and as operators limit them; the list of what stands in the
 * way of devices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <linux/pkt_sched.h>
#include <string.h>

#include "../../../user/guard/queueing.h"
#include "../../../user/lib/util.h"
#include "../unit.h"

#define ROOT TC_H_ROOT
#define HANDLE 0x80010000u
#define BIT(n) (1u << (n))

static struct qdisc plain(const char *kind)
{
	struct qdisc qdisc = { .ifindex = 7, .handle = HANDLE, .parent = ROOT };

	strcpy(qdisc.kind, kind);
	return qdisc;
}

static void option(struct qdisc *qdisc, unsigned int n, uint32_t value)
{
	qdisc->has |= BIT(n);
	qdisc->options[n] = value;
}

static struct qdisc fifo(const char *kind, uint32_t limit)
{
	struct qdisc qdisc = plain(kind);

	option(&qdisc, 0, limit);
	return qdisc;
}

/* As Linux 6.12 tells them. */
static struct qdisc fq(void)
{
	struct qdisc qdisc = plain("fq");

	option(&qdisc, TCA_FQ_PLIMIT, 10000);
	option(&qdisc, TCA_FQ_FLOW_PLIMIT, 100);
	option(&qdisc, TCA_FQ_QUANTUM, 3028);
	option(&qdisc, TCA_FQ_INITIAL_QUANTUM, 15140);
	option(&qdisc, TCA_FQ_RATE_ENABLE, 1);
	option(&qdisc, TCA_FQ_FLOW_MAX_RATE, UINT32_MAX);
	option(&qdisc, TCA_FQ_CE_THRESHOLD, UINT32_MAX);
	option(&qdisc, TCA_FQ_HORIZON, 10000000);
	qdisc.has |= BIT(16) | BIT(17); /* the bands' */
	return qdisc;
}

static struct qdisc fq_codel(void)
{
	struct qdisc qdisc = plain("fq_codel");

	option(&qdisc, TCA_FQ_CODEL_TARGET, 4999);
	option(&qdisc, TCA_FQ_CODEL_LIMIT, 10240);
	option(&qdisc, TCA_FQ_CODEL_INTERVAL, 99999);
	option(&qdisc, TCA_FQ_CODEL_ECN, 1);
	option(&qdisc, TCA_FQ_CODEL_FLOWS, 1024);
	option(&qdisc, TCA_FQ_CODEL_QUANTUM, 1514);
	option(&qdisc, TCA_FQ_CODEL_DROP_BATCH_SIZE, 64);
	option(&qdisc, TCA_FQ_CODEL_MEMORY_LIMIT, 32u << 20);
	return qdisc;
}

static const struct qdisc_device device = { .queue_len = 1000, .frame_len = 1514 };

/* NULL: nothing is held back. */
static void expect(struct qdisc qdisc, const char *reason)
{
	char said[GUARD_REASON_LEN] = "untouched";
	const struct qdisc_device *known = qdisc_needs_device(&qdisc) ? &device : NULL;

	assert_int_equal(qdisc_punts(&qdisc, known, said), reason != NULL);
	assert_string_equal(said, reason ? reason : "untouched");
}

static void test_kinds(void **state)
{
	static const char *const harmless[] = { "noqueue", "mq", "pfifo_fast" };
	static const char *const others[] = { "htb",	"cake", "tbf",	  "netem", "prio",
					      "mqprio", "red",	"taprio", "codel", "clsact" };
	char reason[GUARD_REASON_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
		expect(plain(harmless[i]), NULL);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		snprintf(reason, sizeof(reason), "qdisc %s 8001:", others[i]);
		expect(plain(others[i]), reason);
	}
}

static void test_sizes(void **state)
{
	struct qdisc qdisc = plain("pfifo_fast");

	qdisc.has_size_table = true;
	expect(qdisc, "qdisc pfifo_fast 8001: with a size table");
}

static void test_hooks(void **state)
{
	struct qdisc qdisc = plain("clsact");

	qdisc.parent = TC_H_CLSACT;
	assert_true(qdisc_is_hook(&qdisc));
	expect(qdisc, NULL);
	qdisc = plain("ingress");
	qdisc.parent = TC_H_INGRESS;
	assert_true(qdisc_is_hook(&qdisc));
	expect(qdisc, NULL);
	qdisc.parent = ROOT;
	assert_false(qdisc_is_hook(&qdisc));
}

static void test_fifos(void **state)
{
	struct qdisc unknown = plain("pfifo");
	char reason[GUARD_REASON_LEN];

	expect(fifo("pfifo", 1000), NULL);
	expect(fifo("pfifo", 2000), NULL);
	expect(fifo("pfifo", 999), "qdisc pfifo 8001: with limit 999");
	expect(fifo("bfifo", 1514000), NULL);
	expect(fifo("bfifo", 1513999), "qdisc bfifo 8001: with limit 1513999");
	expect(unknown, "qdisc pfifo 8001: with an unknown limit");
	unknown = fifo("pfifo", 1000);
	assert_true(qdisc_punts(&unknown, NULL, reason));
}

static void test_fq_codel(void **state)
{
	static const struct {
		unsigned int option;
		uint32_t value;
		const char *reason;
	} rows[] = {
		{ TCA_FQ_CODEL_LIMIT, 10, "with limit 10" },
		{ TCA_FQ_CODEL_LIMIT, 20480, NULL },
		{ TCA_FQ_CODEL_TARGET, 1000, "with target 1000" },
		{ TCA_FQ_CODEL_INTERVAL, 20000, "with interval 20000" },
		{ TCA_FQ_CODEL_ECN, 0, "with ecn 0" },
		{ TCA_FQ_CODEL_MEMORY_LIMIT, 1u << 20, "with memory_limit 1048576" },
		{ TCA_FQ_CODEL_CE_THRESHOLD, 1000, "with ce_threshold" },
		{ TCA_FQ_CODEL_QUANTUM, 300, NULL },
		{ TCA_FQ_CODEL_FLOWS, 1, NULL },
		{ TCA_FQ_CODEL_DROP_BATCH_SIZE, 1, NULL },
		{ 12, 0, "with options unknown to sixlane" },
	};
	char reason[GUARD_REASON_LEN];

	expect(fq_codel(), NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct qdisc qdisc = fq_codel();

		option(&qdisc, rows[i].option, rows[i].value);
		snprintf(reason, sizeof(reason), "qdisc fq_codel 8001: %s",
			 rows[i].reason ? rows[i].reason : "");
		expect(qdisc, rows[i].reason ? reason : NULL);
	}
}

static void test_fq(void **state)
{
	struct qdisc qdisc = fq();

	expect(qdisc, NULL);
	option(&qdisc, 18, 0); /* TCA_FQ_OFFLOAD_HORIZON of Linux 6.13 */
	expect(qdisc, NULL);
	option(&qdisc, 19, 0);
	expect(qdisc, "qdisc fq 8001: with options unknown to sixlane");
	qdisc = fq();
	option(&qdisc, TCA_FQ_FLOW_MAX_RATE, 125000);
	expect(qdisc, "qdisc fq 8001: with maxrate 125000");
	qdisc = fq();
	option(&qdisc, TCA_FQ_FLOW_PLIMIT, 5);
	expect(qdisc, "qdisc fq 8001: with flow_limit 5");
	qdisc = fq();
	option(&qdisc, TCA_FQ_RATE_ENABLE, 0); /* sockets are not paced */
	expect(qdisc, NULL);
	qdisc = fq();
	qdisc.has_more = true;
	expect(qdisc, "qdisc fq 8001: with options unknown to sixlane");
	qdisc = fq();
	qdisc.has &= ~BIT(TCA_FQ_PLIMIT);
	expect(qdisc, "qdisc fq 8001: with an unknown limit");
}

static void test_filters_of_classes(void **state)
{
	struct qdisc qdisc = fq_codel();

	assert_true(qdisc_takes_filters(&qdisc));
	qdisc.handle = 0;
	assert_true(qdisc_takes_filters(&qdisc));
	qdisc.parent = 1; /* of mq; nothing can name it */
	assert_false(qdisc_takes_filters(&qdisc));
	qdisc = fq();
	assert_false(qdisc_takes_filters(&qdisc));
}

static void test_list(void **state)
{
	_cleanup_(queueing_freep) struct queueing *queueing = calloc(1, sizeof(*queueing));

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
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_fifos),
		cmocka_unit_test(test_fq_codel),
		cmocka_unit_test(test_fq),
		cmocka_unit_test(test_filters_of_classes),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
