// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes through the parsers of traffic control, and the judgement of the qdiscs that they
 * accept: messages as the kernel makes them, mutated.
 */
#include "../../user/guard/queueing.h"
#include "../unit/guard/tc_build.h"
#include "mutate.h"

static void check_string(const char *text, size_t size)
{
	if (strnlen(text, size) == size)
		abort();
}

static void check_qdisc(const struct qdisc *qdisc)
{
	static const struct qdisc_device device = { .queue_len = 1000, .frame_len = 1514 };
	char reason[GUARD_REASON_LEN] = "";

	check_string(qdisc->kind, sizeof(qdisc->kind));
	(void)qdisc_takes_filters(qdisc);
	if (qdisc_punts(qdisc, qdisc_needs_device(qdisc) ? &device : NULL, reason) != !!reason[0])
		abort();
	check_string(reason, sizeof(reason));
}

/* The number of parsers that accepted it. */
static int parse_all(const uint8_t *data, size_t size)
{
	struct qdisc_device device;
	struct filter filter;
	struct qdisc qdisc;
	_cleanup_free_ struct nlmsghdr *nlh = message_copy(data, size);
	int accepted = 0;

	if (!nlh)
		return 0;
	if (!tc_parse_qdisc(nlh, &qdisc)) {
		check_qdisc(&qdisc);
		accepted++;
	}
	if (!tc_parse_filter(nlh, &filter)) {
		check_string(filter.kind, sizeof(filter.kind));
		accepted++;
	}
	accepted += !tc_parse_device(nlh, &device);
	(void)tc_parse_is_change(nlh, NULL);
	return accepted;
}

static size_t build(uint8_t *bytes)
{
	static struct nlmsghdr *(*const builders[])(void) = { build_fq_codel, build_pfifo,
							      build_filter, build_queue };
	const struct nlmsghdr *nlh = builders[random_below(ARRAY_SIZE(builders))]();

	memcpy(bytes, nlh, nlh->nlmsg_len);
	return nlh->nlmsg_len;
}

FUZZ_MAIN("fuzz_tc", build, parse_all)
