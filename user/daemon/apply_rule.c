// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules: read as a whole, compiled, published as a whole. While the list is being read or changed
 * every packet passes; so it does for good if the list cannot be expressed.
 */
#include "apply.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <string.h>

#include "../lib/kernel.h"
#include "../netlink/parse.h"
#include "daemon.h"
#include "ports.h"

/*
 * The kernel also accepts an alternative name of a device as `iif`, which links lack. Packets that
 * reach such a rule pass.
 */
static bool names_unknown_device(const struct links *links, const struct nlmsghdr *nlh,
				 const struct rule *rule)
{
	const struct fib_rule_hdr *header = mnl_nlmsg_get_payload(nlh);

	if (!rule->iif[0] || header->flags & FIB_RULE_IIF_DETACHED)
		return false;
	for (size_t i = 0; i < links->n; i++) {
		const struct device *device = &links->devices[i];

		if (device->has_link && !strcmp(device->link.name, rule->iif))
			return false;
	}
	return true;
}

/* Every packet passes until the list is read again. */
static int rules_changed(struct sync *sync)
{
	sync->schedule.wanted |= SCHEDULE_RULES;
	sync->stores.rules_ready = false;
	meta_update(sync);
	return 0;
}

int apply_rule(struct sync *sync, const struct nlmsghdr *nlh)
{
	struct rule rule;
	int ret;

	if (!sync->schedule.dumping)
		return rules_changed(sync);
	ret = parse_rule(nlh, &rule);
	if (ret)
		return ret;
	sockets_report_attr(&sync->statistics, REPORT_RULE, rule.unknown_attr);
	/* Older kernels compare the ECN bits as well as the DSCP. */
	if (rule.tclass_mask && kernel_before(5, 18))
		rule.unknown = true;
	if (names_unknown_device(&sync->stores.links, nlh, &rule)) {
		rule.iif[0] = '\0';
		rule.unknown = true;
	}
	return rules_add(&sync->stores.rules, &rule);
}

static void report(const struct sync *sync, const struct rules_program *program)
{
	if (!program->expressible)
		log_warning(
			"'ip -6 rule' has more than %u rules: EVERY PACKET PASSES to the kernel; remove some rules",
			SIXLANE_MAX_RULES);
	else if (!sync->stores.program.expressible && sync->schedule.complete)
		log_info("'ip -6 rule' is within the limit again");
}

static int publish(struct sync *sync, const struct rules_program *program)
{
	bool moved = program->local_first != sync->stores.view.local_first;
	bool parted = program->local_within != sync->stores.view.local_within;
	uint32_t n = program->expressible ? program->n : 0;
	bool known = maps_has_rules(sync->maps, program->rules, n);
	int ret;

	report(sync, program);
	/* Rules of an earlier daemon stay in force if they are the same: its tables fit. */
	if (sync->schedule.quiet && !known)
		meta_hold(sync);
	ret = maps_set_rules(sync->maps, program->rules, n);
	if (ret)
		return ret;
	sync->stores.program = *program;
	sync->stores.view.local_first = program->local_first;
	sync->stores.view.local_within = program->local_within;
	if (!sync->schedule.quiet && moved)
		apply_all_prefixes(sync);
	else if (!sync->schedule.quiet && parted)
		apply_prefixes_in(sync, RT_TABLE_LOCAL);
	if (!sync->schedule.quiet)
		ports_update_all(sync);
	return 0;
}

static bool same_program(const struct rules_program *a, const struct rules_program *b)
{
	return a->expressible == b->expressible && a->local_first == b->local_first &&
	       a->local_within == b->local_within && a->n == b->n &&
	       !memcmp(a->rules, b->rules, sizeof(a->rules));
}

void apply_rules(struct sync *sync)
{
	struct rules_program program;
	int ret = 0;

	if (!sync->stores.rules_known)
		return;
	memset(&program, 0, sizeof(program));
	rules_compile(&sync->stores.rules, &sync->stores.links, &program);
	if (!sync->stores.rules_published || !same_program(&program, &sync->stores.program)) {
		sync->stores.rules_ready = false;
		meta_update(sync);
		ret = publish(sync, &program);
	}
	sync->stores.rules_published = !ret;
	sync->stores.rules_ready = !ret && !(sync->schedule.wanted & SCHEDULE_RULES);
	if (ret) {
		log_warning_limited(
			"cannot write the rules to the maps: %s; packets pass to the kernel",
			strerror(-ret));
		schedule_tables(&sync->schedule, SCHEDULE_LATER_NS);
	}
}
