// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes through the parsers of traffic control, and what they take of qdiscs through the
 * judgement. With libFuzzer (clang -fsanitize=fuzzer,address,undefined
 * -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION) the entry below is all there is; otherwise main()
 * makes a bounded run: messages as the kernel makes them, mutated, from a seed that it prints.
 *
 *   fuzz_tc [ITERATIONS [SEED]]    0 iterations: run until stopped
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../user/guard/tc_parse.h"
#include "../unit/guard/tc_build.h"
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

/* How many of the parsers took it. */
static int parse_all(const uint8_t *data, size_t size)
{
	struct qdisc_device device;
	struct filter filter;
	struct qdisc qdisc;
	struct nlmsghdr *nlh;
	int taken = 0;

	if (size < sizeof(*nlh))
		return 0;
	nlh = malloc(size); /* its very size, for ASan */
	if (!nlh)
		abort();
	memcpy(nlh, data, size);
	nlh->nlmsg_len = (uint32_t)size;
	if (!tc_parse_qdisc(nlh, &qdisc)) {
		check_qdisc(&qdisc);
		taken++;
	}
	if (!tc_parse_filter(nlh, &filter)) {
		check_string(filter.kind, sizeof(filter.kind));
		taken++;
	}
	taken += !tc_parse_device(nlh, &device);
	(void)tc_parse_matters(nlh);
	free(nlh);
	return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	(void)parse_all(data, size);
	return 0;
}

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

static size_t build(uint8_t *bytes)
{
	static struct nlmsghdr *(*const builders[])(void) = { build_fq_codel, build_pfifo,
							      build_filter, build_queue };
	const struct nlmsghdr *nlh = builders[random_below(ARRAY_SIZE(builders))]();

	memcpy(bytes, nlh, nlh->nlmsg_len);
	return nlh->nlmsg_len;
}

int main(int argc, char **argv)
{
	return mutate_main("fuzz_tc", argc, argv, build, parse_all);
}

#endif
